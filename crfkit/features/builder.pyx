"""The tables of a corpus while it is read: from parsed blocks to attribute numbers, in one pass.

What happens when the corpus is complete is in indexing.py.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from crfkit.text.rows cimport Rows
from crfkit.text.table cimport FORM_CRFSUITE, RowsC, rows_label
from .tables cimport NodeC, SlotC, SpaceC, grow_rows, learn_literal, new_number
from .tuples cimport grams_intern, grams_reserve
from .walk cimport learn_tokens
from .reach cimport RULE_DROPPED
from crfkit.memory cimport arena_reserve, data_reserve, memcmp
from .hashing cimport strings_get
from .cells cimport View, has_separator

from crfkit.errors import DataError
from .plan import Plan


cdef enum:
    MOST_LABELS = 0xFFFF


cdef class TableBuilder(Features):
    """Base of IndexBuilder (indexing.py), which says what the arguments are."""

    def __cinit__(self, template, *, bint crfsuite=False, bint backward=False, folder=None):
        cdef StringTable column
        cdef int32_t i
        self.plan = Plan(template)
        self.crfsuite, self.backward = crfsuite, backward
        self.columns.extend([StringTable() for _ in self.plan.columns])
        self.growing = True
        self.adopt_plan()
        self.workspace = Workspace()
        self.workspace.column_number = self.column_number
        self.label_table = StringTable()
        self.dataset = Dataset(b_ptr=[0] if self.has_bigrams else None, folder=folder)
        for column in self.columns:
            for padding in self.paddings:
                column.intern_bytes(padding)
        for i in range(self.n_views):
            (<View>self.view[i]).catch_up(&self.workspace.text)
        self.pad()

    def add(self, Rows rows not None, int64_t first=0, int64_t most=-1):
        """Add the sequences of one parsed block, or at most `most` of them from `first` on; returns how many were read. Sequences
        without tokens are skipped."""
        cdef const RowsC* c = &rows.c
        cdef Dataset data = self.dataset
        cdef int64_t s, n, last = c.n_seq
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
        try:
            with nogil:
                for s in range(first, last):
                    if c.seq_ptr[s] == c.seq_ptr[s + 1]:
                        continue
                    n = data.c.n_seq
                    data_reserve(data, &data.seq_ptr, n + 2, sizeof(int64_t))
                    data_reserve(data, &data.seq_weight, n + 1, sizeof(float))
                    (<float*>data.seq_weight.data)[n] = c.seq_weight[s]
                    add_labels(self, rows, c.seq_ptr[s], c.seq_ptr[s + 1])
                    learn_tokens(self, self.workspace, c, c.seq_ptr[s], c.seq_ptr[s + 1], data)
                    (<int64_t*>data.seq_ptr.data)[n + 1] = data.c.n_tok
                    data.c.n_seq = n + 1
                    data.c.longest = max(data.c.longest, <int32_t>(c.seq_ptr[s + 1] - c.seq_ptr[s]))
        finally:                # the data set is visible while it grows
            data.n_u, data.n_b = <int32_t>self.space[0].n, <int32_t>self.space[1].n
            data.point()
        return max(last - first, 0)

    def adopt(self, StringTable names not None, bint bigram=False):
        """Adopt the attributes of a model that stores their strings, with the same numbers; behind the attributes there are, if any. A string
        that only one tuple of cells can make goes into the tables of cells. If the template makes no such strings, the table of names is
        used as it is by a builder without attributes, and becomes read-only."""
        cdef int64_t i, n
        cdef const char* s
        if not self.space[bigram].n and all([slot.by_string for slot in self.plan.slots]):
            names.freeze()
            self.literals[bigram], self.literal_table[bigram] = names, <void*>names
            arena_reserve(self, &self.literal_attr[bigram], names.c.n + 1, sizeof(int32_t))
            for i in range(names.c.n):
                (<int32_t*>self.literal_attr[bigram].data)[i] = <int32_t>i
            self.space[bigram] = SpaceC(names.c.n, &names.c, <const int32_t*>self.literal_attr[bigram].data)
            grow_first(self)
            return
        with nogil:
            for i in range(names.c.n):
                n = strings_get(&names.c, <int32_t>i, &s)
                if not adopt_cells(self, s, n, bigram):
                    learn_literal(self, s, n, bigram)
            grow_first(self)
        for view in self.views:
            (<View>view).catch_up(&self.workspace.text)

    def can_make(self, bytes name not None, bint bigram):
        """Whether a line of the template with macros may make this string. It is not certain where its cells cannot be told."""
        cdef int32_t i, slot
        for i in range(self.n_nodes):
            for slot in range(self.node[i].n_slots):
                if self.node[i].slot[slot].bigram == bigram and slot_makes(self, &self.node[i], &self.node[i].slot[slot], name, len(name)):
                    return True
        return False

    def take(self, list labels not None, bint last):
        """Return the sequences added since the last call as a Dataset with these labels, and continue, or finish if it is
        the `last`. Values and weights that are all 1 are not stored."""
        cdef Dataset data = self.dataset
        if self.finished:
            raise TypeError("the corpus is finished")
        if len(labels) != self.label_table.c.n:
            raise ValueError(f"{len(labels)} names of {self.label_table.c.n} labels")
        data.labels = labels
        data.n_u, data.n_b = <int32_t>self.space[0].n, <int32_t>self.space[1].n
        data.drop_ones()
        self.finished = last
        if not last:
            self.dataset = Dataset(b_ptr=[0] if self.has_bigrams else None)
        return data

    def largest(self, bint bigram, int64_t of_items, const int64_t[::1] of_slots not None):
        """For each attribute the largest of the numbers of the slots which make it (those are in the order of the plan), and
        `of_items` where the data themselves name attributes. An array of int64."""
        cdef int64_t i, number = 0, lowest = of_items if self.crfsuite else -(<int64_t>1 << 62)
        cdef int32_t k, slot, a
        cdef NodeC* node
        cdef int64_t[::1] most = array.array("q", [lowest]) * self.space[bigram].n
        for k in range(self.n_nodes):
            node = &self.node[k]
            for slot in range(node.n_slots):
                for i in range(node.n if node.slot[slot].bigram == bigram else 0):
                    a = node.row[i * node.stride + slot]
                    if a >= 0:
                        most[a] = max(most[a], of_slots[number])
                number += 1
        for k, constant in enumerate(self.plan.constants):
            a = self.constant_attr[k]
            if constant.bigram == bigram and a >= 0:
                most[a] = max(most[a], of_slots[number + k])
        return most.base

    def renumber(self, const int32_t[::1] u_new not None, const int32_t[::1] b_new not None):
        """Give each attribute its final id, or -1 to drop it, in the data and in the tables."""
        self.dataset.renumber(u_new, b_new)
        replace_ids(self, False, u_new)
        replace_ids(self, True, b_new)
        self.space[0].n, self.space[1].n = self.dataset.n_u, self.dataset.n_b
        self.find_constants()

    def observations(self) -> StringTable:
        """All strings that Wapiti's patterns made in what this builder itself has read, in order of first occurrence. Some have no attribute."""
        cdef const int64_t* before = <const int64_t*>self.unigrams_before.data
        cdef StringTable unigrams, bigrams, found = StringTable()
        cdef int64_t i, k, done = 0
        unigrams, bigrams = self.literals
        if bigrams.c.n != self.n_before:
            raise TypeError("not all of the strings are from patterns")
        for i in range(bigrams.c.n):
            for k in range(done, before[i]):
                found.intern_bytes(unigrams[k])
            done = before[i]
            found.intern_bytes(bigrams[i])
        for k in range(done, unigrams.c.n):
            found.intern_bytes(unigrams[k])
        return found


