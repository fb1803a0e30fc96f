"""L-BFGS: the limited-memory quasi-Newton method on the L2-penalised likelihood.

The direction is a linear combination of the m last steps s, the m last changes y of the gradient, and the gradient
g. So the two loops of Nocedal & Wright (algorithm 7.4) run on coefficients, given the inner products of those
2m + 1 vectors (as Chen, Wang & Zhou, 2014, do for clusters): one pass over memory brings the new products, another
one forms the direction, instead of 4m passes. The history is stored in single precision: it steers the search and
does not enter the result.

The line search asks for the strong Wolfe conditions (Nocedal & Wright, algorithms 3.5 and 3.6); nearly always the
first trial, the full step, satisfies them.
"""

from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from crfkit.core.dataset cimport Dataset
from crfkit.core.kernels cimport K
from crfkit.core.layout cimport Layout
from crfkit.core.memory cimport BufferC, buffer_free, buffer_reserve
from crfkit.trainers.base cimport Trainer, take, vector
from crfkit.trainers.objective cimport Objective

from collections import deque

from ..errors import TrainingError

cdef enum:
    PARTS = 16          # vectors are cut into so many parts, whatever the number of threads
    MAX_TRIALS = 30


cdef class History:
    """The last m pairs s, y in single precision, and all inner products among them and with g."""
    cdef:
        int64_t n
        int32_t m, used, newest             # pairs kept, pairs in use, slot of the newest
        BufferC store
        const float* row[128]               # s of slot k at 2k, y at 2k + 1
        double gram[128][128]
        double by_g[128]

    def __cinit__(self, int64_t n, int32_t m):
        cdef int64_t stride = (n + 15) // 16 * 16
        cdef int32_t k
        if not 1 <= m <= 64:
            raise ValueError("the history holds 1 to 64 pairs")
        self.n, self.m, self.used, self.newest = n, m, 0, -1
        buffer_reserve(&self.store, 2 * m * stride, sizeof(float))
        for k in range(2 * m):
            self.row[k] = <float*>self.store.data + k * stride
            memset(<float*>self.row[k] + n, 0, (stride - n) * sizeof(float))

    def __dealloc__(self):
        buffer_free(&self.store)

    cdef void forget(self) noexcept nogil:
        self.used, self.newest = 0, -1

    cdef void add(self, const double* x, const double* x_old, const double* g, const double* g_old) noexcept nogil:
        """A new pair s = x - x_old, y = g - g_old, and all products that change."""
        cdef:
            int32_t slot = (self.newest + 1) % self.m, k, part
            float* s = <float*>self.row[2 * slot]
            float* y = <float*>self.row[2 * slot + 1]
            double sums[3 * 128]
            int64_t i
        for i in range(self.n):
            s[i] = <float>(x[i] - x_old[i])
            y[i] = <float>(g[i] - g_old[i])
        self.newest = slot
        self.used = min(self.used + 1, self.m)
        for k in range(2 * self.used):
            self.gram[k][2 * slot] = self.gram[k][2 * slot + 1] = self.by_g[k] = 0
        for part in range(PARTS):
            K.dots(self.n * part // PARTS, self.n * (part + 1) // PARTS, 2 * self.used, self.row, s, y, g, sums)
            for k in range(2 * self.used):
                self.gram[k][2 * slot] += sums[3 * k]
                self.gram[k][2 * slot + 1] += sums[3 * k + 1]
                self.by_g[k] += sums[3 * k + 2]
        for k in range(2 * self.used):
            self.gram[2 * slot][k] = self.gram[k][2 * slot]
            self.gram[2 * slot + 1][k] = self.gram[k][2 * slot + 1]
        if self.gram[2 * slot][2 * slot + 1] <= 1e-12 * self.gram[2 * slot + 1][2 * slot + 1]:
            self.forget()       # no curvature: the model of the function is of no use here

    cdef double product(self, const double* c, double c_g, int32_t k) noexcept nogil:
        cdef double sum = c_g * self.by_g[k]
        cdef int32_t j
        for j in range(2 * self.used):
            sum += c[j] * self.gram[j][k]
        return sum

    cdef void direction(self, const double* g, double* d) noexcept nogil:
        """d = -H g."""
        cdef:
            double c[128]
            double alpha[64]
            double c_g = -1, scale
            int32_t k, slot
        memset(c, 0, sizeof(c))
        for k in range(self.used):
            slot = (self.newest - k + self.m) % self.m
            alpha[slot] = self.product(c, c_g, 2 * slot) / self.gram[2 * slot][2 * slot + 1]
            c[2 * slot + 1] -= alpha[slot]
        if self.used:
            slot = self.newest
            scale = self.gram[2 * slot][2 * slot + 1] / self.gram[2 * slot + 1][2 * slot + 1]
            c_g *= scale
            for k in range(2 * self.used):
                c[k] *= scale
        for k in range(self.used - 1, -1, -1):
            slot = (self.newest - k + self.m) % self.m
            c[2 * slot] += alpha[slot] - self.product(c, c_g, 2 * slot + 1) / self.gram[2 * slot][2 * slot + 1]
        K.combine(0, self.n, 2 * self.used, self.row, c, c_g, g, d)


    def state(self):
        """As for trainers; see there."""
        cdef int64_t stride = (self.n + 15) // 16 * 16
        return {
            "pairs": vector(self, "f", self.store.data, 2 * self.used * stride),
            "gram": vector(self, "d", &self.gram[0][0], 128 * 128),
            "by_g": vector(self, "d", &self.by_g[0], 128),
            "used": self.used,
            "newest": self.newest,
        }

    def restore(self, dict state):
        """As for trainers; see there."""
        cdef int64_t stride = (self.n + 15) // 16 * 16
        self.used, self.newest = state["used"], state["newest"]
        if not 0 <= self.used <= self.m or not -(self.used == 0) <= self.newest < max(self.used, 1):
            raise ValueError("used, newest: more pairs than there is room for")
        take(state, "pairs", "f", self.store.data, 2 * self.used * stride)
        take(state, "gram", "d", &self.gram[0][0], 128 * 128)
        take(state, "by_g", "d", &self.by_g[0], 128)


cdef class Lbfgs(Trainer):
    """Options: l2, memory, epsilon, delta, period (crfkit.options.Lbfgs)."""
    cdef:
        Objective objective
        History history
        BufferC vectors
        double* x
        double* g
        double* d
        double* x_old
        double* g_old
        int64_t n
        double f
        bint started
        object recent

    def __init__(self, Dataset data, Layout layout, options, initial=None, int threads=1, **unused):
        cdef int64_t k, stride
        self.n = layout.c.n_cells
        self.objective = Objective(data, layout, options.l2, threads)
        self.history = History(self.n, options.memory)
        stride = (self.n + 7) // 8 * 8
        buffer_reserve(&self.vectors, 5 * stride, sizeof(double))
        memset(self.vectors.data, 0, 5 * stride * sizeof(double))
        self.x = <double*>self.vectors.data
        self.g, self.d = self.x + stride, self.x + 2 * stride
        self.x_old, self.g_old = self.x + 3 * stride, self.x + 4 * stride
        for k in range(self.n):
            self.x[k] = self.w[k]
        self.recent = deque(maxlen=options.period + 1)
        self.started = False

    def __dealloc__(self):
        buffer_free(&self.vectors)

    cdef double norm(self, const double* v) noexcept nogil:
        return sqrt(K.dot(self.n, v, v))

    def run_pass(self, should_stop=None) -> dict:
        """One iteration: a direction, and a step along it."""
        cdef:
            double slope, step, before
            bint fresh
        if not self.started:
            self.f = self.objective.evaluate(self.x, self.g)
            self.check()
            self.recent.append(self.f)
            self.started = True
        before = self.f
        while True:
            fresh = self.history.used == 0
            with nogil:
                self.history.direction(self.g, self.d)
                slope = K.dot(self.n, self.g, self.d)
            if slope == 0:
                self.converged = "the gradient is zero"
                return self.report()
            step = fmin(1.0, 1 / self.norm(self.g)) if fresh else 1.0
            self.exchange()
            if slope < 0 and self.search(step, slope):
                break
            self.exchange()
            self.f = before
            if fresh:
                # Steepest descent finds nothing lower: the limit of the arithmetic.
                self.converged = "no step lowers the objective any more"
                return self.report()
            with nogil:
                self.history.forget()
        with nogil:
            self.history.add(self.x, self.x_old, self.g, self.g_old)
        self.check_convergence()
        return self.report()

    cdef void exchange(self) noexcept nogil:
        """The point and the gradient become the old ones, and the other way round."""
        cdef double* x = self.x
        cdef double* g = self.g
        self.x, self.x_old = self.x_old, x
        self.g, self.g_old = self.g_old, g

    def weights(self):
        cells = Trainer.weights(self)
        cdef float[::1] view = cells if len(cells) else None
        cdef int64_t k
        for k in range(self.n):
            view[k] = <float>self.x[k]
        return cells

    def state(self):
        state = self.history.state()
        state.update(
            converged=self.converged,
            point=vector(self, "d", self.x, self.n),
            gradient=vector(self, "d", self.g, self.n),
            objective=self.f if self.started else None,
            recent=list(self.recent),
        )
        return state

    def restore(self, dict state):
        self.converged = state["converged"]
        self.history.restore(state)
        take(state, "point", "d", self.x, self.n)
        take(state, "gradient", "d", self.g, self.n)
        self.started = state["objective"] is not None
        self.f = state["objective"] or 0.0
        self.recent.clear()
        self.recent.extend(map(float, state["recent"]))

    cdef report(self):
        return {"objective": self.f, "gradient": self.norm(self.g)}

    cdef int check(self) except -1:
        if not isfinite(self.f) or not isfinite(self.norm(self.g)):
            raise TrainingError(
                "the objective is not finite; scale down the values of the features, or raise --l2"
            )
        return 0

    cdef int check_convergence(self) except -1:
        cdef double improvement
        self.recent.append(self.f)
        if self.norm(self.g) <= self.options.epsilon * fmax(1.0, self.norm(self.x)):
            self.converged = "the gradient is small (--epsilon)"
        elif len(self.recent) > self.options.period:
            improvement = (self.recent[0] - self.f) / fmax(fabs(self.f), 1e-300)
            if improvement < self.options.delta:
                self.converged = "the objective hardly falls any more (--delta)"
        return 0

    cdef double trial(self, double step) except? -1:
        """Moves to x_old + step d; the slope along d there."""
        cdef int64_t k
        with nogil:
            for k in range(self.n):
                self.x[k] = self.x_old[k] + step * self.d[k]
        self.f = self.objective.evaluate(self.x, self.g)
        return K.dot(self.n, self.g, self.d)

    cdef bint search(self, double step, double slope0) except -1:
        """Strong Wolfe line search; whether a point that lowers f enough was found (x, g, f are then there)."""
        cdef:
            double f0 = self.f, slope
            double low = 0, f_low = f0, slope_low = slope0
            double high = 0, f_high = 0
            bint bracketed = False
            int k
        for k in range(MAX_TRIALS):
            slope = self.trial(step)
            if not isfinite(self.f) or self.f > f0 + 1e-4 * step * slope0 or (low > 0 and self.f >= f_low):
                high, f_high, bracketed = step, self.f, True
            elif fabs(slope) <= -0.9 * slope0:
                return True
            elif bracketed:
                if slope * (high - low) >= 0:
                    high, f_high = low, f_low
                low, f_low, slope_low = step, self.f, slope
            elif slope >= 0:
                high, f_high, bracketed = low, f_low, True
                low, f_low, slope_low = step, self.f, slope
            else:
                low, f_low, slope_low = step, self.f, slope
                step *= 4
                continue
            step = self.between(low, f_low, slope_low, high, f_high)
            if fabs(high - low) * self.norm(self.d) <= 1e-14 * fmax(1.0, self.norm(self.x_old)):
                break
        if low > 0:
            # Armijo's condition holds there, only the curvature is missing: progress all the same.
            self.trial(low)
            return True
        return False

    cdef double between(self, double low, double f_low, double slope_low, double high, double f_high) noexcept nogil:
        """The minimum of the parabola through low and high, kept away from both ends."""
        cdef double width = high - low, step
        if not isfinite(f_high):
            return low + 0.1 * width
        step = low - 0.5 * slope_low * width * width / (f_high - f_low - slope_low * width)
        if not isfinite(step) or fabs(step - low) < 0.1 * fabs(width) or (step - low) * width < 0:
            return low + 0.1 * width
        if fabs(step - low) > 0.9 * fabs(width):
            return low + 0.9 * width
        return step
