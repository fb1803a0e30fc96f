"""Attributes from Python, as rows; see items.pyx."""

from libc.stdint cimport int64_t

from .rows cimport Rows


cdef struct PlaceC:                     # for messages, counted from 1
    int64_t sentence, token


# Take one sentence in the place of what the rows had.
cdef int fill_sentence(Rows rows, sentence) except -1

# Append a str that is not plain ASCII, or bytes. Declared here so that the compiler does not inline it into the loop that
# seldom needs it.
cdef int copy_characters(Rows rows, text, const PlaceC* place) except -1
