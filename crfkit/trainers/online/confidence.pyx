"""Trainers with a normal distribution over weights, of diagonal covariance: AROW and CW, for sequences.

Every weight w_k has a variance s_k, at first 1, or 1 / v^2 where v > 1 is the largest value of its attribute, so that
models do not depend on the unit of large values; nor on that of small ones: where no value reaches 0.1, one v serves all
attributes, and label pairs, which have no value, keep 1. A step compares the true path with the best other path under w. With d
the features of the true path minus those of the other, m = sum_k d_k w_k is the margin, v = sum_k d_k^2 s_k its variance,
and what the trainers have in common is

    w_k <- w_k + a s_k d_k          1 / s_k <- 1 / s_k + g d_k^2

where each trainer defines a and g as functions of m and v. Weights of frequent features move less and less. Weights also change where
the true path is the best one, but by too small a margin. The search does not add a cost for wrong labels.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.data.ordered cimport sentence_at
from crfkit.decode.nbest cimport NBest, search_best, search_further
from crfkit.lattice.lattice cimport IMPOSSIBLE, lattice_follow, lattice_load_scores, lattice_path_score
from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport INFINITY, fmax, sqrt
from crfkit.loops.structs cimport DatasetC, LatticeC, SentenceC, weight_t
from crfkit.memory cimport arena_zeros, memcmp, memset, vector
from crfkit.threads cimport PyErr_CheckSignals
from crfkit.trainers.base cimport square_of_small, wrong_labels
from crfkit.weights.cells cimport layout_row
from crfkit.weights.layout cimport Layout
from .paths cimport AveragedTrainer, Differences, FeatureC, change

from statistics import NormalDist

from crfkit.errors import ImpossibleError, TrainingError

cdef enum:
    SAMPLES = 2000          # sequences on which candidates for r are tried
    FEWEST_ROUNDS = 6       # passes over one half, as many as in training; the other half is held out
    MOST_ROUNDS = 20

cdef double LEAST = 1e-30       # a variance of zero would never change
cdef double USUAL = 30          # r


cdef class ConfidenceTrainer(AveragedTrainer):
    """A subclass has `solve`."""
    cdef NBest search
    cdef Differences differences
    cdef weight_t* s            # the variance of each weight
    cdef double usual           # the first one of weights of attributes, unless these have values above 1

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return AveragedTrainer.bytes_per_cell(options, threads) + 4      # its variance

    def __cinit__(self, Dataset data, Layout layout, options, **unused):
        self.search, self.differences = NBest(), Differences()
        self.s = <weight_t*>arena_zeros(self, layout.c.n_cells, sizeof(weight_t))
        self.usual = 1 / square_of_small(data)
        self.forget()

    cdef void forget(self) noexcept nogil:
        """Set all variances to their first values, as if nothing had been learned."""
        cdef:
            const DatasetC* c = &self.data.c
            int64_t u, k, first, size
            double most
        for k in range(self.layout.c.n_cells):
            self.s[k] = <weight_t>self.usual if k < self.layout.c.tau0 else 1
        for u in range(c.u_ptr[c.n_tok] if c.u_val != NULL and self.usual == 1 else 0):     # else no value is above 1
            most = 1 / fmax(1, <double>c.u_val[u] * c.u_val[u])
            size = layout_row(&self.layout.c, c.u_id[u], &first)
            if size and self.s[first] > most:
                for k in range(first, first + size):
                    self.s[k] = <weight_t>fmax(most, LEAST)

    cdef double solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil:
        """The loss: how far a margin falls short, if positive; and then the factors a and g of the step. `weight` is the sequence's."""
        return 0

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            const FeatureC* features
            const double* values
            double margin, variance = 0, short, by, gain, x
            double step = self.steps, least = LEAST
            double* u = self.u
            weight_t* w = self.w
            weight_t* s = self.s
            int64_t f, cell, n
            int rank = 0
        K.score(&self.layout.c, self.w, 1.0, sent, lat)
        if search_best(self.search, lat) == 0:
            raise ImpossibleError(IMPOSSIBLE)
        if memcmp(self.search.labels, sent.label, sent.T * sizeof(uint16_t)) == 0:
            rank = 1
            if search_further(self.search, lat, 2, 0, 1) == 1:      # there is no other path
                return 0
        self.differences.compare(&self.layout.c, sent, self.search.labels + <int64_t>rank * sent.T, 1)
        n, features, values = self.differences.size, self.differences.features, self.differences.values
        for f in range(n):
            variance += values[f] * values[f] * s[features[f].cell]
        if variance == 0:
            return 0
        margin = lattice_path_score(lat, sent.label) - self.search.scores[rank]
        short = self.solve(margin, variance, sent.weight, &by, &gain)
        if short <= 0 or sent.weight == 0:
            return 0
        loss[0] += sent.weight * short
        for f in range(n):
            cell, x = features[f].cell, values[f]
            change(w, u, step, cell, by * s[cell] * x)
            lattice_follow(lat, &self.layout.c, w, cell)
            variance = s[cell] / (1 + gain * x * x * s[cell])
            s[cell] = <weight_t>(variance if variance > least else least)

    cdef dict vectors(self):
        return {**AveragedTrainer.vectors(self), "variances": vector(self, "f", self.s, self.layout.c.n_cells)}


