"""The strings of attributes: what an index never needs for tagging, and people do.

A string comes from any gram that has the attribute in its row, or from the table of strings. The way back
takes a string apart at the literals of each slot; where that is ambiguous, the string is in the table.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from .tables cimport Features, NodeC, find_literal
from .tuples cimport packed_find, packed_home
from crfkit.memory cimport BufferC, buffer_free, buffer_reserve
from .strings cimport strings_get


cdef class Names:
    """The strings of all attributes of one kind, by id."""

    cdef Features f
    cdef bint bigram
    cdef object nodes, grams            # int32 arrays; node -1: the gram is a string of the table
    cdef int32_t longest                # values of a gram

    def __init__(self, Features features not None, bint bigram):
        cdef int32_t i, slot, a, longest = 1
        cdef int64_t g, n = features.space[bigram].n
        cdef const NodeC* node
        self.f, self.bigram = features, bigram
        features.list_keys()
        # Of each attribute the node and the slot (both are few, so that one number holds them) and the gram.
        self.nodes, self.grams = array.array("i", bytes(4 * n)), array.array("i", [-1]) * n
        cdef int32_t[::1] its_node = self.nodes
        cdef int32_t[::1] its_gram = self.grams
        for i in range(<int32_t>features.space[bigram].literal.n):
            a = features.space[bigram].literal_attr[i]
            if 0 <= a < n:
                its_node[a], its_gram[a] = -1, i
        for i in range(features.n_nodes):
            node = &features.node[i]
            longest = max(longest, node.arity)
            for slot in range(node.n_slots):
                if node.slot[slot].bigram == bigram:
                    for g in range(node.n):
                        a = node.row[g * node.stride + slot]
                        if 0 <= a < n and its_gram[a] < 0:
                            its_node[a], its_gram[a] = slot * features.n_nodes + i, <int32_t>g
        self.longest = longest

    def __len__(self):
        return len(self.grams)

    def __getitem__(self, int64_t a):
        cdef const NodeC* node
        cdef const char* s
        cdef int64_t n
        cdef BufferC values, line           # of this call: threads may ask at once
        if not 0 <= a < len(self.grams):
            raise IndexError(f"attribute {a} of {len(self.grams)}")
        cdef int32_t place = self.nodes[a], gram = self.grams[a]
        if place < 0:
            n = strings_get(self.f.space[self.bigram].literal, gram, &s)
            return s[:n]
        node = &self.f.node[place % self.f.n_nodes] if gram >= 0 else NULL
        if node == NULL:
            return b""  # a table that was not checked
        memset(&values, 0, sizeof(BufferC))
        memset(&line, 0, sizeof(BufferC))
        try:
            buffer_reserve(&values, self.longest, sizeof(int32_t))
            buffer_reserve(&line, 1, 1)
            if not self.f.values_of(node, gram, <int32_t*>values.data):
                return b""
            n = self.f.join(node, &node.slot[place // self.f.n_nodes], <int32_t*>values.data, &line)
            return line.data[:n]
        finally:
            buffer_free(&values)
            buffer_free(&line)

    def __iter__(self):
        for a in range(len(self.grams)):
            yield self[a]


def find_attribute(Features index not None, bytes string not None, bint bigram):
    """The attribute of a packed index that has this string, or -1."""
    cdef const char* s = string
    cdef int32_t a = find_literal(&index.space[bigram], s, len(string))
    if a >= 0:
        return a
    for planned in index.plan.nodes:
        for number, slot in enumerate(planned.slots):
            if slot.bigram == bigram and not slot.by_string:
                values = slot.split(string)
                if values is not None:
                    a = find_values(index, planned.index, number, values)
                    if a >= 0:
                        return a
    return -1


cdef int32_t find_values(Features index, int32_t i, int32_t slot, list values) except -2:
    """The attribute of the gram with these values, or -1."""
    cdef const NodeC* node = &index.node[i]
    cdef const NodeC* part
    cdef int32_t k, value, a
    cdef int64_t g = -1
    for k in range(node.arity):
        part = &index.node[node.path[k]]
        value = index.views[part.view].find(values[k])
        if value < 0:
            return -1
        if k == 0:
            g = value
        else:
            g = packed_find(part.key, part.n, part.stride, <int32_t>g, value,
                            packed_home(<uint32_t>g, <uint32_t>value, part.n))
        if g < 0 or not index.exists(part, g):
            return -1
    a = node.row[g * node.stride + slot]
    return a if a < index.space[node.slot[slot].bigram].n else -1
