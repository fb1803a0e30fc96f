"""Leaving out attributes of a sequence at random (--dropout), so that weights do not rely on each other.

Attributes that say the same share a weight: none becomes as large as it would be alone. Where one is missing in new data, as an
unknown word is, the others say too little. If each is missing now and then while they are learned, they learn to do without it.

What is left out depends on a seed alone, not on what was drawn before. So a run that is resumed, or has several threads, leaves
out the same.
"""

from crfkit.memory cimport arena_reserve
from crfkit.rng cimport rng_next, rng_seed


cdef class Dropout(Arena):
    """Leaves out each attribute of each token with this probability, below 1."""

    def __cinit__(self, double probability):
        self.bound = <uint64_t>(probability * 18446744073709551616.0)

    cdef int leave_out(self, SentenceC* sent, uint64_t seed) except -1 nogil:
        """Replace the attributes of a sequence by those that are left. They stay valid until the next call."""
        cdef uint64_t[4] rng
        rng_seed(rng, seed)
        keep_some(self, &self.unigrams, rng, sent.T, &sent.u_ptr, &sent.u_id, &sent.u_val)
        if sent.b_ptr != NULL:
            keep_some(self, &self.bigrams, rng, sent.T, &sent.b_ptr, &sent.b_id, &sent.b_val)


cdef int keep_some(Dropout dropout, KeptC* kept, uint64_t* rng, int32_t T, const int64_t** ptr, const int32_t** ids,
                   const float** values) except -1 nogil:
    cdef:
        const int64_t* every = ptr[0]
        const int32_t* ids_of_every = ids[0]
        const float* values_of_every = values[0]
        int64_t* some
        int32_t* ids_of_some
        float* values_of_some = NULL
        int64_t u, n = 0, most = every[T] - every[0]
        int32_t t
    some = <int64_t*>arena_reserve(dropout, &kept.ptr, T + 1, sizeof(int64_t))
    ids_of_some = <int32_t*>arena_reserve(dropout, &kept.ids, most, sizeof(int32_t))
    if values_of_every != NULL:
        values_of_some = <float*>arena_reserve(dropout, &kept.values, most, sizeof(float))
    for t in range(T):
        some[t] = n
        for u in range(every[t], every[t + 1]):
            ids_of_some[n] = ids_of_every[u]
            if values_of_some != NULL:
                values_of_some[n] = values_of_every[u]
            n += rng_next(rng) >= dropout.bound
    some[T] = n
    ptr[0], ids[0], values[0] = some, ids_of_some, values_of_some
