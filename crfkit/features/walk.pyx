"""Extraction of attributes from rows, compiled twice: learning numbers what is new, tagging finds what is known.

    cells    [columns][T]    ids in the column's table
    values   [views][T+2k]   ids in the view's table; k positions of padding on both sides
    grams    [nodes][T+2k]   of the cells whose first stands at this position; a single cell is its value
    attribute of a use at token t:   row of grams[node][t + base], at its slot

First the cells of a sentence get their numbers, then the views their values, then all nodes their grams, parents first.
Then each line of the template is looked up at each token: the row of a gram holds its attributes. No string is built
unless it is needed to identify an attribute (see plan.py).

A fused type, `Aim`, selects between the two at compile time. An Extractor serves a tagger: it extracts one sentence after the
other, each replacing the one before.
"""

from libc.stdint cimport int32_t, uint32_t

from crfkit.data.dataset cimport all_ones
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.loops.kernels cimport K
from crfkit.memory cimport arena_zeros, data_reserve
from crfkit.template.patterns cimport BIGRAM, UNIGRAM
from crfkit.text.table cimport FORM_CRFSUITE, rows_attr, rows_cell
from .cells cimport FLAGGED, NONE, UNKNOWN, View, has_separator
from .hashing cimport strings_find, strings_get
from .structs cimport StringTableC
from .strings cimport StringTable
from .tables cimport NodeC, SlotC, UseC, append_text, find_literal, grow_rows, learn_bigram, learn_literal, new_number
from .tuples cimport grams_find, grams_intern, grams_prefetch, grams_reserve, packed_find, packed_home
from .workspace cimport cell_at, find_names, number_values, prepare

from crfkit.errors import DataError

cdef enum:
    MOST_TOKENS = 0x3FFFFFFF    # of a sequence: twice as many are numbers of 32 bits, too, with any padding

# The purpose of an extraction, as a type: the fused functions are compiled once for each. C requires a member.
cdef struct Learning:
    bint numbers_what_is_new

cdef struct Finding:
    bint numbers_what_is_new

ctypedef fused Aim:
    Learning
    Finding


cdef int learn_tokens(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last, Dataset out) except -1 nogil:
    walk(f, s, rows, first, last, out, Learning(True))


cdef int find_tokens(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last, Dataset out) except -1 nogil:
    walk(f, s, rows, first, last, out, Finding(False))


cdef inline int walk(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last, Dataset out,
                     Aim aim) except -1 nogil:
    cdef int32_t v
    if last - first > MOST_TOKENS:
        raise OverflowError("a sequence of more than a thousand million tokens")
    s.T = <int32_t>(last - first)
    if f.patterns is not None:
        follow_patterns(f, s, rows, first, out, aim)
        return 0
    prepare(f, s, rows)
    number_cells(f, s, rows, first, aim)
    if Aim is Learning:
        for v in range(f.n_views):
            (<View>f.view[v]).catch_up(&s.text)
    number_values(f, s, rows, first)
    number_grams(f, s, aim)
    follow_lines(f, s, rows, first, out, aim)


cdef inline int number_cells(Features f, Workspace s, const RowsC* rows, int64_t first, Aim aim) except -1 nogil:
    """The number of each cell in the table of its column."""
    cdef int32_t i, t, n, column
    cdef int32_t* cell = <int32_t*>s.cells.data
    cdef const StringTableC* table
    cdef const char* text
    for i in range(f.n_columns):
        column = s.column_number[i]
        table = &(<StringTable>f.column[i]).c
        for t in range(s.T):
            text = rows_cell(rows, first + t, column, &n)
            if Aim is Learning:
                cell[t] = (<StringTable>f.column[i]).intern(text, n)
            else:
                cell[t] = strings_find(table, text, n)
                if cell[t] < 0:
                    cell[t] = FLAGGED if has_separator(f.separator, text, n) else UNKNOWN
        cell += s.T


# ---------------------------------------------------------------------------------------------- grams

