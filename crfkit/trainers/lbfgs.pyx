"""L-BFGS: the limited-memory quasi-Newton method on the L2-penalised likelihood (the iteration is in quasinewton.pyx).

The line search asks for the strong Wolfe conditions (Nocedal & Wright, algorithms 3.5 and 3.6); nearly always the
first trial, the full step, satisfies them.
"""

from libc.math cimport fabs, fmax, isfinite
from libc.stdint cimport int64_t

from crfkit.core.kernels cimport K
from crfkit.trainers.quasinewton cimport QuasiNewton

cdef enum:
    MAX_TRIALS = 30


cdef class Lbfgs(QuasiNewton):
    """Options: l2, memory, epsilon, delta, period (crfkit.options.Lbfgs)."""

    cdef double trial(self, double step) except? -1:
        """Moves to x_old + step d; the slope along d there."""
        cdef int64_t k
        with nogil:
            for k in range(self.n):
                self.x[k] = self.x_old[k] + step * self.d[k]
        self.evaluate()
        return K.dot(self.n, self.g, self.d)

    cdef bint search(self, double step, double slope0) except -1:
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
