"""Features that depend on labels before their own, and keys for these features.

A bigram attribute has features (before, previous, label): `previous` is the label of the previous token, `before` of
the token before it; either may be ANY. Positions before the sentence have the labels L (_B-1) and L+1 (_B-2). The reach
of an attribute determines which of them it depends on (features/reach.pxd).

Features are stored in the rows of LayoutC's b_ptr in the order of their keys; without b_prev2 every `before` is ANY.
"""

from libc.stdint cimport int32_t, int64_t

from crfkit.loops.structs cimport LayoutC

cdef enum:
    ANY = 0xFFFF
    MOST_HISTORY_LABELS = 0xFFFD    # three numbers of 16 bits are taken


cdef inline int64_t key_of(int64_t before, int64_t previous, int64_t label) noexcept nogil:
    return (before << 32) | (previous << 16) | label


cdef inline int64_t history_key(const LayoutC* layout, int64_t f) noexcept nogil:
    """The key of feature f of the rich rows; a row is sorted by keys."""
    return key_of(ANY if layout.b_prev2 == NULL else layout.b_prev2[f], layout.b_prev[f], layout.b_label[f])


cdef inline int64_t history_begin(const LayoutC* layout, int32_t b, int64_t key) noexcept nogil:
    """The first feature of attribute b with this key or a greater one."""
    cdef int64_t low = layout.b_ptr[b], high = layout.b_ptr[b + 1], middle
    while low < high:
        middle = (low + high) >> 1
        if history_key(layout, middle) < key:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int64_t layout_history_cell(const LayoutC* layout, int32_t b, int32_t before, int32_t previous,
                                        int32_t label) noexcept nogil:
    """The cell of a feature of attribute b, or -1 if there is no such feature."""
    cdef int64_t key = key_of(before, previous, label), f = history_begin(layout, b, key)
    return layout.rich0 + f if f < layout.b_ptr[b + 1] and history_key(layout, f) == key else -1
