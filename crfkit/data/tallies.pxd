from libc.stdint cimport int64_t

from crfkit.memory cimport Arena
from .dataset cimport Dataset


cdef struct ValuesC:            # of an attribute, those that are not zero
    double n                    # how many; as all else here, so that it can be sent as one array
    double sum, squares
    double least, most


cdef class Values(Arena):
    cdef int64_t n, tokens
    cdef ValuesC* of            # by attribute

    cpdef int count(self, Dataset data) except -1
    cdef bint varies(self, int64_t a) noexcept
    cdef double spread(self) noexcept
