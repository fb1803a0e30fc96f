"""Sequences of a data set, brought together in the order in which they are wanted; those in memory stay where they are.

Online trainers take the sequences in another random order in each pass. Reading them from a disk in that order
would take a seek for each. So it is an external shuffle: the order is cut into stretches that fit into memory, and one
pass over the data appends each sequence to its stretch. Then one stretch after the other is read, put in order in
memory, and is the *window* that the trainer sees. All reading and writing is sequential, and the order is the same as in
memory.
"""

from libc.stdint cimport uint16_t

from crfkit.loops.structs cimport DatasetC
from crfkit.memory cimport arena_reserve, bring, data_reserve, memcpy, memset, transfer
from crfkit.threads cimport PyErr_CheckSignals

WINDOW_BYTES = 32 << 20

cdef enum:
    BETWEEN_SIGNALS = 1 << 14       # sequences
    WAITING = 1 << 16               # bytes of a stretch that are written together


cdef inline char* put(char* at, const void* data, int64_t size) noexcept nogil:
    """Copy bytes; where they end."""
    memcpy(at, data, <size_t>size)
    return at + size


cdef inline const char* get(const char* at, void* data, int64_t size) noexcept nogil:
    """Copy bytes from there; where they end."""
    memcpy(data, at, <size_t>size)
    return at + size


cdef inline int32_t* put_lengths(int32_t* at, const int64_t* ptr, int32_t T) noexcept nogil:
    """The lengths of T rows; where they end."""
    cdef int32_t t
    for t in range(T):
        at[t] = <int32_t>(ptr[t + 1] - ptr[t])
    return at + T


cdef inline const int32_t* get_lengths(const int32_t* at, int64_t* ptr, int32_t T) noexcept nogil:
    """Rows of these lengths behind those that end at ptr[0]; where the lengths end."""
    cdef int32_t t
    for t in range(T):
        ptr[t + 1] = ptr[t] + at[t]
    return at + T


cdef class Ordered(Arena):
    """The sequences of a data set in the order of one pass after the other; WINDOW_BYTES of them are in memory at a time."""

    def __cinit__(self, Dataset data not None):
        self.keep_data_in(data.folder)
        self.data, self.window_bytes = data, WINDOW_BYTES
        self.window = Dataset(b_ptr=[0] if data.c.b_ptr != NULL else None)

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
            write(self, self.record.data, s, place[s], size)
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
            int64_t n_tok = 0, n_u = 0, n_b = 0
        if self.path == NULL or self.n and self.which == self.order + first:
            return last
        start = <int64_t*>arena_reserve(self, &self.starts, last - first, sizeof(int64_t))
        arena_reserve(self, &self.loaded, stretch.size, 1)
        transfer(&self.records, False, self.loaded.data, stretch.size, stretch.begin)
        if last < self.wanted:
            bring(&self.records, stretch[1].begin, stretch[1].size)
        while at < stretch.size:
            record = <const RecordC*>(self.loaded.data + at)
            start[record.place - first] = at
            n_tok, n_u, n_b = n_tok + record.T, n_u + record.n_u, n_b + record.n_b
            at += record.size
        open_window(self, self.window, last - first, n_tok, n_u, n_b)
        for k in range(last - first):
            append(self, self.window, self.loaded.data + start[k])
        close_window(self, self.order + first)
        return last

    cdef int gather(self, const int32_t* which, int64_t n) except -1 nogil:
        """The window holds these sequences, a few, which may be any."""
        cdef:
            int64_t k, most = 0, n_tok = 0, n_u = 0, n_b = 0
            SentenceC sent
        if self.path == NULL:
            return 0
        for k in range(n):
            sent = dataset_sentence(&self.data.c, which[k])
            n_tok += sent.T
            n_u += sent.u_ptr[sent.T] - sent.u_ptr[0]
            n_b += sent.b_ptr[sent.T] - sent.b_ptr[0] if sent.b_ptr != NULL else 0
            most = max(most, size_of(self, which[k]))
        arena_reserve(self, &self.record, most, 1)
        open_window(self, self.window, n, n_tok, n_u, n_b)
        for k in range(n):
            write(self, self.record.data, which[k], k, 0)
            append(self, self.window, self.record.data)
        return close_window(self, which)


