from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport Arena, BufferC

cdef packed struct FoundC:      # a feature, in the order in which they are met
    int64_t key
    int32_t a           # its attribute


cdef class Evidence(Arena):
    cdef bint bigram
    cdef int64_t n, size        # attributes, features (some more than once)
    cdef BufferC counts, features
    cdef int64_t* count         # [n]
    cdef FoundC* found          # [size]
    cdef int32_t most           # the largest number of a label