cdef inline int number_grams(Features f, Workspace s, Aim aim) except -1 nogil:
    """The grams of all nodes, parents first. Where a table is searched is prefetched for the whole sentence before the first search,
    and so are the rows of attributes that stand elsewhere."""
    cdef int32_t i, p, last
    cdef NodeC* node
    cdef const int32_t* parent
    cdef const int32_t* value
    cdef int32_t* gram
    cdef bint has_literals = f.space[0].literal.n > 0 or f.space[1].literal.n > 0
    for i in range(f.n_nodes):
        node = &f.node[i]
        if node.arity == 1:
            if Aim is Learning:
                grow_rows(f, node, (<View>f.view[node.view]).strings.c.n)
            continue
        parent = (<const int32_t**>s.gram_at.data)[node.parent]
        value = (<const int32_t**>s.value_at.data)[node.view] + node.distance
        gram = (<int32_t**>s.gram_at.data)[i]
        last = s.T + node.last
        if Aim is Learning:
            grams_reserve(f, &node.grams, last - node.first)
        for p in range(node.first, last):
            gram[p] = UNKNOWN
            if parent[p] == NONE or value[p] == NONE:
                gram[p] = NONE
            elif parent[p] < 0 or value[p] < 0:
                continue
            elif Aim is Learning or f.growing:
                gram[p] = 0
                grams_prefetch(&node.grams, <uint32_t>parent[p], <uint32_t>value[p])
            elif node.n:
                gram[p] = <int32_t>packed_home(<uint32_t>parent[p], <uint32_t>value[p], node.n)
                crfkit_prefetch(node.key + gram[p] * node.stride)
        for p in range(node.first, last):
            if gram[p] >= 0:
                if Aim is Learning:
                    gram[p] = grams_intern(&node.grams, <uint32_t>parent[p], <uint32_t>value[p])
                elif f.growing:
                    gram[p] = grams_find(&node.grams, <uint32_t>parent[p], <uint32_t>value[p], UNKNOWN)
                else:
                    gram[p] = packed_find(node.key, node.n, node.stride, parent[p], value[p], gram[p])
                    if gram[p] < 0:
                        gram[p] = UNKNOWN
            if Aim is Finding:
                if gram[p] == UNKNOWN and has_literals:
                    gram[p] = missing(f, s, node, p, parent[p])
        if Aim is Learning:
            grow_rows(f, node, node.grams.n)
        if Aim is Learning or f.growing:
            for p in range(node.first, last):
                if gram[p] >= 0:
                    crfkit_prefetch(node.row + gram[p] * node.stride)


cdef inline int32_t missing(Features f, Workspace s, const NodeC* node, int64_t p, int32_t parent) noexcept nogil:
    """The code of a gram that is in no table: FLAGGED if a cell contains a separator, else UNKNOWN. If the parent is missing, too, its
    code covers all cells but the last, so that the time stays linear in the macros of a line."""
    cdef bint flagged = parent == FLAGGED or (last_flagged(f, s, node, p) if parent == UNKNOWN else gram_flagged(f, s, node, p))
    return FLAGGED if flagged else UNKNOWN


cdef bint gram_flagged(Features f, Workspace s, const NodeC* node, int64_t p) noexcept nogil:
    """Whether a cell of several contains a separator, so that other cells may give the same string."""
    if node.arity == 1:
        return False
    while not last_flagged(f, s, node, p):
        if node.parent < 0:
            return False
        node = &f.node[node.parent]
    return True


cdef inline bint last_flagged(Features f, Workspace s, const NodeC* node, int64_t p) noexcept nogil:
    """Whether the last of these cells contains a separator."""
    cdef int32_t value = (<const int32_t**>s.value_at.data)[node.view][p + node.distance]
    return value == FLAGGED or value >= 0 and (<View>f.view[node.view]).flag[value]


# ---------------------------------------------------------------------------------------------- attributes

cdef inline int follow_lines(Features f, Workspace s, const RowsC* rows, int64_t first, Dataset out,
                             Aim aim) except -1 nogil:
    """Append the attributes of each token: those that a row in CRFsuite's form names, and those of the template's lines."""
    cdef int32_t i, k, t, a, T = s.T
    cdef bint items = rows.form == FORM_CRFSUITE
    cdef int64_t n_tok = out.c.n_tok, n_u, n_b = 0, u_start, b_start, room = <int64_t>T * f.n_uses
    cdef int64_t* u_ptr
    cdef int64_t* b_ptr = NULL
    cdef int32_t* u_id
    cdef int32_t* b_id = NULL
    cdef float* u_val = NULL
    cdef const int32_t* found = NULL
    cdef const UseC* use
    u_ptr = <int64_t*>data_reserve(out, &out.u_ptr, n_tok + T + 1, sizeof(int64_t)) + n_tok
    n_u = u_ptr[0]
    if items:
        room += rows.attr_ptr[first + T] - rows.attr_ptr[first]
        if Aim is Finding:
            find_names(f, s, rows, rows.attr_ptr[first], rows.attr_ptr[first + T])
            found = <const int32_t*>s.items.data - rows.attr_ptr[first]
        u_val = <float*>data_reserve(out, &out.u_val, n_u + room + 1, sizeof(float))
    u_id = <int32_t*>data_reserve(out, &out.u_id, n_u + room, sizeof(int32_t))
    if f.has_bigrams:
        b_ptr = <int64_t*>data_reserve(out, &out.b_ptr, n_tok + T + 1, sizeof(int64_t)) + n_tok
        n_b = b_ptr[0]
        b_id = <int32_t*>data_reserve(out, &out.b_id, n_b + <int64_t>T * f.n_uses, sizeof(int32_t))
    for k in range(T):
        t = T - 1 - k if f.backward else k
        u_start, b_start = n_u, n_b
        if items:
            n_u = number_items(f, rows, first + t, found, u_id, u_val, n_u, aim)
        for i in range(f.n_uses):
            use = &f.use[i]
            if use.edge and k == 0:
                continue  # no edge leads into the first token
            attribute_at(f, s, rows, first, use, t, &a, aim)
            if (a < 0 if Aim is Learning else <uint32_t>a >= <uint32_t>f.space[use.bigram].n):
                continue
            if use.bigram:
                b_id[n_b] = a
                n_b += 1
            else:
                u_id[n_u] = a
                if items:
                    u_val[n_u] = 1
                n_u += 1
        if Aim is Finding:
            # values that are all 1 need not be sorted along
            K.sort_ids(n_u - u_start, u_id + u_start, NULL if all_ones(u_val, u_start, n_u) else u_val + u_start)
        u_ptr[k + 1] = n_u
        if b_ptr != NULL:
            if Aim is Finding:
                K.sort_ids(n_b - b_start, b_id + b_start, NULL)
            b_ptr[k + 1] = n_b
    out.c.n_tok += T


