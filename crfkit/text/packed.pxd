from libc.stdint cimport int32_t, int64_t

from .rows cimport Rows


cdef class Packed:
    cdef bytes data
    cdef int64_t n_tok, n_attr, n_bytes

    cdef const int64_t* ends(self) noexcept         # [n_tok] behind the last attribute of each token
    cdef const double* values(self) noexcept        # [n_attr]
    cdef const int32_t* lengths(self) noexcept      # [n_attr] of their names
    cdef const char* names(self) noexcept           # one after the other
    cdef int add_to(self, Rows rows) except -1


cdef Packed packed(Rows rows, dict exact)
