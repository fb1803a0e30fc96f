"""The steps of a whole data set, by kind."""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport Arena, BufferC
from crfkit.lattice.lattice cimport Recursions
from crfkit.loops.structs cimport EdgeC, PairC, weight_t


cdef class Edges(Arena):
    cdef Dataset data
    cdef Layout layout
    cdef const weight_t* w
    cdef readonly int32_t n_kinds       # kind 0 is that of plain label pairs
    cdef readonly bint shared           # there is room for a matrix of every kind; otherwise for that of plain pairs only
    cdef bint listed                    # kinds with rich attributes may be lists
    cdef Recursions recursions
    cdef int32_t* kind                  # [n_tok] of the step into each token
    cdef const int64_t* users           # [B+1] kinds that rich attribute b is part of: users[b] .. users[b+1]
    cdef const int32_t* user
    cdef int32_t* model                 # [kinds] a token with that step
    cdef int64_t matrix                 # cells of one
    cdef EdgeC* edge                    # [kinds] n is TOO_LONG for no list; those not kept have neither a matrix nor a list
    cdef EdgeC plain                    # the plain label pairs with a weight, whatever the form of kind 0
    cdef EdgeC spare                    # a kind that is not kept, made for as long as it takes
    cdef int32_t made                   # which one, or NOTHING
    cdef int32_t patched                # which one its matrix is, or NOTHING: that of plain pairs, or STALE
    cdef double largest                 # absolute score of those kept, when all were loaded last
    cdef PairC* room                    # for a list in the making,
    cdef PairC* merged[2]               # and in between
    cdef int32_t* index_room
    cdef double* unfolded               # scratch
    cdef double* factor                 # [rich features] exponentials of weights that are not zero, where matrices are made when
    cdef int32_t* cell                  # needed; the cells of L x P that they belong to
    cdef int64_t* end                   # [B] those of attribute b: layout.b_ptr[b] .. end[b]
    cdef int64_t spent, budget          # bytes of the lists that are kept, and how many they may be
    cdef BufferC* store                # [kinds] pairs and index of those kept
    cdef int number_kinds(self) except -1
    cdef int number_users(self, int64_t total) except -1
    cdef int64_t most_features(self) noexcept nogil
    cdef void exp_of(self, int32_t b) noexcept nogil
    cdef int load(self, int32_t kind) except -1 nogil
    cdef int load_all(self) except -1 nogil
    cdef int load_users(self, int32_t b) except -1 nogil
    cdef bint list_spare(self, int32_t kind) noexcept nogil
    cdef int keep_list(self, int32_t kind) except -1 nogil
    cdef void fill_matrix(self, int32_t kind) noexcept nogil
    cdef void make(self, int32_t kind) noexcept nogil
    cdef void patch(self, int32_t kind, bint on) noexcept nogil
    cdef const EdgeC* of(self, int64_t token) noexcept nogil
    cdef const double* matrix_of(self, int32_t kind) noexcept nogil
