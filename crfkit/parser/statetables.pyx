"""The features of states. Each P line has an exact table of the attributes that it made; an attribute has a row of weights.

    slot     of a line: [row, key of its first cell, of its second ...], a hash table with linear probing
    row      of an attribute: (first, n), the range of its weights
    action   [cells] the action of each weight; weights that are not stored are zero

The key of a cell is 0 if its place is empty. Otherwise it is 1 + the number of the value, or 1 + the distance, or 1 + the
number of children, or, for cells that are compared, 1 if they differ and 2 if they are equal.

Tables grow while a parser is trained (trainer.pyx). Those of a model are mapped from its file and read-only.
"""

import array

from crfkit.memory cimport (
    BufferC, arena_own, arena_reserve, arena_zeros, buffer_free, buffer_reserve, buffer_swap, empty_buffer, memcpy, memset,
)
from .states cimport N_ROOTS, NOBODY, state_roots

from crfkit.errors import ModelFileError

from crfkit.template.macros import MOST_COUNTED as _MOST_COUNTED

from . import places

if places.MOST_CELLS != MOST_CELLS or places.MOST_PLACES != MOST_PLACES or len(places.ROOTS) != N_ROOTS:
    raise ImportError("crfkit.parser.statetables was built for other places; build crfkit again")

cdef int32_t VALUE = places.VALUE
cdef int32_t DISTANCE = places.DISTANCE
cdef int32_t EQUAL = places.EQUAL
cdef int32_t COUNT = places.COUNT
cdef int32_t FIRST = places.FIRST
cdef int32_t LAST = places.LAST
cdef int32_t MOST_COUNTED = _MOST_COUNTED


cdef inline int32_t stepped(const StateC* s, int32_t token, int32_t kind) noexcept nogil:
    """The token that a step leads to, or NOBODY."""
    if token < 0:
        return NOBODY
    return s.first_child[token] if kind == FIRST else s.last_child[token] if kind == LAST else s.inner[token]


cdef inline uint32_t counted(const StateC* s, int32_t child) noexcept nogil:
    """The number of children from this one on inwards, at most MOST_COUNTED."""
    cdef uint32_t n = 0
    while child >= 0 and n < <uint32_t>MOST_COUNTED:
        child = s.inner[child]
        n += 1
    return n


cdef inline int32_t* free_slot(int32_t* slot, const int32_t* key, int32_t arity, int64_t n_slots) noexcept nogil:
    """The slot for a new entry with this key: the first free one from its home."""
    cdef int64_t at = key_home(<const uint32_t*>key, arity, n_slots)
    while slot[at * (1 + arity)] >= 0:
        at = at + 1 if at + 1 < n_slots else 0
    return slot + at * (1 + arity)


cdef packed_table(const LineC* line, int64_t n, const int32_t[::1] new_row, numbers):
    """The table of a line with the new numbers of rows, of which n are left, and of values."""
    cdef:
        int64_t j, n_slots = n + n // 2 + 1
        int32_t k
        const int32_t* slot
        int32_t* to
        int32_t[MOST_CELLS] key
    cdef int32_t[::1] entry = array.array("i", [-1]) * (n_slots * (1 + line.arity))
    for j in range(line.n_slots):
        slot = line.slot + j * (1 + line.arity)
        if slot[0] < 0 or new_row[slot[0]] < 0:
            continue
        for k in range(line.arity):
            key[k] = slot[1 + k]
            if line.cell[k].kind == VALUE and key[k] > 0:
                key[k] = 1 + <int32_t>numbers[line.cell[k].view][key[k] - 1]
        to = free_slot(&entry[0], key, line.arity, n_slots)
        to[0] = new_row[slot[0]]
        memcpy(to + 1, key, line.arity * sizeof(int32_t))
    return entry.base