cdef int64_t size_of(Ordered self, int64_t s) noexcept nogil:
    """Bytes of the record of a sequence."""
    cdef const DatasetC* c = &self.data.c
    cdef int64_t first = c.seq_ptr[s], last = c.seq_ptr[s + 1], T = last - first, size
    size = sizeof(RecordC) + (sizeof(int32_t) + sizeof(uint16_t)) * T
    size += (c.u_ptr[last] - c.u_ptr[first]) * (sizeof(int32_t) + (sizeof(float) if c.u_val != NULL else 0))
    if c.b_ptr != NULL:
        size += sizeof(int32_t) * (T + c.b_ptr[last] - c.b_ptr[first])
    return (size + 7) & ~7


cdef void write(Ordered self, char* out, int64_t s, int64_t place, int64_t size) noexcept nogil:
    """The record of a sequence."""
    cdef:
        SentenceC sent = dataset_sentence(&self.data.c, s)
        RecordC* record = <RecordC*>out
        int32_t* count
        char* at
    record.place, record.size, record.T, record.weight = place, size, sent.T, sent.weight
    record.n_u, record.n_b = sent.u_ptr[sent.T] - sent.u_ptr[0], 0
    count = put_lengths(<int32_t*>(out + sizeof(RecordC)), sent.u_ptr, sent.T)
    if sent.b_ptr != NULL:
        record.n_b = sent.b_ptr[sent.T] - sent.b_ptr[0]
        count = put_lengths(count, sent.b_ptr, sent.T)
    at = put(<char*>count, sent.u_id + sent.u_ptr[0], record.n_u * sizeof(int32_t))
    if sent.u_val != NULL:
        at = put(at, sent.u_val + sent.u_ptr[0], record.n_u * sizeof(float))
    if sent.b_ptr != NULL:
        at = put(at, sent.b_id + sent.b_ptr[0], record.n_b * sizeof(int32_t))
    put(at, sent.label, sent.T * sizeof(uint16_t))


cdef void append(Ordered self, Dataset w, const char* at) noexcept nogil:
    """One more sequence in the window: that of a record."""
    cdef:
        const RecordC* record = <const RecordC*>at
        const int32_t* count
        int64_t n_tok = w.c.n_tok, n_u, n_b = 0
        int64_t* ptr = <int64_t*>w.u_ptr.data + n_tok
    n_u = ptr[0]
    count = get_lengths(<const int32_t*>(at + sizeof(RecordC)), ptr, record.T)
    if self.data.c.b_ptr != NULL:
        ptr = <int64_t*>w.b_ptr.data + n_tok
        n_b = ptr[0]
        count = get_lengths(count, ptr, record.T)
    at = get(<const char*>count, <int32_t*>w.u_id.data + n_u, record.n_u * sizeof(int32_t))
    if self.data.c.u_val != NULL:
        at = get(at, <float*>w.u_val.data + n_u, record.n_u * sizeof(float))
    if self.data.c.b_ptr != NULL:
        at = get(at, <int32_t*>w.b_id.data + n_b, record.n_b * sizeof(int32_t))
    get(at, <uint16_t*>w.label.data + n_tok, record.T * sizeof(uint16_t))
    if self.data.c.seq_weight != NULL:
        (<float*>w.seq_weight.data)[w.c.n_seq] = record.weight
    w.c.n_tok += record.T
    w.c.n_seq += 1
    (<int64_t*>w.seq_ptr.data)[w.c.n_seq] = w.c.n_tok


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


cdef int open_window(Ordered ordered, Dataset w, int64_t n, int64_t n_tok, int64_t n_u, int64_t n_b) except -1 nogil:
    """Room for so many sequences, tokens and attributes in the window `w`, which is empty then."""
    cdef const DatasetC* c = &ordered.data.c
    arena_reserve(w, &w.seq_ptr, n + 1, sizeof(int64_t))
    arena_reserve(w, &w.u_ptr, n_tok + 1, sizeof(int64_t))
    arena_reserve(w, &w.u_id, n_u + 1, sizeof(int32_t))
    arena_reserve(w, &w.label, n_tok + 1, sizeof(uint16_t))
    if c.u_val != NULL:
        arena_reserve(w, &w.u_val, n_u + 1, sizeof(float))
    if c.b_ptr != NULL:
        arena_reserve(w, &w.b_ptr, n_tok + 1, sizeof(int64_t))
        arena_reserve(w, &w.b_id, n_b + 1, sizeof(int32_t))
    if c.seq_weight != NULL:
        arena_reserve(w, &w.seq_weight, n, sizeof(float))
    ordered.n = w.c.n_seq = w.c.n_tok = 0


cdef int close_window(Ordered ordered, const int32_t* which) except -1 nogil:
    ordered.window.settle()
    ordered.which, ordered.n = which, ordered.window.c.n_seq
