from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.data.dataset cimport Dataset
from crfkit.lattice.lattice cimport Lattice
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport Arena

from .edges cimport Edges


cdef class Chains(Arena):
    cdef Dataset data
    cdef Layout layout
    cdef Edges edges
    cdef Lattice lattice                # for sequences whose scores lie too far apart
    cdef int32_t P
    cdef int32_t* sequence              # [n_tok] of each token
    cdef int64_t row                    # stride from one token to the next in the following three, which are interleaved
    cdef double* pot                    # [n_tok][P] exp(node score), up to a factor
    cdef double* alpha                  # [n_tok][P] sums to 1
    cdef double* beta                   # [n_tok][P] sums to 1
    cdef double* scale                  # [n_tok] the sum of alpha before it was scaled
    cdef double* right                  # [P] scratch
    cdef double* fresh                  # [P] a recomputed row before it is scaled
    cdef double* ones                   # [P] 1 for labels
    cdef int32_t* done_alpha            # [n_seq] alpha is valid up to this position, -1: nowhere
    cdef int32_t* done_beta             # [n_seq] beta is valid from this position on
    cdef int32_t* last_change           # [n_seq] stale rows of alpha are those from before the changes up to here
    cdef int32_t* first_change          # [n_seq] stale rows of beta are those from before the changes from here on
    cdef double* offset                 # [n_seq] logarithm of the factors left out of pot
    cdef double* token_width            # [n_tok] bound on |log| of the potentials of the node and of rich pairs in the step into it
    cdef double* width                  # [n_seq] the largest of these
    cdef double edge_width              # the same bound for the edge matrices
    cdef double* edge_size              # [B] largest absolute weight of a rich attribute
    cdef uint8_t* wide                  # [n_seq] out of range for plain products: the lattice computes these
    cdef readonly int64_t steps         # of both recursions, so far
    cdef int load_edges(self) except -1 nogil
    cdef int load_users(self, int32_t b, const int32_t* token, int64_t n) except -1 nogil
    cdef int refresh(self, int64_t s) except -1 nogil
    cdef void fetch(self, int64_t token) noexcept nogil
    cdef int need(self, int64_t s, int32_t first, int32_t last) except -1 nogil
    cdef double dot(self, int64_t k) noexcept nogil
    cdef int expect(self, int64_t s) except -1 nogil
    cdef double changed(self, int64_t s, const int32_t* token, int64_t n, double* factor, const double* change,
                        const float* value, double farthest) except? -1 nogil
    cdef double full_log_z(self, int64_t s, bint both) except? -1 nogil
