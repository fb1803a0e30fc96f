"""Trainers with a normal distribution over weights, of diagonal covariance.

Every weight w_k has a variance s_k, at first 1, or 1 / v^2 where v > 1 is the largest value of its attribute, so that
models do not depend on the unit of large values. A step compares the true path with the best other path under w. With d
the features of the true path minus those of the other, m = sum_k d_k w_k is the margin, v = sum_k d_k^2 s_k its variance,
and what the trainers have in common is

    w_k <- w_k + a s_k d_k          1 / s_k <- 1 / s_k + g d_k^2

where each trainer defines a and g as functions of m and v. Weights of frequent features move less and less. Weights also change where
the true path is the best one, but by too small a margin. The search does not add a cost for wrong labels.
"""

from libc.stdint cimport int64_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport fmax
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport IMPOSSIBLE, lattice_follow, lattice_path_score
from crfkit.weights.cells cimport layout_row
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport arena_zeros, memcmp, vector
from crfkit.decode.nbest cimport NBest, search_best, search_further
from crfkit.loops.structs cimport DatasetC, LatticeC, SentenceC, weight_t
from .paths cimport AveragedTrainer, Differences, FeatureC, change

from crfkit.errors import ImpossibleError

cdef double LEAST = 1e-30       # a variance of zero would never change


cdef class ConfidenceTrainer(AveragedTrainer):
    """Options: average. A subclass has `lacking` and `solve`."""

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return AveragedTrainer.bytes_per_cell(options, threads) + 4      # its variance

    def __cinit__(self, Dataset data, Layout layout, options, **unused):
        self.search, self.differences = NBest(), Differences()
        self.s = <weight_t*>arena_zeros(self, layout.c.n_cells, sizeof(weight_t))
        self.forget()

    cdef void forget(self) noexcept nogil:
        """Set all variances to their first values, as if nothing had been learned."""
        cdef:
            const DatasetC* c = &self.data.c
            int64_t u, k, first, size
            double most
        for k in range(self.layout.c.n_cells):
            self.s[k] = 1
        for u in range(c.u_ptr[c.n_tok] if c.u_val != NULL else 0):
            most = 1 / fmax(1, <double>c.u_val[u] * c.u_val[u])
            size = layout_row(&self.layout.c, c.u_id[u], &first)
            if size and self.s[first] > most:
                for k in range(first, first + size):
                    self.s[k] = <weight_t>fmax(most, LEAST)

    cdef double lacking(self, double margin, double variance) noexcept nogil:
        """The loss: how far a margin falls short, if positive."""
        return 0

    cdef void solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil:
        """The factors a and g of the step, for a margin that falls short; `weight` is the sequence's."""
        by[0] = gain[0] = 0

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            const FeatureC* features
            const double* values
            double margin, variance = 0, short, by, gain, x
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
            variance += values[f] * values[f] * self.s[features[f].cell]
        if variance == 0:
            return 0
        margin = lattice_path_score(lat, sent.label) - self.search.scores[rank]
        short = self.lacking(margin, variance)
        if short <= 0 or sent.weight == 0:
            return 0
        loss[0] += sent.weight * short
        self.solve(margin, variance, sent.weight, &by, &gain)
        for f in range(n):
            cell, x = features[f].cell, values[f]
            change(self.w, self.u, self.steps, cell, by * self.s[cell] * x)
            lattice_follow(lat, &self.layout.c, self.w, cell)
            self.s[cell] = <weight_t>fmax(self.s[cell] / (1 + gain * x * x * self.s[cell]), LEAST)
        return 0

    cdef dict vectors(self):
        return {**AveragedTrainer.vectors(self), "variances": vector(self, "f", self.s, self.layout.c.n_cells)}
