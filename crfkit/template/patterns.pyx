"""Wapiti's patterns, applied as Wapiti does: on bytes, with ASCII letters and case only. pattern_syntax.py parses them."""

from crfkit.memory cimport arena_zeros, buffer_reserve, memcpy
from crfkit.text.table cimport rows_cell

from crfkit.errors import DataError
from crfkit.values import as_bytes

from . import pattern_syntax

cdef enum:
    MOST_STEPS = 10000000   # of one match; a pattern that needs more was not written for use

cdef const char** BEFORE = ["_x-1", "_x-2", "_x-3", "_x-4", "_x-#"]
cdef const char** BEHIND = ["_x+1", "_x+2", "_x+3", "_x+4", "_x+#"]


cdef bint fits(const char* c, const char* s, int64_t n, int64_t at) noexcept nogil:
    """Whether one character of a regular expression, at c, matches the byte at an offset of a cell."""
    if at >= n:
        return False
    cdef unsigned char x = <unsigned char>s[at]
    cdef bint digit = 48 <= x <= 57, low = 97 <= x <= 122, high = 65 <= x <= 90, found
    if c[0] == c".":
        return True
    if c[0] != c"\\":
        return c[0] == s[at]
    cdef unsigned char k = <unsigned char>c[1] | 0x20
    if k == c"a":
        found = low or high
    elif k == c"d":
        found = digit
    elif k == c"l":
        found = low
    elif k == c"u":
        found = high
    elif k == c"w":
        found = low or high or digit
    elif k == c"s":
        found = x == 32 or 9 <= x <= 13
    elif k == c"p":
        found = 33 <= x <= 126 and not (low or high or digit)
    else:
        return c[1] == s[at]
    return found == (<unsigned char>c[1] >= 97)


cdef bint matches(const char* regex, const char* s, int64_t n, int64_t at, int64_t* length, int64_t* steps) noexcept nogil:
    """Whether the regular expression matches at an offset. As in Wapiti, the length includes characters that were tried
    after an x? in vain."""
    cdef const char* behind
    cdef int64_t saved
    while True:
        steps[0] += 1
        if regex[0] == 0:
            return True
        if regex[0] == c"$" and regex[1] == 0:
            return at >= n
        if steps[0] > MOST_STEPS:
            return False
        behind = regex + (2 if regex[0] == c"\\" else 1)
        if behind[0] == c"*":
            behind += 1
            while True:
                saved = length[0]
                if matches(behind, s, n, at, length, steps):
                    return True
                length[0] = saved + 1
                if not fits(regex, s, n, at):
                    return False
                at += 1
        if behind[0] == c"?":
            behind += 1
            if fits(regex, s, n, at):
                length[0] += 1
                if matches(behind, s, n, at + 1, length, steps):
                    return True
                length[0] -= 1
        else:
            length[0] += 1
            if not fits(regex, s, n, at):
                return False
            at += 1
        regex = behind


cdef int64_t search(const char* regex, const char* s, int64_t n, int64_t* length) except -2 nogil:
    """The offset of the first match of the regular expression, or -1."""
    cdef int64_t at, steps = 0
    cdef bint anchored = regex[0] == c"^"
    for at in range(1 if anchored else n + 1):
        length[0] = 0
        if matches(regex + anchored, s, n, at, length, &steps):
            return at
        if steps > MOST_STEPS:
            raise DataError("a regular expression of the model's patterns takes too many steps on a cell of the data")
    return -1


cdef class Patterns(Arena):
    """The patterns of a model, ready for use. `texts` are its lines; TemplateError says what is wrong with which. `single`: no pattern
    looks at pairs of labels, whatever its first letter; the strings of those for pairs alone are only noted."""

    def __cinit__(self, list texts not None, bint single=False):
        cdef ItemC* item
        cdef int32_t i
        cdef bytes piece
        self.held, self.last_column, self.n, self.single = [], -1, <int32_t>len(texts), single
        parsed = [pattern_syntax.parse(text, number) for number, text in enumerate(texts, 1)]
        plain = None if single else pattern_syntax.plain_pattern(texts)
        self.plain = -1 if plain is None else <int32_t>texts.index(plain)
        self.items = item = <ItemC*>arena_zeros(self, sum(map(len, parsed)), sizeof(ItemC))
        self.starts = <int32_t*>arena_zeros(self, self.n, sizeof(int32_t))
        self.kinds = <int32_t*>arena_zeros(self, self.n, sizeof(int32_t))
        for i, items in enumerate(parsed):
            use = pattern_syntax.KINDS[texts[i][0]]
            self.kinds[i] = UNIGRAM * ("U" in use) | BIGRAM * ("B" in use and not (single and "U" in use))
            for found in items:
                kind, absolute, row, column, regex = ("l", False, 0, 0, found) if isinstance(found, str) else found
                piece = as_bytes(regex or "")
                self.held.append(piece)
                item[0] = ItemC(<char>ord(kind.lower()), kind.isupper(), absolute, row, column, piece, len(piece))
                if kind != "l":
                    self.last_column = max(self.last_column, column)
                item += 1
            self.starts[i + 1] = <int32_t>(item - self.items)

    cdef int64_t expand(self, int32_t pattern, const RowsC* rows, int64_t first, int64_t T, int64_t t, BufferC* line) except -1 nogil:
        """Write the expansion of a pattern at a token to `line`; return its length."""
        cdef const ItemC* item
        cdef int32_t k, size
        cdef int64_t p, at, n, length, done = 0
        cdef const char* s
        cdef bint cut = False
        for k in range(self.starts[pattern], self.starts[pattern + 1]):
            item = self.items + k
            s, n = item.text, item.n
            if item.kind != c"l":
                p = (item.offset + T if item.offset < 0 else item.offset - 1) if item.absolute else t + item.offset
                if p < 0:
                    s, n = BEFORE[min(-p - 1, 4)], 4
                elif p >= T:
                    s, n = BEHIND[min(p - T, 4)], 4
                else:
                    s = rows_cell(rows, first + p, item.column, &size)
                    n = size
            if item.kind == c"t":
                n, s = (4, <const char*>b"true") if search(item.text, s, n, &length) >= 0 else (5, <const char*>b"false")
            elif item.kind == c"m":
                at = search(item.text, s, n, &length)
                if at < 0:
                    continue
                cut = at + length > n  # Wapiti's strings end with the cell
                n = min(length, n - at)
                s += at
            buffer_reserve(line, done + n + 1, 1)
            memcpy(line.data + done, s, <size_t>n)
            if item.lower:
                for at in range(done, done + n):
                    if c"A" <= line.data[at] <= c"Z":
                        line.data[at] += 32
            done += n
            if cut:
                break
        return done
