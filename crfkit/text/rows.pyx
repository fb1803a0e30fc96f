"""Blocks of input, parsed into tokens, cells and sequences.

Parsing copies nothing: it records the offsets of lines, cells and attributes in the block. The tokens between two blank
lines are one sequence. Other lines (comments, the header that names the columns) are kept, so that the input can be
written back byte for byte:

    # columns = word pos    <- seq_start
    The DT                  <- line_start .. line_end of token seq_ptr[s]
    cat NN
                            <- seq_end; of blank lines between sequences only one is kept

The loops run without the interpreter, so they only record a fault; `parse` makes it an exception with path and line.
"""

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport INT32_MAX

from crfkit.memory cimport memcmp, memcpy
from .table cimport FORM_CONLLU, FORM_CRFSUITE, LABEL_NONE
from .scanning cimport BLANKS, blank_line, cell_end, conllu_id, find, mark_at, parse_number, utf8_fault

from crfkit.values import plural, shown

from .faults import bytes_behind, columns_of, fault_of, misfit


# ---------------------------------------------------------------------------------------------- lines

cdef inline int64_t split(const char* text, int64_t start, int64_t stop, int64_t room,
                          int64_t* cell_start, int32_t* cell_len, bint loose) noexcept nogil:
    """Split a line into cells and return their number; the first `room` of them are recorded. loose: at both tabs and blanks."""
    cdef int64_t n = 0, end
    cdef int separator = BLANKS if loose or find(text, b"\t", start, stop) == stop else b"\t"
    while True:
        end = cell_end(text, &start, stop, separator)
        if start == stop and separator == BLANKS:
            return n
        if n < room:
            cell_start[n] = start
            cell_len[n] = <int32_t> (end - start)
        n += 1
        if end == stop:
            return n
        start = end + 1


def first_row(bytes data not None, form, int64_t skip, bint comments=False, bint loose=False):
    """Of the first row after a header of `skip` bytes: (lines before it, columns, whether it has a carriage return), or None."""
    cdef const char* text = data
    cdef int64_t pos = skip, n = len(data), start, stop, next_line
    aside = {"columns": b"", "conllu": b"#", "crfsuite": b"@"}[form] + b"#" * comments
    while pos < n:
        if not blank_line(text, pos, n, &stop, &next_line):
            start = pos if loose else pos + mark_at(text, pos, stop)
            if text[start:start + 1] not in aside:
                columns = 1 if form == "crfsuite" else split(text, start, stop, 0, NULL, NULL, loose)
                return data.count(b"\n", 0, pos), columns, find(text, b"\r", pos, stop) < stop
        pos = next_line
    return None


cdef class Rows(Table):
    """A parsed block. The next block replaces it and reuses the memory."""

    def parse(self, block not None):
        """Parse a reading.Block; DataError names the faulty line. The GIL is released meanwhile."""
        cdef bytes data = block.data
        cdef const char* text = data
        cdef int64_t n = len(data), skip = block.skip
        cdef int32_t n_cols = block.columns.n_cols
        cdef int status
        self.block, self.c.comments, self.loose = block, block.comments, block.loose
        self.counted = self.counted_to = 0
        with nogil:
            status = parse_text(self, text, n, skip, n_cols)
        if status:
            raise fault_of(self.fault.kind.decode(), block, self.fault.offset, self.fault.found, self.fault.expected)
        named = self.c.form == FORM_CRFSUITE and self.c.n_tok > 0
        block.marks.add(self.marked[0], self.marked[1], named and self.c.n_attr == 0, named and self.c.n_attr > 0)

    cdef void finish(self) noexcept:
        """Make rows readable after their arena has grown."""
        self.block = None
        self.c.text = self.c.arena
        self.c.n_text = self.c.tail_start = self.n_arena
        self.c.label_col = self.label if self.label >= 0 else max(self.c.n_cols - 1, 0)

    def line_of(self, int64_t token):
        """The number of a token's line in its file, from 1."""
        if not 0 <= token < self.c.n_tok:
            raise IndexError(f"token {token} of {self.c.n_tok}")
        if self.block is None:
            raise ValueError("the rows do not come from a file")
        cdef int64_t start = self.c.line_start[token], counted = 0, to = 0
        with cython.critical_section(self):     # threads share rows
            if start >= self.counted_to:
                counted, to = self.counted, self.counted_to
        counted += self.block.data.count(b"\n", to, start)
        with cython.critical_section(self):
            self.counted, self.counted_to = counted, start
        return self.block.first_line + counted

    def where(self, int64_t token):
        """The path and line of a token; (None, None) if it does not come from a file."""
        return (None, None) if self.block is None else (self.block.path, self.line_of(token))


# ---------------------------------------------------------------------------------------------- a block

cdef int fail(Rows rows, const char* kind, int64_t offset, int64_t found=0, int64_t expected=0) noexcept nogil:
    """Record a fault by its name in faults.py; returns 1, for the caller to return."""
    rows.fault.kind, rows.fault.offset = kind, offset
    rows.fault.found, rows.fault.expected = found, expected
    return 1


