"""Parsing with a model in one thread: from rows to heads, or to the text with its heads filled in."""

import array

from libc.stdint cimport int32_t, int64_t
from libc.stdio cimport snprintf

from crfkit.features.walk cimport Extractor
from crfkit.features.tables cimport Features
from crfkit.memory cimport Arena, BufferC, arena_reserve
from crfkit.text.writing cimport Output, OutC, out_bytes, out_char, out_reserve
from crfkit.text.rows cimport Rows
from crfkit.text.table cimport rows_cell
from .search cimport Search
from .statetables cimport StateTables
from .trees cimport TreeColumns, Compared, check_ids, copy_values, number_in


cdef class Scratch(Arena):
    """The memory of one parsing thread. `columns` are the columns of the rows that the index uses, `compared` those that are
    compared. `relations` are the names of the relations, empty if the parser predicts none."""

    cdef Extractor extractor
    cdef Compared compared
    cdef StateTables tables
    cdef Search search
    cdef object weights
    cdef list relations
    cdef int32_t root_relation
    cdef BufferC values
    cdef Output out, gold

    def __init__(self, Features index not None, StateTables tables not None, const float[::1] weights, int32_t depth, columns, compared,
                 relations, int32_t root_relation):
        self.extractor = Extractor(index, columns)
        self.compared, self.tables, self.weights = Compared(compared), tables, weights
        self.search = Search(tables, depth)
        self.search.w = &weights[0] if weights.shape[0] else NULL
        self.search.root_relation = root_relation
        self.relations, self.root_relation = [name.encode() for name in relations], root_relation
        self.out, self.gold = Output(), Output()

    cdef int parse(self, Rows rows, int64_t s) except -1 nogil:
        """Parse one sentence; afterwards `search.state` has its heads."""
        cdef int64_t first = rows.c.seq_ptr[s], last = rows.c.seq_ptr[s + 1]
        cdef int32_t* values
        if last - first > 0x3FFFFFFF:
            raise OverflowError("a sentence of more than a thousand million words")
        self.extractor.extract(&rows.c, first, last)
        arena_reserve(self, &self.values, (last - first) * self.tables.width, sizeof(int32_t))
        values = <int32_t*>self.values.data
        copy_values(self.extractor.workspace, self.tables.n_views, values, self.tables.width)
        self.compared.fill(&rows.c, first, last, values + self.tables.n_views, self.tables.width)
        self.search.start(<int32_t>(last - first), values)
        self.search.run()
        return 0

    def heads(self, Rows rows not None, int64_t s):
        """The heads of a sentence: numbers of words from 1, 0 for the root; with relations, pairs (head, relation)."""
        cdef int64_t t
        self.parse(rows, s)
        heads = [self.search.state.head[t] + 1 for t in range(self.search.state.T)]
        if not self.relations:
            return heads
        return [(head, self.name_of(t).decode()) for t, head in enumerate(heads)]

    cdef bytes name_of(self, int64_t t):
        return self.relations[self.root_relation if self.search.state.head[t] < 0 else self.search.state.relation[t]]

    def text(self, Rows rows not None, TreeColumns columns not None):
        """(the text of the rows with predicted heads, and relations if there are any; the trees that it had, one per line)."""
        cdef:
            int64_t s, t, at = 0, n = len(self.relations)
            int32_t k, size
            int32_t[2] column
            bytes name
            OutC* out = &self.out.c
            const char* cell
        check_ids(rows, columns.id)
        self.out.reset()
        self.gold.reset()
        column[0], column[1] = columns.head, columns.relation
        if n and columns.relation < columns.head:
            column[0], column[1] = columns.relation, columns.head
        for s in range(rows.c.n_seq):
            with nogil:
                self.parse(rows, s)
            self.note_gold(rows, s, columns, n > 0)
            for t in range(rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1]):
                for k in range(2 if n else 1):
                    cell = rows_cell(&rows.c, t, column[k], &size)
                    out_bytes(out, rows.c.text + at, cell - rows.c.text - at)
                    at = cell - rows.c.text + size
                    if column[k] == columns.head:
                        out_reserve(out, 24)
                        out.n += snprintf(out.data + out.n, 24, b"%d", self.search.state.head[t - rows.c.seq_ptr[s]] + 1)
                    else:
                        name = self.name_of(t - rows.c.seq_ptr[s])
                        out_bytes(out, name, len(name))
        out_bytes(out, rows.c.text + at, rows.c.n_text - at)
        return self.out.getvalue(), self.gold.getvalue()

    cdef int note_gold(self, Rows rows, int64_t s, TreeColumns columns, bint relations) except -1:
        """Write the gold tree of a sentence: the head of each word, and its relation after a colon. An empty line if the text has
        no heads."""
        cdef int64_t first = rows.c.seq_ptr[s], last = rows.c.seq_ptr[s + 1], t, found, before = self.gold.c.n
        cdef int32_t n
        cdef const char* cell
        for t in range(first, last):
            cell = rows_cell(&rows.c, t, columns.head, &n)
            found = number_in(cell, n)
            if found < 0 or found > last - first:
                self.gold.c.n = before
                break
            out_char(&self.gold.c, b"\t" if t > first else b" ")
            out_bytes(&self.gold.c, cell, n)
            if relations:
                cell = rows_cell(&rows.c, t, columns.relation, &n)
                out_char(&self.gold.c, b":")
                out_bytes(&self.gold.c, cell, n)
        out_char(&self.gold.c, b"\n")
        return 0


def packed_values(Features index not None, marks):
    """(attributes, values): new numbers for the marked values of each view, and for the attributes of these values; -1 for all
    others."""
    cdef int64_t g, n
    cdef int32_t v, attribute
    numbers, attributes = [], array.array("i", [-1]) * index.space[0].n
    n_attributes = 0
    for v in range(index.n_views):
        number = array.array("i", [-1]) * len(marks[v])
        n = 0
        for g in range(min(<int64_t>len(marks[v]), index.node[v].n)):
            attribute = index.node[v].row[g * index.node[v].stride]
            if marks[v][g] and attribute >= 0:
                number[g] = n
                n += 1
                attributes[attribute] = n_attributes
                n_attributes += 1
        numbers.append(number)
    return attributes, numbers
