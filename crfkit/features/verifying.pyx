"""Checking a mapped index: that its tables are what packing.pyx writes, whatever the file says.

After this every number in them is in range and every gram is found where it is searched. (That the strings
are the right ones is what the checksums of the file are for.)
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

from .tables cimport Features, NodeC
from .tuples cimport packed_find, packed_home
from .strings cimport strings_get
from .cells cimport FLAGGED, VIEW_TEXT, View, has_separator

from crfkit.errors import ModelFileError


def verify_index(Features index not None):
    """Raise ModelFileError unless all tables of a mapped index are sound."""
    cdef int32_t i, slot
    cdef NodeC* node
    for view in index.views:
        verify_view(view)
    for i in range(index.n_nodes):
        node = &index.node[i]
        if node.arity > 1 and not grams_sound(index, node):
            raise ModelFileError(f"index: node.{i}.grams is no table of the grams of its parent")
        for slot in range(node.n_slots):
            if not attributes_sound(node.row + slot, node.n, node.stride, index.space[node.slot[slot].bigram].n):
                raise ModelFileError(f"index: node {i} names attributes that do not exist")
    for i in range(2):
        if not attributes_sound(index.space[i].literal_attr, index.space[i].literal.n, 1, index.space[i].n):
            raise ModelFileError("index: strings of attributes that do not exist")


cdef int verify_view(View view) except -1:
    cdef int64_t i, n
    cdef const char* s
    if view.form == VIEW_TEXT:
        for i in range(view.n_map):
            if view.value[i] < FLAGGED or view.value[i] >= view.strings.c.n:
                raise ModelFileError(f"index: view.{view.number}.map names a value that does not exist")
    for i in range(view.n_flags):
        n = strings_get(&view.strings.c, <int32_t>i, &s)
        if view.flag[i] != has_separator(view.separator, s, n):
            raise ModelFileError(f"index: view.{view.number}.flags disagree with the values")
    return 0


cdef bint attributes_sound(const int32_t* attribute, int64_t n, int64_t stride, int64_t limit) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        if attribute[i * stride] < -1 or attribute[i * stride] >= limit:
            return False
    return True


cdef bint grams_sound(Features index, const NodeC* node) noexcept nogil:
    """Each gram names a gram of the parent and a value, and is found from its home. Entries without a gram
    have no attributes."""
    cdef const NodeC* parent = &index.node[node.parent]
    cdef int64_t n_values = (<View>index.view[node.view]).strings.c.n
    cdef int64_t g, slot
    cdef const int32_t* entry
    for g in range(node.n):
        entry = node.key + g * node.stride
        if entry[0] < 0:
            for slot in range(node.stride):
                if entry[slot] != -1:
                    return False
        elif (not index.exists(parent, entry[0]) or entry[1] < 0 or entry[1] >= n_values
              or packed_find(node.key, node.n, node.stride, entry[0], entry[1],
                             packed_home(<uint32_t>entry[0], <uint32_t>entry[1], node.n)) != g):
            return False
    return True
