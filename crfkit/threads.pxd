from libc.stdint cimport int64_t

cdef extern from "Python.h":            # as Cython takes 50 ms in every module to read all that cpython.exc needs
    int PyErr_CheckSignals() except -1


cdef class Threads:
    cdef list seats
    cdef int others
    cdef int process        # whose threads these are

    cdef int start(self) except -1
    cpdef int run(self, work, list shares) except -1
    cdef int in_shares(self, work, int what, int64_t n, int64_t most=*) except -1
