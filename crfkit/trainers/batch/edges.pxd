"""Edge potentials of a whole data set: one matrix for each kind of step."""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport BufferC
from crfkit.lattice.sparse cimport Recursions
from crfkit.loops.structs cimport PairsC, weight_t


cdef class Edges:
    cdef Dataset data
    cdef Layout layout
    cdef const weight_t* w
    cdef readonly int32_t n_kinds       # kinds of steps with a matrix of their own; kind 0 is that of plain label pairs
    cdef readonly bint shared           # all kinds have matrices; otherwise those of rich steps are made when needed
    cdef Recursions recursions
    cdef int32_t* kind                  # [n_tok] of the step into each token
    cdef const int64_t* users           # [B+1] kinds that rich attribute b is part of: users[b] .. users[b+1]
    cdef const int32_t* user
    cdef int32_t* model                 # [kinds] a token with that step
    cdef int64_t matrix                 # cells of one
    cdef double* score                  # [kinds][L][P] scores, but only one matrix where they are not shared
    cdef double* E                      # [kinds][L][P] exp(score); padding 0
    cdef double* ET                     # [kinds][L][P] its transpose
    cdef const PairsC** sparse           # [kinds] active pairs, or NULL where the dense loops are faster
    cdef list lists                     # owners of what `sparse` points to
    cdef int64_t* touched               # cells of E that a rich step has changed
    cdef double* before                 # and what stood there
    cdef int64_t n_touched
    cdef double* rich_factor            # [rich features] exponentials of their weights, where there are no matrices
    cdef BufferC kinds, users_of, models, tables, pointers, touches, factors
    cdef void exp_of(self, int32_t b) noexcept nogil
    cdef int64_t most_features(self) noexcept
    cdef int number_kinds(self) except -1
    cdef int load(self, int32_t kind) except -1
    cdef int load_all(self) except -1
    cdef int load_users(self, int32_t b) except -1
    cdef const double* open(self, int64_t token) noexcept nogil
    cdef void close(self) noexcept nogil
    cdef double widest(self) noexcept nogil
