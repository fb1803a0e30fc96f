"""The tables of a feature index, while it grows and when it is read; see features.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.text.rows cimport RowsC
from .tuples cimport GramTableC
from crfkit.memory cimport BufferC
from .strings cimport StringTable, StringTableC
from .cells cimport View


cdef struct TextC:              # a literal of the template
    const char* s
    int64_t n

cdef struct SlotC:
    const TextC* literal        # [arity+1]
    bint by_string
    bint bigram

cdef struct NodeC:
    int32_t parent, view, distance, arity
    int32_t first, last         # bases: its first cell stands at first .. T-1+last
    int32_t n_slots
    bint by_string              # one of the slots is
    const int32_t* path         # [arity] nodes from the root to this one
    const SlotC* slot           # [n_slots]
    int64_t n                   # grams that have a row
    int64_t stride
    int32_t* row                # attribute of gram g in slot i: row[g*stride + i], or -1
    const int32_t* key          # arity > 1: (parent's gram, last value) of gram g at key[g*key_stride]; -1: no gram
    int64_t key_stride
    GramTableC grams            # growing, arity > 1
    BufferC rows, keys          # growing

cdef struct UseC:
    int32_t node, base, slot
    bint bigram
    bint edge                   # bigram, and only where there is a label before

# A packed node of several cells is one table, searched from the home of a gram: entries (parent's gram, last
# value, attributes of the slots). The gram is the number of its entry, row and key point into the table.

# Attributes of one kind, unigram or bigram.
cdef struct SpaceC:
    int64_t n
    const StringTableC* literal     # strings of attributes identified by string
    const int32_t* literal_attr     # [literal.n]

# What is known of one sequence, in the scratch of one thread. Positions count from -padding to T-1+padding.
cdef struct ScratchC:
    int32_t T
    BufferC cells               # int32 [columns][T]
    BufferC values              # int32 [views][T + 2 padding]
    BufferC grams               # int32 [nodes][T + 2 padding]
    BufferC value_at, gram_at   # int32* of each view, each node: its values at position 0
    BufferC text, line          # a transformed cell, an expanded line

cdef int scratch_free(ScratchC* s) noexcept nogil


cdef class Features:
    cdef readonly object plan
    cdef readonly list columns      # of StringTable, in the order of plan.columns
    cdef readonly list views        # of View
    cdef readonly list literals     # two StringTables: unigram, bigram
    cdef StringTable paddings       # _B-1 .. _B-k, _B+1 .. _B+k
    cdef SpaceC space[2]
    cdef int32_t n_columns, n_views, n_nodes, n_uses, n_constants, padding
    cdef int32_t last_column        # of the data that any macro reads, or -1
    cdef bint has_bigrams, backward
    cdef BufferC column_ptr, view_ptr, node_buf, use_buf, slot_buf, text_buf, path_buf
    cdef BufferC column_number      # int32 [columns]: their numbers in the data
    cdef BufferC constant_attr      # int32 [constants]
    cdef BufferC pad_value          # int32 [views][2 padding]: value before the sentence, nearest last; after it
    cdef void** column              # borrowed references
    cdef void** view
    cdef NodeC* node
    cdef UseC* use
    cdef TextC* constant            # [constants]
    cdef void* literal_table[2]
    cdef uint8_t separator[256]

    cdef int adopt_plan(self) except -1
    cdef int prepare(self, ScratchC* s, const RowsC* rows, int64_t T) except -1 nogil
    cdef int pad(self, BufferC* text) except -1
    cdef int64_t cell_at(self, const RowsC* rows, int64_t first, int32_t T, int32_t column, int64_t p,
                         const char** cell) noexcept nogil
    cdef int fill_values(self, ScratchC* s, const RowsC* rows, int64_t first) except -1 nogil
    cdef int fill_view(self, View view, int32_t* value, ScratchC* s, const RowsC* rows, int64_t first) except -1 nogil
    cdef bint gram_flagged(self, const ScratchC* s, const NodeC* node, int64_t p) noexcept nogil
    cdef int64_t expand(self, ScratchC* s, const RowsC* rows, int64_t first, const NodeC* node, const SlotC* slot,
                        int64_t p) except -1 nogil
    cdef int list_keys(self) except -1
    cdef bint exists(self, const NodeC* node, int64_t g) noexcept nogil
    cdef bint values_of(self, const NodeC* node, int64_t g, int32_t* values) noexcept nogil
    cdef int64_t join(self, const NodeC* node, const SlotC* slot, const int32_t* values, BufferC* line) except -1 nogil
