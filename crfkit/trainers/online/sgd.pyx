"""Stochastic gradient descent on the likelihood with an L2 and an L1 penalty, and what other trainers have of it: an L2 penalty as weight
decay at every step, and schedules of the learning rate.

    w <- (1 - rate * l2 / |S|) w + rate * (observed - expected)

The decay would touch every weight, so it is applied to a scale instead: w = s v, and only s shrinks (Bottou). Learning rates:
rate0 * decay^pass, or, with a decay of 0, rate0 / (1 + rate0 * l2/|S| * t) at step t, which is still so high after
thirty passes that the last sentences show in the weights. With mini-batches |S| is the number of
updates a pass, and the gradients of a batch are added up: a batch of all data makes gradient steps on the objective.

If a row has a fraction f of the rate (calibrated.pyx), its decay is 1 - f rate l2/|S|. That is so near 1 that it equals
the f-th power of the other rows' decay. So its weights are w = s^f v, and it needs no scale of its own.

L1 is the cumulative penalty of Tsuruoka, Tsujii & Ananiadou (2009). u is the total penalty that every weight could have received
so far; each step adds rate * l1 / |S| to it. A weight moves towards zero by the part of u that it has not received yet, but not
across zero. Where the gradient takes it across zero, what it has received counts against u. So noise around zero leaves a
weight at zero.

The penalty is lazy: it is applied to the weights of a sequence before the sequence is scored, and to all at the end of a pass. Moving
a weight in several parts, or by their sum at once, gives the same result. With an L2 penalty a weight, its u and what it has received
shrink alike, so all of them are kept in units of s.
"""

from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.lattice.lattice cimport lattice_load_for
from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport fabs, isfinite
from crfkit.loops.structs cimport LayoutC, SentenceC, weight_t
from crfkit.memory cimport arena_zeros, memset, vector
from crfkit.trainers.stepwise cimport OnlineTrainer
from crfkit.weights.cells cimport layout_row, multiply_row, pairs_row
from crfkit.weights.layout cimport Layout

from crfkit.options.trainers import DECAY, decay_of

cdef double SMALLEST = 1e-4     # scale; below, v would grow beyond what single precision resolves


cdef inline double falling_rate(ScaledTrainer trainer) noexcept nogil:
    """The rate of the next update, where it falls with each."""
    return trainer.rate0 / (1 + trainer.rate0 * trainer.penalty * trainer.age)


