"""How the features of paths differ from those of the true path, as short vectors."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport LayoutC, SentenceC


cdef struct FeatureC:
    int64_t cell        # of its weight
    int64_t slot        # where the table names it


cdef class Differences(Arena):
    """Scratch of one thread. After `take`, feature f < size has its weight in features[f].cell, and
    values[f * n + k] is what the true path has more of it than path k."""
    cdef int64_t n, size
    cdef FeatureC* features
    cdef double* values
    cdef BufferC feature_buffer, value_buffer, table
    cdef int64_t mask                   # slots of the table - 1; the table is empty between uses

    cdef int take(self, const LayoutC* layout, const SentenceC* sent, const uint16_t* paths, int64_t n) except -1 nogil
    cdef int add(self, const LayoutC* layout, const SentenceC* sent, const uint16_t* paths, int64_t t, int kind, int32_t id,
                 double value) except -1 nogil
    cdef double* row(self, int64_t cell) except NULL nogil
    cdef int widen(self) except -1 nogil
    cdef void products(self, double* out) noexcept nogil
