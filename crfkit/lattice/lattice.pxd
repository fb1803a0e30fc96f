"""The scratch of one thread, and the verbs on it.

    reserve ── load_weights ── score ─┬─ viterbi
                                      └─ forward_backward ── node_marginals, add_pairs ── scatter
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.memory cimport BufferC
from crfkit.loops.structs cimport LatticeC, LayoutC, SentenceC, weight_t

# What a Lattice driven from Python holds; the verbs themselves do not look.
cdef enum:
    EMPTY
    SCORED
    EXPECTED

cdef str IMPOSSIBLE

cdef void lattice_load_weights(LatticeC* lat, const LayoutC* layout, const weight_t* w, double scale) noexcept nogil
cdef int lattice_expect(LatticeC* lat) except -1 nogil
cdef double lattice_path_score(const LatticeC* lat, const uint16_t* labels) noexcept nogil
cdef void lattice_allow(LatticeC* lat, const uint8_t* allowed) noexcept nogil
cdef void lattice_forbid(LatticeC* lat, const uint8_t* transitions) noexcept nogil


cdef class Lattice:
    cdef LatticeC c
    cdef BufferC matrices, rows, slots, lists, list_pairs, list_indices, path
    cdef int stage
    cdef int reserve(self, const SentenceC* sent) except -1 nogil
    cdef int reserve_lists(self, const LayoutC* layout, const SentenceC* sent) except -1 nogil
    cdef int reserve_positions(self, int64_t positions, int64_t matrices) except -1 nogil
    cdef uint16_t* path_buffer(self) except NULL
    cdef tuple take_path(self, double score)
    cdef list take_pairs(self)
    cdef int need(self, int stage) except -1
