"""What learning and tagging share: the tables of a plan, the values of a sentence, the string of a feature.

    cells    [columns][T]    ids in the column's table
    values   [views][T+2k]   ids in the view's table; k positions of padding on both sides
    grams    [nodes][T+2k]   of the cells whose first stands at this position; a single cell is its value
    attribute of a use at token t:   row of grams[node][t + base], at its slot

IndexBuilder fills these tables while it reads a corpus; Index searches them in their packed form.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset

from crfkit.text.rows cimport RowsC, rows_cell
from .tuples cimport GramC
from crfkit.memory cimport BufferC, buffer_free, buffer_reserve
from .strings cimport StringTable, strings_get
from .cells cimport FLAGGED, UNKNOWN, VIEW_CELL, VIEW_TEXT, View

from crfkit.errors import DataError


cdef int scratch_free(ScratchC* s) noexcept nogil:
    buffer_free(&s.cells)
    buffer_free(&s.values)
    buffer_free(&s.grams)
    buffer_free(&s.value_at)
    buffer_free(&s.gram_at)
    buffer_free(&s.text)
    buffer_free(&s.line)
    return 0


cdef inline int append(BufferC* line, int64_t* n, const char* s, int64_t size) except -1 nogil:
    buffer_reserve(line, n[0] + size + 1, 1)  # never without room: expanded lines may be empty
    memcpy(line.data + n[0], s, <size_t>size)
    n[0] += size
    return 0


cdef class Features:
    """Base of IndexBuilder and Index."""

    def __cinit__(self):
        self.columns, self.views, self.literals = [], [], [StringTable(), StringTable()]
        self.paddings = StringTable()

    def __dealloc__(self):
        cdef int32_t i
        for i in range(self.n_nodes):
            buffer_free(&self.node[i].grams.slots)
            buffer_free(&self.node[i].rows)
            buffer_free(&self.node[i].keys)
        buffer_free(&self.column_ptr)
        buffer_free(&self.view_ptr)
        buffer_free(&self.node_buf)
        buffer_free(&self.use_buf)
        buffer_free(&self.slot_buf)
        buffer_free(&self.text_buf)
        buffer_free(&self.path_buf)
        buffer_free(&self.column_number)
        buffer_free(&self.constant_attr)
        buffer_free(&self.pad_value)

    @property
    def n_attributes(self):
        """Unigram attributes, bigram attributes."""
        return self.space[0].n, self.space[1].n

    cdef int adopt_plan(self) except -1:
        """Lay the plan out in structs. `columns` and `literals` are there already, empty or mapped."""
        plan = self.plan
        cdef int32_t i, k, n_slots = 0, n_texts = 0, n_path = 0
        cdef NodeC* node
        cdef SlotC* slot
        cdef TextC* text
        cdef int32_t* path
        cdef StringTable table
        cdef View view
        self.n_columns, self.n_views = len(plan.columns), len(plan.views)
        self.n_uses, self.n_constants, self.padding = len(plan.uses), len(plan.constants), plan.padding
        self.has_bigrams = any(use.bigram for use in plan.uses)
        memset(self.separator, 0, sizeof(self.separator))
        for byte in plan.separators:
            self.separator[<uint8_t>byte] = 1

        buffer_reserve(&self.column_ptr, self.n_columns, sizeof(void*))
        buffer_reserve(&self.column_number, self.n_columns, sizeof(int32_t))
        self.column = <void**>self.column_ptr.data
        for i in range(self.n_columns):
            self.column[i] = <void*>self.columns[i]
            (<int32_t*>self.column_number.data)[i] = plan.columns[i]

        self.last_column = plan.columns[self.n_columns - 1] if plan.columns else -1
        place = {column: i for i, column in enumerate(plan.columns)}
        buffer_reserve(&self.view_ptr, self.n_views, sizeof(void*))
        self.view = <void**>self.view_ptr.data
        for i in range(self.n_views):
            view = View(i, plan.views[i], self.columns[place[plan.views[i].column]], place[plan.views[i].column],
                        place.get(plan.views[i].column2, -1))
            view.separator = self.separator
            self.views.append(view)
            self.view[i] = <void*>view

        buffer_reserve(&self.use_buf, self.n_uses, sizeof(UseC))
        self.use = <UseC*>self.use_buf.data
        for i, use in enumerate(plan.uses):
            self.use[i] = UseC(use.node, use.base, use.slot, use.bigram, use.edge)
        buffer_reserve(&self.constant_attr, self.n_constants, sizeof(int32_t))
        for i in range(self.n_constants):
            (<int32_t*>self.constant_attr.data)[i] = -1

        for planned in plan.nodes:
            n_path += len(planned.path)
            n_slots += len(planned.slots)
            n_texts += len(planned.slots) * (len(planned.path) + 1)
        buffer_reserve(&self.path_buf, n_path, sizeof(int32_t))
        buffer_reserve(&self.slot_buf, n_slots, sizeof(SlotC))
        buffer_reserve(&self.text_buf, n_texts + self.n_constants, sizeof(TextC))
        buffer_reserve(&self.node_buf, len(plan.nodes), sizeof(NodeC))
        path, slot, text = <int32_t*>self.path_buf.data, <SlotC*>self.slot_buf.data, <TextC*>self.text_buf.data
        self.node = <NodeC*>self.node_buf.data
        for planned in plan.nodes:
            node = &self.node[self.n_nodes]
            memset(node, 0, sizeof(NodeC))
            self.n_nodes += 1
            node.parent = planned.parent.index if planned.parent else -1
            node.view, node.distance, node.arity = planned.view, planned.distance, len(planned.path)
            node.first, node.last = planned.first, planned.last
            node.n_slots = node.stride = len(planned.slots)
            node.by_string = any(s.by_string for s in planned.slots)
            node.path, node.slot = path, slot
            for ancestor in planned.path:
                path[0] = ancestor.index
                path += 1
            for s in planned.slots:
                slot.literal, slot.by_string, slot.bigram = text, s.by_string, s.bigram
                slot += 1
                for literal in s.literals:
                    text.s, text.n = <const char*><bytes>literal, len(literal)  # the plan keeps it alive
                    text += 1
        self.constant = text
        for i, constant in enumerate(plan.constants):
            self.constant[i] = TextC(<const char*><bytes>constant.literals[0], len(constant.literals[0]))
        for k in range(1, self.padding + 1):
            self.paddings.intern_bytes(b"_B-%d" % k)
        for k in range(1, self.padding + 1):
            self.paddings.intern_bytes(b"_B+%d" % k)
        for i in range(2):
            table = self.literals[i]
            self.space[i].literal = &table.c
            self.literal_table[i] = <void*>table
        return 0

    def shared(self):
        """The bigram attributes of lines without macros that look at labels before the sentence, too: every token
        has them."""
        return [(<int32_t*>self.constant_attr.data)[k] for k, slot in enumerate(self.plan.constants) if slot.reach]

    cdef int pad(self, BufferC* text) except -1:
        """Find the values of the paddings."""
        cdef int32_t v, k, i
        cdef int32_t* value
        cdef const char* s
        cdef int64_t n
        buffer_reserve(&self.pad_value, <int64_t>self.n_views * 2 * self.padding, sizeof(int32_t))
        for v in range(self.n_views):
            value = <int32_t*>self.pad_value.data + <int64_t>v * 2 * self.padding
            for k in range(self.padding):
                for i in range(2):
                    n = strings_get(&self.paddings.c, self.padding + k if i else self.padding - 1 - k, &s)
                    value[i * self.padding + k] = (<View>self.view[v]).look_up(s, n, text)
        return 0

    cdef int prepare(self, ScratchC* s, const RowsC* rows, int64_t T) except -1 nogil:
        """Make room for a sentence of T tokens."""
        cdef int64_t width = T + 2 * self.padding
        cdef int32_t i
        if self.last_column >= rows.n_cols:
            raise DataError(f"the template uses column {self.last_column}, but the data have {rows.n_cols}")
        if width > 0x7FFFFFF0:
            raise OverflowError("a sequence of more than two thousand million tokens")
        s.T = <int32_t>T
        buffer_reserve(&s.cells, T * self.n_columns, sizeof(int32_t))
        buffer_reserve(&s.values, width * self.n_views, sizeof(int32_t))
        buffer_reserve(&s.grams, width * self.n_nodes, sizeof(int32_t))
        buffer_reserve(&s.value_at, self.n_views, sizeof(void*))
        buffer_reserve(&s.gram_at, self.n_nodes, sizeof(void*))
        for i in range(self.n_views):
            (<int32_t**>s.value_at.data)[i] = <int32_t*>s.values.data + i * width + self.padding
        for i in range(self.n_nodes):
            (<int32_t**>s.gram_at.data)[i] = (
                (<int32_t**>s.value_at.data)[self.node[i].view] if self.node[i].arity == 1
                else <int32_t*>s.grams.data + i * width + self.padding)
        return 0

    cdef int64_t cell_at(self, const RowsC* rows, int64_t first, int32_t T, int32_t column, int64_t p,
                         const char** cell) noexcept nogil:
        """Point at the text of a cell, or beyond the sentence of its padding, and return its length."""
        cdef int32_t n
        if p < 0:
            return strings_get(&self.paddings.c, <int32_t>(-1 - p), cell)
        if p >= T:
            return strings_get(&self.paddings.c, <int32_t>(self.padding + p - T), cell)
        cell[0] = rows_cell(rows, first + p, (<int32_t*>self.column_number.data)[column], &n)
        return n

    cdef int fill_values(self, ScratchC* s, const RowsC* rows, int64_t first) except -1 nogil:
        """The values of all views from the cells of the sentence."""
        cdef int32_t v
        cdef int32_t* value
        cdef const int32_t* pad
        for v in range(self.n_views):
            value = (<int32_t**>s.value_at.data)[v]
            pad = <const int32_t*>self.pad_value.data + <int64_t>v * 2 * self.padding
            if self.padding:
                memcpy(value - self.padding, pad, self.padding * sizeof(int32_t))
                memcpy(value + s.T, pad + self.padding, self.padding * sizeof(int32_t))
            self.fill_view(<View>self.view[v], value, s, rows, first)
        return 0

    cdef int fill_view(self, View view, int32_t* value, ScratchC* s, const RowsC* rows, int64_t first) except -1 nogil:
        """The values of one view. A map from a file may name any value: those out of range count as unknown."""
        cdef const int32_t* cell = <const int32_t*>s.cells.data + <int64_t>view.column * s.T
        cdef const char* text
        cdef const char* other
        cdef int64_t p, n
        cdef int32_t T = s.T
        if view.form == VIEW_CELL:
            memcpy(value, cell, T * sizeof(int32_t))
        elif view.form == VIEW_TEXT:
            for p in range(T):
                if cell[p] >= 0 and cell[p] < view.n_map:
                    value[p] = view.value[cell[p]]
                    if value[p] >= view.strings.c.n or value[p] < FLAGGED:
                        value[p] = UNKNOWN
                else:
                    n = self.cell_at(rows, first, T, view.column, p, &text)
                    value[p] = view.look_up(text, n, &s.text)
        else:
            for p in range(-self.padding, T + self.padding):
                if p + view.delta >= -self.padding and p + view.delta < T + self.padding:
                    n = self.cell_at(rows, first, T, view.column, p, &text)
                    value[p] = (n == self.cell_at(rows, first, T, view.column2, p + view.delta, &other)
                                and memcmp(text, other, <size_t>n) == 0)
        return 0

    cdef bint gram_flagged(self, const ScratchC* s, const NodeC* node, int64_t p) noexcept nogil:
        """Whether a cell of several contains a separator, so that other cells may give the same string."""
        cdef int32_t i, value
        cdef const NodeC* part
        if node.arity == 1:
            return False
        for i in range(node.arity):
            part = &self.node[node.path[i]]
            value = (<const int32_t**>s.value_at.data)[part.view][p + part.distance]
            if value == FLAGGED or value >= 0 and (<View>self.view[part.view]).flag[value]:
                return True
        return False

    cdef int64_t expand(self, ScratchC* s, const RowsC* rows, int64_t first, const NodeC* node, const SlotC* slot,
                        int64_t p) except -1 nogil:
        """Write the string of a slot, for the gram that starts at position p, to s.line; return its length."""
        cdef int64_t n = 0, size
        cdef int32_t i, value
        cdef const NodeC* part
        cdef const char* text
        append(&s.line, &n, slot.literal[0].s, slot.literal[0].n)
        for i in range(node.arity):
            part = &self.node[node.path[i]]
            value = (<const int32_t**>s.value_at.data)[part.view][p + part.distance]
            if value >= 0:
                size = strings_get(&(<View>self.view[part.view]).strings.c, value, &text)
            else:
                size = self.cell_at(rows, first, s.T, (<View>self.view[part.view]).column, p + part.distance, &text)
                size = (<View>self.view[part.view]).transform(text, size, &s.text, &text)
            append(&s.line, &n, text, max(size, 0))
            append(&s.line, &n, slot.literal[i + 1].s, slot.literal[i + 1].n)
        return n

    cdef int list_keys(self) except -1:
        """Make the grams of a growing index known by their numbers, as those of a packed one are."""
        cdef int32_t i
        cdef int64_t k
        cdef NodeC* node
        cdef const GramC* slot
        cdef int32_t* key
        for i in range(self.n_nodes):
            node = &self.node[i]
            if node.arity > 1 and node.grams.n:
                buffer_reserve(&node.keys, node.grams.n, 2 * sizeof(int32_t))
                key = <int32_t*>node.keys.data
                slot = <const GramC*>node.grams.slots.data
                for k in range(<int64_t>node.grams.mask + 1):
                    if slot[k].ref:
                        key[2 * (slot[k].ref - 1)] = <int32_t>slot[k].a
                        key[2 * (slot[k].ref - 1) + 1] = <int32_t>slot[k].b
                node.key, node.key_stride = key, 2
        return 0

    cdef bint exists(self, const NodeC* node, int64_t g) noexcept nogil:
        """Whether g is a gram: a packed table has gaps."""
        return 0 <= g < node.n and (node.arity == 1 or node.key[g * node.key_stride] >= 0)

    cdef bint values_of(self, const NodeC* node, int64_t g, int32_t* values) noexcept nogil:
        """The values of a gram's cells; False where an unchecked table names grams or values that do not exist."""
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
        append(line, &n, slot.literal[0].s, slot.literal[0].n)
        for i in range(node.arity):
            size = strings_get(&(<View>self.view[self.node[node.path[i]].view]).strings.c, values[i], &text)
            append(line, &n, text, size)
            append(line, &n, slot.literal[i + 1].s, slot.literal[i + 1].n)
        return n
