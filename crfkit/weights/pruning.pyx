"""Layouts without features of weight zero, or without rare ones."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.structs cimport LayoutC, weight_of
from .cells cimport feature_cell, layout_cell, least_hot
from .layout cimport Layout, layout_clear_absent

import array as arrays


cdef zeros(str form, int64_t n):
    """An array of n zeros."""
    return arrays.array(form, [0]) * n


def pruned(Layout layout not None, const float[::1] w):
    """A layout without the features of weight zero: (layout, weights, new ids of the attributes, of the bigram ones).

    Attributes keep their order, except that dense rows stay in front; those without any feature left get the id -1."""
    cdef:
        const LayoutC* old = &layout.c
        Layout new
        int64_t f, n_pairs = 0
    if w.shape[0] != old.n_cells:
        raise ValueError("weights of another layout")
    layout.verify()
    u_ids, u_ptr, hot = numbered(old, False, w)
    b_ids, b_ptr, _ = numbered(old, True, w)
    u_label = left(old, False, w, u_ids, u_ptr, layout.sections["u_label"])
    of_b = [left(old, True, w, b_ids, b_ptr, layout.sections[name]) for name in ("b_prev", "b_label", "b_prev2") if name in layout.sections]
    for f in range(<int64_t>old.L * old.P if old.has_tau else 0):
        n_pairs += w[old.tau0 + f] != 0
    # if all label pairs have the weight zero, the model needs no matrix of them
    new = Layout(old.L, n_pairs > 0, hot, u_ptr, u_label, b_ptr, *of_b, verify=False)
    new.unverified = False      # it was just made
    new.c.n_pairs = n_pairs
    cdef float[::1] weights = zeros("f", new.c.n_cells)
    carry(old, &new.c, False, u_ids, w, weights)
    carry(old, &new.c, True, b_ids, w, weights)
    for f in range(<int64_t>new.c.L * new.c.P if n_pairs else 0):
        weights[new.c.tau0 + f] = w[old.tau0 + f]
    return new, weights.base, u_ids, b_ids


cdef inline int64_t cell_of(const LayoutC* layout, bint bigram, int32_t a, int64_t f) noexcept nogil:
    """The cell of feature f of attribute a."""
    return layout.rich0 + f if bigram else feature_cell(layout, a, f)


cdef tuple numbered(const LayoutC* old, bint bigram, const float[::1] w):
    """New ids of the unigram attributes, or of the bigram ones, that have features left, dense rows first; where the features of each begin; and how
    many have dense rows."""
    cdef:
        const int64_t* begin = old.b_ptr if bigram else old.u_ptr
        int64_t f
        int32_t a, n = 0, hot = 0
        int32_t[::1] size = zeros("i", old.B if bigram else old.A), new_id = zeros("i", size.shape[0])
    for a in range(size.shape[0]):
        new_id[a] = -1
        for f in range(begin[a], begin[a + 1]):
            size[a] += w[cell_of(old, bigram, a, f)] != 0
        n += size[a] > 0
    cdef int64_t[::1] ptr = zeros("q", n + 1)
    n = 0
    for dense in (True, False):
        for a in range(size.shape[0]):
            if size[a] and (not bigram and size[a] >= least_hot(old.P)) == dense:
                ptr[n + 1] = ptr[n] + size[a]
                new_id[a] = n
                n += 1
        hot = n if dense else hot
    return new_id.base, ptr.base, hot


cdef left(const LayoutC* old, bint bigram, const float[::1] w, const int32_t[::1] new_id, const int64_t[::1] ptr, const uint16_t[::1] labels):
    """Those of some labels, of each feature one, whose features are left."""
    cdef:
        const int64_t* begin = old.b_ptr if bigram else old.u_ptr
        int64_t f, k
        int32_t a
        uint16_t[::1] found = zeros("H", ptr[ptr.shape[0] - 1])
    for a in range(new_id.shape[0]):
        k = ptr[new_id[a]] if new_id[a] >= 0 else 0
        for f in range(begin[a], begin[a + 1]):
            if w[cell_of(old, bigram, a, f)] != 0:
                found[k] = labels[f]
                k += 1
    return found.base


cdef int carry(const LayoutC* old, const LayoutC* new, bint bigram, const int32_t[::1] new_id, const float[::1] w, float[::1] weights) except -1:
    """Copy the weights other than zero to the cells of the layout that has only their features."""
    cdef:
        const int64_t* begin = old.b_ptr if bigram else old.u_ptr
        int64_t f, k
        int32_t a
    for a in range(new_id.shape[0]):
        k = (new.b_ptr if bigram else new.u_ptr)[new_id[a]] if new_id[a] >= 0 else 0
        for f in range(begin[a], begin[a + 1]):
            if w[cell_of(old, bigram, a, f)] != 0:
                weights[cell_of(new, bigram, new_id[a], k)] = w[cell_of(old, bigram, a, f)]
                k += 1


def frequent(Layout layout not None, Dataset data not None, double least):
    """The layout that `Layout.build` made of these data, without features whose count is less than `least`: (layout, new ids
    of the unigram attributes, of the bigram ones). None if there are no such features. Features of bigram
    attributes stay. Counts are CRFsuite's: each occurrence counts its value, a label pair counts one, times the weight of the sequence."""
    cdef:
        int64_t s, t, u, k, cell, pairs
        int64_t left = 0
        double weight
    layout.check(data)
    if not layout.c.n_cells:
        return None
    cdef double[::1] count = zeros("d", layout.c.n_cells)
    cdef float[::1] keep = zeros("f", layout.c.n_cells)
    pairs = layout.c.tau0
    for s in range(data.c.n_seq):
        weight = weight_of(&data.c, s)
        for t in range(data.c.seq_ptr[s], data.c.seq_ptr[s + 1]):
            for u in range(data.c.u_ptr[t], data.c.u_ptr[t + 1]):
                cell = layout_cell(&layout.c, data.c.u_id[u], data.c.label[t])
                if cell >= 0:
                    count[cell] += weight * (1 if data.c.u_val == NULL else data.c.u_val[u])
            if layout.c.has_tau and t > data.c.seq_ptr[s]:
                count[pairs + <int64_t>data.c.label[t - 1] * layout.c.P + data.c.label[t]] += weight
    for k in range(layout.c.n_cells):
        count[k] = k >= layout.c.rich0 or count[k] >= least
    layout_clear_absent(&layout.c, &count[0], 0, layout.c.n_cells)
    for k in range(layout.c.n_cells):
        keep[k] = <float>count[k]
        left += keep[k] != 0
    if left == layout.n_features:
        return None
    found, _, *new = pruned(layout, keep)
    cdef unsigned char[::1] wanted = bytearray((<Layout>found).c.rich0 - (<Layout>found).c.tau0)
    for k in range(wanted.shape[0]):
        wanted[k] = keep[pairs + k] != 0
    (<Layout>found).tell_absent(wanted.base)
    return found, *new
