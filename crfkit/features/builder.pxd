"""The index of a corpus that is being read; see indexbuilder.pyx."""

from libc.stdint cimport int32_t, int64_t

from crfkit.text.rows cimport RowsC
from crfkit.data.dataset cimport Dataset
from .walk cimport Features, NodeC, ScratchC, SlotC
from crfkit.memory cimport BufferC
from .strings cimport StringTable


cdef class IndexBuilder(Features):
    cdef readonly StringTable label_table
    cdef readonly Dataset dataset
    cdef ScratchC scratch
    cdef BufferC literal_attr[2]    # int32 [literals]
    cdef bint crfsuite, valued, weighted, finished

    cdef int add_labels(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil
    cdef int add_weight(self, float weight) except -1 nogil
    cdef int add_sequence(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil
    cdef int intern_cells(self, const RowsC* rows, int64_t first) except -1 nogil
    cdef int intern_grams(self) except -1 nogil
    cdef int grow_rows(self, NodeC* node, int64_t n) except -1 nogil
    cdef int add_attributes(self, const RowsC* rows, int64_t first) except -1 nogil
    cdef int add_items(self, const RowsC* rows, int64_t token, int64_t* n_u) except -1 nogil
    cdef int32_t new_attribute(self, const RowsC* rows, int64_t first, const NodeC* node, const SlotC* slot,
                               int64_t p) except -1 nogil
    cdef int32_t intern_literal(self, const char* s, int64_t n, bint bigram) except -1 nogil
    cdef int32_t number_attribute(self, bint bigram) except -1 nogil
    cdef int complete(self, Dataset data, list labels) except -1
    cdef frequent(self, bint bigram, int64_t min_freq)
    cdef spread(self, bint bigram, int64_t of_items, of_slot)
    cdef int replace_ids(self, bint bigram, const int32_t[::1] new_id) except -1
