"""The current sentence of an extraction: its cells and values as numbers, and the attributes that its rows name.

It is the same for learning and for finding. walk.pyx describes the arrays.
"""

from libc.stdint cimport uint64_t

from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.memory cimport arena_reserve, memcmp, memcpy
from crfkit.text.table cimport rows_attr, rows_cell
from .cells cimport FLAGGED, UNKNOWN, VIEW_CELL, VIEW_TEXT, View
from .hashing cimport string_hash, strings_find_hashed, strings_get
from .structs cimport StringTableC
from .tables cimport SpaceC

from crfkit.errors import DataError

cdef enum:
    AT_ONCE = 64                    # names that are prefetched together


cdef class Workspace(Arena):

    def __cinit__(self):
        arena_reserve(self, &self.text, 1, 1)
        arena_reserve(self, &self.line, 1, 1)


cdef int prepare(Features f, Workspace s, const RowsC* rows) except -1 nogil:
    """Make room for the sentence."""
    cdef int64_t width = <int64_t>s.T + 2 * f.padding
    cdef int32_t i
    for i in range(f.n_columns - 1, -1, -1):
        if s.column_number[i] >= rows.n_cols:
            raise DataError(f"the template uses column {s.column_number[i]}, but the data have {rows.n_cols}")
    arena_reserve(s, &s.cells, <int64_t>s.T * f.n_columns, sizeof(int32_t))
    arena_reserve(s, &s.values, width * f.n_views, sizeof(int32_t))
    arena_reserve(s, &s.grams, width * f.n_nodes, sizeof(int32_t))
    arena_reserve(s, &s.value_at, f.n_views, sizeof(void*))
    arena_reserve(s, &s.gram_at, f.n_nodes, sizeof(void*))
    for i in range(f.n_views):
        (<int32_t**>s.value_at.data)[i] = <int32_t*>s.values.data + i * width + f.padding
    for i in range(f.n_nodes):
        (<int32_t**>s.gram_at.data)[i] = (
            (<int32_t**>s.value_at.data)[f.node[i].view] if f.node[i].arity == 1
            else <int32_t*>s.grams.data + i * width + f.padding)


cdef int64_t cell_at(Features f, Workspace s, const RowsC* rows, int64_t first, int32_t column, int64_t p,
                     const char** cell) noexcept nogil:
    """Point at the text of a cell, or of the padding beyond the sentence, and return its length."""
    cdef int32_t n
    if p < 0:
        return strings_get(&f.paddings.c, <int32_t>(-1 - p), cell)
    if p >= s.T:
        return strings_get(&f.paddings.c, <int32_t>(f.padding + p - s.T), cell)
    cell[0] = rows_cell(rows, first + p, s.column_number[column], &n)
    return n


cdef int number_values(Features f, Workspace s, const RowsC* rows, int64_t first) except -1 nogil:
    """The values of all views from the cells of the sentence."""
    cdef int32_t v
    cdef int32_t* value
    cdef const int32_t* pad
    for v in range(f.n_views):
        value = (<int32_t**>s.value_at.data)[v]
        pad = <const int32_t*>f.pad_value.data + <int64_t>v * 2 * f.padding
        if f.padding:
            memcpy(value - f.padding, pad, f.padding * sizeof(int32_t))
            memcpy(value + s.T, pad + f.padding, f.padding * sizeof(int32_t))
        number_view(f, <View>f.view[v], value, s, rows, first)


cdef int number_view(Features f, View view, int32_t* value, Workspace s, const RowsC* rows, int64_t first) except -1 nogil:
    """The values of one view. A map from a file may name any value: those out of range count as unknown."""
    cdef const int32_t* cell = <const int32_t*>s.cells.data + <int64_t>view.column * s.T
    cdef const char* text
    cdef const char* other
    cdef int64_t p, n
    cdef int32_t T = s.T
    if view.form == VIEW_CELL:
        memcpy(value, cell, T * sizeof(int32_t))
    elif view.form == VIEW_TEXT:
        for p in range(T):
            if cell[p] >= 0 and cell[p] < view.n_map:
                value[p] = view.value[cell[p]]
                if value[p] >= view.strings.c.n or value[p] < FLAGGED:
                    value[p] = UNKNOWN
            else:
                n = cell_at(f, s, rows, first, view.column, p, &text)
                value[p] = view.look_up(text, n, &s.text)
    else:
        for p in range(-f.padding, T + f.padding):
            if p + view.delta >= -f.padding and p + view.delta < T + f.padding:
                n = cell_at(f, s, rows, first, view.column, p, &text)
                value[p] = (n == cell_at(f, s, rows, first, view.column2, p + view.delta, &other)
                            and memcmp(text, other, <size_t>n) == 0)


cdef int find_names(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last) except -1 nogil:
    """The numbers of the attributes first .. last-1 that rows in CRFsuite's form name, or -1. The tables are large, so
    their entries are prefetched many names ahead."""
    cdef const SpaceC* space = &f.space[0]
    cdef const StringTableC* table = space.literal
    cdef uint64_t[AT_ONCE] hash
    cdef int64_t begin, k, n, i
    cdef int32_t size
    cdef const char* text
    cdef int32_t* id
    id = <int32_t*>arena_reserve(s, &s.items, last - first, sizeof(int32_t))
    begin = first
    while begin < last:
        n = min(<int64_t>AT_ONCE, last - begin)
        for k in range(n):
            text = rows_attr(rows, begin + k, &size)
            hash[k] = string_hash(text, size)
            crfkit_prefetch(&table.slot[hash[k] & table.mask])
        for k in range(n):
            i = <int64_t>table.slot[hash[k] & table.mask].ref - 1
            if 0 <= i < table.n:
                crfkit_prefetch(&table.offset[i])
                crfkit_prefetch(&space.literal_attr[i])
        for k in range(n):
            i = <int64_t>table.slot[hash[k] & table.mask].ref - 1
            if 0 <= i < table.n and 0 <= table.offset[i] < table.n_bytes:
                crfkit_prefetch(table.arena + table.offset[i])
        for k in range(n):
            text = rows_attr(rows, begin + k, &size)
            i = strings_find_hashed(table, text, size, hash[k])
            id[k] = space.literal_attr[i] if 0 <= i and space.literal_attr[i] < space.n else -1
        id += n
        begin += n
