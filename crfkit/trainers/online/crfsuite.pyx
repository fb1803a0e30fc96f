"""CRFsuite's averaged perceptron, passive aggressive and AROW: where the best path differs from the true one, a step along
the difference d of their features. e is the number of wrong labels, b by how much the best score is above the true path's.

    perceptron    w += d
    passive       w += t d            t = l / |d|^2 (PA), at most C (PA-I), or l / (|d|^2 + 1 / 2C) (PA-II);
                                      l = b + sqrt(e), or b + 1 where it is not error_sensitive
    arow          w_k += a s_k d_k    a = (b + e) / (gamma + sum_k s_k d_k^2),   1 / s_k += d_k^2 / gamma

crfkit's own trainers ask for other margins. Averages are of the weights before the first step and after each. Sequences come in
the order that CRFsuite takes where rand() is that of glibc: it is part of the result.
"""

from libc.math cimport fmin, sqrt
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memcpy

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_follow, lattice_load_scores, lattice_path_score
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport BufferC, arena_reserve
from crfkit.loops.structs cimport LatticeC, SentenceC, weight_t
from .averaged cimport AveragedTrainer
from .differences cimport Differences
from .glibc cimport GlibcC, glibc_seed, glibc_shuffle

cdef enum Rule:
    PERCEPTRON
    PASSIVE
    AROW

RULES = {"averaged-perceptron": PERCEPTRON, "passive-aggressive": PASSIVE, "arow": AROW}


cdef class CrfsuiteTrainer(AveragedTrainer):
    """Options: `rule`, CRFsuite's name of the algorithm; average; and its parameters type, c, error_sensitive, variance and gamma.
    The loss is the sum of l (passive), of b + e (arow), or of the part of wrong labels."""
    cdef Differences differences
    cdef BufferC best, variances
    cdef GlibcC dice
    cdef Rule rule
    cdef int kind
    cdef bint sensitive
    cdef double c, gamma
    cdef double* s              # variances; NULL without
    cdef BufferC drawn          # the order of the last pass, as far as rand() is concerned

    def __init__(self, Dataset data, Layout layout, options, **unused):
        cdef int64_t k
        self.rule, self.kind, self.sensitive = RULES[options.rule], options.type, options.error_sensitive
        self.c, self.gamma, self.differences = options.c, options.gamma, Differences()
        arena_reserve(self, &self.best, data.c.longest + 1, sizeof(uint16_t))
        if self.rule == AROW:
            arena_reserve(self, &self.variances, layout.c.n_cells + 1, sizeof(double))
            self.s = <double*>self.variances.data
            for k in range(layout.c.n_cells):
                self.s[k] = options.variance
        arena_reserve(self, &self.drawn, data.c.n_seq + 1, sizeof(int32_t))
        for k in range(data.c.n_seq):
            (<int32_t*>self.drawn.data)[k] = <int32_t>k
        glibc_seed(&self.dice)

    cdef int64_t instants(self) noexcept nogil:
        return self.steps + 1

    cdef int begin_pass(self) except -1:
        cdef int64_t n = self.data.c.n_seq
        glibc_shuffle(&self.dice, <int32_t*>self.drawn.data, n)
        memcpy(self.order.data, self.drawn.data, n * sizeof(int32_t))
        lattice_load_scores(&self.lattice.c, &self.layout.c, self.w)
        return 0

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            uint16_t* best = <uint16_t*>self.best.data
            double more, short, by = 1
            int64_t t, wrong = 0
        K.score(&self.layout.c, self.w, 1.0, sent, lat)
        K.viterbi(lat, best)
        for t in range(sent.T):
            wrong += best[t] != sent.label[t]
        if not wrong:
            return 0
        self.differences.take(&self.layout.c, sent, best, 1)
        more = lattice_path_score(lat, best) - lattice_path_score(lat, sent.label)
        if self.rule == PERCEPTRON:
            short = <double>wrong / sent.T
        elif self.rule == PASSIVE:
            short = more + (sqrt(<double>wrong) if self.sensitive else 1)
            by = self.pace(short, self.squares())
        else:
            short = more + wrong
            by = short / (self.gamma + self.squares())
        loss[0] += sent.weight * short
        self.change(by * sent.weight)
        return 0

    cdef double squares(self) noexcept nogil:
        """|d|^2, or the variance of the difference."""
        cdef double total = 0
        cdef int64_t f
        for f in range(self.differences.size):
            total += self.differences.values[f] ** 2 * (1 if self.s == NULL else self.s[self.differences.features[f].cell])
        return total

    cdef double pace(self, double short, double squares) noexcept nogil:
        """How far the passive-aggressive step goes."""
        if self.kind == 2:
            return short / (squares + 0.5 / self.c)
        if squares == 0:        # no feature differs
            return 0
        return fmin(self.c, short / squares) if self.kind == 1 else short / squares

    cdef void change(self, double by) noexcept nogil:
        cdef:
            int64_t f, cell
            double x, change
        for f in range(self.differences.size):
            cell, x = self.differences.features[f].cell, self.differences.values[f]
            change = by * x
            if self.s != NULL:
                change *= self.s[cell]
                self.s[cell] = 1 / (1 / self.s[cell] + x * x / self.gamma)
            self.w[cell] += <weight_t>change
            lattice_follow(&self.lattice.c, &self.layout.c, self.w, cell)
            if self.u != NULL:
                self.u[cell] += change * (self.steps + 1)
