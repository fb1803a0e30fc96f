"""Where each attribute occurs: the data set, turned round."""

from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport Arena, BufferC


cdef class Occurrences(Arena):
    cdef readonly int32_t n
    cdef const int64_t* ptr         # [n+1] occurrences of an attribute: ptr[a] .. ptr[a+1]
    cdef const int32_t* token       # tokens, ascending, each once an attribute
    cdef const float* value         # or NULL: all 1
    cdef BufferC ptrs, tokens, values
