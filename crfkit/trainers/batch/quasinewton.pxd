from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.loops.structs cimport weight_t
from crfkit.trainers.base cimport Trainer
from .objective cimport Objective
from .steps cimport History


cdef enum Walk:                 # operations on vectors, done part by part
    SLOPE                       # along the direction
    STEP                        # w = w_old + step d
    PSEUDO_GRADIENT             # OWL-QN: see loops/simd/orthants.inc
    KEEP_DESCENT
    PROJECT
    SIZES
    DUAL


cdef inline double dual_objective(double entropy, double l1, double l2, double most, double excess) noexcept nogil:
    """A lower bound of the penalised negative log-likelihood, from distributions over the paths of all sequences: their entropy,
    and G, expected minus observed values of all features: most = max |G|, excess = sum of max(|G| - l1, 0)^2.

    The dual objective is entropy - excess / (2 l2). With l1 alone |G| must not exceed l1; so the distributions are shrunk
    towards the observed labels until it does not. The entropy is concave, and zero there."""
    cdef double shrunk = entropy * (1 if most <= l1 else l1 / most)
    return max(shrunk, entropy - excess / (2 * l2)) if l2 > 0 else shrunk


cdef bint may_take(int64_t needed, Layout layout, object options) except -1
cdef int64_t bytes_of_scales(Dataset data, Layout layout) except -1


cdef class QuasiNewton(Trainer):
    cdef:
        Objective objective
        History history
        int64_t n
        double* g               # the gradient at w, of the smooth part of what is minimised
        float* d                # the direction
        weight_t* w_old         # the point that an iteration started from
        double* gradient        # of what is minimised; with OWL-QN the pseudo-gradient
        double gradient_norm
        double f                # what is minimised
        public double bound     # a lower bound of f at the optimum
        bint started
        readonly int trials     # points that the last line search looked at
        readonly double step    # how far along the direction it went
        double found[16]        # the sum of each part
        object recent

    cdef int start(self) except -1
    cdef void exchange(self) noexcept nogil
    cdef report(self)
    cdef int check(self) except -1
    cdef int check_convergence(self) except -1
    cdef int period(self) noexcept
    cdef double dual_value(self) except? -1
    cdef int need_history(self) except -1
    cdef int in_parts(self, Walk what) except -1
    cdef double sum_of_parts(self, Walk what) except? -1
    cdef void walk_part(self, Walk what, int part) noexcept nogil
    cdef int evaluate(self) except -1
    cdef int find_gradient(self) except -1
    cdef int restrict_direction(self) except -1
    cdef bint search(self, double step, double slope0) except -1
