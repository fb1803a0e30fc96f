"""Reading a corpus: from parsed blocks to attribute numbers, in one pass.

For each sequence: intern the cells, give views their values, intern the grams of all nodes, then follow the
template's lines at each token: the row of a gram knows its attributes, and what is seen for the first time
gets the next number. No string is built unless it has to identify an attribute (see plan.py).

Afterwards: `finish` sorts the labels and drops rare attributes, `renumber` orders attributes as the layout of
the weights wants them, `pack` writes the tables that an Index reads.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memset

from crfkit.text.rows cimport FORM_CRFSUITE, RowsC, Rows, rows_attr, rows_cell, rows_label
from crfkit.data.dataset cimport Dataset
from .walk cimport Features, NodeC, ScratchC, SlotC, UseC, scratch_free
from .tuples cimport grams_intern, grams_reserve
from .reach cimport REACH_EDGE
from crfkit.memory cimport buffer_free, buffer_reserve
from .strings cimport StringTable
from .cells cimport NONE, View

from crfkit.errors import DataError
from .packing import pack
from .plan import Plan

cdef enum:
    MOST_LABELS = 0xFFFF
    MOST_ATTRIBUTES = 0x7FFFFFFE


cdef class IndexBuilder(Features):
    """Compiles a corpus against a template. `template` may be None in the form of CRFsuite, where the data
    bring their attributes along. With `backward` the tokens of a sequence stand in reverse order in the data set."""

    def __init__(self, template, *, bint crfsuite=False, bint backward=False):
        cdef StringTable column
        cdef int32_t i
        if self.plan is not None:
            raise TypeError("an IndexBuilder is used once")
        self.plan = Plan(template)
        self.crfsuite, self.backward = crfsuite, backward
        self.columns.extend(StringTable() for _ in self.plan.columns)
        self.adopt_plan()
        self.label_table = StringTable()
        self.dataset = Dataset(b_ptr=[0] if self.has_bigrams else None)
        for column in self.columns:
            for padding in self.paddings:
                column.intern_bytes(padding)
        for i in range(self.n_views):
            (<View>self.view[i]).catch_up(&self.scratch.text)
        self.pad(&self.scratch.text)

    def __dealloc__(self):
        scratch_free(&self.scratch)
        buffer_free(&self.literal_attr[0])
        buffer_free(&self.literal_attr[1])

    def add(self, Rows rows not None, int64_t first=0, int64_t most=-1):
        """Take in the sequences of one parsed block, or `most` of them from `first` on; how many there were."""
        cdef const RowsC* c = &rows.c
        cdef int64_t s, last = c.n_seq
        if first < 0:
            raise IndexError(f"sequence {first}")
        if 0 <= most < last - first:
            last = first + most
        if self.finished:
            raise TypeError("the corpus is finished")
        if (c.form == FORM_CRFSUITE) != self.crfsuite:
            raise ValueError("a corpus is either columns or attributes, not both")
        if c.n_tok and c.label_col >= c.n_cols:
            raise DataError(f"the labels should be in column {c.label_col}, but the data have {c.n_cols}")
        with nogil:
            for s in range(first, last):
                self.add_labels(c, c.seq_ptr[s], c.seq_ptr[s + 1])
                self.add_weight(c.seq_weight[s] if self.crfsuite else 1.0)
                self.add_sequence(c, c.seq_ptr[s], c.seq_ptr[s + 1])
        return max(last - first, 0)

    cdef int add_labels(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil:
        cdef int64_t t, n = self.dataset.c.n_tok
        cdef int32_t size, label
        cdef const char* s
        buffer_reserve(&self.dataset.label, n + last - first, sizeof(uint16_t))
        for t in range(first, last):
            s = rows_label(rows, t, &size)
            label = self.label_table.intern(s, size)
            if label >= MOST_LABELS:
                raise DataError(f"more than {MOST_LABELS} different labels; is the last column the label?")
            (<uint16_t*>self.dataset.label.data)[n + (last - 1 - t if self.backward else t - first)] = <uint16_t>label
        return 0

    cdef int add_weight(self, float weight) except -1 nogil:
        cdef int64_t n = self.dataset.c.n_seq
        if self.crfsuite:
            buffer_reserve(&self.dataset.seq_weight, n + 1, sizeof(float))
            (<float*>self.dataset.seq_weight.data)[n] = weight
            self.weighted |= weight != 1.0
        return 0

    cdef int add_sequence(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil:
        """Append the attributes of a sequence."""
        cdef int64_t n = self.dataset.c.n_seq
        cdef int32_t i
        self.prepare(&self.scratch, rows, last - first)
        self.intern_cells(rows, first)
        for i in range(self.n_views):
            (<View>self.view[i]).catch_up(&self.scratch.text)
        self.fill_values(&self.scratch, rows, first)
        self.intern_grams()
        self.add_attributes(rows, first)
        buffer_reserve(&self.dataset.seq_ptr, n + 2, sizeof(int64_t))
        self.dataset.c.n_seq += 1
        self.dataset.c.n_tok += last - first
        (<int64_t*>self.dataset.seq_ptr.data)[n + 1] = self.dataset.c.n_tok
        return 0

    cdef int intern_cells(self, const RowsC* rows, int64_t first) except -1 nogil:
        cdef int32_t i, t, n, column, T = self.scratch.T
        cdef int32_t* cell = <int32_t*>self.scratch.cells.data
        cdef const char* s
        for i in range(self.n_columns):
            column = (<int32_t*>self.column_number.data)[i]
            for t in range(T):
                s = rows_cell(rows, first + t, column, &n)
                cell[t] = (<StringTable>self.column[i]).intern(s, n)
            cell += T
        return 0

    cdef int intern_grams(self) except -1 nogil:
        """Number the grams of all nodes, parents first."""
        cdef int32_t i, p, last
        cdef NodeC* node
        cdef const int32_t* parent
        cdef const int32_t* value
        cdef int32_t* gram
        for i in range(self.n_nodes):
            node = &self.node[i]
            if node.arity == 1:
                self.grow_rows(node, (<View>self.view[node.view]).strings.c.n)
                continue
            parent = (<const int32_t**>self.scratch.gram_at.data)[node.parent]
            value = (<const int32_t**>self.scratch.value_at.data)[node.view] + node.distance
            gram = (<int32_t**>self.scratch.gram_at.data)[i]
            last = self.scratch.T + node.last
            grams_reserve(&node.grams, last - node.first)
            for p in range(node.first, last):
                if parent[p] < 0 or value[p] < 0:
                    gram[p] = NONE
                else:
                    gram[p] = grams_intern(&node.grams, <uint32_t>parent[p], <uint32_t>value[p])
            self.grow_rows(node, node.grams.n)
        return 0

    cdef int grow_rows(self, NodeC* node, int64_t n) except -1 nogil:
        """Give new grams rows without attributes."""
        cdef int64_t size = node.n_slots * <int64_t>sizeof(int32_t)
        if n > node.n:
            buffer_reserve(&node.rows, n, max(size, 1))
            memset(node.rows.data + node.n * size, 0xFF, <size_t>((n - node.n) * size))
            node.row = <int32_t*>node.rows.data
            node.n = n
        return 0

    cdef int add_attributes(self, const RowsC* rows, int64_t first) except -1 nogil:
        """Follow the lines of the template at each token."""
        cdef int32_t i, k, t, g, a, T = self.scratch.T
        cdef int64_t n_tok = self.dataset.c.n_tok, n_u, n_b = 0, n_items
        cdef int64_t* u_ptr
        cdef int64_t* b_ptr = NULL
        cdef int32_t* u_id
        cdef int32_t* b_id = NULL
        cdef int32_t* attr
        cdef const UseC* use
        cdef const NodeC* node
        buffer_reserve(&self.dataset.u_ptr, n_tok + T + 1, sizeof(int64_t))
        u_ptr = <int64_t*>self.dataset.u_ptr.data + n_tok
        n_u = u_ptr[0]
        n_items = rows.attr_ptr[first + T] - rows.attr_ptr[first] if self.crfsuite else 0
        buffer_reserve(&self.dataset.u_id, n_u + n_items + <int64_t>T * self.n_uses, sizeof(int32_t))
        u_id = <int32_t*>self.dataset.u_id.data
        if self.crfsuite:
            buffer_reserve(&self.dataset.u_val, n_u + n_items + <int64_t>T * self.n_uses, sizeof(float))
        if self.has_bigrams:
            buffer_reserve(&self.dataset.b_ptr, n_tok + T + 1, sizeof(int64_t))
            b_ptr = <int64_t*>self.dataset.b_ptr.data + n_tok
            n_b = b_ptr[0]
            buffer_reserve(&self.dataset.b_id, n_b + <int64_t>T * self.n_uses, sizeof(int32_t))
            b_id = <int32_t*>self.dataset.b_id.data
        for k in range(T):
            t = T - 1 - k if self.backward else k
            if self.crfsuite:
                self.add_items(rows, first + t, &n_u)
            for i in range(self.n_uses):
                use = &self.use[i]
                if use.edge and k == 0:
                    continue  # no edge leads into the first token
                if use.node < 0:
                    attr = <int32_t*>self.constant_attr.data + use.slot
                    if attr[0] < 0:
                        attr[0] = self.intern_literal(self.constant[use.slot].s, self.constant[use.slot].n, use.bigram)
                else:
                    node = &self.node[use.node]
                    g = (<const int32_t**>self.scratch.gram_at.data)[use.node][t + use.base]
                    if g < 0:
                        continue
                    attr = node.row + g * node.stride + use.slot
                    if attr[0] < 0:
                        attr[0] = self.new_attribute(rows, first, node, &node.slot[use.slot], t + use.base)
                if use.bigram:
                    b_id[n_b] = attr[0]
                    n_b += 1
                else:
                    u_id[n_u] = attr[0]
                    if self.crfsuite:
                        (<float*>self.dataset.u_val.data)[n_u] = 1
                    n_u += 1
            u_ptr[k + 1] = n_u
            if b_ptr != NULL:
                b_ptr[k + 1] = n_b
        return 0

    cdef int add_items(self, const RowsC* rows, int64_t token, int64_t* n_u) except -1 nogil:
        """Append the attributes that a line in CRFsuite's form names. There is room for them."""
        cdef int64_t i
        cdef int32_t size
        cdef const char* s
        for i in range(rows.attr_ptr[token], rows.attr_ptr[token + 1]):
            s = rows_attr(rows, i, &size)
            (<int32_t*>self.dataset.u_id.data)[n_u[0]] = self.intern_literal(s, size, False)
            (<float*>self.dataset.u_val.data)[n_u[0]] = rows.attr_value[i]
            self.valued |= rows.attr_value[i] != 1.0
            n_u[0] += 1
        return 0

    cdef int32_t new_attribute(self, const RowsC* rows, int64_t first, const NodeC* node, const SlotC* slot,
                               int64_t p) except -1 nogil:
        """The attribute of a gram in a slot where it was not seen before."""
        cdef int64_t n
        if slot.by_string or self.gram_flagged(&self.scratch, node, p):
            n = self.expand(&self.scratch, rows, first, node, slot, p)
            return self.intern_literal(self.scratch.line.data, n, slot.bigram)
        return self.number_attribute(slot.bigram)

    cdef int32_t intern_literal(self, const char* s, int64_t n, bint bigram) except -1 nogil:
        """The attribute that has this string."""
        cdef int64_t known = self.space[bigram].literal.n
        cdef int32_t i = (<StringTable>self.literal_table[bigram]).intern(s, n)
        if i == known:
            buffer_reserve(&self.literal_attr[bigram], known + 1, sizeof(int32_t))
            self.space[bigram].literal_attr = <const int32_t*>self.literal_attr[bigram].data
            (<int32_t*>self.literal_attr[bigram].data)[i] = self.number_attribute(bigram)
        return self.space[bigram].literal_attr[i]

    cdef int32_t number_attribute(self, bint bigram) except -1 nogil:
        if self.space[bigram].n >= MOST_ATTRIBUTES:
            raise OverflowError("more than two thousand million different attributes; use a smaller template")
        self.space[bigram].n += 1
        return <int32_t>(self.space[bigram].n - 1)

    cdef int complete(self, Dataset data, list labels) except -1:
        """What a data set is told when all its sequences are there. Values and weights of one throughout need no room."""
        data.labels = labels
        data.n_u, data.n_b = <int32_t>self.space[0].n, <int32_t>self.space[1].n
        if not self.valued:
            buffer_free(&data.u_val)
        if not self.weighted:
            buffer_free(&data.seq_weight)
        data.settle()
        return 0

    def drain(self):
        """Hand out the sequences taken in since the last time, as a Dataset, and go on. In all of them labels and
        attributes have the numbers in whose order they were first seen."""
        cdef Dataset data = self.dataset
        if self.finished:
            raise TypeError("the corpus is finished")
        self.complete(data, [label.decode() for label in self.label_table])
        self.dataset = Dataset(b_ptr=[0] if self.has_bigrams else None)
        return data

    def finish(self, int64_t min_freq=1):
        """Close the corpus: labels in bytewise order, attributes with fewer occurrences than `min_freq` or
        their line's own threshold dropped. Returns the Dataset; its attributes are numbered as first seen."""
        cdef Dataset data = self.dataset
        cdef uint16_t* label = <uint16_t*>data.label.data
        cdef int64_t t
        if self.finished:
            raise TypeError("the corpus is finished")
        self.finished = True
        names = list(self.label_table)
        order = sorted(range(len(names)), key=names.__getitem__)
        cdef int32_t[::1] rank = array.array("i", bytes(4 * len(names)) or [0])
        cdef int32_t position, old
        for position, old in enumerate(order):
            rank[old] = position
        for t in range(data.c.n_tok):
            label[t] = <uint16_t>rank[label[t]]
        self.complete(data, [names[old].decode() for old in order])
        if min_freq > 1 or any(slot.min_freqs != {None} for slot in self.all_slots()):
            self.renumber(self.frequent(False, min_freq), self.frequent(True, min_freq))
        return data

    def all_slots(self):
        """All slots of the plan, and what stands for lines without macros."""
        return [*(slot for node in self.plan.nodes for slot in node.slots), *self.plan.constants]

    cdef frequent(self, bint bigram, int64_t min_freq):
        """New ids that leave out the attributes below their thresholds, in the order of the old ones."""
        cdef int64_t i, n = self.space[bigram].n
        cdef int32_t kept = 0
        counts = self.dataset.b_counts() if bigram else self.dataset.u_counts()
        cdef const int64_t[::1] count = counts
        cdef const int64_t[::1] threshold = self.spread(
            bigram, -min_freq, lambda slot: max(-min_freq if f is None else -f for f in slot.min_freqs))
        new_ids = array.array("i", bytes(4 * n))
        cdef int32_t[::1] new_id = new_ids
        for i in range(n):
            new_id[i] = -1
            if count[i] >= -threshold[i]:
                new_id[i] = kept
                kept += 1
        return new_ids

    cdef spread(self, bint bigram, int64_t of_items, of_slot):
        """For each attribute the largest of the numbers that `of_slot` gives the slots which make it, and
        `of_items` where the data themselves name attributes. An array of int64."""
        cdef int64_t i, value, lowest = of_items if self.crfsuite else -(<int64_t>1 << 62)
        cdef int32_t a, slot_number
        cdef NodeC* node
        values = array.array("q", [lowest]) * self.space[bigram].n
        cdef int64_t[::1] most = values
        for planned in self.plan.nodes:
            node = &self.node[planned.index]
            for slot_number, slot in enumerate(planned.slots):
                if slot.bigram == bigram:
                    value = of_slot(slot)
                    for i in range(node.n):
                        a = node.row[i * node.stride + slot_number]
                        if a >= 0:
                            most[a] = max(most[a], value)
        for slot_number, slot in enumerate(self.plan.constants):
            a = (<int32_t*>self.constant_attr.data)[slot_number]
            if slot.bigram == bigram and a >= 0:
                most[a] = max(most[a], <int64_t>of_slot(slot))
        return values

    def rules(self, bint bigram=False):
        """Of each attribute, as its lines say which features it has: 0 observed, 1 the default, 2 all; the
        most generous where several lines make it. An array of int64."""
        return self.spread(bigram, 1, lambda slot: max({"observed": 0, None: 1, "all": 2}[r] for r in slot.rules))

    def reaches(self):
        """Of each bigram attribute, which labels before its own it looks at (history.pxd); None where all are B
        lines. Bytes."""
        if not any(slot.reach for slot in self.all_slots()):
            return None
        return bytes([max(reach, 0) for reach in self.spread(True, REACH_EDGE, lambda slot: slot.reach)])

    def nesting(self):
        """Which unigram attributes bring others along: for each of them the number of the slot that made it (an array of
        int64, negative: another one), and for each slot the number of the one whose attributes always have one of its
        own beside them, or -1."""
        within = self.plan.containers()
        numbers = {place: number for number, place in enumerate({*within, *within.values()})}
        number_of = {id(self.plan.nodes[node].slots[slot]): number for (node, slot), number in numbers.items()}
        made_by = self.spread(False, -1, lambda slot: number_of.get(id(slot), -1))
        return made_by, [numbers.get(within.get(place), -1) for place in numbers]

    @property
    def has_rules(self):
        """Whether any line says which features it has."""
        return any(slot.rules != {None} for slot in self.all_slots())

    def renumber(self, const int32_t[::1] u_new not None, const int32_t[::1] b_new not None):
        """Give each attribute its final id, or -1 to drop it, in the data and in the tables."""
        self.dataset.renumber(u_new, b_new)
        self.replace_ids(False, u_new)
        self.replace_ids(True, b_new)
        self.space[0].n, self.space[1].n = self.dataset.n_u, self.dataset.n_b

    def pack(self, u_new=None, b_new=None):
        """The sections of an Index (see packing.pyx), of all attributes or of those that get a new id."""
        return pack(self, u_new, b_new)

    cdef int replace_ids(self, bint bigram, const int32_t[::1] new_id) except -1:
        cdef int64_t i
        cdef int32_t k, slot
        cdef int32_t* attr
        cdef NodeC* node
        for k in range(self.n_nodes):
            node = &self.node[k]
            for slot in range(node.n_slots):
                if node.slot[slot].bigram == bigram:
                    for i in range(node.n):
                        attr = node.row + i * node.stride + slot
                        if attr[0] >= 0:
                            attr[0] = new_id[attr[0]]
        attr = <int32_t*>self.literal_attr[bigram].data
        for i in range(self.space[bigram].literal.n):
            if attr[i] >= 0:
                attr[i] = new_id[attr[i]]
        for k, constant in enumerate(self.plan.constants):
            attr = <int32_t*>self.constant_attr.data + k
            if constant.bigram == bigram and attr[0] >= 0:
                attr[0] = new_id[attr[0]]
        return 0
