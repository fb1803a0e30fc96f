from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.features.builder cimport TableBuilder
from crfkit.features.strings cimport StringTable
from crfkit.features.workspace cimport Workspace
from crfkit.memory cimport Arena, BufferC
from crfkit.text.table cimport RowsC
from .states cimport StateC
from .statetables cimport StateTables


cdef class TokenValues(Arena):
    """The values of tokens: those of views, and behind them numbers for the cells of columns that are compared without a transform. Within
    a sentence, equal cells have equal numbers."""
    cdef int32_t n_views, n     # values from views, and from columns that are compared
    cdef int32_t* columns
    cdef StringTable texts

    cdef bint fit(self, StateTables tables) noexcept
    # Fill in the values [T][n_views + n] of the sentence in the workspace, which begins with row `first`.
    cdef int fill(self, Workspace workspace, const RowsC* rows, int64_t first, int32_t* values) except -1 nogil


# The kind of the next action on the way to a tree, NOBODY if there is none. `waiting`: how many children each token still
# lacks.
cdef int correct_kind(const StateC* state, const int32_t* head, const int32_t* waiting) noexcept nogil


# How many children each token has, and which is the last one, NOBODY if it has none.
cdef void count_children(const int32_t* head, int32_t T, int32_t* n, int32_t* last) noexcept nogil


cdef class TreeColumns:
    cdef readonly int32_t id, head, relation


# The value of a number written in digits; -1 for anything else, and for numbers too large for a token.
cdef int64_t number_in(const char* s, int64_t n) noexcept nogil


cdef class Treebank(Arena):
    cdef readonly int64_t n_tokens, n_sequences
    cdef readonly int64_t n_crossing        # sentences left out because arcs cross
    cdef readonly int64_t longest
    cdef TableBuilder builder
    cdef TokenValues token_values
    cdef int32_t width                      # values of a token
    cdef Dataset attributes                 # of one sentence; a by-product of the values that is not used
    cdef int64_t* start                     # [sequences + 1] first token of each
    cdef int32_t* values                    # [tokens][width]
    cdef int32_t* head                      # [tokens] within the sentence, NOBODY for the root
    cdef int32_t* relation                  # [tokens]
    cdef BufferC start_buf, value_buf, head_buf, relation_buf
