"""For each attribute of a data set the labels, or pairs of labels, it was seen with: sorted, each once.

The occurrences are brought together by a counting sort over attributes; then each attribute's labels are marked
in a table of all labels, and only what was marked is sorted.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from crfkit.memory cimport buffer_free, buffer_reserve

import array as arrays

cdef enum:
    MOST_MARKS = 1 << 24        # a table of more pairs costs more than it saves

cdef uint32_t NO_EDGE = 0xFFFFFFFF      # the first position has none


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef uint32_t x = (<const uint32_t*>a)[0], y = (<const uint32_t*>b)[0]
    return (x > y) - (x < y)


cdef class SeenPairs:
    """The result, in arrays."""

    def __dealloc__(self):
        buffer_free(&self.start)
        buffer_free(&self.value)
        buffer_free(&self.count)
        buffer_free(&self.n_seen)
        buffer_free(&self.marks)

    cdef int collect(self, int32_t n, const DatasetC* data, int32_t labels, bint edges) except -1 nogil:
        """Look at the unigram attributes 0 .. n-1 of a data set with so many labels, or at the bigram ones."""
        cdef:
            const int64_t* ptr = data.b_ptr if edges else data.u_ptr
            const int32_t* ids = data.b_id if edges else data.u_id
            int64_t s, t, u, at, first
            int64_t* start
            int64_t* count
            int32_t* seen
            uint32_t* value
            uint32_t v
            int32_t a
            int32_t* mark
            int64_t place, kept
            int64_t n_marks = <int64_t>labels * labels if edges else labels
            bint marked = n_marks <= MOST_MARKS
        self.n = n
        if marked:
            buffer_reserve(&self.marks, n_marks, sizeof(int32_t))
            mark = <int32_t*>self.marks.data
            memset(mark, 0, n_marks * sizeof(int32_t))
        buffer_reserve(&self.start, n + 1, sizeof(int64_t))
        buffer_reserve(&self.count, n + 1, sizeof(int64_t))
        buffer_reserve(&self.n_seen, n + 1, sizeof(int32_t))
        start, count, seen = <int64_t*>self.start.data, <int64_t*>self.count.data, <int32_t*>self.n_seen.data
        memset(count, 0, (n + 1) * sizeof(int64_t))
        if ptr == NULL:
            memset(seen, 0, (n + 1) * sizeof(int32_t))
            return 0
        for u in range(ptr[data.n_tok]):
            count[ids[u]] += 1
        at = 0
        for a in range(n):
            start[a] = at
            at += count[a]
            count[a] = 0
        buffer_reserve(&self.value, at, sizeof(uint32_t))
        value = <uint32_t*>self.value.data
        for s in range(data.n_seq):
            for t in range(data.seq_ptr[s], data.seq_ptr[s + 1]):
                if edges and t == data.seq_ptr[s]:
                    v = NO_EDGE
                elif edges:
                    v = (<uint32_t>data.label[t - 1] << 16) | data.label[t]
                else:
                    v = data.label[t]
                for u in range(ptr[t], ptr[t + 1]):
                    a = ids[u]
                    value[start[a] + count[a]] = v
                    count[a] += 1
        for a in range(n):
            first = start[a]
            kept = 0
            for u in range(first, first + count[a]):
                v = value[u]
                if v == NO_EDGE:
                    continue
                if marked:
                    place = <int64_t>(v >> 16) * labels + (v & 0xFFFF)
                    if mark[place] == a + 1:
                        continue
                    mark[place] = a + 1
                value[first + kept] = v
                kept += 1
            if kept > 1:
                qsort(value + first, kept, sizeof(uint32_t), by_value)
            seen[a] = 0
            for u in range(first, first + kept):
                if u == first or value[u] != value[u - 1]:
                    value[first + seen[a]] = value[u]
                    seen[a] += 1
        return 0

    cdef order(self, const int32_t[::1] kept, const uint8_t[::1] first):
        """New ids (array of int32, -1 for the dropped): flagged attributes first, then by falling count."""
        cdef:
            int64_t[:, ::1] bucket
            int32_t[::1] new
            const int64_t* count = <const int64_t*>self.count.data
            int64_t c, at, n
            int32_t a
            int group
            int64_t top = 65535
        new_ids = arrays.array("i", bytes(4 * self.n))
        new = new_ids if self.n else None
        sizes = arrays.array("q", bytes(8 * 2 * (top + 1)))
        bucket = memoryview(sizes).cast("B").cast("q", (2, top + 1))
        for a in range(self.n):
            if kept[a] > 0:
                bucket[0 if first[a] else 1, min(count[a], top)] += 1
        at = 0
        for group in range(2):
            for c in range(top, -1, -1):
                n = bucket[group, c]
                bucket[group, c] = at
                at += n
        for a in range(self.n):
            new[a] = -1
            if kept[a] > 0:
                group, c = 0 if first[a] else 1, min(count[a], top)
                new[a] = <int32_t>bucket[group, c]
                bucket[group, c] += 1
        return new_ids
