"""Numbers in the memory of an object, for Python to look at."""

import array

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES


cdef class Vector:
    """Numbers that an object owns, as a buffer: nothing is copied, and the object lives as long as the buffer."""

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        buffer.obj = self
        buffer.buf, buffer.len, buffer.itemsize = self.data, self.n * self.size, self.size
        buffer.readonly, buffer.ndim = True, 1
        buffer.format = <char*>self.form if flags & PyBUF_FORMAT else NULL
        buffer.shape = &self.n if flags & PyBUF_ND else NULL
        buffer.strides = &self.size if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        buffer.suboffsets = NULL
        buffer.internal = NULL


cdef object vector(object owner, str form, const void* data, int64_t n):
    """n numbers of an object. The form is a letter that `array` knows. They may not move while they are looked at."""
    cdef Vector it = Vector()
    it.owner, it.data, it.n = owner, <void*>data, n
    it.form, it.size = form.encode(), array.array(form).itemsize
    return memoryview(it)


cdef int take(dict state, str name, str form, void* data, int64_t n) except -1:
    """Back from a state to where `vector` took it from; ValueError if it is not of this form and number."""
    cdef const unsigned char[::1] source
    given = memoryview(state[name])
    if (given.itemsize, given.nbytes) != (array.array(form).itemsize, given.itemsize * n):
        raise ValueError(f"{name}: {given.nbytes} bytes, expected {n} numbers")
    if n:
        source = given.cast("B")
        memcpy(data, &source[0], given.nbytes)
    return 0