cdef inline int attribute_at(Features f, Workspace s, const RowsC* rows, int64_t first, const UseC* use, int32_t t, int32_t* found,
                             Aim aim) except -1 nogil:
    """Find what a line makes at token t: an attribute, which learning numbers if it is new, or a number that is none's."""
    cdef int32_t* attr
    cdef const NodeC* node
    cdef int32_t g
    if use.node < 0:
        attr = f.constant_attr + use.slot
        if Aim is Learning:
            if attr[0] < 0:
                attr[0] = literal(f, f.constant[use.slot].s, f.constant[use.slot].n, use.bigram, aim)
        found[0] = attr[0]
        return 0
    node = &f.node[use.node]
    g = (<const int32_t**>s.gram_at.data)[use.node][t + use.base]
    if g >= 0:
        attr = node.row + g * node.stride + use.slot
        found[0] = attr[0]
        if found[0] < 0 and (Aim is Learning or f.growing):
            found[0] = unnamed(f, s, rows, first, node, &node.slot[use.slot], t + use.base, aim)
            if Aim is Learning:
                attr[0] = found[0]
    elif Aim is Finding and g != NONE and (node.slot[use.slot].by_string or g == FLAGGED and node.arity > 1):
        found[0] = by_string(f, s, rows, first, node, &node.slot[use.slot], t + use.base, aim)
    else:
        found[0] = -1
    return 0


cdef inline int follow_patterns(Features f, Workspace s, const RowsC* rows, int64_t first, Dataset out, Aim aim) except -1 nogil:
    """Append the attributes of each token: the strings that Wapiti's patterns make there."""
    cdef int64_t t, n, u_start, b_start, n_u, n_b, n_tok = out.c.n_tok, T = s.T
    cdef int32_t i, a, patterns = f.patterns.n
    cdef const int32_t* kind = f.patterns.kinds
    if T and f.patterns.last_column >= rows.n_cols:
        raise DataError(f"the patterns use column {f.patterns.last_column}, but the data have {rows.n_cols}")
    cdef int64_t* u_ptr = <int64_t*>data_reserve(out, &out.u_ptr, n_tok + T + 1, sizeof(int64_t)) + n_tok
    cdef int64_t* b_ptr = <int64_t*>data_reserve(out, &out.b_ptr, n_tok + T + 1, sizeof(int64_t)) + n_tok
    n_u, n_b = u_ptr[0], b_ptr[0]
    cdef int32_t* u_id = <int32_t*>data_reserve(out, &out.u_id, n_u + T * patterns, sizeof(int32_t))
    cdef int32_t* b_id = <int32_t*>data_reserve(out, &out.b_id, n_b + T * patterns, sizeof(int32_t))
    for t in range(T):
        u_start, b_start = n_u, n_b
        for i in range(patterns):
            n = f.patterns.expand(i, rows, first, T, t, &s.line)
            if kind[i] & UNIGRAM:
                a = literal(f, s.line.data, n, False, aim)
                if a >= 0:
                    u_id[n_u] = a
                    n_u += 1
            if kind[i] & BIGRAM and (Aim is Learning or t and not f.patterns.single):
                if Aim is Learning:
                    a = learn_bigram(f, s.line.data, n, f.patterns.single or i == f.patterns.plain)
                else:
                    a = literal(f, s.line.data, n, True, aim)
                if a >= 0 and t:  # no edge leads into the first token
                    b_id[n_b] = a
                    n_b += 1
        if Aim is Finding:
            K.sort_ids(n_u - u_start, u_id + u_start, NULL)
            K.sort_ids(n_b - b_start, b_id + b_start, NULL)
        u_ptr[t + 1], b_ptr[t + 1] = n_u, n_b
    out.c.n_tok += T


