"""From the rows of a model's input to labels: the part that all taggers share, and the scratch of one thread."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from .columns cimport Rows
from .index cimport Extractor, Index
from .lattice cimport Lattice
from .layout cimport Layout
from .memory cimport BufferC
from .structs cimport weight_t


cdef class Decoder:
    cdef readonly Index index
    cdef readonly Layout layout
    cdef readonly list labels       # of str
    cdef list encoded               # the same as bytes: what name points into
    cdef const float[::1] weights
    cdef const weight_t* w
    cdef bint verified
    cdef BufferC names, name_lens
    cdef const char** name          # [L]
    cdef int32_t* name_len          # [L]


cdef class Scratch:
    cdef readonly Decoder decoder
    cdef Extractor extractor
    cdef Lattice lattice
    cdef BufferC labels             # uint16 of the tokens of a block

    cdef int score(self, Rows rows, int64_t s) except -1 nogil
    cdef int decode(self, Rows rows, int64_t first, int64_t last, uint16_t* labels) except -1 nogil