cdef class ScaledTrainer(CalibratedTrainer):
    """A subclass may have a `step` of its own, which calls `gain` once it is done with the scores."""

    numbers = CalibratedTrainer.numbers + ("scale", "age", "decay")

    def __init__(self, Dataset data, Layout layout, options, leader=None, found=None, shares=True, **unused):
        """`found`: a trial chose the rate in the options, not the user; `shares`: attributes with values above 1 may then have a lower one."""
        self.scale, self.age = 1, 0
        if leader is not None:
            self.shares = (<ScaledTrainer>leader).shares
        elif shares and (not options.rate if found is None else found) and not getattr(options, "l1", 0):     # which all weights share
            self.measure()
        self.known_rows, self.row_size = <char*>self.shares, sizeof(double)
        self.penalty = options.l2 / self.updates_of(data.c.n_seq)
        self.decay = decay_of(options)
        self.find_rate()
        self.rate = self.rate0

    def chosen(self):
        found = CalibratedTrainer.chosen(self)
        return found if self.decay == DECAY or self.options.decay is not None else {**found, "decay": self.decay}

    cdef int begin_update(self) except -1 nogil:
        """Set the learning rate of this update."""
        if self.decay == 0:
            self.rate = falling_rate(self)
            self.age += 1

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        """A step on the likelihood."""
        cdef SentenceC own
        cdef double gain
        lattice_load_for(&self.lattice.c, &self.layout.c, self.w, self.scale, sent)
        loss[0] += self.expect(self.w, self.scale, self.valued(sent, False, &own))
        gain = self.gain(sent.weight)
        return self.learn(self.valued(sent, True, &own), gain, gain, loss)

    cdef void shrink(self) noexcept nogil:
        """The penalties of one update."""
        self.scale *= 1 - self.rate * self.penalty
        if self.scale < SMALLEST:
            self.fold_scale()

    cdef double gain(self, double weight) noexcept nogil:
        """The factor on the gradient of a sequence; without batches this also applies its weight decay."""
        if self.batch > 1:
            return weight * self.rate
        self.shrink()
        return weight * self.rate / self.scale

    cdef double scale_of(self, int64_t r) noexcept nogil:
        cdef double share = self.shares[r]
        return 1 if share == 1 else K.exp((share - 1) * self.log_scale)

    cdef double gain_of(self, int64_t r) noexcept nogil:
        cdef double share = self.shares[r]
        return 1 if share == 1 else share * K.exp((1 - share) * self.log_scale)

    cdef const SentenceC* valued(self, const SentenceC* sent, bint gains, SentenceC* own) except NULL nogil:
        """The sequence with its values multiplied by the scales of rows, to score it; or with `gains`, after `gain`, by their rates, for the gradient."""
        if self.shares == NULL or gains and self.batch > 1:
            return sent
        self.log_scale = K.log(self.scale)
        self.load_values(sent, gains, own)
        return own

    cdef void close_batch(self) noexcept nogil:
        self.shrink()

    cdef double row_factor(self, int64_t r) noexcept nogil:
        if self.shares == NULL or self.shares[r] == 1:
            return 1 / self.scale
        return self.shares[r] * K.exp(-self.shares[r] * K.log(self.scale))

    cdef int64_t skip(self, int64_t n) noexcept nogil:
        cdef int64_t k
        cdef double scale, rate
        for k in range(n):
            rate = falling_rate(self) if self.decay == 0 else self.rate
            scale = self.scale * (1 - rate * self.penalty)
            if scale < SMALLEST:
                return k
            self.scale, self.rate = scale, rate
            self.age += 1
            self.steps += 1
        return n

    cdef int64_t undisturbed(self, int64_t n) noexcept nogil:
        cdef double scale = self.scale, rate = self.rate, age = self.age
        cdef int64_t steps = self.steps
        n = self.skip(n)
        self.scale, self.rate, self.age, self.steps = scale, rate, age, steps
        return n

    cdef void follow(self, OnlineTrainer leader) noexcept:
        cdef ScaledTrainer of = <ScaledTrainer>leader
        OnlineTrainer.follow(self, leader)
        self.scale, self.rate, self.age = of.scale, of.rate, of.age

    cdef void fold_scale(self) noexcept nogil:
        """Multiply the weights by their scale before it becomes too small, or zero."""
        cdef int64_t k, r
        cdef double scale = self.scale
        if self.shares == NULL:
            for k in range(self.layout.c.n_cells):
                self.w[k] = <weight_t>(self.w[k] * scale)
        else:
            for r in range(pairs_row(&self.layout.c) + 1):
                scale = self.scale if self.shares[r] == 1 else K.exp(self.shares[r] * K.log(self.scale))
                multiply_row(&self.layout.c, r, scale, self.w)
        self.scale, self.pairs_known = 1, False

    cdef void settle(self) noexcept nogil:
        """Carry out all lazy updates of the weights, if there are any."""

    cdef int begin_pass(self) except -1:
        if self.decay:
            self.rate = self.rate0 * self.decay**self.passes

    cdef int end_pass(self) except -1:
        self.fold_scale()
        self.settle()

    # ------------------------------------------------------------------------------------------ the first rate

    cdef int begin_trial(self, int64_t updates) except -1:
        self.rate, self.scale, self.age = self.rate0, 1, 0

    cdef void fall_to(self, double rate) noexcept nogil:
        self.rate0 = self.rate = rate

    cdef double end_trial(self) noexcept:
        self.settle()
        if self.shares != NULL:
            self.fold_scale()
        return self.scale


cdef class Sgd(ScaledTrainer):
    """The loss is the negative log-likelihood of each sequence before its update."""
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
        if self.l1 > 0:
            self.clip_used(sent)
        return ScaledTrainer.step(self, sent, loss)

    cdef void shrink(self) noexcept nogil:
        ScaledTrainer.shrink(self)
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

    cdef double penalties(self, double scale) noexcept nogil:
        cdef int64_t k
        cdef double sizes = 0
        for k in range(self.layout.c.n_cells if self.l1 > 0 else 0):
            sizes += fabs(self.w[k])
        return ScaledTrainer.penalties(self, scale) + self.l1 * fabs(scale) * sizes

    cdef int begin_trial(self, int64_t updates) except -1:
        ScaledTrainer.begin_trial(self, updates)
        self.due = 0
        if self.l1 > 0:
            memset(self.received, 0, self.layout.c.n_cells * sizeof(double))
