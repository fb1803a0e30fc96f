from libc.stdint cimport int32_t, int64_t, uint64_t

from crfkit.memory cimport Arena, BufferC
from .structs cimport StringTableC


cdef class StringTable(Arena):
    cdef StringTableC c
    cdef BufferC slots, offsets, bytes
    cdef object mapped              # the buffers of a read-only table, kept alive; None when growable

    cdef int32_t intern(self, const char* s, int64_t n) except -1 nogil
    cdef int32_t add(self, const char* s, int64_t n, uint64_t h) except -1 nogil
    cdef int reserve(self, int64_t n, int64_t n_bytes) except -1 nogil
    cdef void freeze(self) noexcept
    cpdef StringTable copy(self)
    cdef void shrink(self, int64_t n) noexcept
