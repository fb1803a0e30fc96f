"""Writing an index: the tables of a builder or of another index, reduced to what some attributes need.

    plan                            int64 [5]: columns, views, nodes, unigram attributes, bigram attributes
    column.I.slots .offsets .strings             a StringTable
    view.I.slots .offsets .strings .map          a StringTable, and int32 [cells]: value of each cell of the column
    view.I.flags                                 uint8 [values]: contains a separator
    node.I.rows                                  one cell: int32 [values][slots], attributes
    node.I.grams                                 several: int32 [entries][2 + slots], see tables.pxd
    literal.u.slots .offsets .strings .attributes    strings of attributes identified by string; the same for b

I counts columns, views and nodes as plan.py does; views of cells as they are have no strings of their own, and
equality has no sections at all. A gram is kept if it has an attribute or a kept gram begins with it, a value if
a kept gram contains it, a cell if its value is kept. What is not found then has no kept attribute, with
one exception: the string of an unknown gram may equal that of a known one. The attributes of kept grams are
complete, so that only unknown grams are expanded and looked up as strings.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint32_t

from crfkit.data.dataset cimport largest
from .tables cimport Features, NodeC, SlotC
from .tuples cimport packed_home
from crfkit.memory cimport Arena, BufferC, arena_reserve
from .hashing cimport strings_find
from .strings cimport StringTable
from .cells cimport FLAGGED, UNKNOWN, VIEW_CELL, VIEW_EQUAL, VIEW_TEXT, View


cdef enum:
    MOST_ENTRIES = 0x7FFFFFF0


def pack(Features features not None, u_new=None, b_new=None):
    """The sections of an index with all attributes, or with those that get a new id (int32 arrays, -1 drops)."""
    return Packer(features, u_new, b_new).sections()


cdef class Packer(Arena):
    """One packing. Marks are int32 arrays: first 1 for what is kept, then indices into the packed tables, or -1."""

    cdef Features f
    cdef list new_ids                   # keeps the arrays behind new_id alive
    cdef int64_t n_new[2]
    cdef const int32_t* new_id[2]       # or NULL: as they are
    cdef list cells, values, grams      # marks of each column, view, node; a single cell's are its view's
    cdef BufferC joined, line           # int32 values of a gram, and its string

    def __cinit__(self, Features features not None, u_new, b_new):
        cdef int32_t i, most = 1
        cdef const int32_t[::1] ids
        self.f = features
        self.new_ids = []
        features.list_keys()
        for i, given in enumerate((u_new, b_new)):
            self.n_new[i], self.new_id[i] = features.space[i].n, NULL
            if given is None:
                continue
            given = array.array("i", given)
            if len(given) != features.space[i].n:
                raise ValueError(f"{len(given)} new ids for {features.space[i].n} attributes")
            self.new_ids.append(given)
            ids = given
            if len(given):
                self.new_id[i] = &ids[0]
            self.n_new[i] = largest(self.new_id[i], len(given)) + 1
        self.values = [array.array("i", [1, 1]) if (<View>view).form == VIEW_EQUAL  # both values are always there
                       else marks((<View>view).strings.c.n) for view in features.views]
        self.grams = []
        for i in range(features.n_nodes):
            most = max(most, features.node[i].arity)
            self.grams.append(self.values[features.node[i].view] if features.node[i].arity == 1
                              else marks(features.node[i].n))
        arena_reserve(self, &self.joined, most, sizeof(int32_t))
        arena_reserve(self, &self.line, 1, 1)

    def sections(self):
        """All sections, by name."""
        cdef int32_t i
        cdef Features f = self.f
        self.mark()
        out = {"plan": numbers("q", [f.n_columns, f.n_views, f.n_nodes, self.n_new[0], self.n_new[1]])}
        for i in range(f.n_columns):
            out.update(string_sections(f"column.{i}", (<StringTable>f.columns[i]).select(places(self.cells[i]))))
        for i in range(f.n_views):
            self.put_view(out, i)
        for i in range(f.n_nodes):
            if f.node[i].arity == 1:
                out[f"node.{i}.rows"] = memoryview(self.rows(i))
            else:
                out[f"node.{i}.grams"] = memoryview(self.entries(i))
        for i in range(2):
            self.put_literals(out, i)
        return out

    cdef inline int32_t renewed(self, int32_t a, bint bigram) noexcept nogil:
        """The new id of an attribute, or -1."""
        if a < 0 or a >= self.f.space[bigram].n:
            return -1
        return a if self.new_id[bigram] == NULL else self.new_id[bigram][a]

    cdef int32_t attribute(self, const NodeC* node, int32_t slot, int64_t g) except -2:
        """The new id of a kept gram's attribute, or -1. If other cells make the same string, the corpus may have had only
        those."""
        cdef const SlotC* form = &node.slot[slot]
        cdef int32_t a = node.row[g * node.stride + slot]
        cdef int32_t* values = <int32_t*>self.joined.data
        cdef int64_t n
        if a >= 0 or self.f.space[form.bigram].literal.n == 0 or not self.f.values_of(node, g, values):
            return self.renewed(a, form.bigram)
        if not form.by_string and not self.flagged(node, values):
            return -1
        n = self.f.join(node, form, values, &self.line)
        a = strings_find(self.f.space[form.bigram].literal, self.line.data, n)
        return -1 if a < 0 else self.renewed(self.f.space[form.bigram].literal_attr[a], form.bigram)

    cdef bint flagged(self, const NodeC* node, const int32_t* values) noexcept nogil:
        cdef int32_t i
        if node.arity > 1:
            for i in range(node.arity):
                if (<View>self.f.view[self.f.node[node.path[i]].view]).flag[values[i]]:
                    return True
        return False

    cdef bint named(self, const NodeC* node, int64_t g) noexcept nogil:
        """Whether a gram has a kept attribute, and cells that exist; then the cells of its prefixes exist, too."""
        cdef int32_t slot
        for slot in range(node.n_slots):
            if self.renewed(node.row[g * node.stride + slot], node.slot[slot].bigram) >= 0:
                return self.f.values_of(node, g, <int32_t*>self.joined.data)
        return False

    cdef int mark(self) except -1:
        """Mark what the attributes need: grams from the longest to the shortest, then values, then cells."""
        cdef int32_t i
        cdef int64_t g, k
        cdef const NodeC* node
        cdef int32_t[::1] kept, prefix, value
        cdef View view
        for i in range(self.f.n_nodes - 1, -1, -1):
            node = &self.f.node[i]
            kept = self.grams[i]
            value = self.values[node.view]
            if node.arity > 1:
                prefix = self.grams[node.parent]
            for g in range(node.n):
                if not kept[g] and not self.named(node, g):
                    continue
                kept[g] = 1
                if node.arity > 1:
                    prefix[node.key[g * node.key_stride]] = 1
                    value[node.key[g * node.key_stride + 1]] = 1
        self.cells = [marks((<StringTable>table).c.n) for table in self.f.columns]
        whole = {(<View>each).column for each in self.f.views if (<View>each).form == VIEW_CELL}
        for view in self.f.views:
            if view.form == VIEW_CELL:
                self.cells[view.column] = self.values[view.number]
            elif view.form == VIEW_TEXT and view.column not in whole:
                kept, value = self.cells[view.column], self.values[view.number]
                for k in range(view.n_map):
                    if 0 <= view.value[k] < view.strings.c.n and value[view.value[k]]:
                        kept[k] = 1
        for each in {id(m): m for m in self.cells + self.values}.values():
            number(each)

    cdef put_view(self, dict out, int32_t i):
        cdef View view = self.f.views[i]
        cdef int64_t k
        cdef int32_t[::1] cell, value
        cdef int32_t old
        if view.form == VIEW_EQUAL:
            return
        chosen = places(self.values[i])
        out[f"view.{i}.flags"] = numbers("B", [view.flag[old] for old in chosen])
        if view.form == VIEW_TEXT:
            out.update(string_sections(f"view.{i}", view.strings.select(chosen)))
            cell, value = places(self.cells[view.column]), self.values[i]
            for k in range(cell.shape[0]):
                old = view.value[cell[k]] if cell[k] < view.n_map else UNKNOWN
                if 0 <= old < view.strings.c.n:
                    cell[k] = value[old] if value[old] >= 0 else FLAGGED if view.flag[old] else UNKNOWN
                else:
                    cell[k] = old if FLAGGED <= old < 0 else UNKNOWN
            out[f"view.{i}.map"] = memoryview(cell.base)

    cdef rows(self, int32_t i):
        """The attributes of single cells."""
        cdef const NodeC* node = &self.f.node[i]
        cdef int32_t slot
        cdef int64_t g, at = 0, n
        cdef const int32_t[::1] kept = self.grams[i]
        n = largest(&kept[0] if kept.shape[0] else NULL, kept.shape[0]) + 1
        cdef int32_t[::1] row = array.array("i", [-1]) * (n * node.n_slots)
        for g in range(kept.shape[0]):
            if kept[g] >= 0:
                for slot in range(node.n_slots):
                    if g < node.n:
                        row[at] = self.attribute(node, slot, g)
                    at += 1
        return row.base

    cdef entries(self, int32_t i):
        """The table of grams of several cells."""
        cdef const NodeC* node = &self.f.node[i]
        cdef int32_t slot, a, b
        cdef int64_t g, at, width = 2 + node.n_slots
        cdef int32_t[::1] kept = self.grams[i]
        cdef const int32_t[::1] prefix = self.grams[node.parent]
        cdef const int32_t[::1] value = self.values[node.view]
        cdef int64_t n_entries = sum(kept) * 3 // 2 + 1
        if n_entries > MOST_ENTRIES:
            raise OverflowError("more cell tuples than a model can hold")
        cdef int32_t[::1] entry = array.array("i", [-1]) * (n_entries * width)
        for g in range(node.n):
            if not kept[g]:
                kept[g] = -1
                continue
            a = prefix[node.key[g * node.key_stride]]
            b = value[node.key[g * node.key_stride + 1]]
            at = packed_home(<uint32_t>a, <uint32_t>b, n_entries)
            while entry[at * width] >= 0:
                at = at + 1 if at + 1 < n_entries else 0
            entry[at * width], entry[at * width + 1] = a, b
            for slot in range(node.n_slots):
                entry[at * width + 2 + slot] = self.attribute(node, slot, g)
            kept[g] = <int32_t>at
        return entry.base

    cdef put_literals(self, dict out, bint bigram):
        """The strings of attributes that are identified by them."""
        cdef StringTable table = self.f.literals[bigram]
        cdef const int32_t* attribute_of = self.f.space[bigram].literal_attr
        cdef int32_t k, a, n = 0
        cdef int32_t[::1] place = marks(table.c.n), attribute = marks(table.c.n)
        for k in range(table.c.n):
            a = self.renewed(attribute_of[k], bigram)
            if a >= 0:
                place[n], attribute[n] = k, a
                n += 1
        if n < table.c.n or table.mapped is None:  # otherwise nothing is left out, and the table is read-only
            table = table.select(place[:n])
        name = "literal.b" if bigram else "literal.u"
        out.update(string_sections(name, table))
        out[f"{name}.attributes"] = memoryview(attribute.base)[:n]


cdef marks(int64_t n):
    return array.array("i", [0]) * n    # faster than from bytes, which are converted one by one


cdef number(int32_t[::1] kept):
    """Replace marks by indices: 0, 1, 2.. for what is kept, -1 for the rest."""
    cdef int64_t i
    cdef int32_t n = 0
    for i in range(kept.shape[0]):
        if kept[i]:
            kept[i] = n
            n += 1
        else:
            kept[i] = -1


cdef places(const int32_t[::1] kept):
    """The numbers of what is kept, in order."""
    return array.array("i", [i for i in range(kept.shape[0]) if kept[i] >= 0])


cdef numbers(str form, values):
    return memoryview(array.array(form, values))


cdef dict string_sections(str name, StringTable table):
    """The sections of a table of strings, which becomes read-only."""
    return dict(zip((f"{name}.slots", f"{name}.offsets", f"{name}.strings"), table.pack(), strict=True))
