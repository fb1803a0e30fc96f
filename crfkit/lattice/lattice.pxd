"""The scratch of one thread, and the operations on it.

    lattice_load_weights ── reserve ── score ─┬─ viterbi
                                              └─ forward_backward ── node_marginals, add_pairs ── scatter
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport EdgeC, LatticeC, LayoutC, SentenceC, crfkit_set_score, weight_t

cdef str IMPOSSIBLE

cdef void lattice_load_weights(LatticeC* lat, const LayoutC* layout, const weight_t* w, double scale) noexcept nogil
cdef void lattice_load_for(LatticeC* lat, const LayoutC* layout, const weight_t* w, double scale, const SentenceC* sent) noexcept nogil
cdef void lattice_load_scores(LatticeC* lat, const LayoutC* layout, const weight_t* w) noexcept nogil
cdef void find_row_tops(LatticeC* lat) noexcept nogil
cdef int lattice_sum(LatticeC* lat) except -1 nogil
cdef int lattice_expect(LatticeC* lat) except -1 nogil
cdef double lattice_path_score(const LatticeC* lat, const uint16_t* labels) noexcept nogil
cdef void lattice_add(LatticeC* lat, const double* more, int64_t stride) noexcept nogil
cdef const EdgeC* put_changes(const EdgeC* edge) noexcept nogil
cdef void take_changes(const EdgeC* edge) noexcept nogil
cdef void forbid_labels(double* row, const uint8_t* allowed, int64_t L) noexcept nogil
cdef void lattice_allow(LatticeC* lat, const uint8_t* allowed) noexcept nogil
cdef void lattice_forbid(LatticeC* lat, const uint8_t* transitions) noexcept nogil
cdef void forbid_steps(LatticeC* lat, double* matrix, const uint8_t* transitions) noexcept nogil


cdef inline void lattice_follow(LatticeC* lat, const LayoutC* layout, const weight_t* w, int64_t cell) noexcept nogil:
    """After lattice_load_scores: update the score of this cell, whose weight has changed."""
    cdef int64_t k = cell - layout.tau0
    if k >= 0 and layout.has_tau and k < <int64_t>layout.L * layout.P:
        crfkit_set_score(&lat.shared, <int32_t>(k // layout.P), <int32_t>(k % layout.P), w[cell])


cdef class Lattice(Arena):
    cdef LatticeC c
    cdef int64_t positions              # there is room for this many
    cdef int64_t most                   # steps with rich attributes are lists of up to this many pairs
    cdef bint changeable                # steps with rich attributes may be changes of the shared one; a list has the pairs of all of them then
    cdef bint summed                    # best paths are never searched
    cdef int64_t n_matrices             # this many steps with rich attributes have matrices that may stay
    cdef BufferC pairs, sums, index     # of the shared step, and its sums
    cdef BufferC places, at_places      # of the features among the shared step's pairs, if it is a matrix
    cdef BufferC counts                 # of these features, if it is a list
    cdef BufferC rows
    cdef BufferC steps, own_matrices, own_pairs, own_index, own_changes
    cdef int reserve(self, const LayoutC* layout, const SentenceC* sent) except -1 nogil
    cdef int reserve_shared(self, int32_t T) except -1 nogil
    cdef int list_pairs(self, const LayoutC* layout, str recursions) except -1
    cdef int list_features(self, const LayoutC* layout, str recursions, bint summed) except -1

cdef int list_masked(Lattice lattice, const uint8_t* mask, int64_t n) except -1
cdef Lattice lattice_of(const LayoutC* layout, const weight_t* w, str recursions, bint matrix=*)
