"""Weights in double precision to those of a crfkit model, in the order of docs/model-format.md."""

import array

from libc.stdint cimport int64_t


def cells(const double[::1] u_weight not None, const double[::1] pairs, int64_t labels, const double[::1] b_weight not None):
    """The cells of a layout without dense rows: unigram features, label pairs (None: there are none), bigram features."""
    cdef:
        int64_t i, j, padded = (labels + 7) // 8 * 8
        int64_t tau0 = (u_weight.shape[0] + 15) // 16 * 16
        int64_t rich0 = tau0 + (0 if pairs is None else labels * padded)
    if pairs is not None and pairs.shape[0] != labels * labels:
        raise ValueError(f"{pairs.shape[0]} label pairs of {labels} labels")
    found = array.array("f", bytes(4 * (rich0 + b_weight.shape[0])))
    cdef float[::1] cell = found if len(found) else None
    for i in range(u_weight.shape[0]):
        cell[i] = <float>u_weight[i]
    if pairs is not None:
        for i in range(labels):
            for j in range(labels):
                cell[tau0 + i * padded + j] = <float>pairs[i * labels + j]
    for i in range(b_weight.shape[0]):
        cell[rich0 + i] = <float>b_weight[i]
    return found
