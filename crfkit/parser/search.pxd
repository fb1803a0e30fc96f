from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from crfkit.memory cimport Arena, BufferC
from .states cimport StateC
from .statetables cimport StateTables


cdef struct SearchNodeC:
    bint known              # whether the scores have been computed
    int32_t choice          # kind of the best next action, NOBODY if there is none
    int32_t[3] best         # of each kind, the action with the highest score
    int32_t[3] child        # node after an action of each kind, or NOBODY


cdef struct ActionChoiceC:
    int32_t action
    double value            # sum of its score and those of the best actions after it
    int32_t correct         # the correct action
    double correct_value    # the same sum of it, less the margin


cdef class Search(Arena):
    cdef StateTables tables
    cdef const float* w
    cdef StateC state
    cdef const int32_t* values      # [T][width] values of the sentence
    cdef int32_t depth, root
    cdef int32_t root_relation      # that of roots, when it is to be kept from other words; else NOBODY
    cdef SearchNodeC* node
    cdef float* scores              # [nodes][actions]
    cdef int32_t* free              # stack of free nodes
    cdef int32_t n_free, capacity
    cdef uint32_t* key
    cdef int64_t* home              # [lines] where the search in each table begins
    cdef int32_t* row               # [lines] row of each, or NO_ROW
    cdef uint8_t* left_out          # [lines] whether a line is ignored
    cdef BufferC tokens             # the arrays of the state

    cdef int start(self, int32_t T, const int32_t* values) except -1 nogil
    cdef int32_t kind_of(self, int32_t action) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef void choose(self, int32_t correct, bint can_wait, double margin, ActionChoiceC* choice) noexcept nogil
    cdef int32_t best_actions(self, int32_t action, int32_t* actions) noexcept nogil
    cdef void execute(self, int32_t action) noexcept nogil
    cdef void run(self) noexcept nogil
