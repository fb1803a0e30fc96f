from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport Arena, BufferC
from crfkit.lattice.forms cimport Recursions
from crfkit.loops.structs cimport EdgeC, PairC, weight_t


cdef class Edges(Arena):
    cdef Dataset data
    cdef Layout layout
    cdef const weight_t* w
    cdef readonly int32_t n_kinds       # kind 0: plain label pairs
    cdef readonly bint shared           # there is room for a matrix of every kind; otherwise for the one of plain pairs only
    cdef bint listed                    # kinds with rich attributes may be lists
    cdef Recursions recursions
    cdef int32_t* kind                  # [n_tok] kind of the step into each token
    cdef int32_t* model                 # [kinds] the first token with that step
    cdef int64_t matrix                 # cells of one
    cdef EdgeC* edge                    # [kinds] n is TOO_LONG without a list; kinds that are not kept have neither matrix nor list
    cdef EdgeC plain                    # the plain label pairs with a weight, whatever the form of kind 0
    cdef EdgeC spare                    # scratch: a kind that is not kept, built on demand
    cdef int32_t made                   # which kind that is, or NOTHING
    cdef int32_t patched                # which kind its matrix has, NOTHING for plain pairs, or STALE
    cdef double largest                 # largest absolute score, since the last full load, of all kinds that are shared, else of plain pairs
    cdef PairC* room                    # scratch for a list being built,
    cdef PairC* merged[2]               # and for its intermediate forms
    cdef int32_t* index_room
    cdef double* unfolded               # scratch
    cdef double* factor                 # [rich features] exponentials of nonzero weights, where matrices are built on demand;
    cdef int64_t* cell                  # their cells in L x P
    cdef int64_t* end                   # [B] those of attribute b: layout.b_ptr[b] .. end[b]
    cdef int64_t spent, budget          # bytes used by the kept lists, and their limit
    cdef BufferC* store                # [kinds] pairs and index of the kept lists
    cdef int load_all(self) except -1 nogil
    cdef int load_users(self, int32_t b, const int32_t* token, int64_t n) except -1 nogil
    cdef const EdgeC* of(self, int64_t token) noexcept nogil
    cdef const double* matrix_of(self, int32_t kind) noexcept nogil
