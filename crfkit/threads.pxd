"""Threads that share a piece of work; see threads.pyx."""


cdef class Threads:
    cdef list seats
    cdef int others
    cdef int process        # whose threads these are

    cdef int start(self) except -1
    cpdef int run(self, work, list shares) except -1
