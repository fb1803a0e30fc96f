"""Trainers that find their first rate, where none is given, by trying some on a sample of the data.

A subclass calls `find_rate` once all it needs for a step is there, and says how a trial begins and ends.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport memcpy
from crfkit.data.dataset cimport Dataset
from crfkit.lattice.lattice cimport recursions_of
from crfkit.weights.layout cimport Layout
from crfkit.rng cimport RngC, rng_below, rng_seed, rng_shuffle
from crfkit.trainers.stepwise cimport OnlineTrainer

from crfkit.errors import TrainingError

cdef enum:
    SAMPLES = 1000          # sequences on which the first rate is chosen
    ROUNDS = 3              # over those of them that a rate is tried on, and one in which it falls
    ENOUGH = 1000           # tokens to judge it by


cdef class CalibratedTrainer(OnlineTrainer):
    """`rate0` is the first rate."""

    def __cinit__(self, Dataset data, Layout layout, options, str recursions="auto", **unused):
        self.lattice.list_features(&layout.c, recursions_of(recursions))

    # ------------------------------------------------------------------------------------------ of each trainer

    cdef int begin_trial(self, double rate, int64_t updates) except -1:
        """A trainer that begins at this rate, and makes so many updates a round; its weights are set already."""
        raise TypeError("a calibrated trainer without trials")

    cdef void fall_to(self, double rate) noexcept:
        """The rate of the next update in the last round of a trial. Rates that fall by themselves need nothing."""

    cdef double end_trial(self) noexcept:
        """Carry out what is put off until a weight is used; returns the scale of the weights."""
        return 1

    # ------------------------------------------------------------------------------------------ what they share

    def chosen(self):
        return {} if self.options.rate else {"rate": self.rate0}

    def state(self):
        state = OnlineTrainer.state(self)
        state.update(rate0=self.rate0)
        return state

    def restore(self, dict state):
        OnlineTrainer.restore(self, state)
        self.rate0 = state["rate0"]

    cdef int find_rate(self, options, leader) except -1:
        """The leader's, the one that is given, or the one with the lowest loss, among powers of two, on sequences of a sample
        that it was not tried on: on those it was tried on, a rate that learns them by heart has the lowest. Still, that decides
        where nothing can be foreseen: a single sequence, labels without a pattern, or sequences that the weights to start from
        know already."""
        cdef double rate, highest       # at which the penalty halves a weight in one step
        if leader is not None or options.rate:
            self.rate0 = leader.rate0 if leader is not None else options.rate
            return 0
        start = OnlineTrainer.weights(self)
        highest = 64 if options.l2 == 0 else min(64, self.updates_a_pass() / (2 * options.l2))
        rate = self.search(start, highest, True) if self.data.c.n_seq > 1 else 0
        rate = rate or self.search(start, highest, False) or min(1e-3, highest)
        self.try_from(start, rate, self.updates_a_pass())
        self.rate0 = rate
        return 0

    cdef double search(self, start, double highest, bint foreseen) except -1:
        """A new start is made for each candidate. As in Bottou's sgd, the search goes up from 1/8 while it helps, then
        down. 0: nothing helps."""
        cdef:
            double best = 0, best_loss = self.sample_loss(start, 0, foreseen), first = 0.125, rate, loss
            bint up = True
        while first > highest:
            first /= 2
        rate = first
        while rate > 1e-8:
            try:
                loss = self.sample_loss(start, rate, foreseen) if rate <= highest else INFINITY
            except TrainingError:
                loss = INFINITY         # weights without bounds
            if loss < best_loss:
                best, best_loss = rate, loss
            elif up and best <= first:
                up, rate = False, first         # less may be better still
            elif best > 0:
                break
            rate = rate * 2 if up else rate / 2
        return best

    cdef int try_from(self, start, double rate, int64_t n) except -1:
        """As a new trainer, with these weights, for rounds of n updates."""
        cdef const float[::1] cells = start
        if cells.shape[0]:
            memcpy(self.w, &cells[0], cells.shape[0] * sizeof(float))
        self.steps, self.pairs_known = 0, False
        return self.begin_trial(rate, n)

    cdef double sample_loss(self, start, double rate, bint foreseen) except? -1:
        """The mean loss after learning from a sample at this rate. Foreseen: that of one quarter after some rounds over the
        others and one in which the rate falls to zero, as that of a run does: noise that a high rate leaves in the weights
        goes away again, and should not count against it. Where a quarter has few tokens, others take their turn. Not
        foreseen: that of the sample itself after one round."""
        cdef:
            int64_t n = min(self.data.c.n_seq, SAMPLES), quarter, first, last, k, judged = 0, tokens = 0
            int32_t[2 * SAMPLES] sample
            double loss = 0
        draw_sample(self.data.c.n_seq, sample, n)
        if self.ordered is not None:
            self.ordered.gather(sample, 2 * n)
        if not foreseen:
            self.try_from(start, rate, (n + self.batch - 1) // self.batch)
            self.round_over(sample, n, rate, False)
            return self.nll(self.w, self.end_trial(), sample, n) / n
        for quarter in range(4):
            first, last = n * quarter // 4, n * (quarter + 1) // 4
            if first == last:
                continue
            self.try_from(start, rate, (n - last + first + self.batch - 1) // self.batch)
            for k in range(ROUNDS):
                self.round_over(sample + last, n - last + first, rate, False)
            self.round_over(sample + last, n - last + first, rate, True)
            loss += self.nll(self.w, self.end_trial(), sample + first, last - first)
            judged += last - first
            for k in range(first, last):
                tokens += self.data.c.seq_ptr[sample[k] + 1] - self.data.c.seq_ptr[sample[k]]
            if tokens >= ENOUGH:
                break
        return loss / judged

    cdef int round_over(self, const int32_t* which, int64_t n, double rate, bint falling) except -1:
        """One round over some sequences, at this rate all along or from there down. The decay of passes plays no role here."""
        cdef:
            int64_t k = 0, size
            double own = 0
        while k < n and rate > 0:
            size = min(self.batch, n - k)
            PyErr_CheckSignals()
            if falling:
                self.fall_to(rate * (n - k) / n)
            self.update(which + k, size, &own)
            k += size
        return 0


cdef void draw_sample(int64_t total, int32_t* sample, int64_t n) noexcept:
    """n sequences from all parts of the data, twice: what follows some of them is all the others. By chance, as every second
    one of documents whose classes take turns would show but one class; the same chance each time."""
    cdef:
        RngC rng
        int64_t k, first
    rng_seed(&rng, 0)
    for k in range(n):
        first = total * k // n
        sample[k] = <int32_t>(first + rng_below(&rng, total * (k + 1) // n - first))
    rng_shuffle(&rng, sample, n)
    memcpy(sample + n, sample, n * sizeof(int32_t))
