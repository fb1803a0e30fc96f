"""Pairs of numbers numbered in order of first occurrence: cell tuples, as (tuple without its last cell, last cell).

While a corpus is read, a table grows and gives ids. Packed, it is read only, and an entry holds the attributes
of its gram: what identifies the gram is then where its entry stands, and one cache line answers the question.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.memory cimport Arena, BufferC, arena_own, buffer_free, buffer_reserve, buffer_swap, empty_buffer, memset
from .structs cimport GramC, GramTableC


cdef inline uint64_t gram_hash(uint32_t a, uint32_t b) noexcept nogil:
    """32 mixed bits."""
    cdef uint64_t h = ((<uint64_t>a << 32) | b) * <uint64_t>0x9E3779B97F4A7C15
    h = (h ^ (h >> 32)) * <uint64_t>0xD6E8FEB86659FD93
    return h >> 32


cdef inline GramC* gram_slot(const GramTableC* t, uint32_t a, uint32_t b) noexcept nogil:
    """The slot of a gram, or the free one where it belongs."""
    cdef GramC* slot = <GramC*>t.slots.data
    cdef uint64_t at = gram_hash(a, b) & t.mask
    while slot[at].ref and not (slot[at].a == a and slot[at].b == b):
        at = (at + 1) & t.mask
    return slot + at


cdef inline int grams_grow(Arena arena, GramTableC* t, int64_t n) except -1 nogil:
    cdef BufferC before = empty_buffer()
    cdef const GramC* was
    cdef int64_t size = 16, i, old_size = <int64_t>t.mask + 1 if t.slots.data != NULL else 0
    while n * 3 > size * 2:
        size *= 2
    buffer_reserve(&before, size, sizeof(GramC))
    arena_own(arena, &t.slots)
    memset(before.data, 0, <size_t>size * sizeof(GramC))
    buffer_swap(&before, &t.slots)
    t.mask = <uint64_t>size - 1
    was = <const GramC*>before.data
    for i in range(old_size):
        if was[i].ref:
            gram_slot(t, was[i].a, was[i].b)[0] = was[i]
    buffer_free(&before)


cdef inline int grams_reserve(Arena arena, GramTableC* t, int64_t more) except -1 nogil:
    """Make room for so many more grams, in a table that stands in the arena: 1.5 to 3 slots a gram."""
    if t.slots.data == NULL or (t.n + more) * 3 > <int64_t>(t.mask + 1) * 2:
        grams_grow(arena, t, t.n + more)


cdef inline void grams_prefetch(const GramTableC* t, uint32_t a, uint32_t b) noexcept nogil:
    """Prefetch where the search for a gram starts."""
    crfkit_prefetch(<const GramC*>t.slots.data + (gram_hash(a, b) & t.mask))


cdef inline int32_t grams_intern(GramTableC* t, uint32_t a, uint32_t b) except -1 nogil:
    """The id of a gram, a new one if it was never seen. There must be room for one more: see grams_reserve."""
    cdef GramC* slot = gram_slot(t, a, b)
    if slot.ref == 0:
        if t.n >= 0x7FFFFFFE:
            raise OverflowError("more than two thousand million different cell tuples")
        t.n += 1
        slot[0] = GramC(a, b, <uint32_t>t.n)
    return <int32_t>(slot.ref - 1)


cdef inline int32_t grams_find(const GramTableC* t, uint32_t a, uint32_t b, int32_t unknown) noexcept nogil:
    """The id of a gram, or what stands for an unknown one."""
    cdef uint32_t ref = gram_slot(t, a, b).ref if t.slots.data != NULL else 0
    return <int32_t>(ref - 1) if ref else unknown


cdef inline int64_t packed_home(uint32_t a, uint32_t b, int64_t n_entries) noexcept nogil:
    """Where the search for a gram starts: any number of entries will do, not powers of two alone."""
    return <int64_t>((gram_hash(a, b) * <uint64_t>n_entries) >> 32)


cdef inline int32_t packed_find(const int32_t* entry, int64_t n_entries, int64_t width, int32_t a, int32_t b,
                                int64_t at) noexcept nogil:
    """The number of the entry (a, b, attributes...) of a gram, searched from its home, or -1."""
    cdef int64_t probes
    cdef const int32_t* e
    for probes in range(n_entries):
        e = entry + at * width
        if e[0] == a and e[1] == b:
            return <int32_t>at
        if e[0] < 0:
            return -1
        at += 1
        if at == n_entries:
            at = 0
    return -1
