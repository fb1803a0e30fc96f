"""Sequences of a data set, brought together in the order in which they are wanted; those in memory stay where they are.

Online trainers take the sequences in another random order in each pass. Reading them from a disk in that order
would take a seek for each. So it is an external shuffle: the order is cut into stretches that fit into memory, and one
pass over the data appends each sequence to its stretch, as a record. Then one stretch after the other is read, and is the *window*
in which the trainer finds its sequences. All reading and writing is sequential, and the order is the same as in memory.
"""

from libc.stdint cimport uint16_t

from crfkit.memory cimport arena_reserve, bring, data_reserve, memcpy, memset, transfer
from crfkit.threads cimport PyErr_CheckSignals

WINDOW_BYTES = 32 << 20

cdef enum:
    BETWEEN_SIGNALS = 1 << 14       # sequences
    WAITING = 1 << 16               # bytes of a stretch that are written together


cdef class Ordered(Arena):
    """The sequences of a data set in the order of one pass after the other; WINDOW_BYTES of them are in memory at a time."""

    def __cinit__(self, Dataset data not None):
        self.keep_data_in(data.folder)
        self.data, self.window_bytes = data, WINDOW_BYTES

    cdef int begin(self, const int32_t* order, int64_t n) except -1 nogil:
        """From now on the sequences are wanted in this order, which stays where it is."""
        cdef:
            int64_t k, s, size, total = 0, most = 0, n_stretches
            int32_t* place
            StretchC* stretch
        self.order, self.wanted, self.n, self.step = order, n, 0, max(n, 1)
        if self.path == NULL:
            return 0
        place = <int32_t*>data_reserve(self, &self.places, n + 1, sizeof(int32_t))
        for s in range(n):
            place[order[s]] = <int32_t>s
            size = size_of(self, s)
            total, most = total + size, max(most, size)
        n_stretches = min(total // self.window_bytes + 1, max(n, 1))
        self.step = (n + n_stretches - 1) // n_stretches if n else 1
        stretch = <StretchC*>arena_reserve(self, &self.stretches, n_stretches, sizeof(StretchC))
        arena_reserve(self, &self.waiting, n_stretches * WAITING, 1)
        arena_reserve(self, &self.record, most, 1)
        memset(stretch, 0, <size_t>n_stretches * sizeof(StretchC))
        for s in range(n):
            stretch[place[s] // self.step].size += size_of(self, s)
        total = 0
        for k in range(n_stretches):
            stretch[k].begin = total
            total += (stretch[k].size + WAITING - 1) // WAITING * WAITING
        data_reserve(self, &self.records, total + 1, 1)
        for s in range(n):
            size = size_of(self, s)
            write(self, <RecordC*>self.record.data, s, place[s], size)
            send(self, place[s] // self.step, self.record.data, size)
            if s % BETWEEN_SIGNALS == 0:
                with gil:
                    PyErr_CheckSignals()
        for k in range(n_stretches):
            transfer(&self.records, True, self.waiting.data + k * WAITING, stretch[k].done % WAITING,
                     stretch[k].begin + stretch[k].done // WAITING * WAITING)

    cdef int64_t come_to(self, int64_t k) except -1 nogil:
        """The k-th of the sequences wanted is in the window; the number of the first one that is behind it."""
        cdef:
            const RecordC* record
            const StretchC* stretch = <const StretchC*>self.stretches.data + k // self.step
            int64_t* start
            int64_t first = k // self.step * self.step, last = min(first + self.step, self.wanted), at = 0
        if self.path == NULL or self.n and self.which == self.order + first:
            return last
        self.n = 0
        start = <int64_t*>arena_reserve(self, &self.starts, last - first, sizeof(int64_t))
        arena_reserve(self, &self.window, stretch.size, 1)
        transfer(&self.records, False, self.window.data, stretch.size, stretch.begin)
        if last < self.wanted:
            bring(&self.records, stretch[1].begin, stretch[1].size)
        while at < stretch.size:
            record = <const RecordC*>(self.window.data + at)
            start[record.place - first] = at
            at += record.size
        self.which, self.n = self.order + first, last - first
        return last

    cdef int gather(self, const int32_t* which, int64_t n) except -1 nogil:
        """The window holds these sequences, a few, which may be any."""
        cdef int64_t k, at = 0
        cdef int64_t* start
        if self.path == NULL:
            return 0
        self.n = 0
        start = <int64_t*>arena_reserve(self, &self.starts, n, sizeof(int64_t))
        for k in range(n):
            start[k] = at
            at += size_of(self, which[k])
        arena_reserve(self, &self.window, at, 1)
        for k in range(n):
            write(self, <RecordC*>(self.window.data + start[k]), which[k], k, 0)
        self.which, self.n = which, n


cdef int64_t size_of(Ordered self, int64_t s) noexcept nogil:
    """Bytes of the record of a sequence."""
    cdef const DatasetC* c = &self.data.c
    cdef int64_t first = c.seq_ptr[s], last = c.seq_ptr[s + 1], T = last - first, size
    size = sizeof(RecordC) + sizeof(int64_t) * (T + 1) + sizeof(uint16_t) * T
    size += (c.u_ptr[last] - c.u_ptr[first]) * (sizeof(int32_t) + (sizeof(float) if c.u_val != NULL else 0))
    if c.b_ptr != NULL:
        size += sizeof(int64_t) * (T + 1) + sizeof(int32_t) * (c.b_ptr[last] - c.b_ptr[first])
    return (size + 7) & ~7


cdef SentenceC sequence_of(const RecordC* record, const DatasetC* c) noexcept nogil:
    """The sequence in a record: of this data set, and of as many arrays."""
    cdef SentenceC sent
    cdef const int32_t* at
    memset(&sent, 0, sizeof(SentenceC))
    sent.T, sent.weight = record.T, record.weight
    sent.u_ptr = <const int64_t*>(record + 1)
    at = <const int32_t*>(sent.u_ptr + record.T + 1)
    if c.b_ptr != NULL:
        sent.b_ptr = <const int64_t*>at
        at = <const int32_t*>(sent.b_ptr + record.T + 1)
    sent.u_id = at
    at += record.n_u
    if c.u_val != NULL:
        sent.u_val = <const float*>at
        at += record.n_u
    sent.b_id = at
    sent.label = <const uint16_t*>(at + record.n_b)
    return sent


cdef void write(Ordered self, RecordC* record, int64_t s, int64_t place, int64_t size) noexcept nogil:
    """The record of a sequence."""
    cdef SentenceC sent = dataset_sentence(&self.data.c, s), to
    record.place, record.size, record.T, record.weight = place, size, sent.T, <float>sent.weight
    record.n_u = sent.u_ptr[sent.T] - sent.u_ptr[0]
    record.n_b = sent.b_ptr[sent.T] - sent.b_ptr[0] if sent.b_ptr != NULL else 0
    to = sequence_of(record, &self.data.c)
    write_rows(<int64_t*>to.u_ptr, sent.u_ptr, sent.T)
    memcpy(<int32_t*>to.u_id, sent.u_id + sent.u_ptr[0], record.n_u * sizeof(int32_t))
    if sent.u_val != NULL:
        memcpy(<float*>to.u_val, sent.u_val + sent.u_ptr[0], record.n_u * sizeof(float))
    if sent.b_ptr != NULL:
        write_rows(<int64_t*>to.b_ptr, sent.b_ptr, sent.T)
        memcpy(<int32_t*>to.b_id, sent.b_id + sent.b_ptr[0], record.n_b * sizeof(int32_t))
    memcpy(<uint16_t*>to.label, sent.label, sent.T * sizeof(uint16_t))


cdef void write_rows(int64_t* to, const int64_t* ptr, int32_t T) noexcept nogil:
    """Where T rows begin, counted from the first of them."""
    cdef int32_t t
    for t in range(T + 1):
        to[t] = ptr[t] - ptr[0]


cdef int send(Ordered self, int64_t k, const char* data, int64_t size) except -1 nogil:
    """Append bytes to stretch k: to what waits until it is worth writing."""
    cdef StretchC* stretch = <StretchC*>self.stretches.data + k
    cdef char* waiting = self.waiting.data + k * WAITING
    cdef int64_t filled, part
    while size:
        filled = stretch.done % WAITING
        part = min(size, WAITING - filled)
        memcpy(waiting + filled, data, <size_t>part)
        data, size, stretch.done = data + part, size - part, stretch.done + part
        if filled + part == WAITING:
            transfer(&self.records, True, waiting, WAITING, stretch.begin + stretch.done - WAITING)
