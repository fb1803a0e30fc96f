"""What each attribute was seen with; see seen.pyx."""

from libc.stdint cimport int32_t, uint8_t

from crfkit.memory cimport BufferC
from crfkit.loops.structs cimport DatasetC


cdef class SeenPairs:
    cdef BufferC start      # int64 [n] where the values of an attribute begin
    cdef BufferC value      # uint32: labels, or pairs of labels as previous << 16 | label
    cdef BufferC n_seen     # int32 [n] how many there are
    cdef BufferC count      # int64 [n] how often the attribute occurs
    cdef BufferC marks      # int32 [labels] or [labels][labels]: the attribute it was last seen with, plus 1
    cdef int32_t n

    cdef int collect(self, int32_t n, const DatasetC* data, int32_t labels, bint edges) except -1 nogil
    cdef order(self, const int32_t[::1] kept, const uint8_t[::1] first)
