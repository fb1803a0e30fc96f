"""CRFsuite's online algorithms, step by step as they are there. crfkit's own require other margins.

The averaged perceptron, passive aggressive and AROW move along d, the features of the true path minus those of the best path.
e is the number of wrong labels, b how much the best path's score exceeds the true path's.

    perceptron    w += d
    passive       w += t d            t = l / |d|^2 (PA), at most C (PA-I), or l / (|d|^2 + 1 / 2C) (PA-II);
                                      l = b + sqrt(e), or b + 1 where it is not error_sensitive
    arow          w_k += a s_k d_k    a = (b + e) / (gamma + sum_k s_k d_k^2),   1 / s_k += d_k^2 / gamma

The step of a sequence with a weight is that many times as long; for arow, d is. Averages include the weights before the first step.
Sequences are visited in CRFsuite's order with the rand() of glibc, since the order affects the result.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport fmin, log, sqrt
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_follow, lattice_path_score
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport Arena, arena_zeros, array_of, memcpy
from crfkit.loops.structs cimport LatticeC, SentenceC
from crfkit.trainers.base cimport wrong_labels
from crfkit.trainers.stepwise cimport OnlineTrainer
from .paths cimport AveragedTrainer, Differences, change
from .sgd cimport ScaledTrainer

from crfkit.errors import TrainingError

cdef enum Rule:
    PERCEPTRON
    PASSIVE
    AROW

RULES = {"averaged-perceptron": PERCEPTRON, "passive-aggressive": PASSIVE, "arow": AROW}


cdef class Orders(Arena):
    """Random orders of n sequences, each drawn from the one before; `last` is the last one. They follow from what rand() gives in glibc: the
    sum of two numbers before, 31 and 3 back."""
    cdef uint32_t[31] numbers
    cdef int at
    cdef int32_t* last
    cdef int64_t n

    def __cinit__(self, int64_t n, order=None, int64_t drawn=0):
        """Begin with this order, that of the data where none is given, and a generator from which this many numbers have been drawn."""
        cdef int64_t k, x = 1
        order = range(n) if order is None else order
        if len(order) != n:
            raise ValueError(f"an order of {len(order)} sequences, there are {n}")
        self.n, self.last = n, <int32_t*>arena_zeros(self, n, sizeof(int32_t))
        for k, s in enumerate(order):
            if not 0 <= s < n:
                raise ValueError(f"sequence {s} of {n}")
            self.last[k] = s
        self.at = 3
        for k in range(31):     # as when a program begins, with the seed 1; the first 310 numbers are thrown away
            self.numbers[k] = <uint32_t>x
            x = x * 16807 % 2147483647
        for k in range(310 + drawn):
            self.random()

    cdef uint32_t random(self) noexcept:
        cdef uint32_t found = self.numbers[(self.at + 28) % 31] + self.numbers[self.at]
        self.numbers[self.at] = found
        self.at = (self.at + 1) % 31
        return found >> 1

    cdef void draw(self) noexcept:
        cdef int64_t k, j
        for k in range(self.n):
            j = self.random() % self.n
            self.last[j], self.last[k] = self.last[k], self.last[j]

    cdef int next_pass(self, OnlineTrainer trainer) except -1:
        self.draw()
        memcpy(trainer.sequences, self.last, self.n * sizeof(int32_t))


def shuffled(int32_t n):
    """The numbers below n, as an array, in the first order that a program draws."""
    cdef Orders orders = Orders(n)
    orders.draw()
    return array_of("i", orders.last, n)


cdef class CrfsuiteTrainer(AveragedTrainer):
    """Options: `rule`, CRFsuite's name of the algorithm; average; and its parameters type, c, error_sensitive, variance and gamma.
    The loss is the sum of l (passive), of b + e (arow), or of the part of wrong labels."""
    cdef Differences differences
    cdef Orders orders
    cdef Rule rule
    cdef int kind
    cdef bint sensitive
    cdef double c, gamma
    cdef double* s              # variances; NULL without

    def __init__(self, Dataset data, Layout layout, options, order=None, int64_t drawn=0):
        """`order`, `drawn`: as in Orders; the first pass takes the order drawn from this one."""
        cdef int64_t k
        self.rule, self.kind, self.sensitive = RULES[options.rule], options.type, options.error_sensitive
        self.c, self.gamma, self.differences = options.c, options.gamma, Differences()
        if self.rule == AROW:
            self.s = <double*>arena_zeros(self, layout.c.n_cells, sizeof(double))
            for k in range(layout.c.n_cells):
                self.s[k] = options.variance
        self.orders = Orders(data.c.n_seq, order, drawn)

    cdef int64_t instants(self) noexcept nogil:
        return self.steps + 1

    cdef int begin_pass(self) except -1:
        return self.orders.next_pass(self)

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            double more, short, by = 1
            int64_t wrong
        K.score(&self.layout.c, self.w, 1.0, sent, lat)
        wrong = wrong_labels(lat, sent, self.path)
        if not wrong:
            return 0
        self.differences.compare(&self.layout.c, sent, self.path, 1)
        more = lattice_path_score(lat, self.path) - lattice_path_score(lat, sent.label)
        if self.rule == PERCEPTRON:
            short = <double>wrong / sent.T
        elif self.rule == PASSIVE:
            short = more + (sqrt(<double>wrong) if self.sensitive else 1)
            by = self.pace(short, self.squares(1))
        else:
            short = more + wrong
            by = short / (self.gamma + self.squares(sent.weight))
        loss[0] += sent.weight * short
        self.take_step(by, sent.weight)

    cdef double squares(self, double weight) noexcept nogil:
        """|d|^2, or the variance of the difference, where d counts `weight` times."""
        cdef double total = 0, x
        cdef int64_t f
        for f in range(self.differences.size):
            x = weight * self.differences.values[f]
            total += x * x * (1 if self.s == NULL else self.s[self.differences.features[f].cell])
        return total

    cdef double pace(self, double short, double squares) noexcept nogil:
        """The length t of the passive-aggressive step."""
        if self.kind == 2:
            return short / (squares + 0.5 / self.c)
        if squares == 0:        # no feature differs
            return 0
        return fmin(self.c, short / squares) if self.kind == 1 else short / squares

    cdef void take_step(self, double by, double weight) noexcept nogil:
        cdef:
            int64_t f, cell
            double x, variance = 1
        for f in range(self.differences.size):
            cell, x = self.differences.features[f].cell, weight * self.differences.values[f]
            if self.s != NULL:
                variance = self.s[cell]
                self.s[cell] = 1 / (1 / variance + x * x / self.gamma)
            change(self.w, self.u, self.steps + 1, cell, by * x * variance)
            lattice_follow(&self.lattice.c, &self.layout.c, self.w, cell)


cdef class CrfsuiteSgd(ScaledTrainer):
    """CRFsuite's stochastic gradient descent: `sgd` with a rate that falls at each step, calibrated as CRFsuite does. Weights shrink before a
    sequence is scored, not afterwards. Options: sgd's, with a rate, and a decay of 0."""
    cdef Orders orders

    def __init__(self, Dataset data, Layout layout, options, order=None, int64_t drawn=0):
        ScaledTrainer.__init__(self, data, layout, options)
        self.orders = Orders(data.c.n_seq, order, drawn)

    def draw(self, int64_t samples):
        """Draw a new order of the sequences. Returns the loss of the first n of them with zero weights: as in CRFsuite, each counts once."""
        cdef int64_t k, tokens = 0
        self.orders.draw()
        for k in range(min(self.data.c.n_seq, max(samples, 0))):
            tokens += self.data.c.seq_ptr[self.orders.last[k] + 1] - self.data.c.seq_ptr[self.orders.last[k]]
        return tokens * log(self.layout.c.L)

    def begin_at(self, double rate):
        """Start from zero weights, with this rate."""
        self.start_trial(None, rate, 0)

    def trial(self, double rate, int64_t samples):
        """Train on the sample that was drawn; the penalised loss."""
        cdef double loss = 0, norm
        cdef int64_t n = min(self.data.c.n_seq, max(samples, 0))
        self.begin_at(rate)
        try:
            with nogil:
                self.learn_from(self.orders.last, n, &loss)
        except TrainingError:
            return float("inf")         # weights diverge
        self.fold_scale()
        norm = K.dot_floats(self.layout.c.n_cells, self.w, self.w)
        return loss + 0.5 * self.penalty * n * norm

    cdef int begin_pass(self) except -1:
        return self.orders.next_pass(self)

    cdef int begin_update(self) except -1 nogil:
        ScaledTrainer.begin_update(self)
        self.shrink()

    cdef double gain(self, double weight) noexcept nogil:
        return weight * self.rate / self.scale
