"""What attributes of data in several parts were seen with: how often they occur, and which features they have."""

from libc.stdint cimport uint16_t

from crfkit.data.ambiguity cimport NO_LABEL, labels_seen
from crfkit.memory cimport arena_reserve, array_of, memset
from .history cimport ANY, key_of

import array

cdef enum:
    BEGIN = ANY - 2         # the position before a sentence; the next number is the one before that


cdef class Evidence(Arena):
    """From what `seen_in` (observed.pyx) finds in each part. Parts may number labels and attributes differently."""

    def __cinit__(self, bint bigram):
        self.bigram, self.most = bigram, -1

    def add(self, const int32_t[::1] attributes not None, const int32_t[::1] labels not None, const int64_t[::1] counts not None,
            const int64_t[::1] starts not None, const uint16_t[::1] befores, const uint16_t[::1] previouses,
            const uint16_t[::1] own not None):
        """Add one part: its attributes' and labels' numbers here, and what `seen_in` returned."""
        cdef:
            int64_t a, f, before, previous, most = -1, here, n = counts.shape[0], size = own.shape[0], L = labels.shape[0]
        if (attributes.shape[0] != n or starts.shape[0] != n + 1 or starts[0] != 0 or starts[n] != size
                or (befores is not None and befores.shape[0] != size)
                or (self.bigram and (previouses is None or previouses.shape[0] != size))):
            raise ValueError("evidence in tables that do not fit together")
        for a in range(n):
            if attributes[a] < 0 or counts[a] < 0 or starts[a + 1] < starts[a]:
                raise ValueError("evidence that is not possible")
            most = max(most, attributes[a])
        for a in range(L):
            if not 0 <= labels[a] < BEGIN:
                raise ValueError("evidence with labels that are not possible")
            self.most = max(self.most, labels[a])
        if most >= self.n:
            self.count = <int64_t*>arena_reserve(self, &self.counts, most + 1, sizeof(int64_t))
            memset(self.count + self.n, 0, (most + 1 - self.n) * sizeof(int64_t))
            self.n = most + 1
        self.found = <FoundC*>arena_reserve(self, &self.features, self.size + size, sizeof(FoundC))
        for a in range(n):
            here = attributes[a]
            self.count[here] += counts[a]
            for f in range(starts[a], starts[a + 1]):
                before = renamed(ANY if befores is None else befores[f], labels, L)
                previous = renamed(ANY if previouses is None else previouses[f], labels, L)
                if own[f] >= L or before < 0 or previous < 0:
                    raise ValueError("evidence with a label that does not exist")
                self.found[self.size] = FoundC(key_of(before, previous, labels[own[f]]), <int32_t>here)
                self.size += 1

    def settle(self, const int32_t[::1] rank not None):
        """After all parts: give labels their final numbers."""
        cdef int64_t k, key
        if rank.shape[0] <= self.most:
            raise ValueError("fewer labels than there are")
        for k in range(self.size):
            key = self.found[k].key
            self.found[k].key = key_of(final(key >> 32, rank), final(key >> 16 & 0xFFFF, rank), rank[key & 0xFFFF])

    def occurrences(self):
        """How often each attribute occurs, as an array of int64."""
        return array_of("q", self.count, self.n)

    def ambiguity(self):
        """How many attributes occur, and how many with more than one label."""
        cdef int64_t k
        cdef int64_t[3] n = [0, 0, 0]
        cdef int32_t[::1] seen = array.array("i", [NO_LABEL]) * self.n
        for k in range(self.size):
            n[labels_seen(&seen[self.found[k].a], self.found[k].key & 0xFFFF)] += 1
        return n[1], n[2]


cdef inline int64_t renamed(int64_t label, const int32_t[::1] labels, int64_t L) noexcept:
    """A previous label's number here; positions before the sentence are BEGIN and BEGIN + 1. -1: there is no such label."""
    if label == ANY:
        return ANY
    return labels[label] if label < L else BEGIN + label - L if label < L + 2 else -1


cdef inline int64_t final(int64_t label, const int32_t[::1] rank) noexcept:
    return ANY if label == ANY else rank[label] if label < BEGIN else rank.shape[0] + label - BEGIN
