"""Blocks with their labels as text."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.text.rows cimport Rows
from .scratch cimport HowC, Scratch
from crfkit.text.writing cimport OutC


cdef class Printer:
    cdef HowC how
    cdef bint probability, cells
    cdef int verbose, nbest
    cdef bytes separator            # None: each line's own
    cdef const char* between
    cdef int32_t between_len

    cdef int print_lines(self, Scratch x, Rows rows, OutC* out) except -1 nogil
    cdef int print_cells(self, Scratch x, Rows rows, OutC* out) except -1 nogil
    cdef int print_others(self, Rows rows, int64_t start, int64_t stop, bint close, OutC* out) except -1 nogil
    cdef int print_path(self, Scratch x, Rows rows, int64_t s, int64_t pos, int64_t rank, double score,
                        const uint16_t* labels, OutC* out) except -1 nogil
    cdef int print_label(self, Scratch x, int64_t t, int64_t j, OutC* out) except -1 nogil
    cdef int separate(self, Rows rows, int64_t t, OutC* out) except -1 nogil
