"""What is counted in data before training, so that a trainer can warn of what it learns little from, and penalties be chosen.

A tally is an array with the numbers of a NumbersC for each unigram attribute, or for each label. Those of parts of the data are added up (add_tally).
"""

from libc.stdint cimport int32_t, int64_t, uint16_t

from .dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport fmax
from crfkit.loops.structs cimport DatasetC
from crfkit.memory cimport Arena, arena_zeros
from crfkit.threads cimport PyErr_CheckSignals

import array

cdef enum:
    BETWEEN_SIGNALS = 1 << 12       # tokens

ENOUGH = 500                        # tokens behind others, to tell by how often labels follow themselves

cdef double LEAST = 1e-4            # share of the mean square: below, attributes may differ by nothing but noise


cdef struct NumbersC:               # what is known of some numbers
    double n                        # how many
    double sum, squares
    double high, low                # the largest, and the largest of their negatives

NOTHING = array.array("d", [0, 0, 0, float("-inf"), float("-inf")])


cdef inline void add(NumbersC* to, NumbersC more) noexcept nogil:
    to.n += more.n
    to.sum += more.sum
    to.squares += more.squares
    to.high, to.low = fmax(to.high, more.high), fmax(to.low, more.low)


def add_tally(double[::1] to not None, const double[::1] more not None):
    """Add the tally of another part of the data."""
    cdef int64_t k
    if more.shape[0] != to.shape[0]:
        raise ValueError("a tally of something else")
    for k in range(0, to.shape[0] - 4, 5):
        add(<NumbersC*>&to[k], (<const NumbersC*>&more[k])[0])


def values_in(Dataset data not None):
    """The tally of the values of each unigram attribute that are not zero. At a token that does not have it, the value is 0, and at one that has it
    several times the sum."""
    cdef:
        const DatasetC* c = &data.c
        Arena room = Arena()
        double* own = <double*>arena_zeros(room, data.n_u, sizeof(double))      # values of one token; zeros between tokens
        double[::1] tally = NOTHING * data.n_u
        double value
        int64_t t, u
    for t in range(c.n_tok):
        if t % BETWEEN_SIGNALS == 0:
            PyErr_CheckSignals()
        for u in range(c.u_ptr[t], c.u_ptr[t + 1]):
            own[c.u_id[u]] += c.u_val[u] if c.u_val != NULL else 1
        for u in range(c.u_ptr[t], c.u_ptr[t + 1]):
            value, own[c.u_id[u]] = own[c.u_id[u]], 0
            if value != 0:
                add(<NumbersC*>&tally[5 * <int64_t>c.u_id[u]], NumbersC(1, value, value * value, value, -value))
    return tally.base


def repeats_in(Dataset data not None):
    """The tally of each label over the tokens behind one with that label: 1 where they repeat it, or else 0. Nothing where not all labels are given."""
    cdef:
        double[::1] tally = NOTHING * len(data.labels)
        const uint16_t* label = data.c.label
        double same
        int64_t s, t
    data.need_labels_below(len(data.labels))
    for s in range(data.c.n_seq if data.possible is None else 0):
        for t in range(data.c.seq_ptr[s] + 1, data.c.seq_ptr[s + 1]):
            same = label[t] == label[t - 1]
            add(<NumbersC*>&tally[5 * label[t - 1]], NumbersC(1, same, same, same, -same))
    return tally.base


def ambiguity_in(Dataset data not None) -> tuple[int, int]:
    """How many unigram attributes occur, and how many with more than one label, at tokens whose label is given."""
    cdef:
        const int32_t* id = data.c.u_id
        int64_t t, u
        int32_t label
        int32_t* only
        int32_t[::1] numbers
    data.need_labels(0)
    seen = numbers = array.array("i", [-1]) * (data.n_u + 1)    # the only label of each attribute so far; -1: none, -2: there are more
    only = &numbers[0]
    for t in range(data.c.n_tok):
        label = data.c.label[t]
        for u in range(data.c.u_ptr[t], data.c.u_ptr[t + 1] if data.is_given(t) else 0):
            if only[id[u]] != label:
                only[id[u]] = label if only[id[u]] == -1 else -2
    return len(seen) - seen.count(-1), seen.count(-2)


cdef bint varies(NumbersC of, double tokens) noexcept nogil:
    """Whether an attribute has values, and not the same one at all tokens."""
    return of.n > 0 and (of.n < tokens or of.high > -of.low)


def evenness(const double[::1] values not None, double tokens) -> float:
    """How evenly values tell tokens apart: whether a trainer whose steps are as large as the values can learn from all of them.

    An attribute tells tokens apart by its variance. Beside that, a value that is far from zero at all tokens only makes steps larger, and
    a value in a smaller unit than others hardly counts. So the measure is

        geometric mean of v_a / mean square of all values,

    where v_a is the variance of attribute a for each of its values: n (mean of squares - square of mean) / count, over all n tokens. Each
    value counts once in both means. It is 1 where all values are standardized or there are none, and near 1 where they are words.
    Attributes that are the same at all tokens, such as a bias, are left out.
    """
    cdef:
        double n = 0, squares = 0, logs = 0
        NumbersC of
        int64_t k
    for k in range(0, values.shape[0] - 4, 5):
        of = (<const NumbersC*>&values[k])[0]
        if varies(of, tokens):
            n += of.n
            squares += of.squares
    for k in range(0, values.shape[0] - 4, 5):
        of = (<const NumbersC*>&values[k])[0]
        if varies(of, tokens):
            logs += of.n * K.log(fmax((of.squares - of.sum * of.sum / tokens) / of.n / (squares / n), LEAST))
    return K.exp(logs / n) if n else 1


def spread(const double[::1] values not None, double tokens) -> float:
    """How large the variance of an attribute is beside the mean of its squares, on average of all values."""
    cdef double n = 0, sum = 0
    cdef NumbersC of
    cdef int64_t k
    for k in range(0, values.shape[0] - 4, 5):
        of = (<const NumbersC*>&values[k])[0]
        if of.n > 0:
            n += of.n
            sum += of.n * (1 - of.sum * of.sum / (of.squares * tokens))
    return sum / n if n else 0


class Tallies:
    """What trainers may ask of data, which is counted when one does. `tally` makes a tally of all data: of one data set, if it is not given."""

    def __init__(self, data, tally=None):
        self.data, self.tally = data, tally or (lambda count: count(data))

    def evenness(self) -> float:
        """That of the values."""
        return evenness(self.tally(values_in), self.data.n_tokens) if self.data.has_values else 1.0

    def repetition(self) -> float:
        """How often a label follows itself, on average of all labels that others follow; 0 if there are few tokens to tell it by, or not all labels
        are known."""
        tally = self.tally(repeats_in)
        followed, repeated = tally[::5], tally[1::5]
        shares = [again / n for n, again in zip(followed, repeated, strict=True) if n]
        return sum(shares) / len(shares) if sum(followed) >= ENOUGH else 0.0