cdef inline int64_t number_items(Features f, const RowsC* rows, int64_t token, const int32_t* found, int32_t* u_id,
                                 float* u_val, int64_t n, Aim aim) except -1 nogil:
    """Append the attributes that a row in CRFsuite's format names to the n so far; return their number. Finding
    leaves out those with the value 0, which have no effect."""
    cdef int64_t i
    cdef int32_t size, a
    cdef const char* s
    for i in range(rows.attr_ptr[token], rows.attr_ptr[token + 1]):
        if Aim is Finding:
            u_id[n], u_val[n] = found[i], rows.attr_value[i]
            n += found[i] >= 0 and rows.attr_value[i] != 0
        else:
            s = rows_attr(rows, i, &size)
            a = literal(f, s, size, False, aim)
            u_id[n], u_val[n] = a, rows.attr_value[i]
            n += 1
    return n


cdef int32_t unnamed(Features f, Workspace s, const RowsC* rows, int64_t first, const NodeC* node, const SlotC* slot,
                     int64_t p, Aim aim) except -2 nogil:
    """The attribute of a gram in a slot where its row has none: in growing tables other cells may have it (packed rows
    are complete). Learning gives it a number."""
    if slot.by_string or gram_flagged(f, s, node, p):
        return by_string(f, s, rows, first, node, slot, p, aim)
    return new_number(f, slot.bigram) if Aim is Learning else -1


cdef int32_t by_string(Features f, Workspace s, const RowsC* rows, int64_t first, const NodeC* node, const SlotC* slot,
                       int64_t p, Aim aim) except -2 nogil:
    """The attribute with the string of a slot, for the gram that starts at position p."""
    cdef int64_t n = 0, size
    cdef int32_t i, value
    cdef const NodeC* part
    cdef const char* text
    append_text(&s.line, &n, slot.literal[0].s, slot.literal[0].n)
    for i in range(node.arity):
        part = &f.node[node.path[i]]
        value = (<const int32_t**>s.value_at.data)[part.view][p + part.distance]
        if value >= 0:
            size = strings_get(&(<View>f.view[part.view]).strings.c, value, &text)
        else:
            size = cell_at(f, s, rows, first, (<View>f.view[part.view]).column, p + part.distance, &text)
            size = (<View>f.view[part.view]).transform(text, size, &s.text, &text)
        append_text(&s.line, &n, text, max(size, 0))
        append_text(&s.line, &n, slot.literal[i + 1].s, slot.literal[i + 1].n)
    return literal(f, s.line.data, n, slot.bigram, aim)


cdef inline int32_t literal(Features f, const char* s, int64_t n, bint bigram, Aim aim) except -2 nogil:
    """The attribute that has this string; finding, -1 if there is none."""
    if Aim is Finding:
        return find_literal(&f.space[bigram], s, n)
    else:
        return learn_literal(f, s, n, bigram)


cdef class Extractor(Arena):
    """Finds the attributes of sentences, one after the other; the scratch of one thread. `columns`: the index of each column of the
    plan in the rows, if it differs from training."""

    def __cinit__(self, Features features not None, columns=None):
        cdef int32_t i, column
        cdef int32_t* numbers = features.column_number
        if columns is not None:
            if len(columns) != features.n_columns or min(columns, default=0) < 0:
                raise ValueError(f"{len(columns)} columns, expected {features.n_columns}")
            numbers = <int32_t*>arena_zeros(self, features.n_columns, sizeof(int32_t))
            for i, column in enumerate(columns):
                numbers[i] = column
        self.workspace = Workspace()
        self.workspace.column_number = numbers
        self.found = Dataset(b_ptr=[0] if features.has_bigrams else None)
        self.features = features

    cdef int extract(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil:
        cdef SentenceC* sent = &self.sentence
        self.found.c.n_tok = 0
        find_tokens(self.features, self.workspace, rows, first, last, self.found)
        sent.T = self.workspace.T
        sent.u_ptr = <const int64_t*>self.found.u_ptr.data
        sent.u_id = <const int32_t*>self.found.u_id.data
        sent.u_val = <const float*>self.found.u_val.data if rows.form == FORM_CRFSUITE else NULL
        sent.b_ptr = <const int64_t*>self.found.b_ptr.data
        sent.b_id = <const int32_t*>self.found.b_id.data
        sent.b_val = NULL
        sent.label, sent.weight = NULL, 1.0
