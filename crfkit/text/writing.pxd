"""Rows written back with labels."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from .rows cimport RowsC
from .output cimport OutC


cdef int out_token_line(const RowsC* rows, int64_t token, OutC* out) except -1 nogil
cdef int out_token_cells(const RowsC* rows, int64_t token, OutC* out) except -1 nogil
cdef int out_lines(const RowsC* rows, int64_t start, int64_t stop, bint close, OutC* out) except -1 nogil
cdef int out_empty_line(const RowsC* rows, int64_t end, OutC* out) except -1 nogil
cdef int write_tagged(const RowsC* rows, int64_t first_seq, int64_t last_seq, const uint16_t* labels,
                      const char** names, const int32_t* name_len, const char* separator,
                      int32_t separator_len, OutC* out) except -1 nogil
cdef int write_cells(const RowsC* rows, const uint16_t* labels, const char** names, const int32_t* name_len,
                     OutC* out) except -1 nogil
