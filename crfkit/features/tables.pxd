from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.memory cimport Arena, BufferC, buffer_reserve, memcpy
from crfkit.template.patterns cimport Patterns
from crfkit.text.table cimport TextC
from .structs cimport GramTableC, StringTableC
from .strings cimport StringTable


cdef struct SlotC:
    const TextC* literal        # [arity+1] of the template
    bint by_string
    bint bigram

cdef struct NodeC:              # begins as Node.numbers in plan.py
    int32_t parent, view, distance, arity
    int32_t first, last         # bases: its first cell stands at first .. T-1+last
    int32_t n_slots
    const int32_t* path         # [arity] nodes from the root to this one, if it has slots
    const SlotC* slot           # [n_slots]
    int64_t n                   # grams that have a row
    int64_t stride
    int32_t* row                # attribute of gram g in slot i: row[g*stride + i], or -1
    const int32_t* key          # arity > 1: (parent's gram, last value) of gram g at key[g*key_stride]; -1: no gram
    int64_t key_stride
    GramTableC grams            # growing, arity > 1
    BufferC rows, keys          # growing

cdef struct UseC:               # as Use in plan.py
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


cdef inline int append_text(BufferC* line, int64_t* n, const char* s, int64_t size) except -1 nogil:
    buffer_reserve(line, n[0] + size + 1, 1)  # never without room: expanded lines may be empty
    memcpy(line.data + n[0], s, <size_t>size)
    n[0] += size


cdef class Features(Arena):
    cdef readonly object plan
    cdef Patterns patterns          # of Wapiti, in the place of all nodes; or None
    cdef BufferC unigrams_before    # int64: of each bigram string that patterns made, how many unigram ones there were
    cdef int64_t n_before           # how many such bigram strings there are
    cdef readonly list columns      # of StringTable, in the order of plan.columns
    cdef readonly list views        # of View
    cdef readonly list literals     # two StringTables: unigram, bigram
    cdef StringTable paddings       # _B-1 .. _B-k, _B+1 .. _B+k
    cdef SpaceC space[2]
    cdef int32_t n_columns, n_views, n_nodes, n_uses, n_constants, padding
    cdef bint has_bigrams, backward
    cdef readonly bint growing      # learning: tables of grams, not packed ones
    cdef int32_t* column_number     # [columns] their numbers in the data
    cdef int32_t* constant_attr     # [constants]
    cdef BufferC literal_attr[2]    # int32 [literals] while they grow
    cdef BufferC pad_value          # int32 [views][2 padding]: value before the sentence, nearest last; after it
    cdef void** column              # borrowed references
    cdef void** view
    cdef NodeC* node
    cdef UseC* use
    cdef TextC* constant            # [constants]
    cdef void* literal_table[2]
    cdef uint8_t separator[256]

    cdef int adopt_plan(self) except -1
    cdef int find_constants(self) except -1
    cdef int pad(self) except -1
    cdef int list_keys(self) except -1
    cdef bint exists(self, const NodeC* node, int64_t g) noexcept nogil
    cdef bint values_of(self, const NodeC* node, int64_t g, int32_t* values) noexcept nogil
    cdef int64_t join(self, const NodeC* node, const SlotC* slot, const int32_t* values, BufferC* line) except -1 nogil


# The attribute with this string among those identified by their strings, or -1.
cdef int32_t find_literal(const SpaceC* space, const char* s, int64_t n) noexcept nogil

# While tables grow. Room for the rows of n grams; new ones are without attributes.
cdef int grow_rows(Features f, NodeC* node, int64_t n) except -1 nogil
# The attribute that has this string, a new one if there is none; -1 for the plain pairs of labels, which have a matrix.
cdef int32_t learn_literal(Features f, const char* s, int64_t n, bint bigram, bint plain=*) except -2 nogil
cdef int32_t learn_bigram(Features f, const char* s, int64_t n, bint plain) except -2 nogil
cdef int32_t new_number(Features f, bint bigram) except -2 nogil
