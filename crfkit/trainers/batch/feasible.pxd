"""A bound on the objective from dual variables that nearly satisfy their constraint."""

from libc.stdint cimport int64_t

from crfkit.memory cimport Arena
from .proximal cimport Proximal


cdef class Feasible(Arena):
    cdef:
        Proximal ascent
        double l1, l2           # penalties
        double* sum             # by feature: expected minus observed values over all sequences
        double* mean            # the same for a mixture of the points seen so far, and
        double mixed            # a lower bound of its entropy

    cpdef double bound(self, double l1, double l2) except? -1
    cdef dict vectors(self)
    cdef double add_up(self) noexcept nogil
    cdef double mixture(self, double part, double entropy) noexcept nogil