cdef int grow_first(TableBuilder builder) except -1 nogil:
    """Rows for the values that lines may begin with: other strings may begin with cells that are known from lines of several, and what
    equality gives is always known."""
    cdef int32_t i
    for i in range(builder.n_nodes):
        if builder.node[i].arity == 1:
            grow_rows(builder, &builder.node[i], (<View>builder.view[builder.node[i].view]).strings.c.n)


cdef bint adopt_cells(TableBuilder builder, const char* s, int64_t n, bint bigram) except -1 nogil:
    """Number the slot and cells that make a string; False if they may not be unique."""
    cdef int32_t i, k, slot, gram = 0, value
    cdef NodeC* node
    cdef NodeC* part
    cdef int64_t* cell
    for i in range(builder.n_nodes):
        node = &builder.node[i]
        cell = <int64_t*>arena_reserve(builder.workspace, &builder.workspace.cells, 2 * node.arity, sizeof(int64_t))
        for slot in range(node.n_slots):
            if node.slot[slot].by_string or node.slot[slot].bigram != bigram or not cut(&node.slot[slot], node.arity, s, n, cell):
                continue
            for k in range(node.arity):
                if node.arity > 1 and has_separator(builder.separator, s + cell[2 * k], cell[2 * k + 1] - cell[2 * k]):
                    return False
            for k in range(node.arity):
                part = &builder.node[node.path[k]]
                value = (<View>builder.view[part.view]).strings.intern(s + cell[2 * k], cell[2 * k + 1] - cell[2 * k])
                if k == 0:
                    gram = value
                    grow_rows(builder, part, value + 1)
                else:
                    grams_reserve(builder, &part.grams, 1)
                    gram = grams_intern(&part.grams, <uint32_t>gram, <uint32_t>value)
                    grow_rows(builder, part, part.grams.n)
            node.row[gram * node.stride + slot] = new_number(builder, bigram)
            return True
    return False


