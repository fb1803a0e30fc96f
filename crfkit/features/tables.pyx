"""The tables of a plan, and the mapping from attributes back to strings.

TableBuilder fills them while it reads a corpus, an Index is their packed form; extraction (walk.pyx) works on both.
"""

import array

from .structs cimport GramC
from crfkit.memory cimport arena_reserve, arena_zeros, buffer_free, empty_buffer, memset
from .hashing cimport strings_find, strings_get
from .cells cimport View

cdef enum:
    MOST_ATTRIBUTES = 0x7FFFFFFE
    NODE_NUMBERS = 7    # of a NodeC that the plan knows: the first ones


cdef class Features(Arena):
    """Base of TableBuilder and Index."""

    def __cinit__(self):
        self.columns, self.views, self.literals = [], [], [StringTable(), StringTable()]

    @property
    def n_attributes(self):
        """Unigram attributes, bigram attributes."""
        return self.space[0].n, self.space[1].n

    cdef int adopt_plan(self) except -1:
        """Lay the plan out in structs. `columns` and `literals` are set already, empty or mapped."""
        plan = self.plan
        cdef int32_t i
        cdef StringTable table
        cdef View view
        self.n_columns, self.n_views = len(plan.columns), len(plan.views)
        self.n_nodes, self.n_uses, self.n_constants, self.padding = len(plan.nodes), len(plan.uses), len(plan.constants), plan.padding
        self.patterns = plan.patterns
        self.has_bigrams = any([use.bigram for use in plan.uses]) or plan.patterns is not None
        for byte in plan.separators:
            self.separator[<uint8_t>byte] = 1

        self.column = <void**>arena_zeros(self, self.n_columns, sizeof(void*))
        self.column_number = <int32_t*>arena_zeros(self, self.n_columns, sizeof(int32_t))
        for i in range(self.n_columns):
            self.column[i], self.column_number[i] = <void*>self.columns[i], plan.columns[i]

        place = {column: i for i, column in enumerate(plan.columns)}
        self.view = <void**>arena_zeros(self, self.n_views, sizeof(void*))
        for i in range(self.n_views):
            view = View(i, plan.views[i], self.columns[place[plan.views[i].column]], place[plan.views[i].column],
                        place.get(plan.views[i].column2, -1))
            view.separator = self.separator
            self.views.append(view)
            self.view[i] = <void*>view

        adopt_nodes(self)
        self.paddings = StringTable([b"_B%c%d" % (sign, k) for sign in b"-+" for k in range(1, self.padding + 1)])
        for i in range(2):
            table = self.literals[i]
            self.space[i].literal = &table.c
            self.literal_table[i] = <void*>table

    cdef int find_constants(self) except -1:
        """Find the attributes of lines without macros by their strings."""
        cdef int32_t k
        for k, slot in enumerate(self.plan.constants):
            self.constant_attr[k] = find_literal(&self.space[<bint>slot.bigram], self.constant[k].s, self.constant[k].n)

    def shared(self):
        """The bigram attributes of lines without macros that also depend on labels before the sentence: every token
        has them."""
        return [self.constant_attr[k] for k, slot in enumerate(self.plan.constants) if slot.reach]

    cdef int pad(self) except -1:
        """Find the values of the paddings."""
        cdef int32_t v, k, i
        cdef int32_t* value
        cdef const char* s
        cdef int64_t n
        cdef BufferC text = empty_buffer()
        arena_reserve(self, &self.pad_value, <int64_t>self.n_views * 2 * self.padding, sizeof(int32_t))
        try:
            for v in range(self.n_views):
                value = <int32_t*>self.pad_value.data + <int64_t>v * 2 * self.padding
                for k in range(self.padding):
                    for i in range(2):
                        n = strings_get(&self.paddings.c, self.padding + k if i else self.padding - 1 - k, &s)
                        value[i * self.padding + k] = (<View>self.view[v]).look_up(s, n, &text)
        finally:
            buffer_free(&text)

    cdef int list_keys(self) except -1:
        """List the keys of a growing index by the numbers of their grams, as a packed one has them."""
        cdef int32_t i
        cdef int64_t k
        cdef NodeC* node
        cdef const GramC* slot
        cdef int32_t* key
        for i in range(self.n_nodes):
            node = &self.node[i]
            if node.arity > 1 and node.grams.n:
                key = <int32_t*>arena_reserve(self, &node.keys, node.grams.n, 2 * sizeof(int32_t))
                slot = <const GramC*>node.grams.slots.data
                for k in range(<int64_t>node.grams.mask + 1):
                    if slot[k].ref:
                        key[2 * (slot[k].ref - 1)] = <int32_t>slot[k].a
                        key[2 * (slot[k].ref - 1) + 1] = <int32_t>slot[k].b
                node.key, node.key_stride = key, 2

    cdef bint exists(self, const NodeC* node, int64_t g) noexcept nogil:
        """Whether g is a gram: a packed table has gaps."""
        return 0 <= g < node.n and (node.arity == 1 or node.key[g * node.key_stride] >= 0)

    cdef bint values_of(self, const NodeC* node, int64_t g, int32_t* values) noexcept nogil:
        """The values of a gram's cells, of a node with slots; False where an unchecked table names grams or values that
        do not exist."""
        cdef int32_t i
        cdef const NodeC* part
        for i in range(node.arity - 1, -1, -1):
            part = &self.node[node.path[i]]
            if not self.exists(part, g):
                return False
            values[i] = <int32_t>g if i == 0 else part.key[g * part.key_stride + 1]
            if values[i] < 0 or values[i] >= (<View>self.view[part.view]).strings.c.n:
                return False
            if i:
                g = part.key[g * part.key_stride]
        return True

    cdef int64_t join(self, const NodeC* node, const SlotC* slot, const int32_t* values, BufferC* line) except -1 nogil:
        """Write the string that a slot makes of these values, and return its length."""
        cdef int64_t n = 0, size
        cdef int32_t i
        cdef const char* text
        append_text(line, &n, slot.literal[0].s, slot.literal[0].n)
        for i in range(node.arity):
            size = strings_get(&(<View>self.view[self.node[node.path[i]].view]).strings.c, values[i], &text)
            append_text(line, &n, text, size)
            append_text(line, &n, slot.literal[i + 1].s, slot.literal[i + 1].n)
        return n


