"""Sums of what trainers have learned from shards of the data, the same whoever adds which first.

Each number is rounded to a multiple of a quantum, small beside what single precision resolves, and large enough that double
precision adds as many such numbers as there are shards exactly. So the mean of all shards does not depend on who adds what.
"""

import array

from libc.math cimport ceil, fabs, fmax, log2
from libc.stdint cimport int64_t

from crfkit.errors import TrainingError

cdef enum:
    GROWTH = 1 << 16            # how much the largest weight may grow in a pass, beyond one


def largest(const float[::1] cells not None) -> float:
    """The largest absolute value of some weights."""
    cdef int64_t k
    cdef double most = 0
    for k in range(cells.shape[0]):
        most = fmax(most, fabs(cells[k]))
    return most


def limit_of(double most) -> float:
    """What no weight may reach in a pass over a shard that starts with weights up to `most`."""
    return GROWTH * 2.0 ** ceil(log2(fmax(most, 1)))


def quantum_of(double limit, int64_t shards) -> float:
    """What numbers up to the limit are rounded to when so many of them are added."""
    return limit * 2.0 ** (ceil(log2(<double>shards)) - 51)


ctypedef fused Number:
    float
    double


def add_rounded(double[::1] total not None, const Number[::1] more not None, double limit, double quantum) -> None:
    """Add some numbers, rounded. TrainingError if one is beyond the limit."""
    cdef:
        int64_t k
        double magic = quantum * 6755399441055744.0       # 1.5 * 2^52 quanta
        bint good = True
    if more.shape[0] != total.shape[0]:
        raise ValueError("numbers of another layout")
    for k in range(more.shape[0]):
        good &= fabs(more[k]) < limit
        total[k] += (more[k] + magic) - magic
    if not good:
        raise TrainingError(
            f"training diverged: a weight grew beyond {limit:g} within a pass over a shard; scale down the values of the features")


def mean(const double[::1] total not None, int64_t shards) -> array.array:
    """The mean of what so many shards have added, as weights."""
    cdef int64_t k
    found = array.array("f", [0.0]) * total.shape[0]
    cdef float[::1] cells = found
    for k in range(total.shape[0]):
        cells[k] = <float>(total[k] / shards)
    return found


def add_scaled(double[::1] to not None, const double[::1] more not None, double factor) -> None:
    """to += factor * more."""
    cdef int64_t k
    if more.shape[0] != to.shape[0]:
        raise ValueError("numbers of another layout")
    for k in range(to.shape[0]):
        to[k] += factor * more[k]
