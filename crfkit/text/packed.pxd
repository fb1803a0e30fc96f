from libc.stdint cimport int32_t, int64_t

from .rows cimport Rows


cdef class Packed:
    cdef bytes data
    cdef int64_t n_tok, n_attr, n_bytes

    cdef int64_t* ends          # [n_tok] behind the last attribute of each token
    cdef double* values         # [n_attr]
    cdef int32_t* lengths       # [n_attr] of their names
    cdef char* names            # one after the other
    cdef int add_to(self, Rows rows) except -1


cdef Packed packed(Rows rows, dict exact)
