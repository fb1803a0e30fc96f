"""Features as the lines of a dump."""

from crfkit.text.writing cimport OutC, Output, PIECE, out_bytes, out_char, out_significant

from crfkit.spelling import attribute_text, previous_text
from crfkit.values import as_bytes


cdef inline int out_cell(OutC* out, bytes text) except -1:
    out_bytes(out, text, len(text))
    out_char(out, b"\t")


cdef inline int out_label(OutC* out, label, dict spelled) except -1:
    cdef bytes text = spelled.get(label)
    if text is None:
        text = spelled[label] = as_bytes(previous_text(label))
    out_cell(out, text)


def feature_lines(features):
    """The lines of features (attribute, previous label, label, weight), as bytes, in pieces."""
    cdef Output text = Output()
    cdef bytes of_name = b""
    cdef dict spelled = {}      # of labels, which are previous ones, too
    last = features             # no attribute
    for name, previous, label, weight in features:
        if name is not last:
            of_name, last = as_bytes(attribute_text(name)), name
        out_cell(&text.c, of_name)
        out_label(&text.c, previous, spelled)
        out_label(&text.c, label, spelled)
        out_significant(&text.c, weight)
        out_char(&text.c, b"\n")
        if text.c.n > PIECE:
            yield text.taken()
    yield text.taken()
