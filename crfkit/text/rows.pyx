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

from cpython.list cimport PyList_CheckExact
from libc.stdint cimport INT32_MAX

from crfkit.memory cimport memcmp, memcpy
from .table cimport FORM_CONLLU, FORM_CRFSUITE, LABEL_NONE
from .scanning cimport blank_line, conllu_id, find, mark_at, parse_number, utf8_fault

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

from crfkit.values import lists, shown

from .faults import bytes_behind, columns_of, fault_of, misfit, no_sentence, plural


# ---------------------------------------------------------------------------------------------- lines

cdef inline int64_t split(const char* text, int64_t start, int64_t stop, int64_t room,
                          int64_t* cell_start, int32_t* cell_len, bint loose) noexcept nogil:
    """Split a line into cells and return their number; the first `room` of them are recorded. loose: at both tabs and blanks."""
    cdef int64_t n = 0, i = start, begin
    cdef bint tabs = find(text, b"\t", start, stop) < stop, both = tabs and loose
    tabs = tabs and not loose
    while True:
        begin = i
        if tabs:
            i = find(text, b"\t", i, stop)
        else:
            while begin < stop and (text[begin] == b" " or (both and text[begin] == b"\t")):
                begin += 1
            if begin == stop:
                return n
            i = begin
            while i < stop and text[i] != b" ":
                i += 1
            if both:
                i = find(text, b"\t", begin, i)
        if n < room:
            cell_start[n] = begin
            cell_len[n] = <int32_t> (i - begin)
        n += 1
        if i == stop:
            return n
        i += 1


def first_row(bytes data not None, form, int64_t skip, bint comments=False, bint loose=False):
    """About the first row after a header of `skip` bytes: (lines before it, number of columns, whether it contains a carriage
    return). None if there is no row."""
    cdef const char* text = data
    cdef int64_t pos = skip, n = len(data), stop, next_line
    aside = {"columns": b"", "conllu": b"#", "crfsuite": b"@"}[form] + b"#" * comments
    while pos < n:
        if not blank_line(text, pos, n, &stop, &next_line) and text[pos:pos + 1] not in aside:
            columns = 1 if form == "crfsuite" else split(text, pos, stop, 0, NULL, NULL, loose)
            return data.count(b"\n", 0, pos), columns, find(text, b"\r", pos, stop) < stop
        pos = next_line
    return None


# ---------------------------------------------------------------------------------------------- parse