cdef class Arow(ConfidenceTrainer):
    """AROW, adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009).

    Each step minimises the divergence from the distribution before it, plus 1/(2r) of the squared hinge loss
    max(0, 1 - m)^2, plus 1/(2r) of the variance v of the margin. Over diagonal covariances that is

        a = (1 - m) / (v + r)          g = 1 / r

    The margin is a soft constraint, so one noisy sequence does less harm than with CW, and variances
    fall at the same pace whatever the margin. Instance weights divide r. The loss is the sum of the hinge losses.

    The best r differs by a factor of a thousand between corpora. If none is given, a few are tried on a sample.
    """
    cdef public double r

    numbers = ConfidenceTrainer.numbers + ("r",)

    def __init__(self, Dataset data, Layout layout, options, initial=None, resumed=False, **unused):
        """`resumed`: r, as all else, is that of a state to be restored."""
        self.r = options.regularization or (USUAL if resumed else self.best_r(initial))

    cdef double solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil:
        by[0] = (1 - margin) / (variance + self.r / weight)
        gain[0] = weight / self.r
        return 1 - margin

    def chosen(self):
        return {} if self.options.regularization else {"regularization": self.r}

    # ------------------------------------------------------------------------------------------ trials

    cdef double best_r(self, initial) except -1:
        """The r with the fewest wrong labels on held-out halves of a sample, or the usual one if it is not clearly worse."""
        cdef:
            int64_t n = min(self.data.c.n_seq, SAMPLES)
            int32_t[2 * SAMPLES] sample
            double best = USUAL, wrong, usual, fewest
        self.draw_sample(sample, n)
        usual = fewest = self.wrong_labels(USUAL, initial, sample, n)
        for r in (3.0, 300.0, 3000.0):
            wrong = self.wrong_labels(r, initial, sample, n)
            if wrong < fewest and wrong + sqrt(wrong) / 2 < usual:
                best, fewest = r, wrong
        self.begin_anew(initial)
        return best

    cdef double wrong_labels(self, double r, initial, const int32_t* sample, int64_t n) except -1:
        """Wrong labels on one half of a sample after training on the other, both ways. With fewer passes than training will
        make, another r may be the best one."""
        cdef:
            int64_t half, first, last, wrong = 0, rounds = max(FEWEST_ROUNDS, min(self.options.passes, MOST_ROUNDS))
            double loss = 0
        self.r = r
        for half in range(2):
            first, last = n * half // 2, n * (half + 1) // 2
            self.begin_anew(initial)
            try:
                for _ in range(rounds):
                    PyErr_CheckSignals()
                    with nogil:
                        self.learn_from(sample + last, n - last + first, &loss)
                wrong += self.wrong_now(sample + first, last - first)
            except TrainingError:
                return INFINITY         # training diverges
        return wrong

    cdef int begin_anew(self, start) except -1:
        ConfidenceTrainer.begin_anew(self, start)
        if self.u != NULL:
            memset(self.u, 0, self.layout.c.n_cells * sizeof(double))
        self.forget()

    cdef int64_t wrong_now(self, const int32_t* which, int64_t n) except -1:
        """How many labels of some sequences are wrong with the weights as they would be stored now."""
        cdef:
            int64_t k, wrong = 0
            const float[::1] learned = self.weights()
            const weight_t* w = &learned[0]
            SentenceC sent
        lattice_load_scores(&self.lattice.c, &self.layout.c, w)
        with nogil:
            for k in range(n):
                sent = sentence_at(self.ordered, which + k)
                self.lattice.reserve(&self.layout.c, &sent)
                K.score(&self.layout.c, w, 1.0, &sent, &self.lattice.c)
                wrong += wrong_labels(&self.lattice.c, &sent, self.path)
        return wrong


cdef class Cw(ConfidenceTrainer):
    """CW, confidence-weighted learning (Dredze, Crammer and Pereira 2008, the form with variances).

    Each step finds the distribution nearest to the one before it under which the margin is large enough for its variance,
    m' >= phi v', where phi is the deviation that a standard normal variable stays below with probability --confidence.
    The nearest one has

        a = 2 (phi v - m) / (v (b + root)) = (root - b) / (4 phi v)     with     b = 1 + 2 phi m,   root = sqrt(b^2 - 8 phi (m - phi v))
        g = 2 phi a

    where a is the larger root of a quadratic equation; the sign of b tells which form avoids cancellation. Its covariance is not
    diagonal; as usual only the diagonal of the inverse is kept. An initial variance other than 1 would be equivalent to another phi. The
    constraint is hard, so the instance weight of a sequence makes no difference, except that 0 leaves it out. The loss is the sum of
    phi v - m where positive.
    """
    cdef double phi

    def __init__(self, Dataset data, Layout layout, options, **unused):
        self.phi = NormalDist().inv_cdf(options.confidence)

    cdef double solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil:
        cdef double b = 1 + 2 * self.phi * margin, short = self.phi * variance - margin, root = sqrt(b * b + 8 * self.phi * short)
        by[0] = 2 * short / (variance * (b + root)) if b > 0 else (root - b) / (4 * self.phi * variance)
        gain[0] = 2 * self.phi * by[0]
        return short
