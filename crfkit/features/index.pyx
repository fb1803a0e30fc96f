"""The index of a model: which attributes the tokens of a sentence have.

It works on the sections that packing.pyx writes, in place: read only, so that any number of threads may share
it, each with an Extractor of its own. Whatever a section says is checked where it is used, or once when it is
mapped; `verify` checks all of it at once, and damage that is found then is an error and not a wrong answer.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uintptr_t
from libc.string cimport memset

from crfkit.text.rows cimport FORM_CRFSUITE, RowsC, Rows, rows_attr, rows_cell
from .walk cimport NodeC, ScratchC, SpaceC, UseC, scratch_free
from .tuples cimport packed_find, packed_home
from crfkit.memory cimport buffer_free, buffer_reserve
from crfkit.data.dataset cimport sort_ids
from crfkit.loops.structs cimport SentenceC
from .strings cimport StringTable, StringTableC, string_hash, strings_find
from .cells cimport FLAGGED, NONE, UNKNOWN, VIEW_EQUAL, VIEW_TEXT, View, has_separator

from crfkit.errors import ModelFileError
from .names import Names, find_attribute
from .packing import pack
from .plan import Plan
from .verifying import verify_index

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define crfkit_prefetch(p) __builtin_prefetch(p)
    #else
    #define crfkit_prefetch(p) ((void)(p))
    #endif
    """
    void crfkit_prefetch(const void* p) noexcept nogil


cdef int64_t nothing = 0  # where an empty section "begins"


cdef class Extractor:
    """Scratch of one thread, and the attributes of the sequence that was extracted last."""

    def __dealloc__(self):
        scratch_free(&self.scratch)
        buffer_free(&self.u_ptr)
        buffer_free(&self.u_id)
        buffer_free(&self.u_val)
        buffer_free(&self.b_ptr)
        buffer_free(&self.b_id)


