from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.lattice.lattice cimport Lattice
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport SentenceC, weight_t


# A decision: the label of one token, and the results of the search for it.
cdef struct ChoiceC:
    int32_t t                   # the token
    int32_t before, previous    # labels of the two tokens before it, L and L+1 for those before the sentence
    int32_t last                # the furthest token that the search looked at
    int32_t label               # the best label
    double value                # its value, less the margin if it is the correct one
    double correct              # value of the correct label, without the margin


cdef struct MemoC:
    int64_t stamp                   # of the decision it belongs to
    double value
    int32_t label


cdef class LookaheadSearch(Arena):
    cdef Layout layout
    cdef const weight_t* w
    cdef Lattice lattice            # node scores, and plain label pairs
    cdef const SentenceC* sent
    cdef int32_t depth
    cdef bint second                # some feature looks two labels back
    cdef bint stale                 # label-pair weights have changed since the bounds were computed
    cdef double* pairs              # [L][P] best score of the step from label i, column, to label j, row
    cdef BufferC own                # the same [ring][L][P] of tokens with bigram attributes
    cdef BufferC has_own            # uint8 [T]
    cdef double* most               # [L+1][P]: scratch of add_bounds, zeros between uses
    cdef int64_t* touched           # its cells in use
    cdef BufferC reach              # [T][P] best score of the tokens from t on, by the label before
    cdef double* rows               # [levels][2][P]
    cdef double* sums               # [P]
    cdef MemoC* memo                # [levels][L+2][L]
    cdef int32_t* shared            # bigram attributes of every token
    cdef int64_t n_shared
    cdef int32_t ring, scored, bounded, complete
    cdef int64_t stamp

    cdef int watch(self, const SentenceC* sent, int32_t scored) except -1 nogil
    cdef int choose(self, int32_t t, const uint16_t* labels, int32_t correct, double margin, ChoiceC* out) except -1 nogil
    cdef int leaf(self, const ChoiceC* choice, int32_t label, uint16_t* labels) except -1 nogil
    cdef void forget(self, int32_t t) noexcept nogil
    cdef void note_pair(self, int32_t i, int32_t j, double by) noexcept nogil
    cdef void note_history(self, int32_t b, int32_t before, int32_t previous, int32_t label, double by) noexcept nogil
    cdef int tag(self, uint16_t* labels) except -1 nogil
    cdef double path_score(self, const uint16_t* labels) except? -1 nogil
