"""A bound on the objective from dual variables that keep their constraint nearly."""

from libc.stdint cimport int64_t

from crfkit.memory cimport Arena
from .proximal cimport Proximal


cdef class Feasible(Arena):
    cdef:
        Proximal ascent
        double l1, l2           # penalties
        double* sum             # of each feature: expected minus observed values, of all sequences
        double* mean            # the same of a mixture of points looked at so far, and
        double mixed            # its entropy, at least

    cpdef double bound(self, double l1, double l2) except? -1
    cdef dict vectors(self)
    cdef double add_up(self) noexcept nogil
    cdef double mixture(self, double part, double entropy) noexcept nogil