cdef class Index(Features):
    """A packed index. `sections` maps the names of packing.pyx to buffers; they must stay unchanged. With `backward`
    the tokens of a sentence come out in reverse order."""

    def __init__(self, template, sections, *, bint verify=True, bint backward=False):
        if self.plan is not None:
            raise TypeError("an Index is set up once")
        cdef const int64_t[::1] counts
        cdef ScratchC scratch
        self.backward = backward
        self.plan, self.sections, self.mapped, self.named = Plan(template), sections, [], {}
        counts = memoryview(self.buffer("plan", 8)).cast("q")
        expected = [len(self.plan.columns), len(self.plan.views), len(self.plan.nodes)]
        if counts.shape[0] != 5 or list(counts[:3]) != expected:
            raise ModelFileError("index: its tables are not those of the model's template")
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
        self.map_literals()
        if verify:
            verify_index(self)
        memset(&scratch, 0, sizeof(scratch))
        try:
            self.pad(&scratch.text)
        finally:
            scratch_free(&scratch)

    def attribute(self, int64_t a, bint bigram=False):
        """The string of an attribute."""
        return self.names(bigram)[a]

    def attributes(self, bint bigram=False):
        """The strings of all attributes of a kind, in the order of their ids."""
        return iter(self.names(bigram))

    def find(self, bytes string not None, bint bigram=False):
        """The attribute with this string, or -1."""
        return find_attribute(self, string, bigram)

    def names(self, bint bigram=False):
        """The strings of all attributes of a kind as a sequence; made when first asked for."""
        if bigram not in self.named:
            self.named[bigram] = Names(self, bigram)
        return self.named[bigram]

    def repack(self, u_new=None, b_new=None):
        """The sections of an index with the attributes that get a new id (int32 arrays, -1 drops one)."""
        return pack(self, u_new, b_new)

    cdef const unsigned char[::1] buffer(self, str name, int64_t item, int64_t n=-1):
        """The bytes of a section: items of this size, n of them if that is known."""
        if name not in self.sections:
            raise ModelFileError(f"index: section {name} is missing")
        cdef const unsigned char[::1] data = memoryview(self.sections[name]).cast("B")
        if data.shape[0] % item or (n >= 0 and data.shape[0] != n * item):
            raise ModelFileError(f"index: section {name} has {data.shape[0]} bytes, expected "
                                 + (f"a multiple of {item}" if n < 0 else f"{n * item}"))
        if data.shape[0] and <uintptr_t>&data[0] % 8:
            raise ModelFileError(f"index: section {name} does not begin at a multiple of 8")
        self.mapped.append(data)
        return data

    cdef const char* data(self, str name, int64_t item, int64_t n=-1) except? NULL:
        """Where a section begins. It stays there: the index holds on to its buffer."""
        cdef const unsigned char[::1] data = self.buffer(name, item, n)
        return <const char*>&data[0] if data.shape[0] else <const char*>&nothing

    cdef strings(self, str name, bint verify):
        return StringTable.from_buffers(self.buffer(f"{name}.slots", 8), self.buffer(f"{name}.offsets", 8),
                                        self.buffer(f"{name}.strings", 1), verify)

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
        return 0

    cdef int map_nodes(self) except -1:
        cdef int32_t i
        cdef NodeC* node
        cdef int64_t n
        for i in range(self.n_nodes):
            node = &self.node[i]
            if node.arity == 1:
                node.n = (<View>self.view[node.view]).strings.c.n
                node.row = <int32_t*>self.data(f"node.{i}.rows", 4, node.n * node.n_slots)
            else:
                node.stride = node.key_stride = 2 + node.n_slots
                n = self.buffer(f"node.{i}.grams", 4 * node.stride).shape[0] // (4 * node.stride)
                if n > 0x7FFFFFFF:
                    raise ModelFileError(f"index: {n} entries in node.{i}.grams")
                node.key = <const int32_t*>self.data(f"node.{i}.grams", 4 * node.stride)
                node.row = <int32_t*>node.key + 2
                node.n = n
        return 0

    cdef int map_literals(self) except -1:
        cdef int32_t i, k
        for i, name in enumerate(("literal.u", "literal.b")):
            self.space[i].literal_attr = <const int32_t*>self.data(
                f"{name}.attributes", 4, self.space[i].literal.n)
            self.has_literals |= self.space[i].literal.n > 0
        for k in range(self.n_constants):
            (<int32_t*>self.constant_attr.data)[k] = self.find_literal(
                self.constant[k].s, self.constant[k].n, self.plan.constants[k].bigram)
        return 0

    cdef int32_t find_literal(self, const char* s, int64_t n, bint bigram) noexcept nogil:
        """The attribute with this string among those identified by their strings, or -1."""
        cdef const SpaceC* space = &self.space[bigram]
        cdef int32_t i = strings_find(space.literal, s, n, string_hash(s, n))
        return space.literal_attr[i] if i >= 0 and space.literal_attr[i] < space.n else -1

    cdef int extract(self, Extractor x, const RowsC* rows, int64_t first, int64_t last) except -1 nogil:
        self.prepare(&x.scratch, rows, last - first)
        self.find_cells(&x.scratch, rows, first)
        self.fill_values(&x.scratch, rows, first)
        self.find_grams(&x.scratch)
        self.find_attributes(x, rows, first)
        return 0

    cdef int find_cells(self, ScratchC* s, const RowsC* rows, int64_t first) noexcept nogil:
        """Look the cells up in the tables of their columns."""
        cdef int32_t i, t, n, column
        cdef int32_t* cell = <int32_t*>s.cells.data
        cdef const StringTableC* table
        cdef const char* text
        for i in range(self.n_columns):
            column = (<int32_t*>self.column_number.data)[i]
            table = &(<StringTable>self.column[i]).c
            for t in range(s.T):
                text = rows_cell(rows, first + t, column, &n)
                cell[t] = strings_find(table, text, n, string_hash(text, n))
                if cell[t] < 0:
                    cell[t] = FLAGGED if has_separator(self.separator, text, n) else UNKNOWN
            cell += s.T
        return 0

    cdef int find_grams(self, ScratchC* s) noexcept nogil:
        """Look the grams of all nodes up, parents first; the entries of a whole sentence are on their way from
        memory before the first of them is read."""
        cdef int32_t i, p, last
        cdef const NodeC* node
        cdef const int32_t* parent
        cdef const int32_t* value
        cdef int32_t* gram
        for i in range(self.n_nodes):
            node = &self.node[i]
            if node.arity == 1:
                continue
            parent = (<const int32_t**>s.gram_at.data)[node.parent]
            value = (<const int32_t**>s.value_at.data)[node.view] + node.distance
            gram = (<int32_t**>s.gram_at.data)[i]
            last = s.T + node.last
            for p in range(node.first, last):
                gram[p] = UNKNOWN
                if parent[p] == NONE or value[p] == NONE:
                    gram[p] = NONE
                elif parent[p] >= 0 and value[p] >= 0 and node.n:
                    gram[p] = <int32_t>packed_home(<uint32_t>parent[p], <uint32_t>value[p], node.n)
                    crfkit_prefetch(node.key + gram[p] * node.stride)
            for p in range(node.first, last):
                if gram[p] >= 0:
                    gram[p] = packed_find(node.key, node.n, node.stride, parent[p], value[p], gram[p])
                    if gram[p] < 0:
                        gram[p] = UNKNOWN
                if gram[p] == UNKNOWN and self.has_literals and self.gram_flagged(s, node, p):
                    gram[p] = FLAGGED
        return 0

    cdef int find_attributes(self, Extractor x, const RowsC* rows, int64_t first) except -1 nogil:
        """Follow the lines of the template at each token."""
        cdef ScratchC* s = &x.scratch
        cdef int32_t i, k, t, g, a, T = s.T
        cdef bint items = rows.form == FORM_CRFSUITE
        cdef int64_t n, n_u = 0, n_b = 0, u_start, b_start
        cdef int64_t room = <int64_t>T * self.n_uses
        cdef int64_t* u_ptr
        cdef int64_t* b_ptr = NULL
        cdef int32_t* u_id
        cdef int32_t* b_id = NULL
        cdef float* u_val = NULL
        cdef const UseC* use
        cdef const NodeC* node
        if items:
            buffer_reserve(&x.u_val, room + rows.attr_ptr[first + T] - rows.attr_ptr[first] + 1, sizeof(float))
            u_val = <float*>x.u_val.data
        buffer_reserve(&x.u_ptr, T + 1, sizeof(int64_t))
        buffer_reserve(&x.u_id, room + (rows.attr_ptr[first + T] - rows.attr_ptr[first] if items else 0),
                       sizeof(int32_t))
        u_ptr, u_id = <int64_t*>x.u_ptr.data, <int32_t*>x.u_id.data
        u_ptr[0] = 0
        if self.has_bigrams:
            buffer_reserve(&x.b_ptr, T + 1, sizeof(int64_t))
            buffer_reserve(&x.b_id, room, sizeof(int32_t))
            b_ptr, b_id = <int64_t*>x.b_ptr.data, <int32_t*>x.b_id.data
            b_ptr[0] = 0
        for k in range(T):
            t = T - 1 - k if self.backward else k
            u_start, b_start = n_u, n_b
            if items:
                n_u = self.find_items(rows, first + t, u_id, u_val, n_u)
            for i in range(self.n_uses):
                use = &self.use[i]
                if use.edge and k == 0:
                    continue  # no edge leads into the first token
                if use.node < 0:
                    a = (<const int32_t*>self.constant_attr.data)[use.slot]
                else:
                    node = &self.node[use.node]
                    g = (<const int32_t**>s.gram_at.data)[use.node][t + use.base]
                    if g >= 0:
                        a = node.row[g * node.stride + use.slot]
                    elif g != NONE and (node.slot[use.slot].by_string or g == FLAGGED and node.arity > 1):
                        n = self.expand(s, rows, first, node, &node.slot[use.slot], t + use.base)
                        a = self.find_literal(s.line.data, n, use.bigram)
                    else:
                        continue
                if <uint32_t>a >= <uint32_t>self.space[use.bigram].n:
                    continue
                if use.bigram:
                    b_id[n_b] = a
                    n_b += 1
                else:
                    u_id[n_u] = a
                    if items:
                        u_val[n_u] = 1
                    n_u += 1
            sort_ids(u_id + u_start, u_val + u_start if items else NULL, n_u - u_start)
            u_ptr[k + 1] = n_u
            if b_ptr != NULL:
                sort_ids(b_id + b_start, NULL, n_b - b_start)
                b_ptr[k + 1] = n_b
        x.sentence.T = T
        x.sentence.u_ptr, x.sentence.u_id, x.sentence.u_val = u_ptr, u_id, u_val
        x.sentence.b_ptr, x.sentence.b_id, x.sentence.b_val = b_ptr, b_id, NULL
        x.sentence.label, x.sentence.weight = NULL, 1.0
        return 0

    cdef int64_t find_items(self, const RowsC* rows, int64_t token, int32_t* u_id, float* u_val,
                            int64_t n) noexcept nogil:
        """Append the attributes that a line in CRFsuite's form names to the n there are; return their number."""
        cdef int64_t i
        cdef int32_t size, a
        cdef const char* s
        for i in range(rows.attr_ptr[token], rows.attr_ptr[token + 1]):
            s = rows_attr(rows, i, &size)
            a = self.find_literal(s, size, False)
            if a >= 0:
                u_id[n], u_val[n] = a, rows.attr_value[i]
                n += 1
        return n

    @property
    def n_attributes(self):
        """(unigram, bigram) attributes."""
        return self.space[0].n, self.space[1].n

    def attributes_of(self, Rows rows not None):
        """The attributes of each token of a parsed block: lists (unigram ids, bigram ids)."""
        cdef Extractor x = Extractor()
        cdef const SentenceC* sent = &x.sentence
        cdef int64_t s, t
        found = []
        for s in range(rows.c.n_seq):
            self.extract(x, &rows.c, rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1])
            for t in range(sent.T):
                found.append(([sent.u_id[k] for k in range(sent.u_ptr[t], sent.u_ptr[t + 1])],
                              [sent.b_id[k] for k in range(sent.b_ptr[t], sent.b_ptr[t + 1])]
                              if sent.b_ptr != NULL else []))
        return found
