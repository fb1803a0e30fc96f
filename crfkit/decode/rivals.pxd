from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.loops.structs cimport LatticeC, LayoutC, SentenceC, weight_t
from crfkit.memory cimport Arena, BufferC
from .scratch cimport Scratch


# What one attribute adds to two labellings, at one position or at the step into it.
cdef struct ReasonC:
    double score, rival     # weight times value, in the best labelling and in the rival
    int32_t position
    int32_t attribute       # -1: that of plain label pairs; or the bias, which looks at one label
    int32_t before          # label before in the rival, or -1: it looks at one label
    int32_t label           # of the rival


# How the best labelling through a label goes on to one side, until it meets the best path.
cdef struct SideC:
    int64_t first, n        # its reasons
    int64_t others          # reasons that were left out, and
    double rest             # the sum of what they say
    int64_t end             # last position with another label than on the best path


cdef class Rivals(Arena):
    """Scratch of one thread. What `search` has found is valid until its Scratch takes another sentence."""
    cdef LatticeC* lat
    cdef const SentenceC* sent
    cdef const LayoutC* layout
    cdef const weight_t* w
    cdef const weight_t* more           # to be added to the weights, or NULL
    cdef const double* bias             # to be added to the scores of labels, or NULL
    cdef int64_t most                   # reasons of a token
    cdef BufferC best                   # int32 [T]: the best path
    cdef BufferC trail                  # int32 [T]: a way that is being looked at
    cdef BufferC links                  # int32 [2][T][P]: the side of each cell, before it and behind it; 0: not known
    cdef BufferC sides, reasons
    cdef int64_t n_sides, n_reasons
    cdef SideC made                     # the side in the making, and
    cdef BufferC chosen                 # its reasons, the largest first

    cdef int search(self, Scratch x, const uint16_t* labels, int64_t most) except -1 nogil
    cdef tuple token(self, int64_t t)
