"""Opening the index of a model for more attributes.

The tables of cells grow as while a corpus is read, so that new attributes are found in the same tables as all others, and as fast.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint32_t

from crfkit.memory cimport arena_reserve
from .builder cimport TableBuilder
from .cells cimport View
from .strings cimport StringTable
from .tables cimport Features, NodeC, grow_rows
from .tuples cimport grams_intern, grams_reserve

from .builder import TableBuilder as Builder


def reopened(Features index not None, template) -> TableBuilder:
    """A builder that has the attributes of a verified index of this template under the same numbers, and can `adopt` more."""
    cdef TableBuilder builder = Builder(template, crfsuite=template is None)
    cdef int32_t i
    for column, cells in zip(builder.columns, index.columns, strict=True):
        for cell in cells:
            (<StringTable>column).intern_bytes(cell)
    values, grams = [], []
    for view, known in zip(builder.views, index.views, strict=True):
        (<View>view).catch_up(&builder.workspace.text)
        values.append(array.array("i", map((<View>view).strings.intern_bytes, known.strings)))
        (<View>view).catch_up(&builder.workspace.text)
    for i in range(builder.n_nodes):
        grams.append(copied_grams(builder, index, i, grams, values[builder.node[i].view]))
    for i in range(2):
        copy_literals(builder, index, i)
    return builder


cdef copied_grams(TableBuilder builder, Features index, int32_t number, list grams, const int32_t[::1] value):
    """Copy the grams of a node with their attributes; returns their new numbers, -1 for the gaps of a packed table."""
    cdef:
        NodeC* node = &builder.node[number]
        const NodeC* old = &index.node[number]
        const int32_t[::1] parent = value if node.parent < 0 else grams[node.parent]
        int64_t g, slot
    found = array.array("i", [-1]) * old.n
    cdef int32_t[::1] gram = found
    if node.arity > 1:
        grams_reserve(builder, &node.grams, old.n)
    for g in range(old.n):
        if not index.exists(old, g):
            continue
        if node.arity == 1:
            gram[g] = value[g]
        else:
            gram[g] = grams_intern(&node.grams, <uint32_t>parent[old.key[g * old.key_stride]], <uint32_t>value[old.key[g * old.key_stride + 1]])
        grow_rows(builder, node, gram[g] + 1)
        for slot in range(node.n_slots):
            node.row[gram[g] * node.stride + slot] = old.row[g * old.stride + slot]
    if node.arity == 1:     # also those of cells that have no attribute
        grow_rows(builder, node, (<View>builder.view[node.view]).strings.c.n)
    return found


cdef int copy_literals(TableBuilder builder, Features index, bint bigram) except -1:
    """Copy the attributes that are identified by their strings."""
    cdef:
        int64_t k, n = index.space[bigram].literal.n
        StringTable table = builder.literals[bigram]
    for name in index.literals[bigram]:
        table.intern_bytes(name)
    arena_reserve(builder, &builder.literal_attr[bigram], n + 1, sizeof(int32_t))
    for k in range(n):
        (<int32_t*>builder.literal_attr[bigram].data)[k] = index.space[bigram].literal_attr[k]
    builder.space[bigram].literal_attr = <const int32_t*>builder.literal_attr[bigram].data
    builder.space[bigram].n = index.space[bigram].n
    return 0
