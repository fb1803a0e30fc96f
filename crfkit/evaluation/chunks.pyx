"""Chunks of two columns of labels, gold and predicted, by a table that says what starts and ends between neighbouring labels."""

cimport cython

from crfkit.memory cimport arena_reserve, memcpy, memset, vector

from crfkit.evaluation import schemes

if schemes.N_PREFIXES != N_PREFIXES:
    raise ImportError("crfkit.evaluation.chunks was built for other schemes; build crfkit again")


cdef int reserve_zeroed(Arena arena, BufferC* buffer, int64_t* n, int64_t wanted, int64_t size) except -1 nogil:
    """Make room for `wanted` items; those from n on are zero, and n becomes wanted."""
    if wanted > n[0]:
        arena_reserve(arena, buffer, wanted, size)
        memset(buffer.data + n[0] * size, 0, <size_t>((wanted - n[0]) * size))
        n[0] = wanted


@cython.final
cdef class Counter:
    """Chunks of both columns by one table of crfkit.evaluation.schemes, and those they have in common."""

    def __cinit__(self, const unsigned char[::1] rules, bint strict, bint keep):
        if rules.shape[0] != <Py_ssize_t>sizeof(self.rules):
            raise ValueError("not a table of crfkit.evaluation.schemes")
        memcpy(self.rules, &rules[0], sizeof(self.rules))
        self.strict, self.keep = strict, keep
        self.gold.start = self.found.start = -1

    cdef int run(self, const LabelC* labels, const int32_t* gold, const int32_t* found, int64_t n,
                 int64_t n_types) except -1 nogil:
        cdef int64_t i
        reserve_zeroed(self, &self.by_type, &self.n_types, n_types, 3 * sizeof(int64_t))
        for i in range(n):
            if self.strict:
                strict_step(self, labels[gold[i]].kind, labels[found[i]].kind)
            else:
                lenient_step(self, labels[gold[i]].kind, labels[found[i]].kind)
            self.position += 1
            if self.keep and gold[i] == 0:
                self.end_sentence()

    cdef int end_sentence(self) except -1 nogil:
        arena_reserve(self, &self.by_sentence, self.n_sentences + 1, sizeof(self.total))
        memcpy(self.by_sentence.data + self.n_sentences * sizeof(self.total), self.total, sizeof(self.total))
        self.n_sentences += 1

    cdef int finish(self, KindC outside, bint in_sentence) except -1:
        """The input has ended, perhaps without a blank line."""
        if self.n_types == 0:
            return 0
        if self.strict:
            strict_step(self, outside, outside)
        elif self.agreeing:
            self.agreeing = False
            count(self, self.gold.last.type, 2)
        if self.keep and in_sentence:
            self.end_sentence()

    @property
    def totals(self):
        """(gold, found, correct) chunks."""
        return self.total[0], self.total[1], self.total[2]

    def kept(self):
        """The totals after each sentence."""
        return vector(self, "q", self.by_sentence.data, 3 * self.n_sentences)

    def counts(self, types):
        """{type: (gold, found, correct)} of the types that occur in chunks."""
        cdef int64_t* c = <int64_t*>self.by_type.data
        cdef int64_t i
        return {types[i]: (c[3 * i], c[3 * i + 1], c[3 * i + 2])
                for i in range(self.n_types) if c[3 * i] or c[3 * i + 1]}


cdef inline void count(Counter counter, int32_t type, int which) noexcept nogil:
    """Count a chunk that is in the gold labels (0), was found (1), or both (2)."""
    counter.total[which] += 1
    (<int64_t*>counter.by_type.data)[3 * type + which] += 1


cdef void lenient_step(Counter counter, KindC gold, KindC found) noexcept nogil:
    """conlleval's own bookkeeping, since a label of an unknown kind can end a chunk in one column only."""
    cdef int in_gold = transition(counter.rules, counter.gold.last, gold)
    cdef int in_found = transition(counter.rules, counter.found.last, found)
    if counter.agreeing:
        if in_gold & END and in_found & END and counter.gold.last.type == counter.found.last.type:
            counter.agreeing = False
            count(counter, counter.gold.last.type, 2)
        elif (in_gold & END) != (in_found & END) or gold.type != found.type:
            counter.agreeing = False
    if in_gold & START:
        count(counter, gold.type, 0)
    if in_found & START:
        count(counter, found.type, 1)
    if in_gold & START and in_found & START and gold.type == found.type:
        counter.agreeing = True
    counter.gold.last, counter.found.last = gold, found


cdef void strict_step(Counter counter, KindC gold, KindC found) noexcept nogil:
    """A chunk is counted where it ends, for only there it is known to be well-formed."""
    cdef int32_t gold_type = counter.gold.last.type, found_type = counter.found.last.type
    cdef int64_t in_gold = close_or_open(counter.rules, &counter.gold, gold, counter.position)
    cdef int64_t in_found = close_or_open(counter.rules, &counter.found, found, counter.position)
    if in_gold >= 0:
        count(counter, gold_type, 0)
    if in_found >= 0:
        count(counter, found_type, 1)
    if in_gold >= 0 and in_gold == in_found and gold_type == found_type:
        count(counter, gold_type, 2)


cdef inline int64_t close_or_open(const uint8_t* rules, OpenC* column, KindC label, int64_t position) noexcept nogil:
    """Move on by one label; the start of the well-formed chunk that ended before it, or -1."""
    cdef int bits = transition(rules, column.last, label)
    cdef int64_t ended = -1
    if column.start >= 0 and not bits & INSIDE:
        if bits & END:
            ended = column.start
        column.start = -1
    if column.start < 0 and bits & START:
        column.start = position
    column.last = label
    return ended
