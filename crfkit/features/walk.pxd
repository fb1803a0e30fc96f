"""From the rows of a sentence to its attributes: the walk that learning and tagging share; see walk.pyx."""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.memory cimport Arena, BufferC
from crfkit.text.rows cimport RowsC
from .tables cimport Features, NodeC


cdef class Workspace(Arena):
    """What is known of one sentence, in one thread. Positions count from -padding to T-1+padding."""
    cdef int32_t T
    cdef const int32_t* column_number   # [columns] where each stands in the rows
    cdef BufferC cells                  # int32 [columns][T]
    cdef BufferC values                 # int32 [views][T + 2 padding]
    cdef BufferC grams                  # int32 [nodes][T + 2 padding]
    cdef BufferC value_at, gram_at      # int32* of each view, each node: its values at position 0
    cdef BufferC items                  # int32 [attributes that the rows name]
    cdef BufferC text, line             # a transformed cell, an expanded line


# Append the attributes of the tokens first .. last-1 to a data set. Learning numbers what it sees for the first time,
# and fills the tables; finding leaves out what they do not have, and gives the attributes of a token in ascending order.
cdef int learn_tokens(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last, Dataset out) except -1 nogil
cdef int find_tokens(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last, Dataset out) except -1 nogil
cdef int grow_rows(Features f, NodeC* node, int64_t n) except -1 nogil
# The attribute that has this string, a new one if there is none.
cdef int32_t learn_literal(Features f, const char* s, int64_t n, bint bigram) except -2 nogil
cdef int32_t new_number(Features f, bint bigram) except -2 nogil