cdef int parse_text(Rows rows, const char* text, int64_t n, int64_t skip, int32_t n_cols) except -1 nogil:
    """Parse a block whose rows have n_cols cells (0: as the first has), after a header of `skip` bytes; 1 if there is a fault."""
    cdef int64_t pos, next_line, stop
    rows.reset()
    rows.marked[0] = rows.marked[1] = False
    rows.c.text, rows.c.n_text = text, n
    rows.c.n_cols = 1 if rows.c.form == FORM_CRFSUITE else n_cols
    pos = find(text, b"\0", 0, n)
    if pos < n:
        return fail(rows, b"nul", pos)
    pos = -1 if rows.loose else utf8_fault(<const unsigned char*> text, n)
    if pos >= 0:
        return fail(rows, b"utf8", pos)
    pos = rows.c.head_end = skip
    if skip:
        rows.lead = 0
    while pos < n:
        if blank_line(text, pos, n, &stop, &next_line):
            if end_paragraph(rows):
                return 1
        else:
            if stop - pos > INT32_MAX:
                return fail(rows, b"long", pos)
            if rows.lead < 0:
                rows.lead = pos
            if add_line(rows, pos, stop):
                return 1
            rows.last_end = next_line
        pos = next_line
    if end_paragraph(rows):
        return 1
    rows.c.tail_start = rows.lead if rows.lead >= 0 else n
    rows.c.label_col = rows.label if rows.label >= 0 else max(rows.c.n_cols - 1, 0)
    return 0


cdef int end_paragraph(Rows rows) except -1 nogil:
    """End a sequence, if there are tokens, at a blank line or at the end of the block; 1 if there is a fault."""
    if rows.c.n_tok > rows.c.seq_ptr[rows.c.n_seq]:
        rows.end_sequence()
    elif rows.weighted:
        return fail(rows, b"weights", rows.lead)
    return 0


cdef int add_line(Rows rows, int64_t start, int64_t stop) except -1 nogil:
    """Parse a line that is not blank; 1 if there is a fault."""
    cdef int64_t t = rows.c.n_tok, whole = start
    cdef int kind = 1
    cdef bint inside = t > rows.c.seq_ptr[rows.c.n_seq], hashed
    if not rows.loose:
        start += mark_at(rows.c.text, start, stop)
    hashed = rows.c.text[start] == b"#"
    if hashed and (rows.c.form == FORM_CONLLU or (rows.c.comments and not inside)):
        return 0
    if not inside:
        rows.begun = hashed
    else:
        rows.marked[0] |= rows.begun
        rows.marked[1] |= hashed
    if rows.c.form == FORM_CRFSUITE and rows.c.text[start] == b"@":
        return add_weight(rows, start, stop)
    if rows.c.n_cols == 0:
        rows.c.n_cols = <int32_t> split(rows.c.text, start, stop, 0, NULL, NULL, rows.loose)
    if t >= rows.cap_tok or (t + 1) * rows.c.n_cols > rows.cap_cell:
        rows.grow_tokens()
    if rows.c.form == FORM_CRFSUITE:
        if add_attributes(rows, start, stop):
            return 1
    elif add_cells(rows, start, stop):
        return 1
    if rows.c.form == FORM_CONLLU:
        kind = conllu_id(rows.c.text + rows.c.cell_start[t * rows.c.n_cols],
                         rows.c.cell_len[t * rows.c.n_cols])
        if kind == 0:
            return fail(rows, b"id", start)
    if kind == 1:
        rows.c.line_start[t] = whole
        rows.c.line_end[t] = stop
        rows.c.n_tok += 1
    return 0


cdef int add_cells(Rows rows, int64_t start, int64_t stop) except -1 nogil:
    cdef int64_t at = rows.c.n_tok * rows.c.n_cols, label
    cdef int64_t found = split(rows.c.text, start, stop, rows.c.n_cols, rows.c.cell_start + at,
                               rows.c.cell_len + at, rows.loose)
    if found != rows.c.n_cols:
        return fail(rows, b"ragged", start, found, rows.c.n_cols)
    if rows.label != LABEL_NONE:
        label = rows.label if rows.label >= 0 else found - 1
        if label < found and rows.c.cell_len[at + label] == 0:
            return fail(rows, b"label", start, label + 1)
    return 0


# ---------------------------------------------------------------------------------------------- the form of CRFsuite

