from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.structs cimport weight_t
from crfkit.memory cimport Arena
from crfkit.weights.layout cimport Layout
from .chains cimport Chains


cdef inline double soft(double z, double r) noexcept nogil:
    return z - r if z > r else z + r if z < -r else 0


cdef class Occurrences(Arena):
    cdef const int64_t* ptr         # [n+1] occurrences of an attribute: ptr[a] .. ptr[a+1]
    cdef const int32_t* token       # tokens, ascending, each once an attribute
    cdef const float* value         # or NULL: all 1


cdef class Blocks(Arena):
    cdef Dataset data
    cdef Layout layout
    cdef Chains chains
    cdef Occurrences nodes, pairs
    cdef int32_t* steps                 # [n_steps] the tokens of plain label pairs: all but the first ones of sequences
    cdef int64_t n_steps
    cdef weight_t* w
    cdef uint8_t* awake                 # [n_cells] features whose weight is not zero, or is about to leave zero
    cdef double l1, l2
    cdef bint sweeps                    # in a full sweep, which needs no second derivatives
    cdef int32_t n                      # unigram attributes, rich bigram attributes, plain label pairs
    cdef float* kappa                   # [n]
    cdef double* lefts                  # [HELD][P] of the deferred steps: alpha on the left,
    cdef double* rights                 # [HELD][P] and potentials times beta on the right
    cdef int64_t looked                 # at tokens, by all calls of gather
    cdef int64_t held
    cdef int32_t held_kind
    cdef double* first                  # [L][P] sums of p, or [P]
    cdef double* second                 # [L][P] sums of p (1 - p)
    cdef double* seen                   # [L][P] observed
    cdef double* change                 # [L][P] of the weights
    cdef double* factor                 # [P] its exponential
    # the block at hand: its features that are awake, where they stand in these tables and among the cells, and their terms
    cdef int32_t size
    cdef int64_t* cell
    cdef int64_t* at
    cdef uint16_t* prev                 # labels of a pair
    cdef uint16_t* label
    cdef double* potential              # of these pairs, in steps of the kind
    cdef int32_t picked
    cdef double* expected
    cdef double* observed
    cdef double* h
    cdef double* old
    cdef double largest                 # absolute value of the attribute
    cdef double farthest                # change of a score
    cdef int gather(self, int32_t block) except -1 nogil
    cdef double update(self, int32_t block, double f) except? -1 nogil