cdef class Rows(Table):
    """A parsed block. The next block replaces it and reuses the memory."""

    cdef int fail(self, const char* kind, int64_t offset, int64_t found=0, int64_t expected=0) noexcept nogil:
        """Record a fault by its name in faults.py; returns 1, for the caller to return."""
        self.fault.kind, self.fault.offset = kind, offset
        self.fault.found, self.fault.expected = found, expected
        return 1

    cdef int parse_text(self, const char* text, int64_t n, int64_t skip, int32_t n_cols) except -1 nogil:
        """Parse a block whose rows have n_cols cells (0: as many as the first row), after a header of `skip` bytes. Returns 1 if
        there is a fault, which fault_of makes an exception, else 0."""
        cdef int64_t pos, next_line, stop
        self.reset()
        self.marked[0] = self.marked[1] = False
        self.c.text, self.c.n_text = text, n
        self.c.n_cols = 1 if self.c.form == FORM_CRFSUITE else n_cols
        pos = find(text, b"\0", 0, n)
        if pos < n:
            return self.fail(b"nul", pos)
        pos = -1 if self.loose else utf8_fault(<const unsigned char*> text, n)
        if pos >= 0:
            return self.fail(b"utf8", pos)
        pos = self.c.head_end = skip
        if skip:
            self.lead = 0
        while pos < n:
            if blank_line(text, pos, n, &stop, &next_line):
                if self.end_paragraph():
                    return 1
            else:
                if stop - pos > INT32_MAX:
                    return self.fail(b"long", pos)
                if self.lead < 0:
                    self.lead = pos
                if self.add_line(pos, stop):
                    return 1
                self.last_end = next_line
            pos = next_line
        if self.end_paragraph():
            return 1
        self.c.tail_start = self.lead if self.lead >= 0 else n
        self.c.label_col = self.label if self.label >= 0 else max(self.c.n_cols - 1, 0)
        return 0

    cdef int end_paragraph(self) except -1 nogil:
        """End a sequence, if there are tokens, at a blank line or at the end of the block; 1 if there is a fault."""
        if self.c.n_tok > self.c.seq_ptr[self.c.n_seq]:
            self.end_sequence()
        elif self.weighted:
            return self.fail(b"weights", self.lead)
        return 0

    cdef int add_line(self, int64_t start, int64_t stop) except -1 nogil:
        """Parse a line that is not blank; 1 if there is a fault."""
        cdef int64_t t = self.c.n_tok, whole = start
        cdef int kind = 1
        cdef bint inside = t > self.c.seq_ptr[self.c.n_seq]
        if not self.loose:
            start += mark_at(self.c.text, start, stop)
        if self.c.text[start] == b"#":
            if self.c.form == FORM_CONLLU or (self.c.comments and not inside):
                return 0
            self.marked[inside] = True
        if self.c.form == FORM_CRFSUITE and self.c.text[start] == b"@":
            return self.add_weight(start, stop)
        if self.c.n_cols == 0:
            self.c.n_cols = <int32_t> split(self.c.text, start, stop, 0, NULL, NULL, self.loose)
        if t >= self.cap_tok or (t + 1) * self.c.n_cols > self.cap_cell:
            self.grow_tokens()
        if self.c.form == FORM_CRFSUITE:
            if self.add_attributes(start, stop):
                return 1
        elif self.add_cells(start, stop):
            return 1
        if self.c.form == FORM_CONLLU:
            kind = conllu_id(self.c.text + self.c.cell_start[t * self.c.n_cols],
                             self.c.cell_len[t * self.c.n_cols])
            if kind == 0:
                return self.fail(b"id", start)
        if kind == 1:
            self.c.line_start[t] = whole
            self.c.line_end[t] = stop
            self.c.n_tok += 1
        return 0

    cdef int add_cells(self, int64_t start, int64_t stop) except -1 nogil:
        cdef int64_t at = self.c.n_tok * self.c.n_cols, label
        cdef int64_t found = split(self.c.text, start, stop, self.c.n_cols, self.c.cell_start + at,
                                   self.c.cell_len + at, self.loose)
        if found != self.c.n_cols:
            return self.fail(b"ragged", start, found, self.c.n_cols)
        if self.label != LABEL_NONE:
            label = self.label if self.label >= 0 else found - 1
            if label < found and self.c.cell_len[at + label] == 0:
                return self.fail(b"label", start, label + 1)
        return 0

    # ------------------------------------------------------------------------- the form of CRFsuite

    cdef int add_attributes(self, int64_t start, int64_t stop) except -1 nogil:
        """Parse label TAB name[:value] TAB name[:value] ... In names a backslash escapes colons and backslashes; the label may
        contain plain colons. Empty fields are ignored."""
        cdef const char* text = self.c.text
        cdef int64_t t = self.c.n_tok, a = self.c.n_attr, i, end = find(text, b"\t", start, stop), colon
        cdef bint escaped = find(text, b"\\", start, end) < end
        self.add_name(start, end, escaped, &self.c.cell_start[t], &self.c.cell_len[t])
        if self.label != LABEL_NONE and self.c.cell_len[t] == 0:
            return self.fail(b"label", start, 1)
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
                return self.fail(b"name", start)
            if a == self.cap_attr:
                self.grow_attributes()
            self.add_name(start, colon, escaped, &self.c.attr_start[a], &self.c.attr_len[a])
            self.c.attr_value[a] = 1
            if end - colon > 1 and not parse_number(text + colon + 1, end - colon - 1, &self.c.attr_value[a]):
                return self.fail(b"number", colon + 1, end - colon - 1)
            a += 1
        self.c.n_attr = a
        self.c.attr_ptr[t + 1] = a
        return 0

    cdef int add_name(self, int64_t start, int64_t stop, bint escaped, int64_t* at, int32_t* n) except -1 nogil:
        """Record where a label or a name is: in the text, or, if it has escapes, in the arena without them."""
        cdef int64_t i = start
        at[0] = start
        n[0] = <int32_t> (stop - start)
        if not escaped:
            return 0
        self.grow_arena(stop - start)
        at[0] = -1 - self.n_arena
        n[0] = 0
        while i < stop:
            if self.c.text[i] == b"\\" and i + 1 < stop and self.c.text[i + 1] in b":\\":
                i += 1
            self.c.arena[self.n_arena] = self.c.text[i]
            self.n_arena += 1
            n[0] += 1
            i += 1
        return 0

    cdef int add_weight(self, int64_t start, int64_t stop) except -1 nogil:
        """Parse @weight:2, the weight of the sequence that contains the line."""
        cdef int64_t n = stop - start
        if n < 8 or memcmp(self.c.text + start, b"@weight:", 8) != 0:
            return self.fail(b"reserved", start)
        if self.weighted:
            return self.fail(b"weights", start)
        if not parse_number(self.c.text + start + 8, n - 8, &self.weight) or self.weight < 0:
            return self.fail(b"weight", start + 8, n - 8)
        self.weighted = True
        return 0

    # ------------------------------------------------------------------------- for Python

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
            status = self.parse_text(text, n, skip, n_cols)
        if status:
            raise fault_of(self.fault.kind.decode(), block, self.fault.offset, self.fault.found, self.fault.expected)
        named = self.c.form == FORM_CRFSUITE and self.c.n_tok > 0
        block.marks.add(self.marked[0], self.marked[1], named and self.c.n_attr == 0, named and self.c.n_attr > 0)

    def fill(self, sentences, int32_t n_cols=0):
        """Replace the rows by sentences from Python, lists of rows of cells (str), as if read from a file with tabs between the
        cells. Unlike in a file, a cell may contain any character, and a sentence may be empty."""
        cdef int64_t t
        if self.c.form == FORM_CRFSUITE:
            raise ValueError("the form of CRFsuite has no cells")
        self.reset()
        self.c.n_cols = n_cols
        try:
            for sentence in sentences:
                self.lead = self.n_arena
                t = self.c.n_tok
                if not PyList_CheckExact(sentence) and not lists(sentence):
                    raise no_sentence(sentence, self.c.n_seq + 1)
                for row in sentence:
                    self.add_row(row, self.c.n_seq + 1, self.c.n_tok - t + 1)
                self.last_end = self.n_arena
                self.end_sequence()
        except BaseException:
            self.reset()
            raise
        self.c.label_col = self.label if self.label >= 0 else max(self.c.n_cols - 1, 0)
        self.finish()

    cdef void finish(self) noexcept:
        """Make rows readable after their arena has grown."""
        self.block = None
        self.c.text = self.c.arena
        self.c.n_text = self.c.tail_start = self.n_arena

    cdef int add_row(self, row, int64_t sentence, int64_t token) except -1:
        cdef tuple cells = columns_of(row, sentence, token)
        cdef int64_t cell
        cdef const char* text
        cdef bytes escaped
        cdef Py_ssize_t n = len(cells)
        if n > INT32_MAX:
            raise misfit(sentence, token, plural(n, "column"), "at most 2,147,483,647")
        if self.c.n_cols == 0:
            self.c.n_cols = <int32_t> n
        if n != self.c.n_cols or n == 0:
            raise misfit(sentence, token, plural(n, "column"), self.c.n_cols or "one or more")
        cell = self.c.n_tok * self.c.n_cols
        if self.c.n_tok >= self.cap_tok or cell + self.c.n_cols > self.cap_cell:
            self.grow_tokens()
        self.c.line_start[self.c.n_tok] = self.n_arena
        for value in cells:
            if not isinstance(value, str):
                raise misfit(sentence, token, f"{type(value).__name__} {shown(value)}", "a str")
            try:
                text = PyUnicode_AsUTF8AndSize(value, &n)
            except UnicodeEncodeError:
                escaped = bytes_behind(value, self.loose, sentence, token)
                text, n = escaped, len(escaped)
            if n > INT32_MAX:
                raise misfit(sentence, token, f"{n} bytes", "at most 2,147,483,647")
            self.grow_arena(n + 1)
            self.c.cell_start[cell] = self.n_arena
            self.c.cell_len[cell] = <int32_t> n
            memcpy(self.c.arena + self.n_arena, text, n)
            self.c.arena[self.n_arena + n] = b"\t"
            self.n_arena += n + 1
            cell += 1
        if self.label != LABEL_NONE and not cells[self.label if self.label >= 0 else len(cells) - 1]:
            raise misfit(sentence, token, "an empty label", "a text")
        self.c.line_end[self.c.n_tok] = self.n_arena - 1
        self.c.arena[self.n_arena - 1] = b"\n"
        self.c.n_tok += 1
        return 0

    def line_of(self, int64_t token):
        """The number of a token's line in its file, from 1."""
        if not 0 <= token < self.c.n_tok:
            raise IndexError(f"token {token} of {self.c.n_tok}")
        if self.block is None:
            raise ValueError("the rows do not come from a file")
        if self.c.line_start[token] < self.counted_to:
            self.counted = self.counted_to = 0
        self.counted += self.block.data.count(b"\n", self.counted_to, self.c.line_start[token])
        self.counted_to = self.c.line_start[token]
        return self.block.first_line + self.counted

    def where(self, int64_t token):
        """The path and line of a token; (None, None) if it does not come from a file."""
        return (None, None) if self.block is None else (self.block.path, self.line_of(token))
