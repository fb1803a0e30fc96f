from libc.stdint cimport int32_t, uint8_t

from crfkit.features.tables cimport Features
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport Arena
from crfkit.features.strings cimport StringTable
from crfkit.loops.structs cimport weight_t


cdef class Decoder(Arena):
    cdef readonly Features index
    cdef readonly Layout layout
    cdef readonly list labels           # of str
    cdef StringTable label_table        # the same as bytes, which `name` points into
    cdef tuple owners                   # of what the following point into
    cdef const weight_t* w              # the weights, or a copy if those are not aligned
    cdef const weight_t* rest           # the part of double weights beyond single precision, or NULL
    cdef const double* bias             # [L], added to the scores of labels, or NULL
    cdef bint verified, constrained
    cdef int32_t depth                  # of the search with history, or -1
    cdef str recursions                 # which loops compute paths and marginals
    cdef bint backward                  # sentences and constraints are reversed
    cdef bytes follow, starts, ends     # which the following point into
    cdef const uint8_t* may_follow      # [L][L], if constrained
    cdef const uint8_t* may_start       # [L]
    cdef const uint8_t* may_end         # [L]
    cdef const char** name              # [L]
    cdef int32_t* name_len              # [L]

    cdef int constrain(self, constraints, int32_t L) except -1
