"""Grow-only buffers on cache-line boundaries, for every loop that does not know its sizes beforehand.

A BufferC starts as zeros, lives in a struct or an extension class, and is freed by its owner's __dealloc__.
Growing goes through realloc, so a large buffer is remapped by the system and not copied.
"""

from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove


cdef struct BufferC:
    char* data          # aligned to 64 bytes, or NULL
    char* block         # what realloc returned
    int64_t capacity    # bytes from data on


cdef inline int buffer_reserve(BufferC* b, int64_t n, int64_t size) except -1 nogil:
    """Make room for n items of `size` bytes; what is there stays. The capacity at least grows by half."""
    if n < 0 or n > (<int64_t>1 << 62) // size:
        raise MemoryError("a table would be larger than the address space")
    return 0 if n * size <= b.capacity else buffer_grow(b, n * size)


cdef inline int buffer_grow(BufferC* b, int64_t wanted) except -1 nogil:
    """Apart, so that the check alone is compiled into loops."""
    cdef int64_t old
    cdef char* block
    cdef char* data
    wanted = max(wanted, b.capacity + (b.capacity >> 1), 256)
    old = b.data - b.block if b.data != NULL else 0
    block = <char*>realloc(b.block, <size_t>wanted + 64)
    if block == NULL:
        raise MemoryError(f"no memory for a table of {wanted} bytes")
    data = <char*>((<uintptr_t>block + 63) & ~<uintptr_t>63)
    if b.capacity and data - block != old:
        memmove(data, block + old, <size_t>b.capacity)
    b.block, b.data, b.capacity = block, data, wanted
    return 0


cdef inline void buffer_free(BufferC* b) noexcept nogil:
    """Give the memory back; the buffer is empty and usable again."""
    free(b.block)
    b.block, b.data, b.capacity = NULL, NULL, 0
