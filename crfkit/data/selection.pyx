"""Which attributes tell most of the label: selection before training.

An attribute is present at a token or absent, whatever its value. Its mutual information with the label y (also called
information gain) is, in nats,

    I = sum over present, absent and over y of  P(presence, y) log( P(presence, y) / (P(presence) P(y)) )

with the frequencies of the corpus as probabilities; sequences count by their weights. The attributes of rich edges
are judged in the same way, by the label of the token where they stand.
"""

import array

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from .dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.memory cimport BufferC, buffer_free, buffer_reserve
from crfkit.loops.structs cimport DatasetC

cdef enum:
    CELLS = 1 << 23         # counts kept at a time: attributes are dealt with in groups


cdef double term(double together, double row, double column, double total) noexcept nogil:
    """One term of the sum, times the total."""
    return together * K.log(together * (total / row / column)) if together > 0 and row > 0 else 0


cdef double information(const double* with_label, const double* of_label, int64_t L, double total) noexcept nogil:
    """Of an attribute that occurs with each label so often."""
    cdef:
        double present = 0, found = 0
        int64_t j
    for j in range(L):
        present += with_label[j]
    for j in range(L):
        found += term(with_label[j], present, of_label[j], total)
        found += term(of_label[j] - with_label[j], total - present, of_label[j], total)
    return found / total if total > 0 else 0


cdef void count_group(const DatasetC* c, bint bigram, int64_t first, int64_t n, int64_t L, double* count,
                      int64_t* last) noexcept nogil:
    """count[a - first][label] of the attributes first .. first + n; last: one number for each of these."""
    cdef:
        const int64_t* ptr = c.b_ptr if bigram else c.u_ptr
        const int32_t* ids = c.b_id if bigram else c.u_id
        double weight
        int64_t s, t, u, k
    memset(count, 0, n * L * sizeof(double))
    memset(last, 0xFF, n * sizeof(int64_t))
    for s in range(c.n_seq):
        weight = c.seq_weight[s] if c.seq_weight != NULL else 1.0
        for t in range(c.seq_ptr[s], c.seq_ptr[s + 1]):
            for u in range(ptr[t], ptr[t + 1]):
                k = ids[u] - first
                if 0 <= k < n and last[k] != t:     # a token that has it twice counts once
                    last[k] = t
                    count[k * L + c.label[t]] += weight


def mutual_information(Dataset data not None, bint bigram=False):
    """Of each attribute with the label: an array of double."""
    cdef:
        DatasetC* c = &data.c
        int64_t n = data.n_b if bigram else data.n_u, L = max(1, len(data.labels)), group = min(max(1, CELLS // L), n)
        int64_t first = 0, k, s, t, size
        double total = 0, weight
        double* of_label
        BufferC counts, lasts
    found = array.array("d", bytes(8 * n))
    cdef double[::1] score = found
    if n == 0:
        return found
    memset(&counts, 0, sizeof(BufferC))
    memset(&lasts, 0, sizeof(BufferC))
    try:
        buffer_reserve(&counts, (group + 1) * L, sizeof(double))
        buffer_reserve(&lasts, group, sizeof(int64_t))
        of_label = <double*>counts.data
        with nogil:
            memset(of_label, 0, L * sizeof(double))
            for s in range(c.n_seq):
                weight = c.seq_weight[s] if c.seq_weight != NULL else 1.0
                for t in range(c.seq_ptr[s], c.seq_ptr[s + 1]):
                    of_label[c.label[t]] += weight
                    total += weight
            while first < n:
                size = min(group, n - first)
                count_group(c, bigram, first, size, L, of_label + L, <int64_t*>lasts.data)
                for k in range(size):
                    score[first + k] = information(of_label + (k + 1) * L, of_label, L, total)
                first += size
    finally:
        buffer_free(&counts)
        buffer_free(&lasts)
    return found


cdef int by_falling_value(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const double*>a)[0], y = (<const double*>b)[0]
    return (x < y) - (x > y)


def keep_best(u_score, b_score, int64_t n):
    """New ids of unigram and of bigram attributes that keep the n of the highest scores in both together, in the
    order of the old ids; of equal scores the first ones. -1 for the others."""
    cdef:
        int64_t total = len(u_score) + len(b_score), left, k
        double least
        double[::1] ranked
        const double[::1] score
        int32_t[::1] new
        int32_t kept
    n = max(0, min(n, total))
    together = array.array("d", u_score) + array.array("d", b_score)
    new_ids = []
    least, left = 0, 0
    if n:
        ranked = together
        qsort(&ranked[0], total, sizeof(double), by_falling_value)
        least = ranked[n - 1]
        for k in range(n):
            left += ranked[k] == least      # so many of those at the limit
    for scores in (u_score, b_score):
        ids = array.array("i", bytes(4 * len(scores)))
        score, new, kept = scores, ids, 0
        for k in range(score.shape[0]):
            new[k] = -1
            if n and (score[k] > least or (score[k] == least and left > 0)):
                left -= score[k] == least
                new[k] = kept
                kept += 1
        new_ids.append(ids)
    return tuple(new_ids)
