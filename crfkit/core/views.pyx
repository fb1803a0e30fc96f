"""Views: one transform of one column, computed once for each different cell.

While a corpus is read, a view grows with its column (`catch_up`); when tagging, cells that are not in the
column's table are transformed on the spot (`look_up`).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from .memory cimport buffer_free, buffer_reserve
from .strings cimport string_hash, strings_find, strings_get


cdef class View:
    """A view of the plan with the values it has taken."""

    def __cinit__(self, plan, StringTable cells, int32_t column, int32_t column2=-1):
        self.plan = plan
        self.kind = ord(plan.kind)
        self.lower, self.collapse, self.length = plan.lower, plan.collapse, plan.length
        self.column, self.column2, self.delta = column, column2, plan.delta
        self.cells = cells
        if plan.kind == "=":
            self.form = VIEW_EQUAL
            self.strings = StringTable()
            self.strings.intern_bytes(b"false")
            self.strings.intern_bytes(b"true")
        elif plan.kind == "x" and not plan.lower:
            self.form = VIEW_CELL
            self.strings = cells
        else:
            self.form = VIEW_TEXT
            self.strings = StringTable()

    def __dealloc__(self):
        buffer_free(&self.map)
        buffer_free(&self.flags)

    cdef int64_t transform(self, const char* s, int64_t n, BufferC* out, const char** result) except -2 nogil:
        """Point result at the value of a cell and return its length; -1: no value. `out` is room for it."""
        result[0] = s
        return n

    cdef bint flagged(self, const char* s, int64_t n) noexcept nogil:
        """Whether a value contains a separator."""
        cdef int64_t i
        for i in range(n):
            if self.separator[<uint8_t>s[i]]:
                return True
        return False

    cdef int catch_up(self, BufferC* text) except -1 nogil:
        """Transform the cells that are new in the column."""
        cdef int64_t n = self.cells.c.n
        cdef int64_t size
        cdef const char* s
        cdef int32_t* value
        cdef uint8_t* flag
        if self.form == VIEW_TEXT and self.n_map < n:
            buffer_reserve(&self.map, n, sizeof(int32_t))
            value = <int32_t*>self.map.data
            while self.n_map < n:
                size = strings_get(&self.cells.c, <int32_t>self.n_map, &s)
                size = self.transform(s, size, text, &s)
                value[self.n_map] = self.strings.intern(s, size) if size >= 0 else NONE
                self.n_map += 1
            self.value = value
        n = self.strings.c.n
        if self.n_flags < n:
            buffer_reserve(&self.flags, n, 1)
            flag = <uint8_t*>self.flags.data
            while self.n_flags < n:
                size = strings_get(&self.strings.c, <int32_t>self.n_flags, &s)
                flag[self.n_flags] = self.flagged(s, size)
                self.n_flags += 1
            self.flag = flag
        return 0

    cdef int32_t look_up(self, const char* s, int64_t n, BufferC* text) except -4 nogil:
        """The value of a cell that may be in no table: an id, NONE, UNKNOWN or FLAGGED."""
        cdef int32_t found
        n = self.transform(s, n, text, &s)
        if n < 0:
            return NONE
        found = strings_find(&self.strings.c, s, n, string_hash(s, n))
        if found >= 0:
            return found
        return FLAGGED if self.flagged(s, n) else UNKNOWN
