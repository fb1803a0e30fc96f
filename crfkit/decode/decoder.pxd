"""From the rows of a model's input to labels: the part that all taggers share, and the scratch of one thread."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.text.rows cimport Rows
from crfkit.features.extractor cimport Extractor
from crfkit.features.tables cimport Features
from crfkit.lattice.lattice cimport Lattice
from crfkit.weights.layout cimport Layout
from .lookahead cimport LookaheadSearch
from crfkit.memory cimport Arena, BufferC
from .nbest cimport NBest
from crfkit.features.strings cimport StringTable
from crfkit.loops.structs cimport weight_t


# How sentences are decoded.
cdef struct HowC:
    bint posterior              # by marginals, not by the best path
    bint partial                # the labels in the rows say which are possible


cdef class Decoder(Arena):
    cdef readonly Features index
    cdef object columns                 # where those of the index stand in the rows; None: as in training
    cdef readonly Layout layout
    cdef readonly list labels           # of str
    cdef list encoded                   # the same as bytes: what name points into
    cdef StringTable label_table
    cdef object owner                   # of the weights
    cdef const weight_t* w              # its numbers, or copy if those are not aligned
    cdef BufferC copy
    cdef object rest_owner              # of the weights' rest, or None
    cdef const weight_t* rest           # what single precision left over of them, or NULL
    cdef bint verified, constrained
    cdef int32_t depth                  # of the search with history, or -1
    cdef str recursions                 # which loops its paths and marginals are made by
    cdef bint backward                  # sentences and constraints are turned around
    cdef object constraints
    cdef bytes follow, starts, ends     # what the three point into
    cdef const uint8_t* may_follow      # [L][L], if constrained
    cdef const uint8_t* may_start       # [L]
    cdef const uint8_t* may_end         # [L]
    cdef BufferC names, name_lens
    cdef const char** name              # [L]
    cdef int32_t* name_len              # [L]


cdef class Scratch(Arena):
    cdef readonly Decoder decoder
    cdef Extractor extractor
    cdef Lattice lattice
    cdef Lattice rest                   # scores of the weights' rest, or None
    cdef NBest search
    cdef LookaheadSearch history              # or None
    cdef Lattice voting                 # marginals as scores, where transitions are constrained
    cdef BufferC labels                 # uint16 of the tokens of a block
    cdef BufferC flags                  # uint8 [L]
    cdef double path_score              # of the labels found last
    cdef str form                       # of sentences from Python
    cdef int32_t columns                # that their rows have at least
    cdef Rows own                       # the one that was read, or None
    cdef Rows source                    # the rows of the sentence looked at, and
    cdef int64_t taken                  # which of them it is
    cdef bint expected                  # its marginals are known

    cdef int score(self, Rows rows, int64_t s) except -1 nogil
    cdef int allow(self, Rows rows, int64_t s) except -1 nogil
    cdef int best(self, Rows rows, int64_t s, HowC how, uint16_t* labels) except -1 nogil
    cdef int find_path(self, Rows rows, int64_t s, uint16_t* labels) except -1 nogil
    cdef int find_history(self, Rows rows, int64_t s, uint16_t* labels) except -1 nogil
    cdef int expect(self, Rows rows, int64_t s) except -1 nogil
    cdef int vote(self, Rows rows, int64_t s, uint16_t* labels) except -1 nogil
    cdef int decode(self, Rows rows, int64_t first, int64_t last, HowC how, uint16_t* labels) except -1 nogil
    cdef int bound(self, Lattice lattice) noexcept nogil
    cdef int impossible(self, Rows rows, int64_t s) except -1 nogil
    cdef int unknown_label(self, Rows rows, int64_t token, const char* s, int64_t n) except -1 nogil
    cdef int check_scores(self) except -1 nogil
    cdef int look_at(self, Rows rows, int64_t sentence) except -1
    cdef int expect_once(self) except -1
    cdef list as_text(self, const uint16_t* labels, int64_t n)
    cdef uint16_t* room(self, int64_t n) except NULL nogil
