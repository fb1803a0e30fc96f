from libc.stdint cimport int64_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.structs cimport LatticeC, SentenceC, weight_t
from crfkit.memory cimport Arena
from crfkit.weights.layout cimport Layout


cdef inline int64_t differing(const uint16_t* labels, const SentenceC* sent) noexcept nogil:
    """The number of positions where labels differ from those of a sequence."""
    cdef int64_t t, n = 0
    for t in range(sent.T):
        n += labels[t] != sent.label[t]
    return n


cdef int64_t wrong_labels(LatticeC* lat, const SentenceC* sent, uint16_t* path) noexcept nogil
cdef object not_finite(str penalties)
cdef dict accuracies(int64_t wrong, int64_t tokens, int64_t flawed, int64_t sequences)
cpdef double square_of_small(data) except -1
cdef bint all_cells_finite(const weight_t* w, int64_t n) noexcept nogil


cdef class Trainer(Arena):
    cdef readonly Dataset data
    cdef readonly Layout layout
    cdef readonly object options
    cdef public object converged
    cdef readonly bint interrupted
    cdef Trainer leader             # the trainer that owns these weights, or None
    cdef weight_t* w

    cdef int set_weights(self, object given) except -1
    cdef dict vectors(self)
