"""Buffers, in memory and in files, the class whose objects own them (memory.pxd), and Python's view of their numbers."""

import array
import os

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES
from libc.stddef cimport size_t
from libc.stdint cimport SIZE_MAX, int64_t, uintptr_t
from libc.stdlib cimport calloc, free, realloc
from posix.unistd cimport close

from crfkit.errors import FileError

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <sys/mman.h>
    #include <unistd.h>

    /* Bytes first .. last of a file on the disk, so that writing to them through a mapping cannot fail: 0, or why not. */
    static int crfkit_take_room(int file, long long first, long long last)
    {
        static const char zeros[1 << 16];
    #ifdef __linux__
        int failed;
        do
            failed = posix_fallocate(file, first, last - first);
        while (failed == EINTR);
        if (failed != EOPNOTSUPP && failed != EINVAL)
            return failed;
    #endif
        while (first < last) {
            long long n = last - first < (long long)sizeof zeros ? last - first : (long long)sizeof zeros;
            ssize_t written = pwrite(file, zeros, n, first);
            if (written < 0 && errno != EINTR)
                return errno;
            first += written > 0 ? written : 0;
        }
        return 0;
    }

    /* The bytes of a file; or, where that is negative, zeros for which the system promises no memory: it has to have as much as is touched,
     * not more than that. Their pages are small, as a large one would be touched by each number that stands alone. */
    static void *crfkit_map(int file, size_t n)
    {
        const int kind = file < 0 ? MAP_PRIVATE | MAP_ANON | MAP_NORESERVE : MAP_SHARED;
        void *found = mmap(NULL, n, PROT_READ | PROT_WRITE, kind, file, 0);
        if (found == MAP_FAILED)
            return NULL;
    #ifdef MADV_NOHUGEPAGE
        if (file < 0)
            (void)madvise(found, n, MADV_NOHUGEPAGE);
    #endif
        return found;
    }

    static int crfkit_transfer(int file, int writing, char *data, long long n, long long at)
    {
        while (n > 0) {
            ssize_t done = writing ? pwrite(file, data, n, at) : pread(file, data, n, at);
            if (done == 0 || (done < 0 && errno != EINTR))
                return done ? errno : EIO;
            if (done > 0)
                data += done, at += done, n -= done;
        }
        return 0;
    }

    static void crfkit_bring(int file, long long at, long long n)
    {
    #ifdef POSIX_FADV_WILLNEED
        posix_fadvise(file, at, n, POSIX_FADV_WILLNEED);
    #endif
    }
    """
    int crfkit_take_room(int file, long long first, long long last) nogil
    void* crfkit_map(int file, size_t n) nogil
    int crfkit_transfer(int file, int writing, char* data, long long n, long long at) nogil
    void crfkit_bring(int file, long long at, long long n) nogil
    int munmap(void* data, size_t n) nogil

cdef extern from "pages.h":
    void crfkit_large_pages(char* block, int64_t n) noexcept nogil

cdef enum:
    LEAST = 1 << 16         # bytes of a file


cdef class Arena:

    def __dealloc__(self):
        # The last to go: the buffers stand in the object itself, whose memory is given back after this.
        cdef BufferC* b
        while self.first != NULL:
            b = self.first
            self.first = b.next
            buffer_free(b)
            if b.unnamed:
                free(b)

    cdef void keep_data_in(self, bytes folder) noexcept:
        """From now on data_reserve makes files in this folder; None: it takes memory."""
        self.folder = folder
        self.path = <const char*>folder if folder is not None else NULL


cdef BufferC empty_buffer() noexcept nogil:
    return BufferC(NULL, NULL, 0, NULL, 0, False, False, False, NULL)


cdef int buffer_grow(BufferC* b, int64_t n, int64_t size) except -1 nogil:
    """What buffer_reserve does where there is not room enough."""
    cdef int64_t old, wanted
    cdef char* block
    cdef char* data
    if n < 0 or n > <int64_t>(SIZE_MAX // 4) // size:
        raise MemoryError("a table would take more than a quarter of the address space")
    wanted = n * size + size
    if b.folder != NULL:
        return file_grow(b, wanted)
    wanted = max(wanted, b.capacity + (b.capacity >> 1), 256)
    old = b.data - b.block if b.data != NULL else 0
    if b.mapped:
        block = <char*>crfkit_map(-1, <size_t>wanted + 64)
    elif b.unnamed:     # calloc leaves alone what the system gives as zeros: memory that nobody uses yet is not taken
        block = <char*>calloc(1, <size_t>wanted + 64)
    else:
        block = <char*>realloc(b.block, <size_t>wanted + 64)
    if block == NULL:
        raise MemoryError(f"no memory for a table of {wanted} bytes")
    data = <char*>((<uintptr_t>block + 63) & ~<uintptr_t>63)
    if b.capacity and data - block != old:
        memmove(data, block + old, <size_t>b.capacity)
    b.block, b.data, b.capacity = block, data, wanted
    if not b.mapped:
        crfkit_large_pages(block, wanted)
    return 0


cdef void buffer_free(BufferC* b) noexcept nogil:
    """Give the memory back at once; the buffer is empty and usable again, owned or not."""
    if b.mapped:
        if b.block != NULL:
            munmap(b.block, <size_t>b.capacity + 64)
    elif b.folder == NULL:
        free(b.block)
    elif b.block != NULL:
        munmap(b.block, <size_t>b.capacity)
        close(b.file)
    b.block, b.data, b.capacity = NULL, NULL, 0


cdef void buffer_swap(BufferC* a, BufferC* b) noexcept nogil:
    """The memory of each goes to the other; who owns the buffers stays."""
    a.data, b.data = b.data, a.data
    a.block, b.block = b.block, a.block
    a.capacity, b.capacity = b.capacity, a.capacity
    a.folder, b.folder, a.file, b.file = b.folder, a.folder, b.file, a.file


cdef void* unnamed(Arena arena, int64_t n, int64_t size, const char* folder, bint mapped=False) except NULL nogil:
    cdef BufferC* b = <BufferC*>calloc(1, sizeof(BufferC))
    if b == NULL:
        with gil:
            raise MemoryError("no memory for a table")
    b.unnamed, b.folder, b.mapped = True, folder, mapped
    return arena_reserve(arena, b, n, size)     # a new file has zeros, too


cdef void* arena_zeros(Arena arena, int64_t n, int64_t size) except NULL nogil:
    """A table of n items of `size` bytes, and one more, all zero, that is freed with the object `arena`."""
    return unnamed(arena, n, size, NULL)


cdef void* arena_mostly_unused(Arena arena, int64_t n, int64_t size) except NULL nogil:
    """arena_zeros for a table of which little will be touched: it may be larger than the memory of the system."""
    return unnamed(arena, n, size, NULL, mapped=True)


cdef void* data_reserve(Arena arena, BufferC* b, int64_t n, int64_t size) except NULL nogil:
    """arena_reserve for what grows with the corpus: in a file, if the arena has a folder."""
    if b.capacity == 0:
        b.folder = arena.path
    return arena_reserve(arena, b, n, size)


cdef void* data_zeros(Arena arena, int64_t n, int64_t size) except NULL nogil:
    """arena_zeros for what grows with the corpus: in a file, if the arena has a folder."""
    return unnamed(arena, n, size, arena.path)


cdef int open_file(BufferC* b) except -1:
    """A new file without a name."""
    import tempfile  # takes long, for what few ask for

    folder = os.fsdecode(<bytes>b.folder)
    try:
        os.makedirs(folder, exist_ok=True)      # another run that used it may just have removed it
        with tempfile.TemporaryFile(dir=folder, prefix="crfkit-") as file:
            b.file = os.dup(file.fileno())
    except OSError as error:
        raise FileError(f"{folder}: cannot create a file in it: {error.strerror}") from error


cdef int file_grow(BufferC* b, int64_t wanted) except -1 nogil:
    """buffer_grow for a buffer in a file."""
    cdef int failed
    if b.block == NULL:
        with gil:
            open_file(b)
    wanted = (max(wanted, b.capacity + (b.capacity >> 3), LEAST) + LEAST - 1) // LEAST * LEAST
    failed = crfkit_take_room(b.file, b.capacity, wanted)
    if not failed:
        if b.block != NULL:
            munmap(b.block, <size_t>b.capacity)
        b.block = b.data = <char*>crfkit_map(b.file, <size_t>wanted)
    if failed or b.block == NULL:
        with gil:
            if b.block == NULL:
                close(b.file)
                b.capacity = 0
            reason = os.strerror(failed) if failed else "it cannot be mapped into memory"
            raise FileError(f"{os.fsdecode(<bytes>b.folder)}: no room for {wanted:,} bytes of data: {reason}")
    b.capacity = wanted


cdef int transfer(BufferC* b, bint writing, char* data, int64_t n, int64_t at) except -1 nogil:
    """Copy n bytes to a file or from it without its mapping: what is large and used once is better read and written so."""
    cdef int failed = crfkit_transfer(b.file, writing, data, n, at)
    if failed:
        with gil:
            raise FileError(f"{os.fsdecode(<bytes>b.folder)}: data cannot be {'written' if writing else 'read'}: {os.strerror(failed)}")


cdef void bring(BufferC* b, int64_t at, int64_t n) noexcept nogil:
    """These bytes of a file will be read soon: the system may begin to."""
    crfkit_bring(b.file, at, n)


cdef object array_of(str form, const void* data, int64_t n):
    """A copy of n numbers, as an array."""
    cdef unsigned char[::1] to
    found = array.array(form, [0]) * n
    if n:
        to = memoryview(found).cast("B")
        memcpy(&to[0], data, to.shape[0])
    return found


cdef class Vector:
    """Numbers that an object owns, as a buffer: nothing is copied, and the object lives as long as the buffer."""
    cdef object owner
    cdef void* data
    cdef Py_ssize_t n, size
    cdef bytes form

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


cdef int restore_vectors(dict state, dict vectors) except -1:
    """Copy numbers from a state back to where `vector` took them from, by their names; ValueError if they are not of this form and number."""
    cdef const unsigned char[::1] source
    for name, own in vectors.items():
        given = memoryview(state[name])
        if (given.itemsize, given.nbytes) != (own.itemsize, own.nbytes):
            raise ValueError(f"{name}: {given.nbytes} bytes, expected {own.shape[0]} numbers")
        if own.nbytes:
            source = given.cast("B")
            memcpy((<Vector>own.obj).data, &source[0], given.nbytes)
