"""The numbers that rand() gives in glibc, and the order that CRFsuite makes of them: a sum of two numbers before, 31 and 3 back."""

from libc.stdint cimport int32_t, int64_t, uint32_t


cdef struct GlibcC:
    uint32_t[31] r
    int at


cdef inline uint32_t glibc_next(GlibcC* g) noexcept nogil:
    cdef uint32_t found = g.r[(g.at + 28) % 31] + g.r[g.at]
    g.r[g.at] = found
    g.at = (g.at + 1) % 31
    return found >> 1


cdef inline void glibc_seed(GlibcC* g) noexcept nogil:
    """As when a program begins, with the seed 1; the first 310 numbers are thrown away."""
    cdef int64_t x = 1
    cdef int k
    g.at = 3
    for k in range(31):
        g.r[k] = <uint32_t>x
        x = x * 16807 % 2147483647
    for k in range(310):
        glibc_next(g)


cdef inline void glibc_shuffle(GlibcC* g, int32_t* items, int64_t n) noexcept nogil:
    cdef int64_t k, j
    cdef int32_t x
    for k in range(n):
        j = glibc_next(g) % n
        x = items[j]
        items[j] = items[k]
        items[k] = x
