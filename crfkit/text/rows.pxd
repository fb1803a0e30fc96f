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
    cdef bint begun                     # the sentence began with '#'
    cdef bint[2] marked                 # whether a token began with '#': the first of a sentence with others, a later one

    cdef void finish(self) noexcept


cdef int add_row(Rows rows, row, int64_t sentence, int64_t token) except -1
