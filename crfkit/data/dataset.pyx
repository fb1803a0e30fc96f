"""A corpus in compressed rows, as every trainer reads it: the arrays of DatasetC and who owns them.

    seq_ptr   [n_seq+1]   first token of each sequence
    u_ptr     [n_tok+1]   first unigram attribute of each token in u_id (and u_val); the same for b_*
    label     [n_tok]
"""

import array
import os

from libc.stdint cimport uint16_t

from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport fabs, fmax
from crfkit.loops.structs cimport weight_of
from crfkit.memory cimport buffer_free, data_reserve, memcpy, vector

from crfkit.values import as_bytes


cdef void renumber_rows(int64_t n_tok, int64_t* ptr, int32_t* id, float* value, const int32_t* new_id) noexcept nogil:
    """Replace ids, drop those that become -1, sort what is left; in place, since rows only get shorter."""
    cdef int64_t t, u, begin, end = 0, start = ptr[0]
    for t in range(n_tok):
        begin = end
        for u in range(start, ptr[t + 1]):
            if new_id[id[u]] >= 0:
                id[end] = new_id[id[u]]
                if value != NULL:
                    value[end] = value[u]
                end += 1
        start = ptr[t + 1]
        ptr[t + 1] = end
        K.sort_ids(end - begin, id + begin, value + begin if value != NULL else NULL)


cdef int32_t largest(const int32_t* id, int64_t n) noexcept nogil:
    """The largest of these numbers, -1 if there are none."""
    cdef int64_t k
    cdef int32_t most = -1
    for k in range(n):
        most = max(most, id[k])
    return most


cdef int check_rows(const int64_t* ptr, int64_t n, const int32_t* id, int64_t n_id, int32_t most) except -1:
    """ValueError unless these are n rows of n_id numbers below `most`; without numbers, of anything."""
    cdef int64_t k
    cdef bint sound = ptr[0] == 0 and ptr[n] == n_id
    for k in range(n):
        sound &= ptr[k] <= ptr[k + 1]
    for k in range(n_id if id != NULL else 0):
        sound &= 0 <= id[k] < most
    if not sound:
        raise ValueError(f"offsets or numbers of something else than {n} rows with {n_id} numbers below {most}")


cdef int64_t load(Dataset data, BufferC* buffer, source, str form, int64_t expected=-1) except -1:
    """Copy anything that array.array takes, or None, into a buffer; how many numbers it holds."""
    if source is None:
        return 0
    values = array.array(form, source)
    if expected not in (-1, len(values)):
        raise ValueError(f"{len(values)} numbers where {expected} are needed")
    cdef const unsigned char[::1] given = memoryview(values).cast("B")
    data_reserve(data, buffer, given.shape[0] + 1, 1)  # an empty array is not the same as none
    if given.shape[0]:
        memcpy(buffer.data, &given[0], <size_t>given.shape[0])
    return len(values)


cdef int append(Dataset data, BufferC* to, int64_t n, const BufferC* more, int64_t first, int64_t n_more, int64_t size) except -1:
    """n_more items of `size` bytes, from `first` on, behind the n there are."""
    data_reserve(data, to, n + n_more + 1, size)
    if n_more:
        memcpy(to.data + n * size, more.data + first * size, <size_t>(n_more * size))


cdef int append_ends(Dataset data, BufferC* to, int64_t n, const int64_t* more, int64_t n_more) except -1:
    """The ends of n_more further rows behind those of n rows."""
    cdef int64_t k
    cdef int64_t* end = <int64_t*>data_reserve(data, to, n + n_more + 1, sizeof(int64_t)) + n
    for k in range(1, n_more + 1):
        end[k] = end[0] + more[k] - more[0]


cdef int append_sequences(Dataset data, Dataset more, int64_t first, int64_t last) except -1:
    """Append these sequences of another data set. `fill_in` must have made both alike; `settle` is left to the caller."""
    cdef const DatasetC* c = &more.c
    cdef int64_t t = c.seq_ptr[first], n_more = c.seq_ptr[last] - t, n = data.c.n_tok
    cdef int64_t n_u = (<int64_t*>data.u_ptr.data)[n], more_u = c.u_ptr[t + n_more] - c.u_ptr[t]
    append(data, &data.label, n, &more.label, t, n_more, sizeof(uint16_t))
    append(data, &data.u_id, n_u, &more.u_id, c.u_ptr[t], more_u, sizeof(int32_t))
    if c.u_val != NULL:
        append(data, &data.u_val, n_u, &more.u_val, c.u_ptr[t], more_u, sizeof(float))
    if c.seq_weight != NULL:
        append(data, &data.seq_weight, data.c.n_seq, &more.seq_weight, first, last - first, sizeof(float))
    append_ends(data, &data.u_ptr, n, c.u_ptr + t, n_more)
    if c.b_ptr != NULL:
        append(data, &data.b_id, (<int64_t*>data.b_ptr.data)[n], &more.b_id, c.b_ptr[t], c.b_ptr[t + n_more] - c.b_ptr[t], sizeof(int32_t))
        append_ends(data, &data.b_ptr, n, c.b_ptr + t, n_more)
    append_ends(data, &data.seq_ptr, data.c.n_seq, c.seq_ptr + first, last - first)
    data.c.n_tok, data.c.n_seq = n + n_more, data.c.n_seq + last - first


