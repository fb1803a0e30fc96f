"""CW, confidence-weighted learning (Dredze, Crammer and Pereira 2008, the form with variances), for sequences.

Each step finds the distribution nearest to the one before it under which the margin is large enough for its variance,
m' >= phi v', where phi is the deviation that a standard normal variable stays below with probability --confidence.
The nearest one has

    a = 2 (phi v - m) / (v (b + root)) = (root - b) / (4 phi v)     with     b = 1 + 2 phi m,   root = sqrt(b^2 - 8 phi (m - phi v))
    g = 2 phi a

where a is the larger root of a quadratic equation; the sign of b tells which form avoids cancellation. Its covariance is not diagonal;
as usual only the diagonal of the inverse is kept. An initial variance other than 1 would be equivalent to another phi. The
constraint is hard, so the instance weight of a sequence makes no difference, except that 0 leaves it out.
"""

from statistics import NormalDist

from crfkit.loops.numbers cimport sqrt
from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from .confidence cimport ConfidenceTrainer


cdef class Cw(ConfidenceTrainer):
    """Options: confidence, average (crfkit.options.Cw). The loss is the sum of phi v - m where positive."""
    cdef double phi

    def __init__(self, Dataset data, Layout layout, options, **unused):
        self.phi = NormalDist().inv_cdf(options.confidence)

    cdef double lacking(self, double margin, double variance) noexcept nogil:
        return self.phi * variance - margin

    cdef void solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil:
        cdef double b = 1 + 2 * self.phi * margin, short = self.phi * variance - margin, root = sqrt(b * b + 8 * self.phi * short)
        by[0] = 2 * short / (variance * (b + root)) if b > 0 else (root - b) / (4 * self.phi * variance)
        gain[0] = 2 * self.phi * by[0]
