"""Threads that share a piece of work; see threads.pyx."""


cdef class Threads:
    cdef list seats

    cpdef int run(self, work, list shares) except -1
