from libc.stdint cimport int64_t

cdef extern from "Python.h":            # as Cython takes 50 ms in every module to read all that cpython.exc needs
    int PyErr_CheckSignals() except -1

# A share of its owner's work: items first .. last - 1. Python cannot call what only the owner may ask for, and when.
ctypedef int (*share_t)(object owner, int what, int64_t first, int64_t last) except -1


cdef class Threads:
    cdef list seats
    cdef int others
    cdef int process        # whose threads these are

    cdef int start(self) except -1
    cpdef int run(self, work, list shares) except -1
    cdef int in_shares(self, owner, share_t share, int what, int64_t n, int64_t most=*) except -1
