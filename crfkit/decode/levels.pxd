"""Scores of any size: subtract a large constant that all labels of a position, or all pairs of the shared step, have in common.

It does not affect which labels are best, and summing it up would cost the digits that do.
"""

from libc.stdint cimport int64_t

from crfkit.loops.numbers cimport INFINITY, fabs
from crfkit.loops.structs cimport EdgeC, LatticeC

cdef enum:
    LARGE = 1000000000      # beside it a score is off by up to a ten-millionth


cdef inline double level_step(EdgeC* edge) noexcept nogil:
    """Subtract the largest score of a matrix step from all of its scores, if it is large; what was subtracted. Potentials do not change."""
    cdef double most = edge.max
    cdef int64_t k
    if edge.score == NULL or not fabs(most) > LARGE:
        return 0
    for k in range(<int64_t>edge.L * edge.P):
        edge.score[k] -= most
    edge.max = 0
    return most


cdef inline double level_rows(LatticeC* lat) noexcept nogil:
    """After score: subtract the largest score of each position from all of its scores, if it is large; the sum of what was subtracted."""
    cdef double* row
    cdef double most, taken = 0
    cdef int64_t t, j
    for t in range(lat.T):
        row = lat.score + t * lat.P
        most = row[0]
        for j in range(1, lat.L):
            if row[j] > most:  # fmax would be a call for each label
                most = row[j]
        if LARGE < fabs(most) < INFINITY:
            taken += most
            for j in range(lat.L):
                row[j] -= most
    return taken
