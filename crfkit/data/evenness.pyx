"""How evenly values tell tokens apart: whether a trainer whose steps are as large as the values can learn from all of them.

An attribute tells tokens apart by its variance. Beside that, a value that is far from zero at all tokens only makes steps larger, and a value
in a smaller unit than others hardly counts. So the measure is

    geometric mean of v_a / mean square of all values,

where v_a is the variance of attribute a for each of its values: n (mean of squares - square of mean) / count, over all n tokens, in which one without
the attribute has a 0. Each value counts once in both means. It is 1 where all values are standardized, and near 1 where they are words. Attributes that are
the same at all tokens, such as a bias, are left out.
"""

from libc.stdint cimport int64_t

from .dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport fmax
from crfkit.loops.structs cimport DatasetC
from crfkit.memory cimport Arena, arena_zeros

cdef double LEAST = 1e-4        # share of the mean square: below, attributes may differ by nothing but noise


cdef struct ValuesC:            # of an attribute, those that are not zero
    double first
    double sum, squares
    int64_t n
    int64_t alike               # as large as the first one


cpdef double evenness(Dataset data) except -1:
    """Of the unigram attributes; 1 where none has a value, or all are always the same."""
    cdef:
        const DatasetC* c = &data.c
        Arena room = Arena()
        int64_t t, u, n = 0
        double value, variance, squares = 0, logs = 0
        double* own         # values of one token, where an attribute may stand several times; zeros between tokens
        ValuesC* values
        ValuesC* of
    if c.u_val == NULL:
        return 1
    own = <double*>arena_zeros(room, data.n_u, sizeof(double))
    values = <ValuesC*>arena_zeros(room, data.n_u, sizeof(ValuesC))
    for t in range(c.n_tok):
        for u in range(c.u_ptr[t], c.u_ptr[t + 1]):
            own[c.u_id[u]] += c.u_val[u]
        for u in range(c.u_ptr[t], c.u_ptr[t + 1]):
            value, of = own[c.u_id[u]], values + c.u_id[u]
            own[c.u_id[u]] = 0
            if value != 0:
                if of.n == 0:
                    of.first = value
                of.n += 1
                of.sum += value
                of.squares += value * value
                of.alike += value == of.first
    for u in range(data.n_u):
        if values[u].alike < c.n_tok and values[u].n > 0:
            n += values[u].n
            squares += values[u].squares
    for u in range(data.n_u):
        of = values + u
        if of.alike < c.n_tok and of.n > 0:
            variance = (of.squares - of.sum * of.sum / c.n_tok) / of.n
            logs += of.n * K.log(fmax(variance / (squares / n), LEAST))
    return K.exp(logs / n) if n else 1
