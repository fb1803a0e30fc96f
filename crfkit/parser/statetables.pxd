from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from crfkit.memory cimport Arena, BufferC
from .states cimport StateC

cdef enum:
    MOST_CELLS = 16
    MOST_PLACES = 64
    NO_ROW = -1


cdef struct PlacedCellC:
    int32_t kind, view, place, view2, place2


cdef struct StepC:              # a place that is a child: the place from where it is found, and how
    int32_t place, kind


cdef struct LineC:              # a line of the template, and its table
    int32_t arity
    const PlacedCellC* cell     # [arity]
    int64_t n                   # entries in use, while the table grows
    int64_t n_slots
    int32_t* slot               # [n_slots][1 + arity]: row or NO_ROW, then the key
    BufferC slots


cdef struct RowC:               # the weights of one attribute
    int32_t first, n            # their range in `action` and in the weights


cdef inline bint has_feature(const LineC* line, const uint32_t* key) noexcept nogil:
    """Whether a key is valid: all values of its line are known."""
    return line.arity == 0 or key[0] != <uint32_t>0xFFFFFFFF


cdef inline int64_t key_home(const uint32_t* key, int32_t n, int64_t n_slots) noexcept nogil:
    """The slot at which the search for a key begins."""
    cdef uint64_t h = 0
    cdef int32_t i
    for i in range(n):
        h = (h ^ key[i]) * <uint64_t>0xD6E8FEB86659FD93
        h ^= h >> 32
    return <int64_t>(<uint64_t><uint32_t>h * <uint64_t>n_slots >> 32)


cdef inline int32_t line_find(const LineC* line, const uint32_t* key, int64_t at) noexcept nogil:
    """The row of a key, or NO_ROW. `at` is its home. There are at most as many probes as slots, as a file may be damaged."""
    cdef int64_t probes
    cdef int32_t i, width = 1 + line.arity
    cdef const int32_t* slot
    for probes in range(line.n_slots):
        slot = line.slot + at * width
        if slot[0] < 0:
            return NO_ROW
        i = 0
        while i < line.arity and <uint32_t>slot[1 + i] == key[i]:
            i += 1
        if i == line.arity:
            return slot[0]
        at += 1
        if at == line.n_slots:
            at = 0
    return NO_ROW


cdef class StateTables(Arena):
    cdef readonly object features
    cdef readonly int32_t n_views, n_relations, n_actions
    cdef int32_t width          # number of values of a token: of views, and of columns that are compared
    cdef readonly int32_t n_lines, most_cells
    cdef int32_t n_places       # those of the state, then those of `step`
    cdef StepC* step
    cdef LineC* line
    cdef readonly int64_t n_rows
    cdef int64_t n_cells        # length of `action`, gaps between rows included
    cdef RowC* row
    cdef uint16_t* action
    cdef BufferC row_buf, action_buf
    cdef object mapped          # the arrays of a model; () of a trainer, whose tables grow; None while they are free

    cdef void keys(self, const StateC* state, const int32_t* values, uint32_t* key) noexcept nogil
    cdef int32_t add(self, int32_t line, const uint32_t* key) except -1 nogil
    cdef bint exists(self, int32_t number, const int32_t* key, sizes) except -1
