from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.memory cimport Arena, BufferC
from crfkit.template.regex cimport Regex
from .strings cimport StringTable

# Values of a view are ids of its strings, from 0, or:
cdef enum:
    NONE = -1           # no value: no feature
    UNKNOWN = -2        # a value that is not in the table
    FLAGGED = -3        # the same, and it contains a separator

cdef enum:
    VIEW_CELL           # the cell itself: ids of the column are values of the view
    VIEW_TEXT           # another text made from it
    VIEW_EQUAL          # whether two cells are equal: 0 "false", 1 "true"


cdef inline bint has_separator(const uint8_t* separator, const char* s, int64_t n) noexcept nogil:
    """Whether one of the bytes is marked in the table of 256."""
    cdef int64_t i
    for i in range(n):
        if separator[<uint8_t>s[i]]:
            return True
    return False


cdef class View(Arena):
    cdef readonly object plan
    cdef int32_t number             # among the views of the plan
    cdef int form                   # VIEW_*
    cdef char kind                  # the letter of plan.ViewPlan
    cdef bint lower, collapse
    cdef int64_t length
    cdef Regex regex
    cdef int32_t column, column2, delta
    cdef StringTable cells          # of the column
    cdef readonly StringTable strings       # values; the column's own where they are the cells
    cdef BufferC map, flags
    cdef int64_t n_map, n_flags
    cdef const int32_t* value       # [n_map] column id -> value
    cdef const uint8_t* flag        # [strings] 1 where a value contains a separator
    cdef const uint8_t* separator   # [256] 1 for separators; the owner's

    cdef int64_t transform(self, const char* s, int64_t n, BufferC* out, const char** result) except -2 nogil
    cdef bint may_be(self, const char* s, int64_t n, BufferC* text) except -1 nogil
    cdef int catch_up(self, BufferC* text) except -1 nogil
    cdef int32_t look_up(self, const char* s, int64_t n, BufferC* text) except -4 nogil