cdef int adopt_nodes(Features f) except -1:
    """Nodes with their slots, what uses them, and the strings of the template."""
    cdef int32_t i, k
    cdef NodeC* node
    cdef SlotC* slot
    cdef TextC* text
    cdef TextC* first_text
    cdef int32_t* path
    cdef const int32_t* numbers
    cdef const int32_t* flags
    uses, nodes, paths, slots, literals = f.plan.packed()
    f.use = <UseC*>arena_zeros(f, f.n_uses, sizeof(UseC))
    f.constant_attr = <int32_t*>arena_zeros(f, f.n_constants, sizeof(int32_t))
    f.node = <NodeC*>arena_zeros(f, f.n_nodes, sizeof(NodeC))
    path = <int32_t*>arena_zeros(f, len(paths), 1)
    slot = <SlotC*>arena_zeros(f, len(slots) // (2 * sizeof(int32_t)), sizeof(SlotC))
    text = first_text = <TextC*>arena_zeros(f, len(literals), sizeof(TextC))
    memcpy(f.use, <const char*><bytes>uses, <size_t>len(uses))
    memcpy(path, <const char*><bytes>paths, <size_t>len(paths))
    memset(f.constant_attr, 0xFF, <size_t>f.n_constants * sizeof(int32_t))
    numbers, flags = <const int32_t*><const char*><bytes>nodes, <const int32_t*><const char*><bytes>slots
    for i in range(f.n_nodes):
        node = &f.node[i]
        memcpy(node, numbers + NODE_NUMBERS * i, NODE_NUMBERS * sizeof(int32_t))
        node.stride, node.path, node.slot = node.n_slots, path, slot
        path += node.arity if node.n_slots else 0
        for k in range(node.n_slots):
            slot.literal, slot.by_string, slot.bigram = text, flags[0], flags[1]
            slot, text, flags = slot + 1, text + node.arity + 1, flags + 2
    f.constant, text = text, first_text
    for literal in literals:
        text[0] = TextC(<const char*><bytes>literal, len(literal))  # the plan keeps it alive
        text += 1


cdef int grow_rows(Features f, NodeC* node, int64_t n) except -1 nogil:
    """Give new grams rows without attributes."""
    cdef int64_t size = node.n_slots * <int64_t>sizeof(int32_t)
    if n > node.n:
        node.row = <int32_t*>arena_reserve(f, &node.rows, n, max(size, 1))
        memset(node.rows.data + node.n * size, 0xFF, <size_t>((n - node.n) * size))
        node.n = n


cdef int32_t find_literal(const SpaceC* space, const char* s, int64_t n) noexcept nogil:
    cdef int32_t i = strings_find(space.literal, s, n)
    cdef int32_t a = space.literal_attr[i] if i >= 0 else -1
    return a if 0 <= a < space.n else -1        # of an unverified model, a table may have any number


cdef int32_t learn_literal(Features f, const char* s, int64_t n, bint bigram, bint plain=False) except -2 nogil:
    cdef SpaceC* space = &f.space[bigram]
    cdef int64_t known = space.literal.n
    cdef int32_t i = (<StringTable>f.literal_table[bigram]).intern(s, n)
    if i == known:
        space.literal_attr = <const int32_t*>arena_reserve(f, &f.literal_attr[bigram], known + 1, sizeof(int32_t))
        (<int32_t*>f.literal_attr[bigram].data)[i] = -1 if plain else new_number(f, bigram)
    return space.literal_attr[i]


cdef int32_t learn_bigram(Features f, const char* s, int64_t n, bint plain) except -2 nogil:
    """The bigram attribute with this string. For a new one, note how many unigram strings came before."""
    cdef int64_t known = f.space[1].literal.n
    cdef int32_t a = learn_literal(f, s, n, True, plain)
    if f.space[1].literal.n > known:
        arena_reserve(f, &f.unigrams_before, known + 1, sizeof(int64_t))
        (<int64_t*>f.unigrams_before.data)[known] = f.space[0].literal.n
        f.n_before += 1
    return a


cdef int32_t new_number(Features f, bint bigram) except -2 nogil:
    if f.space[bigram].n >= MOST_ATTRIBUTES:
        raise OverflowError("more than two thousand million different attributes; use a smaller template")
    f.space[bigram].n += 1
    return <int32_t>(f.space[bigram].n - 1)


cdef class Names:
    """The strings of all attributes of one kind, by id. Tagging never needs them; they are for people. A string comes from
    any gram that has the attribute in its row, or from the table of strings."""

    cdef Features f
    cdef bint bigram
    cdef int64_t[::1] nodes             # of each attribute the node and the slot (one number holds both); -1: the gram is a string of the table
    cdef int32_t[::1] grams
    cdef int32_t longest                # values of a gram

    def __cinit__(self, Features features not None, bint bigram):
        cdef int32_t i, slot, a, longest = 1
        cdef int64_t g, n = features.space[bigram].n
        cdef const NodeC* node
        if features.plan is None:
            raise TypeError("features that were not set up")
        self.f, self.bigram = features, bigram
        features.list_keys()
        cdef int64_t[::1] its_node = array.array("q", [0]) * n
        cdef int32_t[::1] its_gram = array.array("i", [-1]) * n
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
                            its_node[a], its_gram[a] = <int64_t>slot * features.n_nodes + i, <int32_t>g
        self.nodes, self.grams, self.longest = its_node, its_gram, longest

    def __len__(self):
        return self.grams.shape[0]

    def __getitem__(self, int64_t a):
        cdef const NodeC* node
        cdef const char* s
        cdef int64_t n
        cdef BufferC values = empty_buffer(), line = empty_buffer()     # of this call: threads may ask at once
        if not 0 <= a < self.grams.shape[0]:
            raise IndexError(f"attribute {a} of {self.grams.shape[0]}")
        cdef int64_t place = self.nodes[a]
        cdef int32_t gram = self.grams[a]
        if place < 0:
            n = strings_get(self.f.space[self.bigram].literal, gram, &s)
            return s[:n]
        node = &self.f.node[place % self.f.n_nodes] if gram >= 0 else NULL
        if node == NULL:
            return b""  # an unchecked table
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
        return map(self.__getitem__, range(self.grams.shape[0]))
