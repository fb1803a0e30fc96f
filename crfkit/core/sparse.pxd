"""Recursions for label-pair matrices that are mostly zero."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from .lattice cimport Lattice
from .memory cimport BufferC
from .structs cimport LatticeC


cdef struct SparseEdgesC:
    # Entry k of `by_next` is a pair (label before, label); those into label j stand in next_ptr[j] .. next_ptr[j+1],
    # labels before ascending. `by_prev` holds the same pairs by label before: prev_ptr[i] .. prev_ptr[i+1].
    int32_t L, P
    int64_t active          # pairs
    double base             # exp(0 - taumax): the potential of every other pair
    int64_t* next_ptr       # [L+1]
    int32_t* next_label     # [active] label before
    double* next_tau        # [active] score
    double* next_m          # [active] potential - base
    int64_t* prev_ptr       # [L+1]
    int32_t* prev_label     # [active] label
    double* prev_m          # [active] potential - base
    int32_t* mark           # [L] scratch


cdef int sparse_load(SparseEdges edges, const LatticeC* lat) except -1 nogil
cdef void sparse_forward_step(const SparseEdgesC* edges, const double* E, const double* x, double* out) noexcept nogil
cdef void sparse_backward_step(const SparseEdgesC* edges, const double* E, const double* x, double* out) noexcept nogil
cdef bint sparse_is_better(const SparseEdgesC* edges) noexcept nogil
cdef bint sparse_viterbi_is_better(const SparseEdgesC* edges) noexcept nogil
cdef int sparse_forward_backward(SparseEdgesC* edges, LatticeC* lat) noexcept nogil
cdef void sparse_add_pairs(const SparseEdgesC* edges, LatticeC* lat, double gain) noexcept nogil
cdef double sparse_viterbi(SparseEdgesC* edges, LatticeC* lat, uint16_t* labels) noexcept nogil


cdef class SparseEdges:
    cdef SparseEdgesC c
    cdef BufferC offsets, labels, values
    cdef int check(self, Lattice lattice) except -1
