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


cdef cut(values, int64_t n):
    """The first n of them; nothing is copied if these are all."""
    return values if len(values) == n else values[:n]


def pruned(Layout layout not None, const float[::1] w):
    """A layout without the features of weight zero: (layout, weights, new ids of the attributes, of the bigram ones).

    Attributes keep their order, except that dense rows stay in front; those without any feature left get the id -1."""
    cdef:
        const LayoutC* old = &layout.c
        Layout new
        int64_t f, n, n_pairs = 0
        int32_t hot = 0, n_u, n_b
    if w.shape[0] != old.n_cells:
        raise ValueError("weights of another layout")
    layout.verify()
    u_ids, b_ids = zeros("i", old.A), zeros("i", old.B)
    u_ptr, b_ptr = zeros("q", old.A + 1), zeros("q", old.B + 1)
    u_label, b_label = zeros("H", old.u_ptr[old.A]), zeros("H", old.b_ptr[old.B])
    b_prev, b_prev2 = b_label[:], b_label[:] if "b_prev2" in layout.sections else None
    n_u = keep_unigrams(old, w, u_ids, u_ptr, u_label, &hot)
    n_b = keep_bigrams(old, w, b_ids, b_ptr, b_label, b_prev, b_prev2)
    n = b_ptr[n_b]
    for f in range(<int64_t>old.L * old.P if old.has_tau else 0):
        n_pairs += w[old.tau0 + f] != 0
    # if all label pairs have the weight zero, the model needs no matrix of them
    new = Layout(old.L, n_pairs > 0, hot, cut(u_ptr, n_u + 1), cut(u_label, u_ptr[n_u]), cut(b_ptr, n_b + 1), cut(b_prev, n), cut(b_label, n),
                 None if b_prev2 is None else cut(b_prev2, n), verify=False)
    new.unverified = False      # it was just made
    new.c.n_pairs = n_pairs
    return new, carried(old, w, &new.c, u_ids), u_ids, b_ids


cdef int32_t keep_unigrams(const LayoutC* old, const float[::1] w, int32_t[::1] new_id, int64_t[::1] ptr, uint16_t[::1] label,
                           int32_t* hot) except -1:
    """Number the unigram attributes that have features left, those of dense rows first, and list their labels. Returns how many there
    are, and how many have dense rows in `hot`."""
    cdef:
        int64_t f, k = 0
        int32_t a, n = 0
        int dense
        int32_t[::1] size = zeros("i", old.A)
    for a in range(old.A):
        new_id[a] = -1
        for f in range(old.u_ptr[a], old.u_ptr[a + 1]):
            size[a] += w[feature_cell(old, a, f)] != 0
    for dense in range(1, -1, -1):
        for a in range(old.A):
            if size[a] and (size[a] >= least_hot(old.P)) == dense:
                for f in range(old.u_ptr[a], old.u_ptr[a + 1]):
                    if w[feature_cell(old, a, f)] != 0:
                        label[k] = old.u_label[f]
                        k += 1
                new_id[a] = n
                n += 1
                ptr[n] = k
        if dense:
            hot[0] = n
    return n


cdef int32_t keep_bigrams(const LayoutC* old, const float[::1] w, int32_t[::1] new_id, int64_t[::1] ptr, uint16_t[::1] label,
                          uint16_t[::1] previous, uint16_t[::1] before) except -1:
    """Number the bigram attributes that have features left, and list their labels. Returns how many there are."""
    cdef:
        int64_t f, k = 0
        int32_t b, n = 0
    for b in range(old.B):
        for f in range(old.b_ptr[b], old.b_ptr[b + 1]):
            if w[old.rich0 + f] != 0:
                label[k], previous[k] = old.b_label[f], old.b_prev[f]
                if old.b_prev2 != NULL:
                    before[k] = old.b_prev2[f]
                k += 1
        new_id[b] = n if k > ptr[n] else -1
        if k > ptr[n]:
            n += 1
            ptr[n] = k
    return n


cdef carried(const LayoutC* old, const float[::1] w, const LayoutC* c, const int32_t[::1] new_id):
    """The weights other than zero, in the cells of the layout that has only their features."""
    cdef:
        int64_t f, k
        int32_t a
        float[::1] v
    cells = zeros("f", c.n_cells)
    v = cells
    for a in range(old.A):
        k = c.u_ptr[new_id[a]] if new_id[a] >= 0 else 0
        for f in range(old.u_ptr[a], old.u_ptr[a + 1]):
            if w[feature_cell(old, a, f)] != 0:
                v[feature_cell(c, new_id[a], k)] = w[feature_cell(old, a, f)]
                k += 1
    for f in range(<int64_t>c.L * c.P if c.has_tau else 0):
        v[c.tau0 + f] = w[old.tau0 + f]
    k = c.rich0
    for f in range(old.b_ptr[old.B]):
        if w[old.rich0 + f] != 0:
            v[k] = w[old.rich0 + f]
            k += 1
    return cells


def frequent(Layout layout not None, Dataset data not None, double least):
    """The layout that `Layout.build` made of these data, without features whose count is less than `least`: (layout, new ids
    of the unigram attributes, of the bigram ones). None if there are no such features. Features of bigram
    attributes stay. Counts are CRFsuite's: each occurrence counts its value, a label pair counts one, times the weight of the sequence."""
    cdef:
        int64_t s, t, u, k, cell, pairs
        int64_t left = 0
        bint negative = False
        double weight
    layout.check(data)
    for u in range(data.c.u_ptr[data.c.n_tok] if data.c.u_val != NULL else 0):
        negative = negative or data.c.u_val[u] < 0
    if (least <= 0 and not negative) or not layout.c.n_cells:
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
