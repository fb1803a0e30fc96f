"""The index of a model: which attributes the tokens of a sentence have.

It works on the sections that packing.pyx writes, in place: read only, so that any number of threads may share
it, each with an Extractor of its own. The contents of a section are bounds-checked at each use, or once when it is
mapped; `verify` checks everything at once, so that damage is an error rather than a wrong answer.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uintptr_t

from .tables cimport Features, NodeC
from .tuples cimport packed_find, packed_home
from .hashing cimport strings_get
from .strings cimport StringTable
from .cells cimport FLAGGED, VIEW_EQUAL, VIEW_TEXT, View, has_separator

from crfkit.errors import ModelFileError
from .tables import Names
from .plan import Plan

cdef int64_t nothing = 0  # where an empty section "begins"


cdef class Index(Features):
    """A packed index. `sections` maps the names of packing.pyx to buffers; they must stay unchanged. With `backward`
    the tokens of a sentence come out in reverse order."""

    cdef readonly object sections
    cdef list mapped                # their buffers

    def __cinit__(self, template, sections, *, bint verify=True, bint backward=False):
        cdef const int64_t[::1] counts
        self.backward = backward
        self.plan, self.sections, self.mapped = Plan(template), sections, []
        counts = self.bytes_of("plan", 8).cast("q")
        expected = [len(self.plan.columns), len(self.plan.views), len(self.plan.nodes)]
        if counts.shape[0] != 5 or list(counts[:3]) != expected:
            raise ModelFileError("index: its tables do not fit the model's template")
        cdef int i
        for i in range(2):
            if not 0 <= counts[3 + i] < 0x7FFFFFFF:
                raise ModelFileError(f"index: {counts[3 + i]} attributes")
            self.space[i].n = counts[3 + i]
        for i in range(len(self.plan.columns)):
            self.columns.append(self.strings(f"column.{i}", verify))
        self.literals[:] = [self.strings("literal.u", verify), self.strings("literal.b", verify)]
        self.adopt_plan()
        self.map_views(verify)
        self.map_nodes()
        for i, name in enumerate(("literal.u", "literal.b")):
            self.space[i].literal_attr = <const int32_t*>self.data(f"{name}.attributes", 4, self.space[i].literal.n)
        self.find_constants()
        if verify:
            self.verify()
        self.pad()

    def attributes(self, bint bigram=False):
        """The strings of all attributes of a kind, in the order of their ids."""
        return iter(Names(self, bigram))

    cdef bytes_of(self, str name, int64_t item, int64_t n=-1):
        """The bytes of a section of items of this size, n of them unless the number is unknown."""
        if name not in self.sections:
            raise ModelFileError(f"index: section {name} is missing")
        found = memoryview(self.sections[name]).cast("B")
        cdef const unsigned char[::1] data = found
        if data.shape[0] % item or (n >= 0 and data.shape[0] != n * item):
            raise ModelFileError(f"index: section {name} has {data.shape[0]} bytes, expected "
                                 + (f"a multiple of {item}" if n < 0 else f"{n * item}"))
        if data.shape[0] and <uintptr_t>&data[0] % 8:
            raise ModelFileError(f"index: section {name} does not begin at a multiple of 8")
        self.mapped.append(found)
        return found

    cdef const char* data(self, str name, int64_t item, int64_t n=-1) except? NULL:
        """The address of a section. It stays valid, as the index keeps a reference to its buffer."""
        cdef const unsigned char[::1] data = self.bytes_of(name, item, n)
        return <const char*>&data[0] if data.shape[0] else <const char*>&nothing

    cdef strings(self, str name, bint verify):
        return StringTable.from_buffers(self.bytes_of(f"{name}.slots", 8), self.bytes_of(f"{name}.offsets", 8),
                                        self.bytes_of(f"{name}.strings", 1), verify)

    cdef int map_views(self, bint verify) except -1:
        cdef View view
        for view in self.views:
            name = f"view.{view.number}"
            if view.form == VIEW_EQUAL:
                view.catch_up(NULL)
                continue
            if view.form == VIEW_TEXT:
                view.strings = self.strings(name, verify)
                view.n_map = view.cells.c.n
                view.value = <const int32_t*>self.data(f"{name}.map", 4, view.n_map)
            view.n_flags = view.strings.c.n
            view.flag = <const uint8_t*>self.data(f"{name}.flags", 1, view.n_flags)

    cdef int map_nodes(self) except -1:
        cdef int32_t i
        cdef NodeC* node
        for i in range(self.n_nodes):
            node = &self.node[i]
            if node.arity == 1:
                node.n = (<View>self.view[node.view]).strings.c.n
                node.row = <int32_t*>self.data(f"node.{i}.rows", 4, node.n * node.n_slots)
            else:
                node.stride = node.key_stride = 2 + node.n_slots
                node.key = <const int32_t*>self.data(f"node.{i}.grams", 4 * node.stride)
                node.row = <int32_t*>node.key + 2
                node.n = memoryview(self.sections[f"node.{i}.grams"]).nbytes // (4 * node.stride)
                if node.n > 0x7FFFFFFF:
                    raise ModelFileError(f"index: {node.n} entries in node.{i}.grams")

    cdef int verify(self) except -1:
        """Check that all tables are as packing.pyx writes them: every number is in range, every gram is found
        by its search, and every attribute can be reached. (Whether the strings are the right ones, only the checksums of the
        file can tell.)"""
        cdef int32_t i, slot
        cdef bint kind
        cdef NodeC* node
        cdef uint8_t[::1] of_u, of_b
        cdef uint8_t* seen[2]
        marks = [bytearray(self.space[i].n + 1) for i in range(2)]
        of_u, of_b = marks
        seen[0], seen[1] = &of_u[0], &of_b[0]
        for view in self.views:
            verify_view(view)
        for i in range(self.n_nodes):
            node = &self.node[i]
            if node.arity > 1 and not grams_sound(self, node):
                raise ModelFileError(f"index: node.{i}.grams is no table of the grams of its parent")
            for slot in range(node.n_slots):
                kind = node.slot[slot].bigram
                if not attributes_sound(node.row + slot, node.n, node.stride, self.space[kind].n, seen[kind]):
                    raise ModelFileError(f"index: node {i} names attributes that do not exist")
        for i in range(2):
            if not attributes_sound(self.space[i].literal_attr, self.space[i].literal.n, 1, self.space[i].n, seen[i]):
                raise ModelFileError("index: strings of attributes that do not exist")
            if 0 <= marks[i].find(0) < self.space[i].n:
                raise ModelFileError(f"index: nothing leads to attribute {marks[i].find(0)}")


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


cdef bint attributes_sound(const int32_t* attribute, int64_t n, int64_t stride, int64_t limit, uint8_t* seen) noexcept nogil:
    """Whether each number is below the limit, or -1. Marks those that occur."""
    cdef int64_t i
    cdef int32_t a
    for i in range(n):
        a = attribute[i * stride]
        if a < -1 or a >= limit:
            return False
        if a >= 0:
            seen[a] = True
    return True


cdef bint grams_sound(Features index, const NodeC* node) noexcept nogil:
    """Whether each gram names a gram of the parent and a value, and is found from its home slot, and entries without a gram
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
