"""Blocks of input parsed into rows."""

from libc.stdint cimport int32_t, int64_t

from .table cimport Table


cdef struct FaultC:
    const char* kind        # name in faults.py
    int64_t offset          # in the text
    int64_t found, expected


cdef class Rows(Table):
    cdef FaultC fault
    cdef object block                   # keeps the text alive
    cdef public bint loose              # text need not be UTF-8, and columns are split at both tabs and blanks
    cdef public bint spelled            # a str from Python may stand for the list of its characters, as in python-crfsuite
    cdef int64_t counted, counted_to    # lines, and up to which byte: who asks for the line of each sentence has all counted once
    cdef bint[2] marked                 # whether a token began with '#': the first of a sentence, a later one

    cdef int parse_text(self, const char* text, int64_t n, int64_t skip, int32_t n_cols) except -1 nogil
    cdef int add_line(self, int64_t start, int64_t stop) except -1 nogil
    cdef int add_cells(self, int64_t start, int64_t stop) except -1 nogil
    cdef int add_attributes(self, int64_t start, int64_t stop) except -1 nogil
    cdef int add_weight(self, int64_t start, int64_t stop) except -1 nogil
    cdef int add_name(self, int64_t start, int64_t stop, bint escaped, int64_t* at, int32_t* n) except -1 nogil
    cdef int end_paragraph(self) except -1 nogil
    cdef void finish(self) noexcept
    cdef int add_row(self, row, int64_t sentence, int64_t token) except -1
    cdef int fail(self, const char* kind, int64_t offset, int64_t found=*, int64_t expected=*) noexcept nogil
