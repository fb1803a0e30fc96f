"""Which labels before its own a feature looks at: what was seen in a corpus, and all there can be (history.pxd)."""

from libc.stdint cimport uint16_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from crfkit.memory cimport buffer_free, buffer_reserve

PADDINGS = ("_B-1", "_B-2")     # names of the labels L and L+1

cdef int64_t NO_EDGE = -1       # into the first token


cdef int by_key(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const int64_t*>a)[0], y = (<const int64_t*>b)[0]
    return (x > y) - (x < y)


cdef int64_t n_all_history(int64_t L, int reach) noexcept nogil:
    """How many features an attribute has that goes with everything."""
    if reach == REACH_EDGE:
        return L * L
    if reach == REACH_LAST:
        return (L + 1) * L
    if reach == REACH_BEFORE:
        return (L + 2) * L
    return (L * L + L + 1) * L


cdef int64_t all_history(int64_t L, int reach, int64_t k) noexcept nogil:
    """The key of the k-th of them, in their order."""
    cdef int64_t label = k % L, context = k // L
    if reach == REACH_EDGE or reach == REACH_LAST:
        return key_of(ANY, context, label)
    if reach == REACH_BEFORE:
        return key_of(context, ANY, label)
    # two labels; the padding and a label, at the second token; two paddings, at the first
    if context < L * L + L:
        return key_of(context // L, context % L, label)
    return key_of(L + 1, L, label)


cdef int64_t seen_at(const DatasetC* data, int64_t first, int64_t t, int64_t L, int reach) noexcept nogil:
    """The key of the feature that a token of the sequence that begins at `first` is an example of."""
    if reach == REACH_EDGE and t == first:
        return NO_EDGE
    cdef int64_t previous = data.label[t - 1] if t > first else L
    cdef int64_t before = data.label[t - 2] if t > first + 1 else L + first + 1 - t
    return key_of(before if reach & REACH_BEFORE else ANY, ANY if reach == REACH_BEFORE else previous, data.label[t])


cdef class SeenHistory(SeenPairs):
    """What each bigram attribute was seen with, where some look further back than B lines."""

    def __dealloc__(self):
        buffer_free(&self.keys)

    cdef int collect_history(self, int32_t n, const DatasetC* data, int32_t labels, const uint8_t* reach) except -1 nogil:
        """Look at the bigram attributes 0 .. n-1 of a data set with so many labels."""
        cdef:
            int64_t s, t, u, k, at = 0
            int64_t* start
            int64_t* count
            int64_t* key
            int32_t* seen
            int32_t a
        self.n = n
        buffer_reserve(&self.start, n + 1, sizeof(int64_t))
        buffer_reserve(&self.count, n + 1, sizeof(int64_t))
        buffer_reserve(&self.n_seen, n + 1, sizeof(int32_t))
        start, count, seen = <int64_t*>self.start.data, <int64_t*>self.count.data, <int32_t*>self.n_seen.data
        memset(count, 0, (n + 1) * sizeof(int64_t))
        memset(seen, 0, (n + 1) * sizeof(int32_t))
        if data.b_ptr == NULL:
            return 0
        for u in range(data.b_ptr[data.n_tok]):
            count[data.b_id[u]] += 1
        for a in range(n):
            start[a] = at
            at += count[a]
            count[a] = 0
        buffer_reserve(&self.keys, at + 1, sizeof(int64_t))
        key = <int64_t*>self.keys.data
        for s in range(data.n_seq):
            for t in range(data.seq_ptr[s], data.seq_ptr[s + 1]):
                for u in range(data.b_ptr[t], data.b_ptr[t + 1]):
                    a = data.b_id[u]
                    key[start[a] + count[a]] = seen_at(data, data.seq_ptr[s], t, labels, reach[a])
                    count[a] += 1
        for a in range(n):
            if count[a] > 1:
                qsort(key + start[a], count[a], sizeof(int64_t), by_key)
            for k in range(start[a], start[a] + count[a]):
                if key[k] != NO_EDGE and (k == start[a] or key[k] != key[k - 1]):
                    key[start[a] + seen[a]] = key[k]
                    seen[a] += 1
        return 0
