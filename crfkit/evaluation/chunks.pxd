cimport cython

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from crfkit.memory cimport Arena, BufferC

cdef enum:
    START = 1   # bits of the tables, see crfkit.evaluation.schemes
    END = 2
    INSIDE = 4

cdef enum:
    N_PREFIXES = 13     # that of crfkit.evaluation.schemes


# A label as the tables of a scheme see it.
cdef struct KindC:
    int32_t type        # id of what follows the first hyphen
    int32_t prefix      # of what precedes it, as numbered in crfkit.evaluation.schemes


cdef struct LabelC:
    KindC kind
    int32_t same        # the label that this one is another spelling of, or itself
    uint64_t hash       # of its bytes
    int64_t[3] tokens   # gold, found, correct


# One column's chunk under way, in strict counting.
cdef struct OpenC:
    KindC last
    int64_t start       # position of its first token, -1 if none is under way


@cython.final
cdef class Counter(Arena):
    cdef uint8_t[N_PREFIXES * N_PREFIXES * 2] rules
    cdef bint strict, keep
    cdef OpenC gold, found
    cdef bint agreeing              # lenient: the two columns' chunks are equal up to here
    cdef int64_t position
    cdef int64_t[3] total           # gold, found, correct chunks
    cdef BufferC by_type            # int64 [type][3] the same
    cdef BufferC by_sentence        # int64 [sentence][3] total after it, if kept
    cdef int64_t n_types, n_sentences

    cdef int run(self, const LabelC* labels, const int32_t* gold, const int32_t* found, int64_t n,
                 int64_t n_types) except -1 nogil
    cdef int end_sentence(self) except -1 nogil
    cdef int finish(self, KindC outside, bint in_sentence) except -1


cdef int reserve_zeroed(Arena arena, BufferC* buffer, int64_t* n, int64_t wanted, int64_t size) except -1 nogil


cdef inline int transition(const uint8_t* rules, KindC last, KindC label) noexcept nogil:
    return rules[2 * (N_PREFIXES * last.prefix + label.prefix) + (last.type == label.type)]
