"""L-BFGS: the limited-memory quasi-Newton method on the L2-penalised likelihood (the iteration is in quasinewton.pyx).

The line search enforces the strong Wolfe conditions (Nocedal & Wright, algorithms 3.5 and 3.6); the
first trial, the full step, nearly always satisfies them.

Most iterations are spent far from the optimum. Dual coordinate ascent gets close to it in fewer
passes, but has no stopping criterion; so it serves as a warm-up (`prepare`), and L-BFGS continues from there. The marginals that
it ends with tell the curvature along each weight (steps.pyx), without which L-BFGS is slow where the penalty is small.
"""

import array

from crfkit.memory cimport memcpy
from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport INFINITY, fabs, isfinite, log, sqrt
from crfkit.loops.kernels cimport K
from crfkit.weights.layout cimport Layout
from crfkit.loops.structs cimport weight_t
from .dual cimport DualAscent
from .quasinewton cimport SLOPE, STEP, QuasiNewton, bytes_of_scales, may_take

from crfkit.errors import TrainingError
from .dual import dual_bytes
from .visits import bytes_of_visits

cdef enum:
    MAX_TRIALS = 60
    SOON = 4                    # iterations to look back on after a warm-up
    PATIENCE = 32               # passes of the warm-up within which the residuals must be halved

cdef double LEAST_STEP = 1e-9   # relative to the norm of the point, which is in single precision
cdef double WARM = 1e-3         # relative to the objective: residuals (dual.pyx) below this end the warm-up
cdef double NO_PENALTY = 1e-30  # with less, gradients divided by it would leave single precision (steps.pyx)


def warm_up_bytes(Dataset data not None, Layout layout not None, options) -> int:
    """Memory for the warm-up; 0 where there is none: not wanted, hardly a penalty and so no dual, or if it took several times that of L-BFGS."""
    if not options.warm_up or options.l2 < NO_PENALTY:
        return 0
    needed = dual_bytes(data, layout)
    return needed if may_take(needed, layout, options) else 0


