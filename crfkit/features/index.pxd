"""The index that taggers search; see index.pyx."""

from libc.stdint cimport int64_t

from .tables cimport Features


cdef class Index(Features):
    cdef readonly object sections
    cdef list mapped                # their buffers

    cdef bytes_of(self, str name, int64_t item, int64_t n=*)
    cdef const char* data(self, str name, int64_t item, int64_t n=*) except? NULL
    cdef strings(self, str name, bint verify)
    cdef int map_views(self, bint verify) except -1
    cdef int map_nodes(self) except -1
    cdef int map_literals(self) except -1
    cdef int verify(self) except -1
