"""Is one output better than another by more than chance? Approximate randomisation over sentences.

If two systems were equally good, it would not matter which of the two labelled a sentence. So the outputs for
each sentence are exchanged with probability 1/2, and the difference in score that comes out is compared with the
one observed; p is the share of such shuffles, the observed one included, with a difference as large.
"""

from libc.stdint cimport int64_t, uint64_t

from .chunks cimport Counter
from .counting cimport SentenceC, Tally
from crfkit.memory cimport BufferC, buffer_free, buffer_reserve, memset

from crfkit.text.faults import plural
from crfkit.errors import DataError, OptionError


def check_same_gold(Tally a, Tally b):
    """Refuse two inputs whose sentences were not kept, or whose gold columns differ."""
    if not (a.keep and b.keep):
        raise OptionError("a comparison needs the scores of each sentence: count with keep=True")
    cdef const SentenceC* x = <const SentenceC*>a.by_sentence.data
    cdef const SentenceC* y = <const SentenceC*>b.by_sentence.data
    cdef int64_t s
    for s in range(min(a.sentences, b.sentences)):
        if x[s].tokens != y[s].tokens:
            raise DataError(f"this sentence has {plural(y[s].tokens, 'token')}, but sentence {s + 1} of {a.path}, in "
                            f"line {x[s].line}, has {x[s].tokens}", b.path, y[s].line)
        if x[s].gold != y[s].gold:
            raise DataError(f"the gold labels of this sentence differ from those of sentence {s + 1} of {a.path}, in "
                            f"line {x[s].line}", b.path, y[s].line)
    if a.sentences != b.sentences:
        raise DataError(f"{plural(b.sentences, 'sentence')}, but {a.path} has {a.sentences}; only outputs for the same "
                        "gold data can be compared", b.path)


# What a sentence adds to the counts of b more than to those of a.
cdef struct DifferenceC:
    int64_t found, correct, tokens


def shuffle(Tally a, Tally b, int counter, int64_t shuffles, uint64_t seed):
    """Approximate randomisation: how often the two outputs differ at least as much as they do, if the outputs for
    each sentence are exchanged at random. Counts of such shuffles for precision, recall, F1 and accuracy."""
    check_same_gold(a, b)
    cdef Counter x = a.counters[counter]
    cdef Counter y = b.counters[counter]
    cdef BufferC buffer
    cdef DifferenceC* d
    cdef DifferenceC here, sum
    cdef int64_t s, n = 0, r, k
    cdef int64_t[4] extreme = [0, 0, 0, 0]
    cdef double[4] observed, shuffled
    cdef uint64_t state = seed, bits = 0
    memset(&buffer, 0, sizeof(buffer))
    memset(&sum, 0, sizeof(sum))
    try:
        with nogil:
            buffer_reserve(&buffer, a.sentences, sizeof(DifferenceC))
            d = <DifferenceC*>buffer.data
            for s in range(a.sentences):
                here.found = added(y, s, 1) - added(x, s, 1)
                here.correct = added(y, s, 2) - added(x, s, 2)
                here.tokens = ((<SentenceC*>b.by_sentence.data)[s].correct
                               - (<SentenceC*>a.by_sentence.data)[s].correct)
                if here.found or here.correct or here.tokens:
                    d[n] = here
                    n += 1
            differences(x, y, a, b, &sum, observed)
            for r in range(shuffles):
                memset(&sum, 0, sizeof(sum))
                for s in range(n):
                    if s & 63 == 0:
                        bits = next_random(&state)
                    if bits & 1:
                        sum.found += d[s].found
                        sum.correct += d[s].correct
                        sum.tokens += d[s].tokens
                    bits >>= 1
                differences(x, y, a, b, &sum, shuffled)
                for k in range(4):
                    # Equal differences may come out of other roundings.
                    extreme[k] += shuffled[k] >= observed[k] - 1e-12
    finally:
        buffer_free(&buffer)
    return tuple(extreme)


cdef inline int64_t added(Counter counter, int64_t sentence, int what) noexcept nogil:
    cdef const int64_t* total = <const int64_t*>counter.by_sentence.data + 3 * sentence + what
    return total[0] - ((total - 3)[0] if sentence else 0)


cdef void differences(Counter x, Counter y, Tally a, Tally b, const DifferenceC* moved, double* to) noexcept nogil:
    """Absolute differences in precision, recall, F1 and accuracy when some sentences changed sides."""
    cdef double gold = x.total[0], n = a.n_tokens
    cdef double found_x = x.total[1] + moved.found, found_y = y.total[1] - moved.found
    cdef double correct_x = x.total[2] + moved.correct, correct_y = y.total[2] - moved.correct
    to[0] = abs(ratio(correct_x, found_x) - ratio(correct_y, found_y))
    to[1] = abs(ratio(correct_x, gold) - ratio(correct_y, gold))
    to[2] = abs(ratio(2 * correct_x, gold + found_x) - ratio(2 * correct_y, gold + found_y))
    to[3] = abs(ratio(a.right + moved.tokens, n) - ratio(b.right - moved.tokens, n))


cdef inline double ratio(double x, double y) noexcept nogil:
    return x / y if y else 0.0


cdef inline uint64_t next_random(uint64_t* state) noexcept nogil:
    """splitmix64."""
    cdef uint64_t z
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)
