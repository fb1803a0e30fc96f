"""OWL-QN (Andrew & Gao, 2007): L-BFGS for a likelihood with an L1 penalty, which has kinks where weights are zero.

    F(x) = f(x) + l1 |x|_1,   f: negative log-likelihood + l2/2 |x|^2

Within an orthant, where no weight changes its sign, F is smooth. So each iteration chooses the orthant that steepest
descent enters and stays in it: the direction keeps only those of its components that descend, and what leaves the
orthant on the way is set to zero, exactly. The pseudo-gradient takes the place of the gradient: at zero it is the
slope of F to the side where F falls, or zero where F falls to neither side. The history is that of f alone, since
the penalty has no curvature.

The line search halves the step until F falls by Armijo's condition along the bent way that was really gone. Early
directions may be hundreds of times too long, so that a trial is given up as soon as the sequences looked at lose more than
F was. Without an L1 penalty there are no orthants, and this is L-BFGS with that line search.
"""

from libc.math cimport INFINITY, fabs, fmax, isfinite
from libc.stdint cimport int64_t
from libc.string cimport memset

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport BufferC, arena_reserve
from crfkit.loops.structs cimport weight_t
from .quasinewton cimport QuasiNewton, dual_objective

cdef enum:
    MAX_TRIALS = 60

# Relative to F: what is rounding of its sums.
cdef double ROUNDING = 1e-12


cdef class Owlqn(QuasiNewton):
    """Options: l1, l2, memory, epsilon, delta, period (crfkit.options.Owlqn)."""
    cdef BufferC pseudo
    cdef double l1

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return QuasiNewton.bytes_per_cell(options, threads) + 8      # the pseudo-gradient

    def __init__(self, Dataset data, Layout layout, options, **unused):
        QuasiNewton.__init__(self, data, layout, options, **unused)
        arena_reserve(self, &self.pseudo, self.n + 8, sizeof(double))
        self.steep = <double*>self.pseudo.data
        memset(self.steep, 0, self.n * sizeof(double))
        self.l1 = options.l1

    def set_l1(self, double l1) -> None:
        """Go on with another penalty, from the weights as they are."""
        self.l1 = l1
        self.restart()

    cdef int evaluate(self) except -1:
        cdef double size = 0
        cdef int64_t k
        QuasiNewton.evaluate(self)
        with nogil:
            for k in range(self.n):
                size += fabs(self.w[k])
        self.f += self.l1 * size
        return 0

    cdef double dual_value(self) noexcept nogil:
        cdef:
            double l1 = self.l1, l2 = self.objective.l2, entropy = self.f, most = 0, excess = 0, g
            int64_t k
        for k in range(self.n):
            g = self.g[k] - l2 * self.w[k]          # of the likelihood
            entropy -= l1 * fabs(self.w[k]) + (g + 0.5 * l2 * self.w[k]) * self.w[k]
            most = fmax(most, fabs(g))
            excess += fmax(fabs(g) - l1, 0.0) ** 2
        return dual_objective(entropy, l1, l2, most, excess)

    cdef void look_around(self) noexcept nogil:
        """The pseudo-gradient."""
        cdef int64_t k
        cdef double g, x
        for k in range(self.n):
            x, g = self.w[k], self.g[k]
            if x > 0 or (x == 0 and g < -self.l1):
                self.steep[k] = g + self.l1
            elif x < 0 or g > self.l1:
                self.steep[k] = g - self.l1
            else:
                self.steep[k] = 0

    cdef void restrict_direction(self) noexcept nogil:
        cdef int64_t k
        if self.l1 > 0:
            for k in range(self.n):
                if self.d[k] * self.steep[k] >= 0:
                    self.d[k] = 0

    cdef double move(self, double step) noexcept nogil:
        """w = w_old + step d, but for weights that would leave the orthant; the slope at w_old times the way gone."""
        cdef:
            int64_t k
            double slope = 0, side
        for k in range(self.n):
            self.w[k] = <weight_t>(self.w_old[k] + step * self.d[k])
            if self.l1 > 0:
                side = self.w_old[k] if self.w_old[k] != 0 else -self.steep[k]
                if (self.w[k] <= 0) if side > 0 else (self.w[k] >= 0):
                    self.w[k] = 0
            slope += self.steep[k] * (<double>self.w[k] - self.w_old[k])
        return slope

    cdef bint search(self, double step, double slope0) except -1:
        cdef:
            double f0 = self.f, slope
            int k
        for k in range(MAX_TRIALS):
            slope = self.move(step)
            if -slope <= 1e-16 * fabs(f0):
                break           # beyond what f resolves
            self.trials, self.step = self.trials + 1, step
            self.objective.bound = f0 * (1 + ROUNDING)
            self.evaluate()
            self.objective.bound = INFINITY
            if isfinite(self.f) and self.f < f0 and self.f <= f0 + 1e-4 * slope:
                return True
            step /= 2
        return False
