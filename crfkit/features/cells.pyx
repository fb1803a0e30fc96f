"""Views: one transform of one column, computed once for each different cell.

While a corpus is read, a view grows with its column (`catch_up`); when tagging, cells that are not in the
column's table are transformed when they are met (`look_up`).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.memory cimport arena_reserve, buffer_reserve, memcmp
from crfkit.template.regex cimport Regex
from .hashing cimport string_hash, strings_find, strings_get
from crfkit.template.transforms cimport (
    text_bound, text_is_padding, text_lower, text_prefix, text_shape, text_suffix,
)


cdef class View(Arena):
    """A view of the plan, with its values so far."""

    def __cinit__(self, int32_t number, plan, StringTable cells, int32_t column, int32_t column2=-1):
        self.number, self.plan = number, plan
        self.kind = ord(plan.kind)
        self.lower, self.collapse, self.length = plan.lower, plan.collapse, plan.length
        self.column, self.column2, self.delta = column, column2, plan.delta
        self.cells = cells
        if plan.kind in "tm":
            self.regex = Regex(plan.pattern)
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

    cdef int64_t transform(self, const char* s, int64_t n, BufferC* out, const char** result) except -2 nogil:
        """Point result at the value of a cell and return its length; -1: no value. `out` is a buffer for it."""
        cdef int64_t start, end
        cdef bint padding, found
        result[0] = s
        if self.kind == c"x" and not self.lower:
            return n
        padding = text_is_padding(s, n)
        if self.kind == c"t":
            found = not padding and self.regex.search(s, n, &start, &end)
            result[0] = b"true" if found else b"false"
            return 4 if found else 5
        if padding:
            if self.kind == c"m":
                return 0
            return -1 if self.kind == c"p" or self.kind == c"s" else n
        if self.kind == c"m":
            if not self.regex.search(s, n, &start, &end):
                return 0
            s += start
            n = end - start
        buffer_reserve(out, text_bound(n), 1)
        if self.kind == c"p":
            n = text_prefix(s, n, self.length, out.data)
        elif self.kind == c"s":
            n = text_suffix(s, n, self.length, out.data)
        elif self.kind == c"S":
            n = text_shape(s, n, self.collapse, out.data)
        elif self.lower or self.kind == c"N":
            n = text_lower(s, n, c"#" if self.kind == c"N" else 0, out.data)
        else:  # the part that matched, as it is
            result[0] = s
            return n
        result[0] = out.data
        return n

    cdef bint may_be(self, const char* s, int64_t n, BufferC* text) except -1 nogil:
        """Whether a cell can have this value. Transforms change their own values no more, except that a part of a cell that matched may
        not match alone."""
        cdef const char* same
        if self.form == VIEW_EQUAL or self.kind == c"t":
            return (n == 4 and memcmp(s, b"true", 4) == 0) or (n == 5 and memcmp(s, b"false", 5) == 0)
        return self.kind == c"m" or (self.transform(s, n, text, &same) == n and memcmp(s, same, <size_t>n) == 0)

    cdef int catch_up(self, BufferC* text) except -1 nogil:
        """Transform the cells that were added to the column since the last call."""
        cdef int64_t n = self.cells.c.n
        cdef int64_t size
        cdef const char* s
        cdef int32_t* value
        cdef uint8_t* flag
        if self.form == VIEW_TEXT and self.n_map < n:
            arena_reserve(self, &self.map, n, sizeof(int32_t))
            value = <int32_t*>self.map.data
            while self.n_map < n:
                size = strings_get(&self.cells.c, <int32_t>self.n_map, &s)
                size = self.transform(s, size, text, &s)
                value[self.n_map] = self.strings.intern(s, size) if size >= 0 else NONE
                self.n_map += 1
            self.value = value
        n = self.strings.c.n
        if self.n_flags < n:
            arena_reserve(self, &self.flags, n, 1)
            flag = <uint8_t*>self.flags.data
            while self.n_flags < n:
                size = strings_get(&self.strings.c, <int32_t>self.n_flags, &s)
                flag[self.n_flags] = has_separator(self.separator, s, size)
                self.n_flags += 1
            self.flag = flag
        return 0

    cdef int32_t look_up(self, const char* s, int64_t n, BufferC* text) except -4 nogil:
        """The value of a cell that may not be in any table: an id, NONE, UNKNOWN or FLAGGED."""
        cdef int32_t found
        n = self.transform(s, n, text, &s)
        if n < 0:
            return NONE
        found = strings_find(&self.strings.c, s, n, string_hash(s, n))
        if found >= 0:
            return found
        return FLAGGED if has_separator(self.separator, s, n) else UNKNOWN
