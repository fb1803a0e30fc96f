from libc.stdint cimport int64_t, uint16_t

from crfkit.loops.structs cimport LatticeC
from crfkit.memory cimport Arena

cdef enum:
    MOST_SEEN = 16              # labels


cdef class Possible(Arena):
    cdef int64_t n_tok, n_sets
    cdef const uint16_t* set    # [n_tok] its set; the first one: the label that the data have
    cdef const int64_t* ptr     # [n_sets+1] the labels of each, ascending; none: any label
    cdef const uint16_t* member

    cdef list views(self)
    cdef bint given(self, int64_t t) noexcept nogil
    cdef int64_t seen(self, int64_t t, const uint16_t** labels) noexcept nogil
    cdef bint restrict(self, LatticeC* lat, const uint16_t* given, int64_t first) noexcept nogil
