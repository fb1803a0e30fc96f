"""The cells of a layout that hold the weights of an attribute."""

from libc.stdint cimport int32_t, int64_t

from crfkit.loops.structs cimport LayoutC, weight_t
from .history cimport ANY, layout_history_cell


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