cdef int add_attributes(Rows rows, int64_t start, int64_t stop) except -1 nogil:
    """Parse label TAB name[:value] TAB name[:value] ... In names a backslash escapes colons and backslashes; the label may
    contain plain colons. Empty fields are ignored."""
    cdef const char* text = rows.c.text
    cdef int64_t t = rows.c.n_tok, a = rows.c.n_attr, i, end = find(text, b"\t", start, stop), colon
    cdef bint escaped = find(text, b"\\", start, end) < end
    add_name(rows, start, end, escaped, &rows.c.cell_start[t], &rows.c.cell_len[t])
    if rows.label != LABEL_NONE and rows.c.cell_len[t] == 0:
        return fail(rows, b"label", start, 1)
    while end < stop:
        start = end + 1
        end = find(text, b"\t", start, stop)
        if end == start:
            continue
        escaped = False
        i, colon = start, end
        while i < end:
            if text[i] == b"\\":
                escaped = True
                i += 1
            elif text[i] == b":":
                colon = i
                break
            i += 1
        if colon == start:
            return fail(rows, b"name", start)
        if a == rows.cap_attr:
            rows.grow_attributes()
        add_name(rows, start, colon, escaped, &rows.c.attr_start[a], &rows.c.attr_len[a])
        rows.c.attr_value[a] = 1
        if end - colon > 1 and not parse_number(text + colon + 1, end - colon - 1, &rows.c.attr_value[a]):
            return fail(rows, b"number", colon + 1, end - colon - 1)
        a += 1
    rows.c.n_attr = a
    rows.c.attr_ptr[t + 1] = a
    return 0


cdef int add_name(Rows rows, int64_t start, int64_t stop, bint escaped, int64_t* at, int32_t* n) except -1 nogil:
    """Record where a label or a name is: in the text, or, if it has escapes, in the arena without them."""
    cdef int64_t i = start
    at[0] = start
    n[0] = <int32_t> (stop - start)
    if not escaped:
        return 0
    rows.grow_arena(stop - start)
    at[0] = -1 - rows.n_arena
    n[0] = 0
    while i < stop:
        if rows.c.text[i] == b"\\" and i + 1 < stop and rows.c.text[i + 1] in b":\\":
            i += 1
        rows.c.arena[rows.n_arena] = rows.c.text[i]
        rows.n_arena += 1
        n[0] += 1
        i += 1


cdef int add_weight(Rows rows, int64_t start, int64_t stop) except -1 nogil:
    """Parse @weight:2, the weight of the sequence that contains the line."""
    cdef int64_t n = stop - start
    if n < 8 or memcmp(rows.c.text + start, b"@weight:", 8) != 0:
        return fail(rows, b"reserved", start)
    if rows.weighted:
        return fail(rows, b"weights", start)
    if not parse_number(rows.c.text + start + 8, n - 8, &rows.weight) or rows.weight < 0:
        return fail(rows, b"weight", start + 8, n - 8)
    rows.weighted = True
    return 0


# ---------------------------------------------------------------------------------------------- rows from Python

cdef int add_row(Rows rows, row, int64_t sentence, int64_t token) except -1:
    """Add a row of cells (str), as if read from a file with tabs between them. Unlike there, a cell may contain any character."""
    cdef tuple cells = columns_of(row, sentence, token)
    cdef int64_t cell
    cdef const char* text
    cdef bytes escaped
    cdef Py_ssize_t n = len(cells)
    if n > INT32_MAX:
        raise misfit(sentence, token, plural(n, "column"), "at most 2,147,483,647")
    if rows.c.n_cols == 0:
        rows.c.n_cols = <int32_t> n
    if n != rows.c.n_cols or n == 0:
        raise misfit(sentence, token, plural(n, "column"), rows.c.n_cols or "one or more")
    if rows.label >= n:
        raise misfit(sentence, token, plural(n, "column"), f"at least {rows.label + 1}, of which this is the label")
    cell = rows.c.n_tok * rows.c.n_cols
    if rows.c.n_tok >= rows.cap_tok or cell + rows.c.n_cols > rows.cap_cell:
        rows.grow_tokens()
    rows.c.line_start[rows.c.n_tok] = rows.n_arena
    for value in cells:
        if not isinstance(value, str):
            raise misfit(sentence, token, f"{type(value).__name__} {shown(value)}", "a str")
        try:
            text = PyUnicode_AsUTF8AndSize(value, &n)
        except UnicodeEncodeError:
            escaped = bytes_behind(value, rows.loose, sentence, token)
            text, n = escaped, len(escaped)
        if n > INT32_MAX:
            raise misfit(sentence, token, f"{n} bytes", "at most 2,147,483,647")
        rows.grow_arena(n + 1)
        rows.c.cell_start[cell] = rows.n_arena
        rows.c.cell_len[cell] = <int32_t> n
        memcpy(rows.c.arena + rows.n_arena, text, n)
        rows.c.arena[rows.n_arena + n] = b"\t"
        rows.n_arena += n + 1
        cell += 1
    if rows.label != LABEL_NONE and not cells[rows.label if rows.label >= 0 else len(cells) - 1]:
        raise misfit(sentence, token, "an empty label", "a text")
    rows.c.line_end[rows.c.n_tok] = rows.n_arena - 1
    rows.c.arena[rows.n_arena - 1] = b"\n"
    rows.c.n_tok += 1
