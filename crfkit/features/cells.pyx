"""Views: one transform of one column, computed once for each different cell.

While a corpus is read, a view grows with its column (`catch_up`); when tagging, cells that are not in the
column's table are transformed when they are met (`look_up`).

The transforms work on UTF-8 bytes, without the interpreter. Characters are classified and lower-cased by the tables of the running
Python, one character to one character, so that the result does not depend on the locale. Ill-formed UTF-8 gives some result, never
an access out of bounds: bytes that no table has are copied unchanged.
"""

from libc.stdint cimport uint32_t

from crfkit.memory cimport arena_reserve, buffer_reserve, memcmp, memcpy
from crfkit.template.regex cimport (
    Py_UNICODE_ISALPHA, Py_UNICODE_ISDECIMAL, Py_UNICODE_ISLOWER, Py_UNICODE_ISTITLE, Py_UNICODE_ISUPPER, Py_UNICODE_TOLOWER, text_char
)
from .hashing cimport strings_find, strings_get


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
            self.strings = StringTable((b"false", b"true"))
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
        padding = is_padding(s, n)
        if self.kind == c"t":
            found = not padding and self.regex.search(s, n, &start, &end)
            result[0] = b"true" if found else b"false"
            return 4 if found else 5
        if padding:
            if self.kind == c"m":
                return 0
            return -1 if self.kind == c"p" or self.kind == c"s" else n
        if self.kind == c"p":
            return prefix_end(s, n, self.length)
        if self.kind == c"s":
            start = suffix_begin(s, n, self.length)
            result[0] = s + max(start, 0)
            return n - start if start >= 0 else -1
        if self.kind == c"m":
            if not self.regex.search(s, n, &start, &end):
                return 0
            s += start
            n = end - start
            if not self.lower:
                result[0] = s
                return n
        buffer_reserve(out, n + (n >> 1) + 1, 1)        # lower-casing lengthens a few letters from 2 to 3 bytes
        result[0] = out.data
        return rewrite(s, n, self.kind, self.collapse, out.data)

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
            value = <int32_t*>arena_reserve(self, &self.map, n, sizeof(int32_t))
            while self.n_map < n:
                size = strings_get(&self.cells.c, <int32_t>self.n_map, &s)
                size = self.transform(s, size, text, &s)
                value[self.n_map] = self.strings.intern(s, size) if size >= 0 else NONE
                self.n_map += 1
            self.value = value
        n = self.strings.c.n
        if self.n_flags < n:
            flag = <uint8_t*>arena_reserve(self, &self.flags, n, 1)
            while self.n_flags < n:
                size = strings_get(&self.strings.c, <int32_t>self.n_flags, &s)
                flag[self.n_flags] = has_separator(self.separator, s, size)
                self.n_flags += 1
            self.flag = flag

    cdef int32_t look_up(self, const char* s, int64_t n, BufferC* text) except -4 nogil:
        """The value of a cell that may not be in any table: an id, NONE, UNKNOWN or FLAGGED."""
        cdef int32_t found
        n = self.transform(s, n, text, &s)
        if n < 0:
            return NONE
        found = strings_find(&self.strings.c, s, n)
        if found >= 0:
            return found
        return FLAGGED if has_separator(self.separator, s, n) else UNKNOWN


# ------------------------------------------------------------------------- transforms

cdef bint is_padding(const char* s, int64_t n) noexcept nogil:
    """Whether a cell reads like those beyond the sentence, _B-1 or _B+12: no transform may see these."""
    cdef int64_t i
    if n < 4 or s[0] != b"_" or s[1] != b"B" or (s[2] != b"-" and s[2] != b"+") or s[3] == b"0":
        return False
    for i in range(3, n):
        if s[i] < b"0" or s[i] > b"9":
            return False
    return True


cdef inline int put(uint32_t c, uint32_t was, const char* s, int size, char* out) noexcept nogil:
    """Write a character in the place of another one, the `size` bytes at s; returns its number of bytes."""
    cdef int k, n
    if c == was:
        memcpy(out, s, size)
        return size
    if c < 0x80:
        out[0] = <char>c
        return 1
    n = 2 if c < 0x800 else 3 if c < 0x10000 else 4
    for k in range(n - 1, 0, -1):
        out[k] = <char>(0x80 | c & 0x3F)
        c >>= 6
    out[0] = <char>(0xF00 >> n | c)     # as many ones as bytes, and a zero
    return n


cdef int64_t prefix_end(const char* s, int64_t n, int64_t length) noexcept nogil:
    """Where the first characters end; -1 if there are fewer."""
    cdef int64_t i = 0, seen
    cdef int size
    for seen in range(length):
        if i >= n:
            return -1
        text_char(s, n, i, &size)
        i += size
    return i


cdef int64_t suffix_begin(const char* s, int64_t n, int64_t length) noexcept nogil:
    """Where the last characters begin; -1 if there are fewer."""
    cdef int64_t i = n, seen
    for seen in range(length):
        if i == 0:
            return -1
        i -= 1
        while i > 0 and (<unsigned char>s[i] & 0xC0) == 0x80:
            i -= 1
    return i


cdef inline uint32_t shape_of(uint32_t c) noexcept nogil:
    """X, x or 0 for a letter or a digit; any other character stays."""
    if Py_UNICODE_ISUPPER(c) or Py_UNICODE_ISTITLE(c):
        return c"X"
    if Py_UNICODE_ISALPHA(c) or Py_UNICODE_ISLOWER(c):
        return c"x"
    return c"0" if Py_UNICODE_ISDECIMAL(c) else c


cdef int64_t rewrite(const char* s, int64_t n, char kind, bint collapse, char* out) noexcept nogil:
    """Write the shape of a cell (S), or the cell in lower case, N: with # for digits. `collapse`: of equal neighbours only the first. Returns
    the length."""
    cdef int64_t i = 0, o = 0
    cdef int size
    cdef uint32_t c, mapped, last = 0xFFFFFFFF
    while i < n:
        c = text_char(s, n, i, &size)
        if kind == c"S":
            mapped = shape_of(c)
        else:
            mapped = c"#" if kind == c"N" and Py_UNICODE_ISDECIMAL(c) else Py_UNICODE_TOLOWER(c)
        if not (collapse and mapped == last):
            o += put(mapped, c, s + i, size, out + o)
        last = mapped
        i += size
    return o
