"""AROW, adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009), for sequences.

Each step minimises the divergence from the distribution before it, plus 1/(2r) of the squared hinge loss
max(0, 1 - m)^2, plus 1/(2r) of the variance v of the margin. Over diagonal covariances that is

    a = (1 - m) / (v + r)          g = 1 / r

So one sequence does not overturn what many have taught, as with CW: the margin is wanted, not enforced, and variances
fall at the same pace whatever was met. Instance weights divide r.
"""

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from .confidence cimport ConfidenceTrainer


cdef class Arow(ConfidenceTrainer):
    """Options: regularization, average (crfkit.options.Arow). The loss is the sum of the hinge losses."""
    cdef double r

    def __init__(self, Dataset data, Layout layout, options, **unused):
        self.r = options.regularization

    cdef double lacking(self, double margin, double variance) noexcept nogil:
        return 1 - margin

    cdef void solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil:
        by[0] = (1 - margin) / (variance + self.r / weight)
        gain[0] = weight / self.r
