"""Strings looked up in tables; see strings.pyx."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from crfkit.text.scanning cimport same_bytes, string_hash
from .structs cimport StringTableC


cdef inline int32_t strings_find_hashed(const StringTableC* t, const char* s, int64_t n, uint64_t h) noexcept nogil:
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


cdef inline int32_t strings_find(const StringTableC* t, const char* s, int64_t n) noexcept nogil:
    """The id of a string, or -1."""
    return strings_find_hashed(t, s, n, string_hash(s, n))


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
