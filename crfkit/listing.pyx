"""Features with names, and as the lines of a dump."""

from crfkit.text.writing cimport OutC, Output, PIECE, out_bytes, out_char, out_significant

from crfkit.spelling import attribute_text, escaped, previous_text
from crfkit.values import as_bytes

# The bytes of characters that have a backslash, even alone.
cdef bytes ESCAPED = bytes(c < 128 and escaped(chr(c)) != chr(c) for c in range(256))


cdef inline int out_cell(OutC* out, bytes text) except -1:
    out_bytes(out, text, len(text))
    out_char(out, b"\t")


cdef inline int out_label(OutC* out, label, dict spelled) except -1:
    cdef bytes text = spelled.get(label)
    if text is None:
        text = spelled[label] = as_bytes(previous_text(label))
    out_cell(out, text)


cdef bytes attribute_bytes(name):
    """The attribute of a feature as it stands in a line. Most names have only characters that stay as they are: looking at them takes a tenth as
    long as `attribute_text`, which knows what to do with the others."""
    cdef bytes text
    cdef const unsigned char* changes = ESCAPED
    cdef unsigned char c
    if name is not None:
        text = (<str>name).encode("utf-8", "surrogateescape")
        for c in text:
            if changes[c]:
                break
        else:
            return text
    return as_bytes(attribute_text(name))


def named_features(features, attributes, list labels):
    """The features of a layout with the names of their attributes, of unigrams and of bigrams, and labels: (attribute, previous label, label, weight)."""
    cdef list unigrams, bigrams, history = [*labels, -1, -2, None]     # None for 65535, which comes as -1
    cdef tuple feature, before
    unigrams, bigrams = attributes
    for feature in features:
        kind, attribute, previous, label, weight = feature
        if kind == "U":
            yield unigrams[attribute], None, labels[label], weight
        elif kind == "B":
            yield bigrams[attribute], labels[previous], labels[label], weight
        elif kind == "T":
            yield None, labels[previous], labels[label], weight
        else:
            before = previous
            yield bigrams[attribute], (history[before[0]], history[before[1]]), labels[label], weight


def feature_lines(features):
    """The lines of features (attribute, previous label, label, weight), as bytes, in pieces."""
    cdef Output text = Output()
    cdef bytes of_name = b""
    cdef dict spelled = {}      # of labels, which are previous ones, too
    last = features             # no attribute
    for name, previous, label, weight in features:
        if name is not last:
            of_name, last = attribute_bytes(name), name
        out_cell(&text.c, of_name)
        out_label(&text.c, previous, spelled)
        out_label(&text.c, label, spelled)
        out_significant(&text.c, weight)
        out_char(&text.c, b"\n")
        if text.c.n > PIECE:
            yield text.taken()
    yield text.taken()
