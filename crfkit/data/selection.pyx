"""Selection of attributes by mutual information with the label, before training.

An attribute is present at a token or absent, whatever its value. Its mutual information with the label y (also called
information gain) is, in nats,

    I = sum over present, absent and over y of  P(presence, y) log( P(presence, y) / (P(presence) P(y)) )

with the frequencies of the corpus as probabilities; sequences count by their weights. The attributes of rich edges
are judged in the same way, by the label of the token where they stand.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint8_t

from .dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.memory cimport Arena, arena_zeros, memset
from crfkit.loops.structs cimport DatasetC, weight_of

cdef enum:
    CELLS = 1 << 23         # counts kept at a time: attributes are dealt with in groups


cdef double term(double together, double row, double column, double total) noexcept nogil:
    """One term of the sum, times the total."""
    return together * K.log(together * (total / row / column)) if together > 0 and row > 0 else 0


cdef double information(const double* with_label, const double* of_label, int64_t L, double total) noexcept nogil:
    """The mutual information of an attribute that occurs so often with each label."""
    cdef:
        double present = 0, found = 0
        int64_t j
    for j in range(L):
        present += with_label[j]
    for j in range(L):
        found += term(with_label[j], present, of_label[j], total)
        found += term(of_label[j] - with_label[j], total - present, of_label[j], total)
    return found / total if total > 0 else 0


cdef void count_group(Dataset data, bint bigram, const int32_t* place, int64_t first, int64_t n, int64_t L, double* count,
                      int64_t* last) noexcept nogil:
    """count[place - first][label] of the attributes with the places first .. first + n; last: one number for each of these. Tokens without a
    given label do not count."""
    cdef:
        const DatasetC* c = &data.c
        const int64_t* ptr = c.b_ptr if bigram else c.u_ptr
        const int32_t* ids = c.b_id if bigram else c.u_id
        double weight
        int64_t s, t, u, k
    memset(count, 0, n * L * sizeof(double))
    memset(last, 0xFF, n * sizeof(int64_t))
    for s in range(c.n_seq):
        weight = weight_of(c, s)
        for t in range(c.seq_ptr[s], c.seq_ptr[s + 1]):
            for u in range(ptr[t], ptr[t + 1] if data.is_given(t) else 0):
                k = place[ids[u]] - first
                if 0 <= k < n and last[k] != t:     # a token that has it twice counts once
                    last[k] = t
                    count[k * L + c.label[t]] += weight


def mutual_information(Dataset data not None, bint bigram=False, const uint8_t[::1] rules=None):
    """How much each attribute tells of the label: an array of double. Attributes whose rule is 0 are left out."""
    cdef:
        int64_t n = data.n_b if bigram else data.n_u, L = len(data.labels), kept = 0, group, first, a = 0, k
        double total
        Arena room = Arena()
        double* count
        int64_t* last
    if rules is not None and rules.shape[0] != n:
        raise ValueError(f"rules for {rules.shape[0]} attributes, expected {n}")
    cdef double[::1] score = array.array("d", [0.0]) * n
    cdef int32_t[::1] place = array.array("i", [-1]) * n
    for k in range(n):
        if rules is None or rules[k]:
            place[k] = <int32_t>kept
            kept += 1
    if kept == 0 or L == 0:
        return score.base
    cdef double[::1] of_label = data.label_counts()
    total = sum(of_label)
    group = min(max(1, CELLS // L), kept)
    count = <double*>arena_zeros(room, group * L, sizeof(double))
    last = <int64_t*>arena_zeros(room, group, sizeof(int64_t))
    for first in range(0, kept, group):
        count_group(data, bigram, &place[0], first, min(group, kept - first), L, count, last)
        while a < n and place[a] < first + group:
            if place[a] >= 0:
                score[a] = information(count + (place[a] - first) * L, &of_label[0], L, total)
            a += 1
    return score.base


def keep_best(scores, rules, int64_t n):
    """Set the rules to 0 of all attributes but the n of the highest scores: of those of the first kind and of those of the second one
    together, and of equal scores the first ones. What has the rule 0 already does not count."""
    import numpy

    together = numpy.frombuffer(b"".join(rules), numpy.uint8).copy()
    ranked = numpy.flatnonzero(together)
    order = numpy.argsort(-numpy.concatenate(scores)[ranked], kind="stable")
    together[ranked[order[n:]]] = 0
    rules[0][:], rules[1][:] = together[: len(rules[0])].tobytes(), together[len(rules[0]) :].tobytes()
