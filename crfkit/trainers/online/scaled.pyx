"""Trainers that shrink all weights at every step, as a gradient step on l2/2 |w|^2 does, and how they set their rate.

The decay touches every weight, so it is never carried out: w = s v, and only the scale s shrinks (Bottou). Rates:
rate0 * decay^pass, or, with a decay of 0, rate0 / (1 + rate0 * l2/|S| * t) at step t, which is still so high after
thirty passes that the last sentences show in the weights. With mini-batches |S| stands for the number of
updates a pass, and the gradients of a batch are added up: a batch of all data makes gradient steps on the objective.
"""

from libc.stdint cimport int32_t, int64_t
from libc.math cimport INFINITY
from libc.string cimport memcpy

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.rng cimport RngC, rng_below, rng_seed, rng_shuffle
from crfkit.loops.structs cimport weight_t
from crfkit.trainers.base cimport OnlineTrainer

from crfkit.errors import TrainingError

cdef enum:
    SAMPLES = 1000          # sequences on which the first rate is chosen
    ROUNDS = 3              # over those of them that a rate is tried on, and one in which it falls
    ENOUGH = 1000           # tokens to judge it by

cdef double SMALLEST = 1e-4     # scale; below, v would grow beyond what single precision resolves


cdef class ScaledTrainer(OnlineTrainer):
    """Options: l2, rate, decay, batch_size. A subclass has `step`, which calls `gain` once it has made use of the
    scores."""

    lock_free = True

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return OnlineTrainer.bytes_per_cell(options, threads) + 6      # copies for the rate and the model

    def __init__(self, Dataset data, Layout layout, options, leader=None, **unused):
        self.scale, self.age = 1, 0
        self.penalty = options.l2 / self.updates_a_pass()
        self.decay = options.decay
        self.rate0 = leader.rate0 if leader is not None else options.rate or self.calibrate()
        self.rate = self.rate0

    cdef int begin_update(self) except -1 nogil:
        """The rate of the update that begins."""
        if self.decay == 0:
            self.rate = self.rate0 / (1 + self.rate0 * self.penalty * self.age)
            self.age += 1
        return 0

    cdef void shrink(self) noexcept nogil:
        """The share of the penalty in the gradient step."""
        self.scale *= 1 - self.rate * self.penalty
        if self.scale < SMALLEST:
            self.fold_scale()

    cdef double gain(self, double weight) noexcept nogil:
        """What the gradient of a sequence is multiplied by. Without batches its step is an update by itself."""
        if self.batch > 1:
            return weight * self.rate
        self.shrink()
        return weight * self.rate / self.scale

    cdef void close_batch(self) noexcept nogil:
        self.shrink()

    cdef double row_factor(self, int64_t r) noexcept nogil:
        return 1 / self.scale

    cdef int64_t skip(self, int64_t n) noexcept nogil:
        cdef int64_t k
        cdef double scale, rate
        for k in range(n):
            rate = self.rate0 / (1 + self.rate0 * self.penalty * self.age) if self.decay == 0 else self.rate
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
        """Carry the scale out before it becomes too small, or zero."""
        cdef int64_t k
        for k in range(self.layout.c.n_cells):
            self.w[k] = <weight_t>(self.w[k] * self.scale)
        self.scale, self.pairs_known = 1, False

    cdef void settle(self) noexcept nogil:
        """Carry out what is put off until a weight is used, if anything is."""

    cdef int begin_pass(self) except -1:
        if self.decay:
            self.rate = self.rate0 * self.decay**self.passes
        return 0

    cdef int end_pass(self) except -1:
        self.fold_scale()
        self.settle()
        return 0

    def state(self):
        state = OnlineTrainer.state(self)
        state.update(scale=self.scale, age=self.age, rate0=self.rate0)
        return state

    def restore(self, dict state):
        OnlineTrainer.restore(self, state)
        self.scale, self.age, self.rate0 = state["scale"], state["age"], state["rate0"]

    cdef double calibrate(self) except -1:
        """The rate with the lowest loss, among powers of two, on sequences of a sample that it was not tried on: on those it
        was tried on, a rate that learns them by heart has the lowest. Still, that decides where nothing can be foreseen: a
        single sequence, labels without a pattern, or sequences that the weights to start from know already."""
        cdef object start = OnlineTrainer.weights(self)
        cdef double rate = self.search(start, True) or self.search(start, False) or 1e-3
        self.start_from(start)
        return rate

    cdef double search(self, start, bint foreseen) except -1:
        """A new start is made for each candidate. As in Bottou's sgd, the search goes up from 1/8 while it helps, then
        down. 0: nothing helps."""
        cdef:
            double best = 0, best_loss = self.sample_loss(start, 0, foreseen), rate = 0.125, loss
            bint up = True
        while 1e-8 < rate <= 64:
            try:
                loss = self.sample_loss(start, rate, foreseen)
            except TrainingError:
                loss = INFINITY         # weights without bounds
            if loss < best_loss:
                best, best_loss = rate, loss
            elif up and best <= 0.125:
                up, rate = False, 0.125         # less may be better still
            elif best > 0:
                break
            rate = rate * 2 if up else rate / 2
        return best

    cdef int start_from(self, start) except -1:
        """The weights as they were, an array."""
        cdef const float[::1] cells = start
        if cells.shape[0]:
            memcpy(self.w, &cells[0], cells.shape[0] * sizeof(float))
        self.scale, self.age, self.steps, self.pairs_known = 1, 0, 0, False
        return 0

    cdef double sample_loss(self, start, double rate, bint foreseen) except? -1:
        """The mean loss after learning from a sample at this rate. Foreseen: that of one quarter after some rounds over the
        others and one in which the rate falls to zero, as that of a run does: noise that a high rate leaves in the weights
        goes away again, and should not count against it. Where a quarter has few tokens, others take their turn. Not
        foreseen: that of the sample itself after one round."""
        cdef:
            int64_t n = min(self.data.c.n_seq, SAMPLES), quarter, first, last, k, judged = 0, tokens = 0
            int32_t[2 * SAMPLES] sample
            double loss = 0
        self.draw(sample, n)
        if not foreseen:
            self.start_from(start)
            self.round_over(sample, n, rate, False)
            self.settle()
            return self.nll(self.w, self.scale, sample, n) / n
        for quarter in range(4):
            first, last = n * quarter // 4, n * (quarter + 1) // 4
            self.start_from(start)
            for k in range(ROUNDS):
                self.round_over(sample + last, n - last + first, rate, False)
            self.round_over(sample + last, n - last + first, rate, True)
            self.settle()
            loss += self.nll(self.w, self.scale, sample + first, last - first)
            judged += last - first
            for k in range(first, last):
                tokens += self.data.c.seq_ptr[sample[k] + 1] - self.data.c.seq_ptr[sample[k]]
            if tokens >= ENOUGH:
                break
        return loss / judged

    cdef void draw(self, int32_t* sample, int64_t n) noexcept:
        """n sequences from all parts of the data, twice: what follows some of them is all the others. By chance, as every
        second one of documents whose classes take turns would show but one class; the same chance each time."""
        cdef:
            RngC rng
            int64_t k, first, total = self.data.c.n_seq
        rng_seed(&rng, 0)
        for k in range(n):
            first = total * k // n
            sample[k] = <int32_t>(first + rng_below(&rng, total * (k + 1) // n - first))
        rng_shuffle(&rng, sample, n)
        memcpy(sample + n, sample, n * sizeof(int32_t))

    cdef int round_over(self, const int32_t* which, int64_t n, double rate, bint falling) except -1:
        """One round over some sequences, at this rate all along or from there down. The decay of passes plays no role here."""
        cdef:
            int64_t k = 0, size
            double own = 0
        while k < n and rate > 0:
            size = min(self.batch, n - k)
            self.rate0 = self.rate = rate * (n - k) / n if falling else rate
            self.update(which + k, size, &own)
            k += size
        return 0
