from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport Arena, BufferC, memchr


cdef struct TextC:          # some bytes
    const char* s
    int64_t n


# How a line is read.
cdef enum:
    FORM_COLUMNS    # cells separated by tabs, or by runs of blanks if the line has no tab; label last
    FORM_CONLLU     # the same, but lines with '#' are comments, and ranges (1-2) and empty nodes (1.1) are not tokens
    FORM_CRFSUITE   # label TAB attribute[:value] TAB ...


# Views into a text, valid until the next parse, while the block and the Rows exist. Ends are exclusive; the end of a line
# excludes "\r\n".
cdef struct RowsC:
    const char* text
    int64_t n_text
    int32_t form
    bint comments           # lines with '#' before a sentence are not tokens
    int64_t head_end        # where the header that names the columns ends; 0 without one
    int32_t n_cols          # cells of a token; in the form of CRFsuite 1, the label
    int32_t label_col       # column of the labels, if there are any; see rows_label
    int64_t n_tok, n_seq
    int64_t* line_start     # [n_tok]
    int64_t* line_end       # [n_tok]
    int64_t* cell_start     # [n_tok][n_cols]; see rows_cell
    int32_t* cell_len       # [n_tok][n_cols]
    int64_t* seq_ptr        # [n_seq+1] first token of each sequence
    int64_t* seq_start      # [n_seq] its first line, comments and header before it included
    int64_t* seq_end        # [n_seq] behind the line end of its last line
    int64_t tail_start      # lines behind the last sequence: comments
    # Only in the form of CRFsuite; otherwise n_attr is 0 and the arrays are undefined.
    int64_t n_attr
    int64_t* attr_ptr       # [n_tok+1] first attribute of each token
    int64_t* attr_start     # [n_attr] see rows_attr
    int32_t* attr_len       # [n_attr]
    float* attr_value       # [n_attr] finite
    float* seq_weight       # [n_seq] weight of the sequence, 1 without @weight
    char* arena             # names without their escapes, and all bytes of rows from Python


cdef inline const char* rows_bytes(const RowsC* rows, int64_t start) noexcept nogil:
    """The bytes at a cell's or attribute's start; a negative start counts in the arena from -1."""
    return rows.text + start if start >= 0 else rows.arena + (-1 - start)


cdef inline const char* rows_cell(const RowsC* rows, int64_t token, int32_t column, int32_t* n) noexcept nogil:
    cdef int64_t cell = token * rows.n_cols + column
    n[0] = rows.cell_len[cell]
    return rows_bytes(rows, rows.cell_start[cell])


cdef inline const char* rows_label(const RowsC* rows, int64_t token, int32_t* n) noexcept nogil:
    return rows_cell(rows, token, rows.label_col, n)


cdef inline const char* rows_attr(const RowsC* rows, int64_t attr, int32_t* n) noexcept nogil:
    n[0] = rows.attr_len[attr]
    return rows_bytes(rows, rows.attr_start[attr])


cdef inline char rows_separator(const RowsC* rows, int64_t token) noexcept nogil:
    """The separator of the cells in a token's line: a tab if the line has one, and in the form of CRFsuite, else a blank."""
    cdef int64_t start = rows.line_start[token]
    if rows.form == FORM_CRFSUITE:
        return b"\t"
    return b"\t" if memchr(rows.text + start, b"\t", <size_t> (rows.line_end[token] - start)) else b" "


cdef enum:
    LABEL_NONE = -2     # in the place of the column of the labels; see Table


cdef class Table(Arena):
    cdef RowsC c
    cdef BufferC[13] owned              # memory of the arrays
    cdef dict exact                     # values from Python that single precision rounds, by attribute; None if they are not wanted
    cdef int32_t label                  # column of the labels as given: -1 the last, -2 none
    cdef int64_t cap_tok, cap_cell, cap_attr, cap_arena, n_arena
    cdef int64_t lead, last_end         # of the current sequence: its first line, the end of its last
    cdef float weight                   # its weight
    cdef bint weighted                  # whether one was given

    cdef int reset(self) except -1 nogil
    cdef int end_sequence(self) except -1 nogil
    cdef int grow_tokens(self, int64_t more=*) except -1 nogil
    cdef int reserve_sequences(self, int64_t n) except -1 nogil
    cdef int grow_attributes(self) except -1 nogil
    cdef int grow_arena(self, int64_t extra) except -1 nogil