cdef class Lbfgs(QuasiNewton):
    """Options: l2, memory, epsilon, delta, period, warm_up (crfkit.options.Lbfgs)."""
    cdef object seed
    cdef readonly bint warms_up     # not if weights were given
    cdef public bint near           # the warm-up came near the optimum

    numbers = QuasiNewton.numbers + ("near",)

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        # The warm-up has its own weights, and at its end the curvature; no other vector is in use before that, nor are visits listed.
        warm = layout.c.n_cells * 3 * 4 + (0 if data.folder is not None else warm_up_bytes(data, layout, options))
        visits = bytes_of_visits(data, layout, threads)
        if options.train_accuracy or data.possible is not None:     # the starting point is evaluated
            warm += visits
        return bytes_of_scales(data, layout) + max(warm, layout.c.n_cells * cls.bytes_per_cell(options, threads) + visits)

    def __init__(self, Dataset data, Layout layout, options, initial=None, seed=0, **others):
        QuasiNewton.__init__(self, data, layout, options, initial, **others)
        self.seed, self.near = seed, False
        self.warms_up = initial is None and warm_up_bytes(data, layout, options) > 0

    def prepare(self, should_stop=None):
        """The warm-up: yields a record for each pass. Afterwards the weights are those it found, if they are better than zero weights."""
        cdef:
            DualAscent ascent
            double objective, nothing, left, goal = INFINITY
            int since = 0
        yield from QuasiNewton.prepare(self, should_stop)
        if self.converged is not None or not self.warms_up:
            return
        self.recent.clear()
        self.started = False
        if self.data.possible is None:
            nothing = self.data.weight * log(<double>self.layout.c.L)   # the objective at zero weights
        else:
            self.evaluate()
            nothing = self.f
        ascent = DualAscent(self.data, self.layout, self.options, seed=self.seed)
        for _ in range(self.options.warm_up):
            memcpy(self.w_old, ascent.w, self.n * sizeof(weight_t))
            try:
                objective = ascent.run_pass(should_stop)["loss"] + 0.5 * ascent.l2 * K.dot_floats(self.n, ascent.w, ascent.w)
            except TrainingError:
                return          # the weights diverge
            yield {"loss": objective, **ascent.measures()}
            left, since = ascent.remaining(), since + 1
            if left < 0.5 * goal:
                goal, since = left, 0
            self.near = left < WARM * objective
            if (should_stop is not None and should_stop()) or self.near or since == PATIENCE:
                break
        memcpy(self.w, ascent.w, self.n * sizeof(weight_t))
        curvature = self.curvature_of(ascent)
        ascent = None       # what it has takes as much memory as the visits
        if not self.take_over(curvature, nothing):
            self.near = False
            self.set_weights(None)

    cdef int period(self) noexcept:
        """Few iterations after a warm-up that came near the optimum: it soon shows that the objective hardly falls any more."""
        return min(SOON, self.options.period) if self.near else self.options.period

    cdef object curvature_of(self, DualAscent ascent):
        """The curvature of the likelihood along each weight at the end of the ascent, or None."""
        # Far from the optimum, marginals of large values are near 0 and 1 and show no curvature: scales by values are better there.
        # Without values curvature helps there too, unless the penalty is tiny.
        if not self.near and self.data.has_values:
            return None
        cdef float[::1] found = array.array("f", [0]) * (self.n + 1)
        ascent.add_curvature(&found[0])
        return found

    cdef bint take_over(self, const float[::1] curvature, double nothing) except -1:
        """Stay at the weights of an ascent, if their objective is below `nothing`; returns whether it is. The step of its last pass, from
        w_old, is the first pair of the history, which sets the length of the next step."""
        self.need_history()
        self.exchange()
        self.evaluate()
        self.history.direction(self.g, self.g)
        self.exchange()
        self.evaluate()
        if not self.f < nothing:
            return False
        if curvature is not None:
            self.history.scale_by_curvature(&curvature[0], self.options.l2)
        self.history.add(self.w, self.w_old, self.g, self.g)
        self.start()
        return True

    cdef double trial(self, double step) except? -1:
        """Move to w_old + step d; returns the slope along d there."""
        self.trials += 1
        self.step = step
        self.in_parts(STEP)
        self.evaluate()
        return self.sum_of_parts(SLOPE)

    cdef bint search(self, double step, double slope0) except -1:
        cdef:
            double f0 = self.f, slope
            double low = 0, f_low = f0, slope_low = slope0
            double high = INFINITY, f_high = INFINITY
            double size, least
            int k
        for k in range(MAX_TRIALS):
            slope = self.trial(step)
            if not isfinite(self.f) or self.f > f0 + 1e-4 * step * slope0 or (low > 0 and self.f >= f_low):
                high, f_high = step, self.f
            elif fabs(slope) <= -0.9 * slope0:
                return True
            else:
                if slope * (high - low) >= 0:
                    high, f_high = low, f_low
                low, f_low, slope_low = step, self.f, slope
                if high == INFINITY:
                    step *= 4
                    continue
            step = between(low, f_low, slope_low, high, f_high)
            size = sqrt(K.dot_floats(self.n, self.d, self.d))
            least = LEAST_STEP * sqrt(K.dot_floats(self.n, self.w_old, self.w_old))
            if fabs(high - low) * size <= least:
                break
        if low > 0:
            # Armijo's condition holds there, only the curvature condition fails: accept it.
            self.trial(low)
            return True
        return False


cdef double between(double low, double f_low, double slope_low, double high, double f_high) noexcept nogil:
    """The minimum of the parabola through low and high, kept away from both ends of the interval. f_high may be infinite."""
    cdef double width = high - low, step = low - 0.5 * slope_low * width * width / (f_high - f_low - slope_low * width)
    if not isfinite(step) or fabs(step - low) < 0.1 * fabs(width) or (step - low) * width < 0:
        return low + 0.1 * width
    if fabs(step - low) > 0.9 * fabs(width):
        return low + 0.9 * width
    return step
