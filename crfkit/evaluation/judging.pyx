"""What is wrong with chunks that are wrong, in two columns of labels, gold and predicted.

Chunks are listed as they end. At the end of a sentence each is judged by those of the other column that it overlaps.
"""

cimport cython

from crfkit.memory cimport arena_reserve, memcpy
from .chunks cimport END, INSIDE, START, reserve_zeroed, transition

from crfkit.evaluation.mistakes import Verdicts

cdef enum:
    # in the order of Verdicts, best first
    RIGHT
    WRONG_TYPE          # the same tokens
    WRONG_ENDS          # the same type, and a token in common
    BOTH_WRONG
    ALONE               # no chunk of the other column has one of its tokens
    N_VERDICTS

if len(Verdicts._fields) != N_VERDICTS:
    raise ImportError("crfkit.evaluation.judging was built for other verdicts; build crfkit again")


@cython.final
cdef class Judge(Arena):
    """Chunks of both columns by one table of crfkit.evaluation.schemes, each with a verdict."""

    def __cinit__(self, const unsigned char[::1] rules, bint strict):
        if rules.shape[0] != <Py_ssize_t>sizeof(self.rules):
            raise ValueError("not a table of crfkit.evaluation.schemes")
        memcpy(self.rules, &rules[0], sizeof(self.rules))
        self.strict, self.confused = strict, {}
        self.gold.open.start = self.found.open.start = -1

    cdef int run(self, const LabelC* labels, const int32_t* gold, const int32_t* found, int64_t n, int64_t n_types) except -1:
        cdef int64_t i
        reserve_zeroed(self, &self.gold.by_type, &self.gold.n_types, n_types, N_VERDICTS * sizeof(int64_t))
        reserve_zeroed(self, &self.found.by_type, &self.found.n_types, n_types, N_VERDICTS * sizeof(int64_t))
        for i in range(n):
            self.step(&self.gold, labels[gold[i]].kind, gold[i] == 0)
            self.step(&self.found, labels[found[i]].kind, gold[i] == 0)
            self.position += 1
            if gold[i] == 0:
                self.judge()

    cdef int finish(self, KindC outside) except -1:
        """The input has ended, perhaps without a blank line."""
        self.step(&self.gold, outside, True)
        self.step(&self.found, outside, True)
        self.judge()

    cdef int step(self, ColumnC* column, KindC label, bint between) except -1:
        """Move a column on by one label, or `between` two sentences, and list the chunk that ended before."""
        cdef int bits = transition(self.rules, column.last, label)
        cdef bint ends = between or (not bits & INSIDE if self.strict else bits & (START | END))
        if column.open.start >= 0 and ends:
            if bits & END or not self.strict:       # else it is not well-formed
                column.open.end = self.position
                arena_reserve(self, &column.chunks, column.n + 1, sizeof(ChunkC))
                (<ChunkC*>column.chunks.data)[column.n] = column.open
                column.n += 1
            column.open.start = -1
        if column.open.start < 0 and bits & START:
            column.open = ChunkC(self.position, -1, label.type, ALONE)
        column.last = label

    cdef int judge(self) except -1:
        """Judge the chunks of the sentence that has ended, and count them."""
        cdef ChunkC* gold = <ChunkC*>self.gold.chunks.data
        cdef ChunkC* found = <ChunkC*>self.found.chunks.data
        cdef int64_t i = 0, j = 0
        cdef int32_t verdict
        while i < self.gold.n and j < self.found.n:
            if gold[i].start < found[j].end and found[j].start < gold[i].end:
                verdict = verdict_on(&gold[i], &found[j])
                gold[i].verdict, found[j].verdict = min(gold[i].verdict, verdict), min(found[j].verdict, verdict)
                if verdict == WRONG_TYPE:
                    pair = gold[i].type, found[j].type
                    self.confused[pair] = self.confused.get(pair, 0) + 1
            if gold[i].end <= found[j].end:
                i += 1
            else:
                j += 1
        count(&self.gold)
        count(&self.found)

    def confusion(self, types):
        """{(gold type, predicted type): chunks} of those that have the same tokens and another type."""
        return {(types[gold], types[found]): n for (gold, found), n in self.confused.items()}

    def counts(self, bint predicted, types):
        """{type: how many of its chunks got each verdict}, of one column."""
        cdef const ColumnC* column = &self.found if predicted else &self.gold
        cdef const int64_t* c = <const int64_t*>column.by_type.data
        cdef int64_t i, v
        counts = {types[i]: Verdicts(*[c[N_VERDICTS * i + v] for v in range(N_VERDICTS)]) for i in range(column.n_types)}
        return {name: row for name, row in counts.items() if any(row)}


cdef inline int32_t verdict_on(const ChunkC* gold, const ChunkC* found) noexcept nogil:
    """How well two chunks with a token in common agree."""
    cdef bint same = gold.start == found.start and gold.end == found.end
    if gold.type == found.type:
        return RIGHT if same else WRONG_ENDS
    return WRONG_TYPE if same else BOTH_WRONG


cdef void count(ColumnC* column) noexcept nogil:
    cdef const ChunkC* chunk = <const ChunkC*>column.chunks.data
    cdef int64_t i
    for i in range(column.n):
        (<int64_t*>column.by_type.data)[N_VERDICTS * chunk[i].type + chunk[i].verdict] += 1
    column.n = 0
