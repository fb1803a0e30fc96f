"""Numbers in the memory of an object, for Python to look at; see vectors.pyx."""

from libc.stdint cimport int64_t


cdef class Vector:
    cdef object owner
    cdef void* data
    cdef Py_ssize_t n, size
    cdef bytes form


cdef object vector(object owner, str form, const void* data, int64_t n)
cdef int take(dict state, str name, str form, void* data, int64_t n) except -1
