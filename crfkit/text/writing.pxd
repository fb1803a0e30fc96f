from libc.stdint cimport int32_t, int64_t, uint64_t

from crfkit.memory cimport BufferC, buffer_reserve, memcpy
from .table cimport RowsC, rows_cell, rows_separator


cdef enum:
    PIECE = 1 << 16     # bytes of a long text that are given out at once, with the rest of a line


cdef struct OutC:
    BufferC room
    int64_t n           # bytes written


cdef int out_decimal(OutC* out, double x, int decimals=*) except -1 nogil
cdef int out_significant(OutC* out, double x) except -1 nogil
cdef int out_hexadecimal(OutC* out, double x) except -1 nogil
cdef int out_integer(OutC* out, uint64_t number) except -1 nogil


cdef inline char* out_reserve(OutC* out, int64_t extra) except NULL nogil:
    """Make room for `extra` more bytes; where they begin."""
    return <char*>buffer_reserve(&out.room, out.n + extra, 1) + out.n


cdef inline int out_bytes(OutC* out, const char* data, int64_t n) except -1 nogil:
    cdef char* to = out_reserve(out, n)
    if n > 0:
        memcpy(to, data, <size_t> n)
        out.n += n


cdef inline int out_char(OutC* out, char c) except -1 nogil:
    out_reserve(out, 1)[0] = c
    out.n += 1


cdef class Output:
    cdef OutC c

    cdef bytes taken(self)


cdef inline int out_separator(const RowsC* rows, int64_t token, const char* separator, int32_t n, OutC* out) except -1 nogil:
    """Write what stands between columns that are added to a line. NULL: that of the line, a tab or a blank."""
    if separator == NULL:
        return out_char(out, rows_separator(rows, token))
    return out_bytes(out, separator, n)


cdef int out_token_cells(const RowsC* rows, int64_t token, OutC* out) except -1 nogil
cdef int out_line_end(const RowsC* rows, int64_t token, OutC* out) except -1 nogil
cdef int out_lines(const RowsC* rows, int64_t start, int64_t stop, bint close, OutC* out) except -1 nogil
cdef int out_empty_line(const RowsC* rows, int64_t end, OutC* out) except -1 nogil

# A sentence as in the input, with labels: begin_sentence, out_label for each token, end_sentence. What has been written of the text ends at the
# position that each returns, and that the next one takes.
cdef int64_t begin_sentence(const RowsC* rows, int64_t s, OutC* out) except -1 nogil
cdef int end_sentence(const RowsC* rows, int64_t s, int64_t pos, OutC* out) except -1 nogil


cdef inline int64_t out_label(const RowsC* rows, int64_t token, int64_t pos, const char* label, int32_t n, const char* separator,
                              int32_t separator_len, int32_t column, OutC* out) except -1 nogil:
    """Write the line of a token, with the separator and the label at its end, or with the label in place of the cell in this column, unless it is -1."""
    cdef int64_t end = rows.line_end[token]
    cdef const char* cell
    cdef int32_t size = 0
    if column >= 0:
        cell = rows_cell(rows, token, column, &size)
        end = cell - rows.text
    out_bytes(out, rows.text + pos, end - pos)
    if column < 0:
        out_separator(rows, token, separator, separator_len, out)
    out_bytes(out, label, n)
    return end + size
