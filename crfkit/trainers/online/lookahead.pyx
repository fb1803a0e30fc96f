"""Learning with lookahead (Tsuruoka, Miyao and Kazama, 2011): a history-based tagger that looks `depth` labels ahead.

Each token is a decision, taken after the true labels before it. The value of a label is the score of the best leaf of
the search that begins with it (decode/lookahead.pyx). The correct label must beat all others by `margin`; where it does
not, features of its best leaf gain 1 and those of the other label's best leaf lose 1. What the two have in common,
above all the labels before the token, cancels.

The average is over the weights after each decision, kept as in the perceptron.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.weights.cells cimport ANY, layout_cell, layout_history_cell
from crfkit.weights.layout cimport Layout
from crfkit.decode.lookahead cimport ChoiceC, LookaheadSearch
from crfkit.memory cimport arena_zeros
from crfkit.loops.structs cimport LayoutC, SentenceC
from .paths cimport AveragedTrainer, change

MANY_PAIRS = 30_000_000_000     # of labels, of all tokens in all passes: to look at each takes ten seconds or more
MANY_LABELS = 200               # from which on trainers that follow only pairs that are features are many times as fast
SELDOM = 0.85                   # how often a label follows itself, on average of all labels, from which on labels seldom change


cdef class Lookahead(AveragedTrainer):
    """The loss is the sum over all decisions of what the margin lacks. `direction` was applied when the data were read."""
    cdef LookaheadSearch search
    cdef uint16_t* right        # labels of the best leaf of the correct label, and of the other one
    cdef uint16_t* wrong
    cdef double margin
    cdef public int64_t decisions

    by_sequence = measured_steps = False
    steps_like_values = True
    numbers = AveragedTrainer.numbers + ("decisions",)

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        cdef int64_t of_search = 2 * <int64_t>layout.c.L * layout.c.P * sizeof(double)      # pairs of labels, turned, and bounds
        return super(Lookahead, cls).expected_bytes(data, layout, options, threads) + of_search

    @classmethod
    def slowness(cls, data, options, bint every):
        labels = len(data.labels)
        if labels < MANY_LABELS or every or options.passes * data.n_tokens * options.depth * labels**2 < MANY_PAIRS:
            return None
        return (f"lookahead takes many times as long here as cw or perceptron: for each token it goes through all pairs of {labels:,} labels; "
                "with --depth 0 it does not")

    @classmethod
    def weakness(cls, tallies):
        share = tallies.repetition()
        if share < SELDOM:
            return None
        return (f"labels seldom change: each follows itself {100 * share:.0f} times in 100, on average; lookahead then keeps the label before too often, "
                "and lbfgs or perceptron get more right")

    def __init__(self, Dataset data, Layout layout, options, shared=(), **unused):
        self.search = LookaheadSearch(layout, self.lattice, options.depth, shared)
        self.search.w = self.w
        self.margin = options.margin
        self.right = <uint16_t*>arena_zeros(self, options.depth + 1, sizeof(uint16_t))
        self.wrong = <uint16_t*>arena_zeros(self, options.depth + 1, sizeof(uint16_t))

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef ChoiceC choice
        cdef int32_t t
        self.search.watch(sent, 0)
        for t in range(sent.T):
            self.search.choose(t, sent.label, sent.label[t], self.margin, &choice)
            if choice.label != sent.label[t]:
                self.search.leaf(&choice, sent.label[t], self.right)
                self.search.leaf(&choice, choice.label, self.wrong)
                self.prefer(sent, &choice, sent.weight)
                loss[0] += choice.value - (choice.correct - self.margin)
                self.search.forget(t + 1)
            self.decisions += 1

    cdef void prefer(self, const SentenceC* sent, const ChoiceC* choice, double gain) noexcept nogil:
        """w += gain * (features of the leaf `right` - those of the leaf `wrong`)."""
        cdef:
            const uint16_t* right = self.right
            const uint16_t* wrong = self.wrong
            const LayoutC* layout = &self.layout.c
            int32_t k, t, a = choice.previous, a2 = choice.before, b = choice.previous, b2 = choice.before
            int64_t u
            double by
        for k in range(choice.last - choice.t + 1):
            t = choice.t + k
            if right[k] != wrong[k]:
                for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
                    by = gain * (sent.u_val[u] if sent.u_val != NULL else 1.0)
                    change(self.w, self.u, self.decisions, layout_cell(layout, sent.u_id[u], right[k]), by)
                    change(self.w, self.u, self.decisions, layout_cell(layout, sent.u_id[u], wrong[k]), -by)
            if t > 0 and layout.has_tau and (right[k] != wrong[k] or a != b):
                self.change_pair(a, right[k], gain)
                self.change_pair(b, wrong[k], -gain)
            if sent.b_ptr != NULL and (right[k] != wrong[k] or a != b or a2 != b2):
                for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                    if right[k] != wrong[k] or a != b:
                        self.change_history(sent.b_id[u], ANY, a, right[k], gain)
                        self.change_history(sent.b_id[u], ANY, b, wrong[k], -gain)
                    if layout.b_prev2 == NULL:
                        continue
                    self.change_history(sent.b_id[u], a2, a, right[k], gain)
                    self.change_history(sent.b_id[u], b2, b, wrong[k], -gain)
                    if right[k] != wrong[k] or a2 != b2:
                        self.change_history(sent.b_id[u], a2, ANY, right[k], gain)
                        self.change_history(sent.b_id[u], b2, ANY, wrong[k], -gain)
            a2, a = a, right[k]
            b2, b = b, wrong[k]

    cdef void change_pair(self, int32_t i, int32_t j, double by) noexcept nogil:
        cdef int64_t k = <int64_t>i * self.layout.c.P + j, cell = self.layout.c.tau0 + k
        cdef double was
        if self.layout.c.tau_mask[k]:
            was = self.w[cell]
            change(self.w, self.u, self.decisions, cell, by)
            self.search.note_pair(i, j, self.w[cell] - was)

    cdef void change_history(self, int32_t b, int32_t before, int32_t previous, int32_t label, double by) noexcept nogil:
        cdef int64_t cell = layout_history_cell(&self.layout.c, b, before, previous, label)
        cdef double was
        if cell >= 0:
            was = self.w[cell]
            change(self.w, self.u, self.decisions, cell, by)
            self.search.note_history(b, before, previous, label, self.w[cell] - was)

    cdef int begin_update(self) except -1 nogil:
        if not self.pairs_known:
            K.load_tau(&self.layout.c, self.w, 1.0, &self.lattice.c)
            self.search.stale = self.pairs_known = True

    cdef int64_t instants(self) noexcept nogil:
        return self.decisions
