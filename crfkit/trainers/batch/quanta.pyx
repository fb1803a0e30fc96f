"""Quanta: gradient terms are rounded to multiples of these, so that their sums are exact in any order.

A cell's quantum follows from a bound on the sum of its absolute terms over all data. The bounds of parts of the data add
up to the bound of all data.
"""

import array

from libc.stdint cimport int32_t, int64_t

from crfkit.loops.numbers cimport ceil, fabs, fmax, frexp, ldexp, log2
from crfkit.loops.structs cimport DatasetC, LayoutC, weight_of
from crfkit.memory cimport arena_zeros


cdef double quantum_of(double bound) noexcept:
    """The quantum for a cell: twice its bound, for expected and for observed terms, must be below 2^52 quanta."""
    return 2.0 ** (ceil(log2(bound)) + 1 - 52)


cdef double rounded_up(double x, double largest) noexcept nogil:
    """A term that is at most `largest`, rounded up so that sums of 2^29 of such terms are exact, whatever their order."""
    cdef int exponent
    frexp(largest, &exponent)
    return ldexp(ceil(ldexp(x, 24 - exponent)), exponent - 24)


cdef inline void note(double* found, const double* largest, int64_t k, double weight, double value, bint sums) noexcept nogil:
    """Add weight times value to the k-th sum (one if `largest` is NULL), or keep the value if it is the largest."""
    if not sums:
        found[k] = fmax(found[k], value)
    elif largest == NULL:
        found[k] += 1
    else:
        found[k] += rounded_up(weight * value, largest[0] * largest[k])


cdef object terms(Dataset data, const double[::1] largest, bint sums):
    """The sums of the terms of some data: first the weights of tokens, then each attribute's; or what `largest_factors` describes."""
    cdef:
        const DatasetC* c = &data.c
        const double* most = NULL
        int64_t s, u, n = 1 + <int64_t>data.n_u + data.n_b
        double weight
        double* found
    if largest is not None:
        if largest.shape[0] != n:
            raise ValueError("the terms of other attributes")
        most = &largest[0]
    cdef double[::1] numbers = array.array("d", [0.0]) * n
    found = &numbers[0]
    for s in range(c.n_seq):
        weight = weight_of(c, s)
        if sums:
            found[0] += (c.seq_ptr[s + 1] - c.seq_ptr[s]) * (rounded_up(weight, most[0]) if most != NULL else 1)
        else:
            found[0] = fmax(found[0], weight)
        for u in range(c.u_ptr[c.seq_ptr[s]], c.u_ptr[c.seq_ptr[s + 1]]):
            note(found, most, 1 + c.u_id[u], weight, fabs(c.u_val[u]) if c.u_val != NULL else 1, sums)
        if c.b_ptr != NULL:
            for u in range(c.b_ptr[c.seq_ptr[s]], c.b_ptr[c.seq_ptr[s + 1]]):
                note(found, most, 1 + <int64_t>data.n_u + c.b_id[u], weight, 1, sums)
    return numbers.base


def largest_factors(Dataset data not None) -> array.array:
    """The largest weight of a sequence, then the largest absolute value of each attribute: no term exceeds their product."""
    return terms(data, None, False)


def sums_of_terms(Dataset data not None, const double[::1] largest) -> array.array:
    """The sum of the weights of all tokens, and for each attribute of values times weights; None: all terms are one. They are rounded up
    so that sums are exact: those of parts of the data add up to those of all data, given the largest terms of all data."""
    return terms(data, largest, True)


cdef double find_quanta(Dataset data, Layout layout, object sums_of_all, double* quantum) except -1:
    """The quantum of all cells of attributes without values, and one for each unigram attribute where these have values.

    A cell's sum of absolute terms is at most the sum over all positions, for a label pair, or over all values of its
    attribute. An attribute may occur several times at a position, so occurrences are counted where there are no values.
    """
    cdef:
        const DatasetC* c = &data.c
        double most
        int64_t u, n = <int64_t>layout.c.A + layout.c.B
        const double[::1] sums = sums_of_all
    if sums.shape[0] != n + 1:
        raise ValueError("the sums of other attributes")
    most = fmax(sums[0], 1.0)
    for u in range(n):
        if c.u_val == NULL or u >= layout.c.A:
            most = fmax(most, sums[1 + u])
        else:
            quantum[u] = quantum_of(fmax(sums[1 + u], 1e-200))
    return quantum_of(most)


cdef double* spread_quanta(Layout layout, const double* quanta, Arena owner) except NULL:
    """The quanta of attributes without dense rows, cell by cell."""
    cdef:
        const LayoutC* c = &layout.c
        int64_t f, first = c.u_ptr[c.H]
        int32_t a
        double* cold = <double*>arena_zeros(owner, c.u_ptr[c.A] - first, sizeof(double))
    for a in range(c.H, c.A):
        for f in range(c.u_ptr[a], c.u_ptr[a + 1]):
            cold[f - first] = quanta[a]
    return cold
