"""Output without the interpreter: a buffer of bytes that grows, and rows with their labels.

Every line of the input is written back byte for byte, with its own line end, and one empty line after each sequence.
"""

from libc.stdint cimport SIZE_MAX
from libc.stdio cimport snprintf
from libc.stdlib cimport free, realloc

from crfkit.loops.numbers cimport isfinite
from crfkit.memory cimport memmove

from .table cimport FORM_CRFSUITE, rows_cell
from .scanning cimport blank_line


cdef int out_grow(OutC* out, int64_t extra) except -1 nogil:
    if extra > <int64_t>(SIZE_MAX // 4) - out.n:
        raise MemoryError
    cdef int64_t capacity = max(out.n + extra, 2 * out.capacity, <int64_t> 4096)
    cdef char* data = <char*> realloc(out.data, <size_t> capacity)
    if data == NULL:
        raise MemoryError
    out.data, out.capacity = data, capacity


cdef int out_decimal(OutC* out, double x) except -1 nogil:
    """Write a number with six decimals and a decimal point, whatever the locale."""
    cdef int64_t start = out.n, mark, end
    out_reserve(out, 400)
    out.n += snprintf(out.data + start, 400, b"%f", x)
    if isfinite(x):
        end = mark = out.n - 6
        while mark > start and not b"0" <= out.data[mark - 1] <= b"9":
            mark -= 1
        memmove(out.data + mark + 1, out.data + end, 6)
        out.data[mark] = b"."
        out.n = mark + 7


cdef class Output:
    """Owner of the buffer, which keeps its memory when it is reset."""

    def __dealloc__(self):
        free(self.c.data)

    def getvalue(self):
        return self.c.data[:self.c.n]

    def reset(self):
        self.c.n = 0


cdef int out_token_cells(const RowsC* rows, int64_t token, OutC* out) except -1 nogil:
    """Write the cells of a token with tabs between them, as CRF++ does; in the form of CRFsuite the line as it is."""
    cdef int32_t column, n
    cdef const char* cell
    if rows.form == FORM_CRFSUITE:
        return out_bytes(out, rows.text + rows.line_start[token], rows.line_end[token] - rows.line_start[token])
    for column in range(rows.n_cols):
        if column:
            out_char(out, b"\t")
        cell = rows_cell(rows, token, column, &n)
        out_bytes(out, cell, n)
    return 0


cdef int out_line_end(const RowsC* rows, int64_t token, OutC* out) except -1 nogil:
    """End a line as that of a token ends."""
    if rows.text[rows.line_end[token]] == b"\r":
        out_char(out, b"\r")
    return out_char(out, b"\n")


cdef int out_lines(const RowsC* rows, int64_t start, int64_t stop, bint close, OutC* out) except -1 nogil:
    """Write lines that are not tokens. A run of blank lines becomes one empty line; with `close` one follows at the end."""
    cdef const char* text = rows.text
    cdef int64_t line_end, next_line
    cdef bint blank, after_blank = True
    while start < stop:
        blank = blank_line(text, start, stop, &line_end, &next_line)
        if not blank:
            out_bytes(out, text + start, next_line - start)
        elif not after_blank:
            out_empty_line(rows, start, out)
        after_blank = blank
        start = next_line
    if close and not after_blank:
        out_empty_line(rows, stop, out)


cdef int out_empty_line(const RowsC* rows, int64_t end, OutC* out) except -1 nogil:
    """Write an empty line after the line that ends at `end`, with the same line end."""
    if end > 1 and rows.text[end - 2] == b"\r":
        out_char(out, b"\r")
    return out_char(out, b"\n")


cdef int write_tagged(const RowsC* rows, const uint16_t* labels, const char** names, const int32_t* name_len,
                      const char* separator, int32_t separator_len, int32_t column, OutC* out) except -1 nogil:
    """Write all sequences as in the input, with the separator and the name of the label at the end of each token's line, or with the name
    in place of the cell in this column, unless it is -1; and an empty line after each sequence; then the lines behind the last one."""
    cdef int64_t s, t, pos
    cdef int32_t n
    cdef const char* text = rows.text
    cdef const char* cell
    for s in range(rows.n_seq):
        pos = rows.line_start[rows.seq_ptr[s]]
        out_lines(rows, rows.seq_start[s], pos, False, out)
        for t in range(rows.seq_ptr[s], rows.seq_ptr[s + 1]):
            if column < 0:
                out_bytes(out, text + pos, rows.line_end[t] - pos)
                out_separator(rows, t, separator, separator_len, out)
                pos = rows.line_end[t]
            else:
                cell = rows_cell(rows, t, column, &n)
                out_bytes(out, text + pos, cell - text - pos)
                pos = cell - text + n
            out_bytes(out, names[labels[t]], name_len[labels[t]])
        out_bytes(out, text + pos, rows.seq_end[s] - pos)
        out_empty_line(rows, rows.seq_end[s], out)
    return out_lines(rows, rows.tail_start, rows.n_text, True, out)


cdef int write_cells(const RowsC* rows, const uint16_t* labels, const char** names, const int32_t* name_len, OutC* out) except -1 nogil:
    """Write all sequences in CRF++'s layout: cells and label with tabs between them, and an empty line after each sequence."""
    cdef int64_t s, t
    for s in range(rows.n_seq):
        for t in range(rows.seq_ptr[s], rows.seq_ptr[s + 1]):
            out_token_cells(rows, t, out)
            out_char(out, b"\t")
            out_bytes(out, names[labels[t]], name_len[labels[t]])
            out_line_end(rows, t, out)
        out_empty_line(rows, rows.seq_end[s], out)
