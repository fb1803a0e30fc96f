"""Stochastic gradient descent on the likelihood with an L2 and an L1 penalty.

    w <- (1 - rate * l2 / |S|) w + rate * (observed - expected)

L1 is the cumulative penalty of Tsuruoka, Tsujii & Ananiadou (2009). u is the total penalty that every weight could have received
so far; each step adds rate * l1 / |S| to it. A weight moves towards zero by the part of u that it has not received yet, but not
across zero. Where the gradient takes it across zero, what it has received counts against u. So noise around zero leaves a
weight at zero.

The penalty is lazy: it is applied to the weights of a sequence before the sequence is scored, and to all at the end of a pass. Moving
a weight in several parts, or by their sum at once, gives the same result. With an L2 penalty a weight, its u and what it has received
shrink alike, so with w = s v all of them are kept in units of s.
"""

from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport fabs, isfinite
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_load_weights
from crfkit.weights.cells cimport layout_row, pairs_row
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport arena_zeros, memset, vector
from crfkit.loops.structs cimport LayoutC, SentenceC
from .scaled cimport ScaledTrainer


cdef class Sgd(ScaledTrainer):
    """Options: l1, l2, rate, decay, batch_size (crfkit.options.Sgd). The loss is the negative log-likelihood of each sequence before
    its update."""
    cdef double* received       # the L1 penalty that each weight has received, with its sign; NULL without one
    cdef public double due      # u
    cdef double l1              # l1 / updates a pass

    seeks_optimum = True
    numbers = ScaledTrainer.numbers + ("due",)

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return ScaledTrainer.bytes_per_cell(options, threads) + 8 * (options.l1 > 0)      # its penalty

    def __cinit__(self, Dataset data, Layout layout, options, **unused):
        self.l1, self.due = options.l1 / self.updates_of(data.c.n_seq), 0
        if self.l1 > 0:
            self.threads = 1        # threads do not share `received`
            self.received = <double*>arena_zeros(self, layout.c.n_cells, sizeof(double))

    cdef dict vectors(self):
        found = ScaledTrainer.vectors(self)
        if self.l1 > 0:
            found["received"] = vector(self, "d", self.received, self.layout.c.n_cells)
        return found

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef SentenceC own
        cdef const SentenceC* learned
        cdef double gain
        if self.l1 > 0:
            self.clip_used(sent)
        lattice_load_weights(&self.lattice.c, &self.layout.c, self.w, self.scale)
        loss[0] += self.expect(self.w, self.scale, self.scored(sent, &own))
        gain = self.gain(sent.weight)
        learned = self.learned(sent, &own)
        self.learn(learned, gain)
        if self.restrict(sent, loss):
            self.learn(learned, -gain)
        if self.batch == 1:
            self.due += self.rate * self.l1 / self.scale
        return 0

    cdef void close_batch(self) noexcept nogil:
        ScaledTrainer.close_batch(self)
        self.due += self.rate * self.l1 / self.scale

    cdef void clip_used(self, const SentenceC* sent) noexcept nogil:
        """Bring the L1 penalty of the weights that this sequence uses up to date."""
        cdef:
            int64_t u
            const LayoutC* c = &self.layout.c
        for u in range(sent.u_ptr[0], sent.u_ptr[sent.T]):
            self.clip_row(sent.u_id[u])
        if sent.b_ptr != NULL:
            for u in range(sent.b_ptr[0], sent.b_ptr[sent.T]):
                self.clip_row(<int64_t>c.A + sent.b_id[u])
        if sent.T > 1:
            self.clip_row(pairs_row(c))

    cdef void clip_row(self, int64_t r) noexcept nogil:
        cdef int64_t first, n = layout_row(&self.layout.c, r, &first)
        K.clip(n, self.due, self.w + first, self.received + first)

    cdef void settle(self) noexcept nogil:
        if self.l1 > 0:
            K.clip(self.layout.c.n_cells, self.due, self.w, self.received)

    cdef void fold_scale(self) noexcept nogil:
        cdef double scale = self.scale
        cdef int64_t k
        ScaledTrainer.fold_scale(self)
        if self.l1 > 0:
            self.due *= fabs(scale)
            for k in range(self.layout.c.n_cells):
                self.received[k] *= scale

    cdef int end_pass(self) except -1:
        ScaledTrainer.end_pass(self)
        if not isfinite(self.due):      # weights are, as they became zero; a checkpoint holds no such number
            raise self.diverged(" at the end")
        return 0

    cdef double penalties(self, double scale) noexcept nogil:
        cdef int64_t k
        cdef double sizes = 0
        for k in range(self.layout.c.n_cells if self.l1 > 0 else 0):
            sizes += fabs(self.w[k])
        return ScaledTrainer.penalties(self, scale) + self.l1 * fabs(scale) * sizes

    cdef int begin_trial(self, double rate, int64_t updates) except -1:
        ScaledTrainer.begin_trial(self, rate, updates)
        self.due = 0
        if self.l1 > 0:
            memset(self.received, 0, self.layout.c.n_cells * sizeof(double))
        return 0
