"""Strings looked up in tables; see strings.pyx."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from crfkit.memory cimport memcpy
from .structs cimport StringTableC


cdef inline uint64_t string_hash(const char* s, int64_t n) noexcept nogil:
    """64 mixed bits of n bytes: the same on every run, since tables are stored in model files."""
    cdef uint64_t h = <uint64_t>n * <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t word
    cdef uint32_t low, high
    while n > 8:
        memcpy(&word, s, 8)
        h = (h ^ word) * <uint64_t>0xD6E8FEB86659FD93
        h ^= h >> 32
        s += 8
        n -= 8
    if n >= 4:  # two words that may overlap read any length from 4 to 8
        memcpy(&low, s, 4)
        memcpy(&high, s + n - 4, 4)
        word = (<uint64_t>high << 32) | low
    elif n > 0:
        word = <unsigned char>s[0] | (<uint64_t><unsigned char>s[n >> 1] << 8) | (<uint64_t><unsigned char>s[n - 1] << 16)
    else:
        word = 0
    h = (h ^ word) * <uint64_t>0xD6E8FEB86659FD93
    h ^= h >> 32
    h *= <uint64_t>0xBF58476D1CE4E5B9
    return h ^ (h >> 29)


cdef inline bint same_bytes(const char* a, const char* b, int64_t n) noexcept nogil:
    """memcmp, of short strings without a call."""
    cdef uint64_t x, y
    cdef uint32_t p, q
    if n >= 8:
        while n > 8:
            memcpy(&x, a, 8)
            memcpy(&y, b, 8)
            if x != y:
                return False
            a += 8
            b += 8
            n -= 8
        memcpy(&x, a + n - 8, 8)
        memcpy(&y, b + n - 8, 8)
        return x == y
    if n >= 4:
        memcpy(&p, a, 4)
        memcpy(&q, b, 4)
        if p != q:
            return False
        memcpy(&p, a + n - 4, 4)
        memcpy(&q, b + n - 4, 4)
        return p == q
    while n > 0 and a[0] == b[0]:
        a += 1
        b += 1
        n -= 1
    return n <= 0


cdef inline int32_t strings_find(const StringTableC* t, const char* s, int64_t n, uint64_t h) noexcept nogil:
    """The id of a string whose hash is h, or -1. Bounds are checked on a mapped table too: a file is never trusted."""
    cdef uint64_t at = h & t.mask
    cdef uint64_t probes
    cdef uint32_t tag = <uint32_t>(h >> 32)
    cdef int64_t i, start
    for probes in range(t.mask + 1):
        if t.slot[at].ref == 0:
            return -1
        if t.slot[at].tag == tag:
            i = <int64_t>t.slot[at].ref - 1
            if i < t.n:
                start = t.offset[i]
                if (start >= 0 and start <= t.n_bytes - n and t.offset[i + 1] - start == n
                        and same_bytes(t.arena + start, s, n)):
                    return <int32_t>i
        at = (at + 1) & t.mask
    return -1


cdef inline int64_t strings_get(const StringTableC* t, int32_t i, const char** s) noexcept nogil:
    """Point s at string i and return its length; an id or offset out of range gives the empty string."""
    cdef int64_t start, end
    s[0] = t.arena
    if i < 0 or i >= t.n:
        return 0
    start, end = t.offset[i], t.offset[i + 1]
    if start < 0 or end < start or end > t.n_bytes:
        return 0
    s[0] = t.arena + start
    return end - start
