"""Features as the lines of a dump."""

from crfkit.text.writing cimport OutC, Output, PIECE, out_bytes, out_char, out_significant

from crfkit.spelling import attribute_text, previous_text
from crfkit.values import as_bytes


cdef inline int out_cell(OutC* out, bytes text) except -1:
    out_bytes(out, text, len(text))
    out_char(out, b"\t")


def feature_lines(features):
    """The lines of features (attribute, previous label, label, weight), as bytes, in pieces."""
    cdef Output text = Output()
    cdef bytes of_name = b"", of_previous, of_label
    cdef dict spelled = {}      # of labels, which are previous ones, too
    last = features             # no attribute
    for name, previous, label, weight in features:
        if name is not last:
            of_name, last = as_bytes(attribute_text(name)), name
        of_previous = spelled.get(previous)
        if of_previous is None:
            of_previous = spelled[previous] = as_bytes(previous_text(previous))
        of_label = spelled.get(label)
        if of_label is None:
            of_label = spelled[label] = as_bytes(previous_text(label))
        out_cell(&text.c, of_name)
        out_cell(&text.c, of_previous)
        out_cell(&text.c, of_label)
        out_significant(&text.c, weight)
        out_char(&text.c, b"\n")
        if text.c.n > PIECE:
            yield text.taken()
    yield text.taken()
