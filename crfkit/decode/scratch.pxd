from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.text.rows cimport Rows
from crfkit.features.walk cimport Extractor
from crfkit.lattice.lattice cimport Lattice
from .decoder cimport Decoder
from .lookahead cimport LookaheadSearch
from crfkit.memory cimport Arena, BufferC
from .nbest cimport NBest


# How sentences are decoded.
cdef struct HowC:
    bint posterior              # by marginals, not by the best path
    bint partial                # the labels in the rows restrict what is possible


cdef class Scratch(Arena):
    cdef readonly Decoder decoder
    cdef Extractor extractor
    cdef Lattice lattice
    cdef Lattice rest                   # scores of the weights' rest, or None
    cdef NBest search
    cdef LookaheadSearch history        # or None
    cdef Lattice voting                 # marginals as scores, where transitions are constrained
    cdef BufferC labels                 # uint16 of the tokens of a block
    cdef uint8_t* flags                 # [L]
    cdef double path_score              # of the last labels found
    cdef double step_level              # what was subtracted from the scores of all pairs of labels
    cdef readonly double level          # what was subtracted from the scores of all labels

    cdef int score(self, Rows rows, int64_t s) except -1 nogil
    cdef void level_scores(self) noexcept nogil
    cdef int allow(self, Rows rows, int64_t s) except -1 nogil
    cdef int best(self, Rows rows, int64_t s, HowC how, uint16_t* labels) except -1 nogil
    cdef int find_path(self, Rows rows, int64_t s, uint16_t* labels) except -1 nogil
    cdef int expect(self, Rows rows, int64_t s) except -1 nogil
    cdef int vote(self, uint16_t* labels) except -1 nogil
    cdef int decode(self, Rows rows, int64_t first, int64_t last, HowC how, uint16_t* labels) except -1 nogil
    cdef int impossible(self, Rows rows, int64_t s) except -1 with gil
    cdef list as_text(self, const uint16_t* labels, int64_t n)
    cdef uint16_t* room(self, int64_t n) except NULL nogil


cdef list names_of(list names, const uint16_t* labels, int64_t n)
cdef void reverse(uint16_t* labels, int64_t n) noexcept nogil