cdef int fill_with_ones(Dataset data, BufferC* values, int64_t n) except -1:
    cdef int64_t k
    cdef float* value = <float*>data_reserve(data, values, n + 1, sizeof(float))
    for k in range(n):
        value[k] = 1


cdef class Dataset:
    """The sequences of a corpus. The arrays given are copied; None stands for what DatasetC has as NULL. With a `folder` they lie in files
    there (crfkit/memory.pxd), as does all that trainers derive of them for each token and sequence."""

    def __cinit__(self, seq_ptr=(0,), u_ptr=(0,), u_id=(), u_val=None, b_ptr=None, b_id=None,
                  label=None, seq_weight=None, *, int32_t n_u=0, int32_t n_b=0, labels=(), folder=None):
        cdef int64_t n_seq, n_tok, n_u_id, n_b_id
        self.keep_data_in(None if folder is None else os.fsencode(folder))
        self.n_u, self.n_b, self.labels = n_u, n_b, list(labels)
        n_seq = load(self, &self.seq_ptr, seq_ptr, "q") - 1
        if n_seq < 0:
            raise ValueError("no offsets of sequences")
        n_tok = (<int64_t*>self.seq_ptr.data)[n_seq]
        check_rows(<int64_t*>self.seq_ptr.data, n_seq, NULL, n_tok, 0)
        n_u_id, n_b_id = load(self, &self.u_id, u_id, "i"), load(self, &self.b_id, b_id, "i")
        if not load(self, &self.u_ptr, u_ptr, "q", n_tok + 1):
            raise ValueError("no offsets of attributes")
        check_rows(<int64_t*>self.u_ptr.data, n_tok, <int32_t*>self.u_id.data, n_u_id, n_u)
        if load(self, &self.b_ptr, b_ptr, "q", n_tok + 1):
            check_rows(<int64_t*>self.b_ptr.data, n_tok, <int32_t*>self.b_id.data, n_b_id, n_b)
        load(self, &self.u_val, u_val, "f", n_u_id)
        load(self, &self.label, label, "H", n_tok)
        load(self, &self.seq_weight, seq_weight, "f", n_seq)
        self.c.n_seq, self.c.n_tok = n_seq, n_tok
        self.settle()

    cdef void settle(self) noexcept nogil:
        """Point the struct at the buffers as they stand now and recount what depends on them."""
        cdef int64_t s
        self.point()
        self.c.longest = 0
        for s in range(self.c.n_seq):
            self.c.longest = max(self.c.longest, <int32_t>(self.c.seq_ptr[s + 1] - self.c.seq_ptr[s]))

    cdef void point(self) noexcept nogil:
        """Point the struct at the buffers as they stand now."""
        self.c.seq_ptr = <const int64_t*>self.seq_ptr.data
        self.c.seq_weight = <const float*>self.seq_weight.data
        self.c.label = <const uint16_t*>self.label.data
        self.c.u_ptr = <const int64_t*>self.u_ptr.data
        self.c.u_id = <const int32_t*>self.u_id.data
        self.c.u_val = <const float*>self.u_val.data
        self.c.b_ptr = <const int64_t*>self.b_ptr.data
        self.c.b_id = <const int32_t*>self.b_id.data

    cdef int need_labels(self, int64_t tokens) except -1:
        """ValueError if tokens have no labels, or if there are fewer tokens."""
        if self.c.n_tok < tokens or (self.c.label == NULL and self.c.n_tok):
            raise ValueError("a data set without labels")

    cdef int need_labels_below(self, int64_t n) except -1:
        """ValueError if tokens have no labels, or one that is not among the first n."""
        cdef int64_t t
        cdef int32_t last = -1
        self.need_labels(0)
        for t in range(self.c.n_tok):
            last = max(last, self.c.label[t])
        if last >= n:
            raise ValueError(f"label {last} of {n}")

    cdef bint is_given(self, int64_t t) noexcept nogil:
        """Whether the label of a token is given, and not only the first of several."""
        return self.possible is None or self.possible.given(t)

    def renumber(self, const int32_t[::1] u_new not None, const int32_t[::1] b_new not None):
        """Give every attribute a new id, or drop it (-1); those of a token come out in ascending order."""
        cdef const int32_t* u_map = &u_new[0] if u_new.shape[0] else NULL
        cdef const int32_t* b_map = &b_new[0] if b_new.shape[0] else NULL
        if u_new.shape[0] != self.n_u or b_new.shape[0] != self.n_b:
            raise ValueError(f"new ids for {u_new.shape[0]} and {b_new.shape[0]} attributes, expected {self.n_u} and {self.n_b}")
        with nogil:
            renumber_rows(self.c.n_tok, <int64_t*>self.u_ptr.data, <int32_t*>self.u_id.data,
                          <float*>self.u_val.data, u_map)
            if self.c.b_ptr != NULL:
                renumber_rows(self.c.n_tok, <int64_t*>self.b_ptr.data, <int32_t*>self.b_id.data, NULL, b_map)
            self.settle()
        self.n_u, self.n_b = largest(u_map, u_new.shape[0]) + 1, largest(b_map, b_new.shape[0]) + 1

    def relabel(self, const int32_t[::1] new not None, labels):
        """Give every label a new number, that of its name among the labels."""
        cdef uint16_t* label = <uint16_t*>self.label.data
        cdef int64_t t, n = len(labels)
        self.need_labels_below(new.shape[0])
        if self.possible is not None:
            raise ValueError("labels of a data set without all of them cannot be renumbered")
        for t in range(new.shape[0]):
            if not 0 <= new[t] < n:
                raise ValueError(f"label {new[t]} of {n}")
        for t in range(self.c.n_tok):
            label[t] = <uint16_t>new[label[t]]
        self.labels = list(labels)

    def divide(self, choices, labels):
        """Each label so far stood for a choice between some of these labels: choices[k] has their numbers, ascending; None for all. A
        token gets the first of its choice."""
        cdef int64_t t
        cdef uint16_t[::1] set_of, set
        self.need_labels_below(len(choices))
        if max(map(max, filter(None, choices)), default=0) >= len(labels):
            raise ValueError("a choice between labels that do not exist")
        sets = dict.fromkeys([(), *(choice for choice in choices if choice is None or len(choice) > 1)])
        number = {choice: k for k, choice in enumerate(sets)}
        set_of, numbers = array.array("H", [number.get(choice, 0) for choice in choices]), array.array("H", [0]) * self.c.n_tok
        set = numbers
        for t in range(self.c.n_tok):
            set[t] = set_of[self.c.label[t]]
        self.relabel(array.array("i", [choice[0] if choice else 0 for choice in choices]), labels)
        if len(sets) > 1:
            self.possible = Possible(numbers, list(sets), self.folder)

    def extend(self, Dataset more not None):
        """Append the sequences of another data set whose attributes and labels have the same numbers."""
        self.need_labels(0)
        more.need_labels(0)
        if self.possible is not None or more.possible is not None:
            raise ValueError("a data set without all labels cannot be extended")
        if more is self or (more.c.b_ptr == NULL) != (self.c.b_ptr == NULL):
            raise ValueError("two data sets are needed, with bigram attributes or without")
        self.fill_in(more.has_values, more.has_weights)
        more.fill_in(self.has_values, self.has_weights)
        append_sequences(self, more, 0, more.c.n_seq)
        self.n_u, self.n_b = max(self.n_u, more.n_u), max(self.n_b, more.n_b)
        self.settle()

    cpdef int fill_in(self, bint values, bint weights) except -1:
        """Give values and weights room where they are wanted and all of them are one."""
        if values and self.c.u_val == NULL:
            fill_with_ones(self, &self.u_val, self.c.u_ptr[self.c.n_tok])
        if weights and self.c.seq_weight == NULL:
            fill_with_ones(self, &self.seq_weight, self.c.n_seq)
        self.settle()

    cdef void drop_ones(self) noexcept nogil:
        """Free values and weights that are all 1."""
        if all_ones(<const float*>self.u_val.data, 0, (<int64_t*>self.u_ptr.data)[self.c.n_tok]):
            buffer_free(&self.u_val)
        if all_ones(<const float*>self.seq_weight.data, 0, self.c.n_seq):
            buffer_free(&self.seq_weight)
        self.settle()

    def widen(self, int32_t n_u, int32_t n_b):
        """Let there be so many attributes, of which some do not occur."""
        if n_u < self.n_u or n_b < self.n_b:
            raise ValueError(f"{n_u} and {n_b} attributes, the data have {self.n_u} and {self.n_b}")
        self.n_u, self.n_b = n_u, n_b

    def counts(self, bint bigram):
        """How often each unigram attribute occurs, or each bigram attribute, as an array of int64."""
        cdef const int32_t* id = self.c.b_id if bigram else self.c.u_id
        cdef int64_t u
        cdef int64_t[::1] count = array.array("q", [0]) * (self.n_b if bigram else self.n_u)
        for u in range(self.n_incidences[bigram]):
            count[id[u]] += 1
        return count.base

    def label_counts(self):
        """How often each label is given, each sequence counted as many times as its weight says, as an array of double."""
        cdef int64_t s, t
        cdef double[::1] count = array.array("d", [0]) * len(self.labels)
        self.need_labels_below(count.shape[0])
        for s in range(self.c.n_seq):
            for t in range(self.c.seq_ptr[s], self.c.seq_ptr[s + 1]):
                if self.is_given(t):
                    count[self.c.label[t]] += weight_of(&self.c, s)
        return count.base

    @property
    def n_sequences(self):
        """Sequences in the corpus."""
        return self.c.n_seq

    @property
    def n_tokens(self):
        """Tokens in the corpus."""
        return self.c.n_tok

    @property
    def n_given(self):
        """Tokens whose label is given."""
        cdef int64_t t, n = 0
        for t in range(self.c.n_tok):
            n += self.is_given(t)
        return n

    @property
    def longest(self):
        """Tokens of the longest sequence."""
        return self.c.longest

    @property
    def n_incidences(self):
        """Attributes of all tokens together: (unigram, bigram)."""
        return self.c.u_ptr[self.c.n_tok], self.c.b_ptr[self.c.n_tok] if self.c.b_ptr != NULL else 0

    @property
    def has_values(self):
        """Whether attributes have values, and not all of them one."""
        return self.c.u_val != NULL

    @property
    def has_weights(self):
        """Whether sequences have weights, and not all of them one."""
        return self.c.seq_weight != NULL

    @property
    def weight(self):
        """Tokens in the corpus, each counted as many times as the weight of its sequence says."""
        cdef double total = 0
        cdef int64_t s
        for s in range(self.c.n_seq):
            total += (self.c.seq_ptr[s + 1] - self.c.seq_ptr[s]) * weight_of(&self.c, s)
        return total

    @property
    def largest_value(self):
        """The largest absolute value of an attribute; 1 where they have none."""
        cdef double most = 0
        cdef int64_t u
        if self.c.u_val == NULL or self.c.u_ptr[self.c.n_tok] == 0:
            return 1.0
        for u in range(self.c.u_ptr[self.c.n_tok]):
            most = fmax(most, fabs(self.c.u_val[u]))
        return most

    @property
    def squares(self):
        """The sum of the squares of the values of unigram attributes."""
        cdef double total = 0
        cdef int64_t u
        if self.c.u_val == NULL:
            return float(self.n_incidences[0])
        for u in range(self.c.u_ptr[self.c.n_tok]):
            total += <double>self.c.u_val[u] * self.c.u_val[u]
        return total

    def first_label(self):
        """The label of the first token, how often it occurs, and how many labels occur no more often."""
        self.need_labels(1)
        counts, first = self.label_counts(), self.c.label[0]
        return self.labels[first], counts[first], sum(n <= counts[first] for n in counts)

    def checksum(self) -> str:
        """32 hexadecimal digits that two corpora have in common if all their numbers and labels are the same."""
        from xxhash import xxh3_128

        sum = xxh3_128(as_bytes("\0".join(self.labels)))
        others = () if self.possible is None else self.possible.views()
        for values in (*self.views().values(), None, *others):  # None for values of b_id, which earlier versions had room for
            sum.update((-1 if values is None else values.nbytes).to_bytes(8, "little", signed=True))
            sum.update(values or b"")
        return sum.hexdigest()

    cdef dict views(self):
        """All arrays by their names in DatasetC, None for NULL; nothing is copied."""
        cdef const DatasetC* c = &self.c
        cdef int64_t n_tok = c.n_tok, n_u, n_b
        n_u, n_b = self.n_incidences
        return {
            "seq_ptr": view(self, "q", c.seq_ptr, c.n_seq + 1),
            "seq_weight": view(self, "f", c.seq_weight, c.n_seq),
            "label": view(self, "H", c.label, n_tok),
            "u_ptr": view(self, "q", c.u_ptr, n_tok + 1),
            "u_id": view(self, "i", c.u_id, n_u),
            "u_val": view(self, "f", c.u_val, n_u),
            "b_ptr": view(self, "q", c.b_ptr, n_tok + 1),
            "b_id": view(self, "i", c.b_id, n_b),
        }

    def arrays(self):
        """Copies of all arrays by their names in DatasetC, as array.array, without those that are absent."""
        return {name: array.array(values.format, values) for name, values in self.views().items() if values is not None}


cdef view(Dataset data, str form, const void* values, int64_t n):
    """An array of a data set, or None for NULL."""
    return None if values == NULL else vector(data, form, values, n)