cdef class StateTables(Arena):
    """The tables of a template's lines, empty at first. `features` are those of the template (places.py), which keep the limits of a search."""

    def __cinit__(self, template, int32_t n_relations):
        cdef int32_t i
        cdef PlacedCellC* cell
        cdef LineC* line
        if not 0 < n_relations <= places.MOST_RELATIONS:
            raise ValueError(f"{n_relations} relations")
        features = self.features = places.features_of(template)
        self.n_views, self.n_relations, self.n_actions = features.views, n_relations, 1 + 2 * n_relations
        self.width, self.n_lines = features.views + len(features.compared), len(features.lines)
        self.n_places = N_ROOTS + len(features.steps)
        self.step = <StepC*>arena_zeros(self, len(features.steps), sizeof(StepC))
        for i, (place, kind) in enumerate(features.steps):
            self.step[i] = StepC(place, kind)
        self.line = <LineC*>arena_zeros(self, self.n_lines, sizeof(LineC))
        cell = <PlacedCellC*>arena_zeros(self, sum(map(len, features.lines)), sizeof(PlacedCellC))
        self.most_cells = 1
        for i, cells in enumerate(features.lines):
            line = &self.line[i]
            line.arity, line.cell = len(cells), cell
            self.most_cells = max(self.most_cells, line.arity)
            for one in cells:
                cell[0] = PlacedCellC(one.kind, one.view, one.place, one.view2, one.place2)
                cell += 1

    cdef void keys(self, const StateC* state, const int32_t* values, uint32_t* key) noexcept nogil:
        """Compute the keys of all lines, [lines][most_cells], in a state; see has_feature. `values`: of the sentence, [T][width]."""
        cdef int32_t place[MOST_PLACES]
        cdef const int32_t* at[MOST_PLACES]
        cdef int32_t i, k, value
        cdef const PlacedCellC* cell
        state_roots(state, place)
        for i in range(N_ROOTS, self.n_places):
            place[i] = stepped(state, place[self.step[i - N_ROOTS].place], self.step[i - N_ROOTS].kind)
        for i in range(self.n_places):
            at[i] = values + <int64_t>place[i] * self.width
        for i in range(self.n_lines):
            for k in range(self.line[i].arity):
                cell = &self.line[i].cell[k]
                if place[cell.place] < 0 or place[cell.place2] < 0:
                    key[k] = 0
                elif cell.kind == DISTANCE:
                    value = place[cell.place2] - place[cell.place]
                    key[k] = 1 + (value if value >= 0 else -value)
                elif cell.kind == EQUAL:
                    key[k] = 1 + (at[cell.place][cell.view] == at[cell.place2][cell.view2])
                elif cell.kind == COUNT:
                    key[k] = 1 + counted(state, place[cell.place])
                else:
                    value = at[cell.place][cell.view]
                    if value < 0:
                        key[0] = <uint32_t>0xFFFFFFFF
                        break
                    key[k] = 1 + <uint32_t>value
            key += self.most_cells

    # ------------------------------------------------------------------------------------------ growing

    cdef int32_t add(self, int32_t number, const uint32_t* key) except -1 nogil:
        """The row of a key of this line; a new key gets a new row, without weights."""
        cdef LineC* line = &self.line[number]
        cdef int32_t* slot
        cdef int32_t found
        if line.n_slots:
            found = line_find(line, key, key_home(key, line.arity, line.n_slots))
            if found >= 0:
                return found
        # The table grows only for a new key. So a resumed run, which adds the same keys, has the same table.
        if (line.n + 1) * 3 > line.n_slots * 2:
            grow_line(self, line, 2 * (line.n + 1))
        if self.n_rows >= 0x7FFFFFF0:
            raise OverflowError("more than two thousand million attributes")
        self.row = <RowC*>arena_reserve(self, &self.row_buf, self.n_rows + 1, sizeof(RowC))
        slot = free_slot(line.slot, <const int32_t*>key, line.arity, line.n_slots)
        slot[0] = <int32_t>self.n_rows
        memcpy(slot + 1, key, line.arity * sizeof(int32_t))
        line.n += 1
        self.row[self.n_rows] = RowC(0, 0)
        self.n_rows += 1
        return <int32_t>(self.n_rows - 1)

    # ------------------------------------------------------------------------------------------ packed

    def pack(self, const float[::1] weights not None, sizes, renumber):
        """(attributes, sections), without the rows whose weights are all zero. `weights` are in the order of `action`; `sizes`: the
        number of values of each view. `renumber` gets, for each view, flags of the values in use. It returns the attributes
        of these values, and their new numbers."""
        cdef int32_t i, k, r
        cdef int64_t j, n = 0
        cdef const LineC* line
        cdef const int32_t* slot
        cdef int32_t[::1] new_row = array.array("i", [-1]) * (self.n_rows or 1)
        if weights.shape[0] < self.n_cells:
            raise ValueError(f"{weights.shape[0]} weights for {self.n_cells} cells")
        rows, actions, kept = array.array("i"), array.array("H"), array.array("f")
        marks = [array.array("i", [0]) * size for size in sizes]
        ends = [0]                      # number of rows up to the end of each line
        for i in range(self.n_lines):
            # In the order of the slots, so that the rows of a line are consecutive.
            line = &self.line[i]
            for j in range(line.n_slots):
                slot = line.slot + j * (1 + line.arity)
                r = slot[0]
                if r < 0:
                    continue
                before = len(kept)
                for k in range(self.row[r].first, self.row[r].first + self.row[r].n):
                    if weights[k] != 0:
                        actions.append(self.action[k])
                        kept.append(weights[k])
                if len(kept) > before:
                    rows.append(before)
                    rows.append(len(kept) - before)
                    new_row[r] = <int32_t>n
                    n += 1
                    for k in range(line.arity):
                        if line.cell[k].kind == VALUE and slot[1 + k] > 0:
                            marks[line.cell[k].view][slot[1 + k] - 1] = 1
            ends.append(n)
        attributes, numbers = renumber(marks)
        sections = {"rows": rows, "actions": actions, "weights": kept}
        for i in range(self.n_lines):
            sections[f"line.{i}"] = packed_table(&self.line[i], ends[i + 1] - ends[i], new_row, numbers)
        return attributes, sections

    def map(self, sections, bint verify, sizes):
        """Use the tables in the sections of a model; `sizes`: the number of values of each view. ModelFileError if they are not usable."""
        cdef int32_t i
        cdef LineC* line
        cdef const int32_t[::1] rows, table
        cdef const uint16_t[::1] actions
        if self.mapped is not None:
            raise ValueError("tables that are in use")
        rows, actions = sections["rows"], sections["actions"]
        if rows.shape[0] % 2 or rows.shape[0] > 0x7FFFFFF0 or actions.shape[0] > 0x7FFFFFF0:
            raise ModelFileError("section 'rows' is not a list of pairs, or a section is too large")
        self.mapped = [rows, actions]
        self.n_rows, self.n_cells = rows.shape[0] // 2, actions.shape[0]
        self.row = <RowC*>&rows[0] if self.n_rows else NULL
        self.action = <uint16_t*>&actions[0] if self.n_cells else NULL
        for i in range(self.n_lines):
            line = &self.line[i]
            name = f"line.{i}"
            table = sections[name]
            if table.shape[0] % (1 + line.arity) or table.shape[0] > 0x7FFFFFF0:
                raise ModelFileError(f"section {name!r} is not a table for its template line")
            self.mapped.append(table)
            line.n_slots = table.shape[0] // (1 + line.arity)
            line.slot = <int32_t*>&table[0] if line.n_slots else NULL
        if verify:
            self.verify(sizes)

    def verify(self, sizes):
        """ModelFileError unless all numbers in mapped tables are in range, and each key is found where a search looks for it."""
        cdef int64_t j, n = 0
        cdef int32_t i, r
        cdef const LineC* line
        cdef const int32_t* slot
        for j in range(self.n_rows):
            if self.row[j].first != n or self.row[j].n < 1:
                raise ModelFileError("the rows do not cover the weights one after another")
            n += self.row[j].n
        if n != self.n_cells:
            raise ModelFileError("the rows do not cover the weights one after another")
        for j in range(self.n_cells):
            if self.action[j] >= self.n_actions:
                raise ModelFileError("a weight is for an action that does not exist")
        for i in range(self.n_lines):
            line = &self.line[i]
            for j in range(line.n_slots):
                slot = line.slot + j * (1 + line.arity)
                r = slot[0]
                if r == NO_ROW:
                    continue
                if r < 0 or r >= self.n_rows:
                    raise ModelFileError(f"section 'line.{i}' names a row that does not exist")
                if not self.exists(i, slot + 1, sizes):
                    raise ModelFileError(f"section 'line.{i}' names a value that does not exist")
                if line_find(line, <const uint32_t*>slot + 1, key_home(<const uint32_t*>slot + 1, line.arity, line.n_slots)) != r:
                    raise ModelFileError(f"section 'line.{i}' has an entry that is not found where its hash says")

    cdef bint exists(self, int32_t number, const int32_t* key, sizes) except -1:
        """Whether all values in a key of this line exist; `sizes`: the number of values of each view."""
        cdef const PlacedCellC* cell
        cdef int64_t limit
        cdef int32_t k
        for k in range(self.line[number].arity):
            cell = &self.line[number].cell[k]
            limit = sizes[cell.view] if cell.kind == VALUE else 2 if cell.kind == EQUAL else 0x7FFFFFFE if cell.kind == DISTANCE else 1 + MOST_COUNTED
            if not 0 <= key[k] <= limit:
                return False
        return True

    def entries(self, int32_t number):
        """An iterator over (row, key) of each entry of a line, in the order of the table."""
        cdef const LineC* line
        cdef const int32_t* slot
        cdef int64_t j
        cdef int32_t k
        if not 0 <= number < self.n_lines:
            raise IndexError(f"line {number} of {self.n_lines}")
        line = &self.line[number]
        for j in range(line.n_slots):
            slot = line.slot + j * (1 + line.arity)
            if 0 <= slot[0] < self.n_rows:
                key = []
                for k in range(line.arity):
                    key.append(slot[1 + k])
                yield slot[0], key

    def row_keys(self):
        """(lines, keys): of each row its line, and its key, with zeros up to `most_cells`."""
        cdef int32_t[::1] line_of = array.array("i", [0]) * self.n_rows, key_of = array.array("i", [0]) * (self.n_rows * self.most_cells)
        cdef const LineC* line
        cdef const int32_t* slot
        cdef int64_t j
        cdef int32_t i
        for i in range(self.n_lines):
            line = &self.line[i]
            for j in range(line.n_slots):
                slot = line.slot + j * (1 + line.arity)
                if 0 <= slot[0] < self.n_rows:
                    line_of[slot[0]] = i
                    memcpy(&key_of[<int64_t>slot[0] * self.most_cells], slot + 1, line.arity * sizeof(int32_t))
        return line_of.base, key_of.base

    def cells(self, int64_t row):
        """(index among the weights, action) of each weight of a row."""
        cdef int64_t k
        cdef RowC found
        if not 0 <= row < self.n_rows:
            raise IndexError(f"row {row} of {self.n_rows}")
        found = self.row[row]
        return [(k, self.action[k]) for k in range(max(found.first, 0), min(found.first + <int64_t>found.n, self.n_cells))]


cdef int grow_line(StateTables tables, LineC* line, int64_t n) except -1 nogil:
    """Make room for n entries in all."""
    cdef BufferC larger = empty_buffer()
    cdef const int32_t* entry = line.slot
    cdef int64_t i, size = max(n + n // 2 + 1, <int64_t>16)
    cdef int32_t width = 1 + line.arity
    cdef int32_t* slot = <int32_t*>buffer_reserve(&larger, size * width, sizeof(int32_t))
    memset(slot, 0xFF, <size_t>(size * width) * sizeof(int32_t))
    for i in range(line.n_slots):
        if entry[0] >= 0:
            memcpy(free_slot(slot, entry + 1, line.arity, size), entry, width * sizeof(int32_t))
        entry += width
    arena_own(tables, &line.slots)
    buffer_swap(&larger, &line.slots)
    buffer_free(&larger)
    line.slot, line.n_slots = slot, size
