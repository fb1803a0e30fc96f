"""The strings of attributes: what an index never needs for tagging, and people do.

A string comes from any gram that has the attribute in its row, or from the table of strings.
"""

import array

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from .tables cimport Features, NodeC
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
        if features.plan is None:
            raise TypeError("features that were not set up")
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
