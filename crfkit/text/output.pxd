"""A buffer of bytes that grows: what is to be written, put together without the interpreter."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy


cdef struct OutC:
    char* data
    int64_t n, capacity


cdef int out_grow(OutC* out, int64_t extra) except -1 nogil


cdef inline int out_reserve(OutC* out, int64_t extra) except -1 nogil:
    """Room for that many more bytes at out.data + out.n."""
    if out.capacity - out.n < extra:
        out_grow(out, extra)
    return 0


cdef inline int out_bytes(OutC* out, const char* data, int64_t n) except -1 nogil:
    out_reserve(out, n)
    if n > 0:
        memcpy(out.data + out.n, data, <size_t> n)
        out.n += n
    return 0


cdef inline int out_char(OutC* out, char c) except -1 nogil:
    out_reserve(out, 1)
    out.data[out.n] = c
    out.n += 1
    return 0


cdef class Output:
    cdef OutC c
