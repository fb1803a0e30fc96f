from libc.stdint cimport int64_t

from crfkit.memory cimport Arena
from crfkit.loops.structs cimport VisitsC
from .nests cimport Nests


cdef class Visits(Arena):
    cdef Nests nests
    cdef VisitsC c

    cdef VisitsC of(self, int64_t token) noexcept nogil
