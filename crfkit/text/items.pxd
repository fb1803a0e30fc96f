"""Attributes from Python, as rows; see items.pyx."""

from libc.stdint cimport int64_t

from .rows cimport Rows


cdef struct PlaceC:                     # for messages, counted from 1
    int64_t sentence, token


cdef struct TextC:
    const char* s
    int64_t n


# Take one sentence in the place of what the rows had.
cdef int fill_sentence(Rows rows, sentence) except -1

# Append a str that is not plain ASCII, or bytes. Declared here so that the compiler does not inline it into the loop that
# seldom needs it.
cdef int copy_characters(Rows rows, text, const PlaceC* place) except -1

# The characters of a str that is plain ASCII, as nearly all are; False if it is anything else.
cdef bint plain_text(text, TextC* found) noexcept

# A label as bytes. Unless it is free to be anything, it can stand in a column.
cdef bytes label_of(label, const PlaceC* place, bint free)

# Rows whose arena has grown are ready to be read.
cdef void finish(Rows rows) noexcept
