"""Grow-only buffers on cache-line boundaries, for every loop that does not know its sizes beforehand.

A BufferC starts as zeros. Growing goes through realloc, so a large buffer is remapped by the system and not copied.
There are three ways to use one:

    in a class      cdef class Lattice(Arena):              the class is an Arena, and has buffers as attributes,
                        cdef BufferC rows                   or structs that hold buffers;
                    arena_reserve(self, &self.rows, n, 8)   with the first memory it gets, a buffer becomes the arena's,
                                                            and is freed with the object: no __dealloc__ to write
    of one size     self.sums = <double*>arena_zeros(self, n, sizeof(double))       the buffer needs no name, and never grows
    for a while     cdef BufferC found = empty_buffer()
                    try: buffer_reserve(&found, n, 4)
                    finally: buffer_free(&found)

All of these return where the memory is, never NULL. What grows with a corpus is reserved by data_reserve, or data_zeros. If its arena
has a folder (--data-dir), it lies there in a file that is mapped into memory. The system keeps in memory what is in use, and writes the
rest to the disk. A file loses its name as soon as it is made. So nothing is left behind, however a run ends, and no run sees the files of
another one. Room on the disk is taken before it is used: a full disk is an error, not a signal.
"""

from libc.stdint cimport int64_t

cdef extern from "<string.h>" nogil:    # what is in use, as Cython takes 20 ms in every module to read the whole of libc.string
    void* memcpy(void* to, const void* source, size_t n)
    void* memmove(void* to, const void* source, size_t n)
    void* memset(void* to, int byte, size_t n)
    void* memchr(const void* s, int byte, size_t n)
    int memcmp(const void* a, const void* b, size_t n)


cdef struct BufferC:
    char* data          # aligned to 64 bytes, or NULL
    char* block         # what realloc returned
    int64_t capacity    # bytes from data on
    const char* folder  # where its file is, or NULL: in memory
    int file            # descriptor, if there is a folder and a block
    bint mapped         # the block is a mapping without a file
    bint unnamed        # it stands in memory of its own
    bint owned          # by an arena, and
    BufferC* next       # the next one of its list


cdef class Arena:
    """An object that owns buffers: all that arena_reserve gave memory to are freed with it."""
    cdef BufferC* first
    cdef readonly bytes folder      # where data_reserve makes files, or None: in memory
    cdef const char* path           # the same

    cdef void keep_data_in(self, bytes folder) noexcept


cdef BufferC empty_buffer() noexcept nogil
cdef int buffer_grow(BufferC* b, int64_t n, int64_t size) except -1 nogil
cdef void buffer_free(BufferC* b) noexcept nogil
cdef void buffer_swap(BufferC* a, BufferC* b) noexcept nogil
cdef int transfer(BufferC* b, bint writing, char* data, int64_t n, int64_t at) except -1 nogil
cdef void bring(BufferC* b, int64_t at, int64_t n) noexcept nogil


cdef inline void* buffer_reserve(BufferC* b, int64_t n, int64_t size) except NULL nogil:
    """Make room for n items of `size` bytes and one more; what is there stays. The capacity at least grows by half."""
    if not 0 <= n < b.capacity // size:
        buffer_grow(b, n, size)
    return b.data


cdef inline void arena_own(Arena arena, BufferC* b) noexcept nogil:
    """From now on the memory of a buffer that stands in the object `arena`, at a place where it stays, is freed with it."""
    if not b.owned:
        b.owned, b.next, arena.first = True, arena.first, b


cdef inline void* arena_reserve(Arena arena, BufferC* b, int64_t n, int64_t size) except NULL nogil:
    """buffer_reserve for a buffer that stands in the object `arena`, at a place where it stays, and is freed with it."""
    arena_own(arena, b)
    return buffer_reserve(b, n, size)


cdef void* data_reserve(Arena arena, BufferC* b, int64_t n, int64_t size) except NULL nogil
cdef void* arena_zeros(Arena arena, int64_t n, int64_t size) except NULL nogil
cdef void* arena_mostly_unused(Arena arena, int64_t n, int64_t size) except NULL nogil
cdef void* data_zeros(Arena arena, int64_t n, int64_t size) except NULL nogil


cdef object array_of(str form, const void* data, int64_t n)
cdef object vector(object owner, str form, const void* data, int64_t n)
cdef int restore_vectors(dict state, dict vectors) except -1
