"""Trainers that shrink all weights at every step, as a gradient step on l2/2 |w|^2 does, and how they set their rate.

The decay touches every weight, so it is never carried out: w = s v, and only the scale s shrinks (Bottou). Rates:
rate0 / (1 + rate0 * l2/|S| * t) at step t, or rate0 * decay^pass.
"""

from libc.stdint cimport int64_t
from libc.math cimport INFINITY

from crfkit.core.dataset cimport Dataset
from crfkit.core.kernels cimport K
from crfkit.core.lattice cimport lattice_expect, lattice_load_weights, lattice_path_score
from crfkit.core.layout cimport Layout
from crfkit.core.structs cimport LatticeC, SentenceC, dataset_sentence, weight_t
from crfkit.trainers.base cimport OnlineTrainer

from ..errors import TrainingError

cdef enum:
    SAMPLES = 1000          # sequences on which the first rate is chosen


cdef class ScaledTrainer(OnlineTrainer):
    """Options: l2, rate, decay. A subclass has `step`, which calls `next_rate` first, and `shrink` once it has made
    use of the scores."""

    def __init__(self, Dataset data, Layout layout, options, **unused):
        self.scale, self.age = 1, 0
        self.penalty = options.l2 / data.c.n_seq
        self.decay = options.decay or 0
        self.rate0 = options.rate or self.calibrate()
        self.rate = self.rate0

    cdef void next_rate(self) noexcept nogil:
        """The rate of the step that begins."""
        if self.decay == 0:
            self.rate = self.rate0 / (1 + self.rate0 * self.penalty * self.age)
            self.age += 1

    cdef void shrink(self) noexcept nogil:
        """The share of the penalty in the gradient step."""
        self.scale *= 1 - self.rate * self.penalty
        if self.scale < 1e-4:
            self.fold_scale()

    cdef void fold_scale(self) noexcept nogil:
        """Carry the scale out before v grows beyond what single precision resolves, or the scale becomes zero."""
        cdef int64_t k
        for k in range(self.layout.c.n_cells):
            self.w[k] = <weight_t>(self.w[k] * self.scale)
        self.scale = 1

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
        """The rate that lowers the objective most in one round over a sample, among powers of two.

        A new start is made for each candidate. As in Bottou's sgd, the search goes up from 1/8 while it helps,
        then down.
        """
        cdef:
            double best = 0, best_loss, rate = 0.125, loss
            bint up = True
            object start = OnlineTrainer.weights(self)
        best_loss = self.sample_loss(start, 0)
        while 1e-8 < rate <= 64:
            try:
                loss = self.sample_loss(start, rate)
            except TrainingError:
                loss = INFINITY         # weights without bounds
            if loss < best_loss:
                best, best_loss = rate, loss
            elif up and best <= 0.125:
                up, rate = False, 0.125         # less may be better still
            elif best > 0:
                break
            rate = rate * 2 if up else rate / 2
        self.start_from(start)
        return best or 1e-3

    cdef int start_from(self, const float[::1] start) except -1:
        cdef int64_t k
        for k in range(self.layout.c.n_cells):
            self.w[k] = start[k]
        self.scale, self.age = 1, 0
        return 0

    cdef double sample_loss(self, start, double rate) except? -1:
        """The mean loss of the sample after one round over it at this rate; the decay plays no role here."""
        cdef:
            int64_t n = min(self.data.c.n_seq, SAMPLES), k
            double loss = 0
            SentenceC sent
            LatticeC* lat = &self.lattice.c
        self.start_from(start)
        self.rate0 = self.rate = rate
        for k in range(n):
            sent = dataset_sentence(&self.data.c, self.data.c.n_seq * k // n)
            self.lattice.reserve(&sent)
            if rate > 0:
                self.step(&sent, &loss)
        loss = 0
        self.settle()
        lattice_load_weights(lat, &self.layout.c, self.w, self.scale)
        for k in range(n):
            sent = dataset_sentence(&self.data.c, self.data.c.n_seq * k // n)
            self.lattice.reserve(&sent)
            K.score(&self.layout.c, self.w, self.scale, &sent, lat)
            lattice_expect(lat)
            loss += sent.weight * (lat.logz - lattice_path_score(lat, sent.label))
        return loss / n
