"""The index that taggers search; see index.pyx."""

from libc.stdint cimport int32_t, int64_t

from crfkit.text.rows cimport RowsC
from .walk cimport Features, ScratchC
from crfkit.memory cimport BufferC
from crfkit.loops.structs cimport SentenceC


cdef class Extractor:
    """Scratch of one thread, and the attributes of the sequence extracted last."""
    cdef SentenceC sentence         # valid until the next extraction
    cdef ScratchC scratch
    cdef BufferC u_ptr, u_id, u_val, b_ptr, b_id


cdef class Index(Features):
    cdef object sections
    cdef list mapped                # their buffers
    cdef dict named                 # Names of each kind, once asked for
    cdef bint has_literals

    # Fill x.sentence (without labels) from the tokens first .. last-1 of a block.
    cdef int extract(self, Extractor x, const RowsC* rows, int64_t first, int64_t last) except -1 nogil
    cdef int find_cells(self, ScratchC* s, const RowsC* rows, int64_t first) noexcept nogil
    cdef int find_grams(self, ScratchC* s) noexcept nogil
    cdef int find_attributes(self, Extractor x, const RowsC* rows, int64_t first) except -1 nogil
    cdef int64_t find_items(self, const RowsC* rows, int64_t token, int32_t* u_id, float* u_val,
                            int64_t n) noexcept nogil
    cdef int32_t find_literal(self, const char* s, int64_t n, bint bigram) noexcept nogil
    cdef const unsigned char[::1] buffer(self, str name, int64_t item, int64_t n=*)
    cdef const char* data(self, str name, int64_t item, int64_t n=*) except? NULL
    cdef strings(self, str name, bint verify)
    cdef int map_views(self, bint verify) except -1
    cdef int map_nodes(self) except -1
    cdef int map_literals(self) except -1
