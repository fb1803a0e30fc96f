"""A buffer of bytes that grows: what is to be written, put together without the interpreter."""

from libc.stdint cimport INT64_MAX
from libc.stdlib cimport free, realloc


cdef int out_grow(OutC* out, int64_t extra) except -1 nogil:
    if extra > INT64_MAX // 2 - out.n:
        raise MemoryError
    cdef int64_t capacity = max(out.n + extra, 2 * out.capacity, <int64_t> 4096)
    cdef char* data = <char*> realloc(out.data, <size_t> capacity)
    if data == NULL:
        raise MemoryError
    out.data, out.capacity = data, capacity
    return 0


cdef class Output:
    """Owner of the buffer. Its room is kept when it is emptied."""

    def __dealloc__(self):
        free(self.c.data)

    def __len__(self):
        return self.c.n

    def getvalue(self):
        """The bytes written so far."""
        return self.c.data[:self.c.n]

    def write(self, const unsigned char[::1] data not None):
        """Append bytes."""
        if data.shape[0]:
            out_bytes(&self.c, <const char*> &data[0], data.shape[0])

    def reset(self):
        """Forget the bytes written so far."""
        self.c.n = 0
