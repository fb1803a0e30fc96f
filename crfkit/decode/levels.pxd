"""Scores of any size: what all labels of a position, or all pairs of the shared step, have in common is taken out before anything is added up.

It tells nothing about labels, and beside it the digits that do would be lost.
"""

from libc.stdint cimport int64_t

from crfkit.loops.numbers cimport INFINITY, fabs
from crfkit.loops.structs cimport EdgeC, LatticeC

cdef enum:
    LARGE = 1000000000      # beside it a score is off by up to a ten-millionth


cdef inline double level_step(EdgeC* edge) noexcept nogil:
    """Take the greatest score from all of a step that is a matrix, where it is large; what was taken. Potentials stay what they are."""
    cdef double most = edge.max
    cdef int64_t k
    if edge.score == NULL or not fabs(most) > LARGE:
        return 0
    for k in range(<int64_t>edge.L * edge.P):
        edge.score[k] -= most
    edge.max = 0
    return most


cdef inline double level_rows(LatticeC* lat) noexcept nogil:
    """After score: take the greatest score of a position from all that are there, where it is large; what was taken, in all."""
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
