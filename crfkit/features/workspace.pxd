from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport Arena, BufferC
from crfkit.text.table cimport RowsC
from .tables cimport Features


cdef class Workspace(Arena):
    """The numbers of one sentence, in one thread. Positions count from -padding to T-1+padding."""
    cdef int32_t T
    cdef const int32_t* column_number   # [columns] where each stands in the rows
    cdef BufferC cells                  # int32 [columns][T]
    cdef BufferC values                 # int32 [views][T + 2 padding]
    cdef BufferC grams                  # int32 [nodes][T + 2 padding]
    cdef BufferC value_at, gram_at      # int32* of each view, each node: its values at position 0
    cdef BufferC items                  # int32 [attributes that the rows name]
    cdef BufferC text, line             # a transformed cell, an expanded line


cdef int prepare(Features f, Workspace s, const RowsC* rows) except -1 nogil
cdef int64_t cell_at(Features f, Workspace s, const RowsC* rows, int64_t first, int32_t column, int64_t p,
                     const char** cell) noexcept nogil
cdef int number_values(Features f, Workspace s, const RowsC* rows, int64_t first) except -1 nogil
cdef int find_names(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last) except -1 nogil
