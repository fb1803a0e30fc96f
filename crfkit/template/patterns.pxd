from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport Arena, BufferC
from crfkit.text.table cimport RowsC

cdef enum:
    UNIGRAM = 1
    BIGRAM = 2

cdef struct ItemC:
    char kind               # l(iteral), x, t, m
    bint lower, absolute
    int64_t offset
    int32_t column
    const char* text        # literal, or regular expression; ends with a zero byte
    int64_t n


cdef class Patterns(Arena):
    cdef readonly int32_t last_column   # that any of them reads, or -1
    cdef int32_t n
    cdef bint single
    cdef readonly int32_t plain         # the pattern of plain pairs of labels, or -1
    cdef ItemC* items
    cdef int32_t* starts                # [n+1] where the items of each begin
    cdef int32_t* kinds                 # [n] UNIGRAM, BIGRAM or both
    cdef list held                      # what the items point to

    cdef int64_t expand(self, int32_t pattern, const RowsC* rows, int64_t first, int64_t T, int64_t t, BufferC* line) except -1 nogil
