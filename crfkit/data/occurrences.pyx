"""Where each attribute occurs: the data set, turned round.

An attribute that a token has several times is one occurrence with the sum of the values.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from .dataset cimport Dataset
from crfkit.memory cimport arena_reserve, memset
from crfkit.errors import TrainingError


cdef bint any_twice(const int64_t* row, const int32_t* id, int64_t n_tok) noexcept nogil:
    """Whether a token has an attribute several times; those of a token stand in ascending order."""
    cdef int64_t t, u
    for t in range(n_tok):
        for u in range(row[t] + 1, row[t + 1]):
            if id[u] == id[u - 1]:
                return True
    return False


cdef class Occurrences:
    """Of the unigram attributes of a data set, or of its rich bigram attributes, which at the first position of a
    sequence mean nothing."""

    def __init__(self, Dataset data not None, int32_t n, bint rich):
        cdef:
            const int64_t* row = data.c.b_ptr if rich else data.c.u_ptr
            const int32_t* id = data.c.b_id if rich else data.c.u_id
            const float* given = data.c.b_val if rich else data.c.u_val
            int64_t s, t, u, k
            int64_t* ptr
            int32_t* token
            float* value = NULL
        if data.c.n_tok > 0x7FFFFFFF:
            raise TrainingError("sbcd takes at most 2,147,483,647 tokens")
        self.n = n
        arena_reserve(self, &self.ptrs, <int64_t>n + 2, sizeof(int64_t))
        ptr = <int64_t*>self.ptrs.data
        memset(ptr, 0, (<size_t>n + 2) * sizeof(int64_t))
        self.ptr = ptr
        if row == NULL or n == 0:
            return
        ptr += 1    # counts, then begins, move one place on while rows are filled
        for s in range(data.c.n_seq):
            for t in range(data.c.seq_ptr[s] + rich, data.c.seq_ptr[s + 1]):
                for u in range(row[t], row[t + 1]):
                    if u == row[t] or id[u] != id[u - 1]:
                        ptr[id[u] + 1] += 1
        for k in range(n):
            ptr[k + 1] += ptr[k]
        arena_reserve(self, &self.tokens, ptr[n], sizeof(int32_t))
        token = <int32_t*>self.tokens.data
        if given != NULL or any_twice(row, id, data.c.n_tok):
            arena_reserve(self, &self.values, ptr[n], sizeof(float))
            value = <float*>self.values.data
        self.token, self.value = token, value
        for s in range(data.c.n_seq):
            for t in range(data.c.seq_ptr[s] + rich, data.c.seq_ptr[s + 1]):
                for u in range(row[t], row[t + 1]):
                    if u > row[t] and id[u] == id[u - 1]:
                        value[ptr[id[u]] - 1] += given[u] if given != NULL else 1
                        continue
                    k = ptr[id[u]]
                    token[k] = <int32_t>t
                    if value != NULL:
                        value[k] = given[u] if given != NULL else 1
                    ptr[id[u]] += 1

    def of(self, int32_t attribute) -> list[tuple[int, float]]:
        """The tokens with this attribute, and the values it has there."""
        cdef int64_t k
        if not 0 <= attribute < self.n:
            raise IndexError(f"attribute {attribute} of {self.n}")
        return [(self.token[k], self.value[k] if self.value != NULL else 1.0)
                for k in range(self.ptr[attribute], self.ptr[attribute + 1])]
