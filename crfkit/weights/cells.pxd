"""The cells of a layout that hold the weights of an attribute, and keys of its features that depend on labels before their own.

A bigram attribute has features (before, previous, label): `previous` is the label of the previous token, `before` of
the token before it; either may be ANY. Positions before the sentence have the labels L (_B-1) and L+1 (_B-2). The reach
of an attribute determines which of them it depends on (features/reach.pxd).

Features are stored in the rows of LayoutC's b_ptr in the order of their keys; without b_prev2 every `before` is ANY.
"""

from libc.stdint cimport int32_t, int64_t

from crfkit.loops.structs cimport LayoutC, weight_t

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


cdef inline int32_t padded(int32_t labels) noexcept nogil:
    """Cells of a row of this many labels, padded to whole vectors."""
    return (labels + 7) // 8 * 8


cdef inline int64_t pairs_begin(int64_t n) noexcept nogil:
    """The first cell of the plain label pairs, after the n cells of unigram features: on the boundary of a vector."""
    return (n + 15) // 16 * 16


cdef inline int64_t least_hot(int32_t P) noexcept nogil:
    """How many features an attribute must have for a dense row. That pays from about a sixth of the labels on: with fewer,
    most of the row would be zeros."""
    return max(2, (P + 5) // 6)


cdef inline int64_t feature_cell(const LayoutC* layout, int32_t a, int64_t f) noexcept nogil:
    """The cell of feature f, one of attribute a."""
    if a < layout.H:
        return <int64_t>a * layout.P + layout.u_label[f]
    return layout.cold0 + f - layout.u_ptr[layout.H]


cdef inline int64_t rich_features(const LayoutC* layout, const int32_t* b_id, int64_t first, int64_t last) noexcept nogil:
    """How many features the bigram attributes b_id[first] .. b_id[last - 1] have."""
    cdef int64_t u, n = 0
    for u in range(first, last):
        n += layout.b_ptr[b_id[u] + 1] - layout.b_ptr[b_id[u]]
    return n


cdef inline int64_t pairs_row(const LayoutC* layout) noexcept nogil:
    """The last row, that of all plain label pairs together."""
    return <int64_t>layout.A + layout.B


cdef inline int64_t layout_row(const LayoutC* layout, int64_t r, int64_t* first) noexcept nogil:
    """The first cell of a row, and how many it has. Rows are unigram attributes, then rich bigram attributes, then all
    plain label pairs together."""
    cdef int64_t b = r - layout.A
    if r < layout.H:
        first[0] = r * layout.P
        return layout.P
    if r < layout.A:
        first[0] = layout.cold0 + layout.u_ptr[r] - layout.u_ptr[layout.H]
        return layout.u_ptr[r + 1] - layout.u_ptr[r]
    if b < layout.B:
        first[0] = layout.rich0 + layout.b_ptr[b]
        return layout.b_ptr[b + 1] - layout.b_ptr[b]
    first[0] = layout.tau0
    return <int64_t>layout.L * layout.P if layout.has_tau else 0


cdef inline void multiply_row(const LayoutC* layout, int64_t r, double by, weight_t* w) noexcept nogil:
    """Multiply the weights of a row."""
    cdef int64_t k, first, n = layout_row(layout, r, &first)
    for k in range(first, first + n):
        w[k] = <weight_t>(w[k] * by)


cdef inline int64_t layout_cell(const LayoutC* layout, int32_t a, int32_t label) noexcept nogil:
    """The cell of attribute a with this label, or -1 if there is no such feature."""
    cdef int64_t low, high, middle
    if a < layout.H and layout.u_exists != NULL:
        low = <int64_t>a * layout.P + label
        return low if layout.u_exists[low >> 3] >> (low & 7) & 1 else -1
    low, high = layout.u_ptr[a], layout.u_ptr[a + 1]
    while low < high:
        middle = (low + high) >> 1
        if layout.u_label[middle] < label:
            low = middle + 1
        else:
            high = middle
    if low < layout.u_ptr[a + 1] and layout.u_label[low] == label:
        return feature_cell(layout, a, low)
    return -1


cdef inline int64_t row_cell(const LayoutC* layout, int64_t r, int32_t previous, int32_t label) noexcept nogil:
    """The cell of a row's feature with this label, which for bigrams comes after `previous`; -1 if there is no such feature."""
    cdef int64_t k = <int64_t>previous * layout.P + label
    if r < layout.A:
        return layout_cell(layout, <int32_t>r, label)
    if r < pairs_row(layout):
        return layout_history_cell(layout, <int32_t>(r - layout.A), ANY, previous, label)
    return layout.tau0 + k if layout.tau_mask[k] else -1