cdef bint slot_makes(TableBuilder builder, const NodeC* node, const SlotC* slot, const char* s, int64_t n) except -1:
    cdef int32_t k
    cdef int64_t* cell
    cell = <int64_t*>arena_reserve(builder.workspace, &builder.workspace.cells, 2 * node.arity, sizeof(int64_t))
    if not cut(slot, node.arity, s, n, cell):
        return False
    for k in range(1, node.arity):
        if slot.literal[k].n == 0:
            return True
    for k in range(node.arity if node.arity > 1 else 0):
        if has_separator(builder.separator, s + cell[2 * k], cell[2 * k + 1] - cell[2 * k]):
            return True
    for k in range(node.arity):
        if not (<View>builder.view[builder.node[node.path[k]].view]).may_be(s + cell[2 * k], cell[2 * k + 1] - cell[2 * k], &builder.workspace.text):
            return False
    return True


cdef int add_labels(TableBuilder builder, Rows rows, int64_t first, int64_t last) except -1 nogil:
    cdef int64_t t, n = builder.dataset.c.n_tok
    cdef int32_t size, label
    cdef const char* s
    data_reserve(builder.dataset, &builder.dataset.label, n + last - first, sizeof(uint16_t))
    for t in range(first, last):
        s = rows_label(&rows.c, t, &size)
        label = builder.label_table.intern(s, size)
        if label >= MOST_LABELS:
            raise too_many_labels(rows, t)
        (<uint16_t*>builder.dataset.label.data)[n + (last - 1 - t if builder.backward else t - first)] = <uint16_t>label


cdef int check_labels(TableBuilder builder) except -1:
    if builder.label_table.c.n > MOST_LABELS:
        raise too_many_labels(None, 0)


cdef too_many_labels(Rows rows, int64_t token):
    """The error for the label of this token, or of none in rows."""
    where = (None, None) if rows is None else rows.where(token)
    return DataError(f"more than {MOST_LABELS} different labels; is another column the label?", *where)


cdef int replace_ids(TableBuilder builder, bint bigram, const int32_t[::1] new_id) except -1:
    cdef int64_t i
    cdef int32_t k, slot
    cdef int32_t* attr
    cdef NodeC* node
    for k in range(builder.n_nodes):
        node = &builder.node[k]
        for slot in range(node.n_slots):
            if node.slot[slot].bigram == bigram:
                for i in range(node.n):
                    attr = node.row + i * node.stride + slot
                    if attr[0] >= 0:
                        attr[0] = new_id[attr[0]]
    attr = <int32_t*>builder.literal_attr[bigram].data
    for i in range(builder.space[bigram].literal.n):
        if attr[i] >= 0:
            attr[i] = new_id[attr[i]]


cdef bint cut(const SlotC* slot, int32_t arity, const char* s, int64_t n, int64_t* cell) noexcept nogil:
    """Split a string into the cells from which a slot makes it, and note where each begins and ends; False if the slot cannot make it.
    A literal between two cells is matched at its first occurrence, which is right unless the cells contain separators."""
    cdef int32_t k
    cdef int64_t at = slot.literal[0].n, end = n - slot.literal[arity].n
    if at > end or memcmp(s, slot.literal[0].s, <size_t>at) or memcmp(s + end, slot.literal[arity].s, <size_t>slot.literal[arity].n):
        return False
    for k in range(arity):
        cell[2 * k] = at
        while k < arity - 1 and (at + slot.literal[k + 1].n > end or memcmp(s + at, slot.literal[k + 1].s, <size_t>slot.literal[k + 1].n)):
            at += 1
            if at > end:
                return False
        cell[2 * k + 1] = at if k < arity - 1 else end
        at += slot.literal[k + 1].n
    return True


def drop_rare(uint8_t[::1] rule not None, const int64_t[::1] counts not None, const int64_t[::1] least not None) -> None:
    """Drop the attributes that occur fewer than -least[i] times."""
    cdef int64_t i
    if not rule.shape[0] == counts.shape[0] == least.shape[0]:
        raise ValueError(f"{counts.shape[0]} counts for {rule.shape[0]} attributes")
    for i in range(rule.shape[0]):
        if counts[i] < -least[i]:
            rule[i] = RULE_DROPPED
