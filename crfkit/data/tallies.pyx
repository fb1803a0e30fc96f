"""What is counted in data before training, so that a trainer can warn of what it learns little from. Data may be in parts, whose counts are added."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from .dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport fmax, fmin
from crfkit.loops.structs cimport DatasetC
from crfkit.memory cimport Arena, arena_zeros
from crfkit.threads cimport PyErr_CheckSignals

import array

cdef enum:
    BETWEEN_SIGNALS = 1 << 12       # tokens
    NUMBERS = 5                     # doubles of a ValuesC
    ENOUGH = 500                    # tokens behind others, to tell by how often labels follow themselves

cdef double LEAST = 1e-4            # share of the mean square: below, attributes may differ by nothing but noise


cdef inline void add_values(ValuesC* of, ValuesC more) noexcept nogil:
    if of.n == 0:
        of[0] = more
        return
    of.n += more.n
    of.sum += more.sum
    of.squares += more.squares
    of.least, of.most = fmin(of.least, more.least), fmax(of.most, more.most)


cdef class Values:
    """Those of n unigram attributes. The value of an attribute at a token that does not have it is 0, and the sum at one that has it several times."""

    def __init__(self, int64_t n):
        self.n, self.of = n, <ValuesC*>arena_zeros(self, n, sizeof(ValuesC))

    cpdef int count(self, Dataset data) except -1:
        """Add those of a data set."""
        cdef:
            const DatasetC* c = &data.c
            Arena room = Arena()
            int64_t t, u
            double value
            double* own         # of one token; zeros between tokens
        if data.n_u > self.n:
            raise ValueError(f"{data.n_u} attributes, expected {self.n}")
        own = <double*>arena_zeros(room, self.n, sizeof(double))
        for t in range(c.n_tok):
            if t % BETWEEN_SIGNALS == 0:
                PyErr_CheckSignals()
            for u in range(c.u_ptr[t], c.u_ptr[t + 1]):
                own[c.u_id[u]] += c.u_val[u] if c.u_val != NULL else 1
            for u in range(c.u_ptr[t], c.u_ptr[t + 1]):
                value, own[c.u_id[u]] = own[c.u_id[u]], 0
                if value != 0:
                    add_values(&self.of[c.u_id[u]], ValuesC(1, value, value * value, value, value))
        self.tokens += c.n_tok

    def part(self):
        """What was counted, for `add`: the tokens, the attributes that have values, and of each the numbers of ValuesC, one after the other."""
        cdef:
            int64_t a, k = 0
            int32_t[::1] attributes
            double[::1] numbers
        for a in range(self.n):
            k += self.of[a].n > 0
        attributes, numbers = array.array("i", [0]) * k, array.array("d", [0]) * (NUMBERS * k)
        k = 0
        for a in range(self.n):
            if self.of[a].n > 0:
                attributes[k] = <int32_t>a
                (<ValuesC*>&numbers[NUMBERS * k])[0] = self.of[a]
                k += 1
        return [self.tokens, attributes.base, numbers.base]

    def add(self, int64_t tokens, const int32_t[::1] attributes not None, const double[::1] numbers not None):
        """Add what was counted in another part. ValueError, before anything is added, if that is not possible."""
        cdef int64_t k
        if tokens < 0 or numbers.shape[0] != NUMBERS * attributes.shape[0]:
            raise ValueError("values in arrays that do not fit together")
        for k in range(attributes.shape[0]):
            if not (0 <= attributes[k] < self.n and 1 <= numbers[NUMBERS * k] <= tokens):
                raise ValueError("values of attributes that do not exist, or of too many tokens")
        for k in range(attributes.shape[0]):
            add_values(&self.of[attributes[k]], (<const ValuesC*>&numbers[NUMBERS * k])[0])
        self.tokens += tokens

    def evenness(self) -> float:
        """How evenly values tell tokens apart: whether a trainer whose steps are as large as the values can learn from all of them.

        An attribute tells tokens apart by its variance. Beside that, a value that is far from zero at all tokens only makes steps larger, and
        a value in a smaller unit than others hardly counts. So the measure is

            geometric mean of v_a / mean square of all values,

        where v_a is the variance of attribute a for each of its values: n (mean of squares - square of mean) / count, over all n tokens. Each
        value counts once in both means. It is 1 where all values are standardized or there are none, and near 1 where they are words.
        Attributes that are the same at all tokens, such as a bias, are left out.
        """
        cdef:
            int64_t a
            double variance, n = 0, squares = 0, logs = 0
            const ValuesC* of
        for a in range(self.n):
            if self.varies(a):
                n += self.of[a].n
                squares += self.of[a].squares
        for a in range(self.n):
            if self.varies(a):
                of = &self.of[a]
                variance = (of.squares - of.sum * of.sum / self.tokens) / of.n
                logs += of.n * K.log(fmax(variance / (squares / n), LEAST))
        return K.exp(logs / n) if n else 1

    cdef bint varies(self, int64_t a) noexcept:
        """Whether an attribute has values, and not the same one at all tokens."""
        cdef const ValuesC* of = &self.of[a]
        return of.n > 0 and (of.n < self.tokens or of.least < of.most)

    cdef double spread(self) noexcept:
        """How large the variance of an attribute is beside the mean of its squares, on average of all values."""
        cdef int64_t a
        cdef double n = 0, sum = 0
        for a in range(self.n):
            if self.of[a].n > 0:
                n += self.of[a].n
                sum += self.of[a].n * (1 - self.of[a].sum * self.of[a].sum / (self.of[a].squares * self.tokens))
        return sum / n if n else 0


def steps_in(Dataset data not None):
    """How often each label of a data set is behind another token's: of labels, how many tokens follow them, and how many of these repeat them. Zeros
    where not all labels are given."""
    cdef:
        int64_t s, t, L = len(data.labels)
        int64_t[::1] followed = array.array("q", [0]) * L, repeated = array.array("q", [0]) * L
        const uint16_t* label = data.c.label
    data.need_labels_below(L)
    if data.possible is None:
        for s in range(data.c.n_seq):
            for t in range(data.c.seq_ptr[s] + 1, data.c.seq_ptr[s + 1]):
                followed[label[t - 1]] += 1
                repeated[label[t - 1]] += label[t] == label[t - 1]
    return followed.base, repeated.base


class Tallies:
    """What trainers may ask of data in one place, which are counted when one does."""

    def __init__(self, data):
        self.data = data

    def values(self):
        """The values of all tokens."""
        found = Values(self.data.n_u)
        found.count(self.data)
        return found

    def steps(self):
        """See steps_in."""
        return steps_in(self.data)

    def evenness(self) -> float:
        """See Values.evenness."""
        return self.values().evenness() if self.data.has_values else 1.0

    def repetition(self) -> float:
        """How often a label follows itself, on average of all labels that others follow; 0 if there are few tokens to tell it by, or not all labels
        are known."""
        followed, repeated = self.steps()
        shares = [again / n for n, again in zip(followed, repeated, strict=True) if n]
        return sum(shares) / len(shares) if sum(followed) >= ENOUGH else 0.0
