"""Weights in double precision to those of a crfkit model, in the order of docs/model-format.md, and back."""

import array

from libc.stdint cimport int32_t, int64_t

from crfkit.loops.structs cimport LayoutC
from crfkit.weights.layout cimport Layout, feature_cell

cdef float LEAST = 1e-45  # the least number above zero


cdef inline float single(double weight, bint rest) noexcept:
    """A weight in single precision, or the rest of it."""
    cdef float most = <float>weight, least
    if not rest or most == 0:
        return most
    least = <float>(weight - most)
    return least if least != 0 else LEAST


def cells(const double[::1] u_weight not None, const double[::1] pairs, int64_t labels, const double[::1] b_weight not None, bint rest=False):
    """The cells of a layout without dense rows: unigram features, label pairs (None: there are none), bigram features.
    `rest`: what single precision leaves over of the weights, never zero where they are not."""
    cdef:
        int64_t i, j, padded = (labels + 7) // 8 * 8
        int64_t tau0 = (u_weight.shape[0] + 15) // 16 * 16
        int64_t rich0 = tau0 + (0 if pairs is None else labels * padded)
    if pairs is not None and pairs.shape[0] != labels * labels:
        raise ValueError(f"{pairs.shape[0]} label pairs of {labels} labels")
    found = array.array("f", bytes(4 * (rich0 + b_weight.shape[0])))
    cdef float[::1] cell = found if len(found) else None
    for i in range(u_weight.shape[0]):
        cell[i] = single(u_weight[i], rest)
    if pairs is not None:
        for i in range(labels):
            for j in range(labels):
                cell[tau0 + i * padded + j] = single(pairs[i * labels + j], rest)
    for i in range(b_weight.shape[0]):
        cell[rich0 + i] = single(b_weight[i], rest)
    return found


def doubles(Layout layout not None, const float[::1] cell not None):
    """What `cells` was given: unigram features, label pairs (None: there are none), bigram features."""
    cdef:
        const LayoutC* c = &layout.c
        int64_t f
        int32_t a, i, j
    if cell.shape[0] != c.n_cells:
        raise ValueError("weights of another layout")
    layout.verify()
    of_u, of_pairs, of_b = (array.array("d", bytes(8 * n)) for n in (c.u_ptr[c.A], c.L * c.L if c.has_tau else 0, c.b_ptr[c.B]))
    cdef double[::1] u = of_u if c.u_ptr[c.A] else None
    cdef double[::1] pair = of_pairs if c.has_tau else None
    cdef double[::1] b = of_b if c.b_ptr[c.B] else None
    for a in range(c.A):
        for f in range(c.u_ptr[a], c.u_ptr[a + 1]):
            u[f] = cell[feature_cell(c, a, f)]
    if c.has_tau:
        for i in range(c.L):
            for j in range(c.L):
                pair[i * c.L + j] = cell[c.tau0 + <int64_t>i * c.P + j]
    for f in range(c.b_ptr[c.B]):
        b[f] = cell[c.rich0 + f]
    return of_u, of_pairs if c.has_tau else None, of_b


def kept(const int32_t[::1] new not None):
    """Of new numbers, -1 for what is left out: the places of the others, and their numbers."""
    cdef int64_t i, n = 0
    places, numbers = (array.array("i", bytes(4 * new.shape[0])) for _ in range(2))
    cdef int32_t[::1] place = places if len(places) else None
    cdef int32_t[::1] number = numbers if len(places) else None
    for i in range(new.shape[0]):
        if new[i] >= 0:
            place[n], number[n] = <int32_t>i, new[i]
            n += 1
    return places[:n], numbers[:n]
