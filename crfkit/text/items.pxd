"""Attributes from Python, as rows; see items.pyx."""

from .rows cimport Rows


# Take one sentence in the place of what the rows had.
cdef int fill_sentence(Rows rows, sentence) except -1
