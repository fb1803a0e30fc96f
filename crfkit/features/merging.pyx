"""Merging the tables of a corpus that was read in several parts, each by its own builder; and opening the index of a model for more
attributes, which are then found in the same tables as all others.

Everything is numbered in order of first occurrence. Parts are added in order, and what is new in a part gets the next numbers, in
the order of that part. So all numbers equal those of a single builder that reads the whole corpus.

    part = tables(builder)                      of one part; arrays that may come from another machine
    numbers = add_tables(all_parts, part)       what its labels and attributes are called among all
"""

import array

from libc.stdint cimport int32_t, int64_t, uint32_t, uint8_t

from crfkit.memory cimport arena_reserve, array_of, memcpy, memset
from .builder cimport TableBuilder, check_labels
from .cells cimport VIEW_CELL, VIEW_EQUAL, View
from .strings cimport StringTable
from .tables cimport Features, NodeC, grow_rows, new_number
from .tuples cimport grams_intern, grams_reserve

from .builder import TableBuilder as Builder

cdef const char* EMPTY = b""


def tables(TableBuilder builder not None) -> dict:
    """Everything that a builder has numbered, as arrays by name."""
    builder.list_keys()
    return {
        "labels": strings_of(builder.label_table),
        "columns": [strings_of(column) for column in builder.columns],
        "views": [array_of("i", (<View>view).value, (<View>view).n_map) for view in builder.views],
        **attribute_tables(builder),
    }


cdef dict attribute_tables(Features f):
    """The grams and literals with their attributes."""
    cdef:
        NodeC* node
        int32_t i
    nodes = []
    for i in range(f.n_nodes):
        node = &f.node[i]
        nodes.append({
            "n": node.n,
            "keys": rows_of(node.key, node.n if node.key != NULL else 0, 2, node.key_stride),
            "rows": rows_of(node.row, node.n, node.n_slots, node.stride),
        })
    literals = [{"strings": strings_of(f.literals[i]), "attributes": array_of("i", f.space[i].literal_attr, f.space[i].literal.n)} for i in range(2)]
    return {"n": list(f.n_attributes), "nodes": nodes, "literals": literals}


def add_tables(TableBuilder builder not None, dict part not None) -> dict:
    """Add the tables of the next part; returns the new numbers of its labels, unigram and bigram attributes, as arrays.
    KeyError, TypeError or ValueError if the tables are not of the same template."""
    cdef View view
    columns = [add_strings(column, strings) for column, strings in zip(builder.columns, part["columns"], strict=True)]
    values = []
    for view, given in zip(builder.views, part["views"], strict=True):
        view.catch_up(&builder.workspace.text)
        values.append(renamed_values(view, columns[view.column], given))
    labels = add_strings(builder.label_table, part["labels"])
    check_labels(builder)
    of_u, of_b = add_attribute_tables(builder, part, values)
    return {"labels": labels, "u": of_u, "b": of_b}


def reopened(Features index not None, template) -> TableBuilder:
    """A builder that has the attributes of a verified index of this template under the same numbers, and can `adopt` more."""
    cdef TableBuilder builder = Builder(template, crfsuite=template is None)
    cdef View view
    for column, cells in zip(builder.columns, index.columns, strict=True):
        add_strings(column, strings_of(cells))
    values = []
    for view, known in zip(builder.views, index.views, strict=True):
        view.catch_up(&builder.workspace.text)
        values.append(add_strings(view.strings, strings_of((<View>known).strings)))
        view.catch_up(&builder.workspace.text)
    add_attribute_tables(builder, attribute_tables(index), values)
    return builder


cdef list add_attribute_tables(TableBuilder builder, dict part, list values):
    """The new numbers of unigram and of bigram attributes. `values`: the new numbers of the values of each view."""
    cdef int32_t v
    if len(part["nodes"]) != builder.n_nodes:
        raise ValueError("tables of another template")
    grams = []
    for v, given in enumerate(part["nodes"]):
        grams.append(add_grams(builder, v, given, grams, values))
    found = [add_attributes(builder, bigram, part, grams) for bigram in (False, True)]
    builder.find_constants()
    return found


# ---------------------------------------------------------------------------------------------- strings

cdef rows_of(const int32_t* row, int64_t n, int64_t width, int64_t stride):
    """A copy of n rows of numbers."""
    cdef int64_t i
    cdef int32_t[::1] found = array.array("i", [0]) * (n * width)
    for i in range(n if width else 0):
        memcpy(&found[i * width], row + i * stride, <size_t>width * sizeof(int32_t))
    return found.base


cdef strings_of(StringTable table):
    return {"offsets": array_of("q", table.c.offset, table.c.n + 1), "bytes": array_of("B", table.c.arena, table.c.n_bytes)}


cdef add_strings(StringTable table, dict strings):
    """The new numbers of the strings of a part."""
    cdef:
        const int64_t[::1] offset = strings["offsets"]
        const uint8_t[::1] text = strings["bytes"]
        int64_t i, n = offset.shape[0] - 1
        const char* first = <const char*>&text[0] if text.shape[0] else EMPTY
    if n < 0 or offset[0] != 0 or offset[n] != text.shape[0]:
        raise ValueError("strings without an end")
    cdef int32_t[::1] number = array.array("i", [0]) * n
    for i in range(n):
        if not offset[i] <= offset[i + 1] <= text.shape[0]:
            raise ValueError("strings that overlap")
        number[i] = table.intern(first + offset[i], offset[i + 1] - offset[i])
    return number.base


# ---------------------------------------------------------------------------------------------- values and grams

cdef renamed_values(View view, cells, const int32_t[::1] given):
    """The new numbers of the values of a view; -1 for values that no cell has. `cells`: the new numbers of the cells, `given`: the value
    of each cell in the part."""
    cdef:
        const int32_t[::1] cell = cells
        int64_t c, n = given.shape[0]
    if view.form == VIEW_CELL:
        return cells
    if view.form == VIEW_EQUAL:
        return array.array("i", [0, 1])
    if n > cell.shape[0]:
        raise ValueError("values of cells that do not exist")
    cdef int32_t[::1] value = array.array("i", [-1]) * n
    for c in range(n):
        if given[c] >= n:
            raise ValueError("a value without a cell")
        if given[c] >= 0:
            value[given[c]] = view.value[cell[c]]
    return value.base


cdef add_grams(TableBuilder builder, int32_t number, dict given, list grams, list values):
    """The new numbers of the grams of a node, -1 for none; makes room for all their rows."""
    cdef:
        NodeC* node = &builder.node[number]
        int64_t g, n = given["n"]
        const int32_t[::1] key = given["keys"]
        const int32_t[::1] parent, value = values[node.view]
    if node.arity == 1:
        if n > value.shape[0]:
            raise ValueError("rows without values")
        grow_rows(builder, node, (<View>builder.view[node.view]).strings.c.n)
        return values[node.view]
    if key.shape[0] != 2 * n:
        raise ValueError("grams without cells")
    parent = grams[node.parent]
    cdef int32_t[::1] gram = array.array("i", [0]) * n
    grams_reserve(builder, &node.grams, n)
    for g in range(n):
        if key[2 * g] < 0 and key[2 * g + 1] < 0:       # a gap in the packed table of a model
            gram[g] = -1
            continue
        if (not 0 <= key[2 * g] < parent.shape[0] or not 0 <= key[2 * g + 1] < value.shape[0]
                or parent[key[2 * g]] < 0 or value[key[2 * g + 1]] < 0):
            raise ValueError("a gram of cells that do not exist")
        gram[g] = grams_intern(&node.grams, <uint32_t>parent[key[2 * g]], <uint32_t>value[key[2 * g + 1]])
    grow_rows(builder, node, node.grams.n)
    return gram.base


# ---------------------------------------------------------------------------------------------- attributes

cdef add_attributes(TableBuilder builder, bint bigram, dict part, list grams):
    """The new numbers of the attributes of one kind."""
    cdef:
        int64_t a, i, n = part["n"][bigram], known = builder.space[bigram].literal.n
        int32_t k
        const int32_t[::1] attribute
        const int32_t[::1] literal
        int32_t* own
    if not 0 <= n <= 0x7FFFFFFE:
        raise ValueError("too many attributes")
    numbered, places = array.array("i", [-1]) * n, array.array("q", [0]) * n
    cdef int32_t[::1] number = numbered
    cdef int64_t[::1] place = places    # addresses: where the number of an attribute stands among all
    given = part["literals"][bigram]
    literal, attribute = add_strings(builder.literals[bigram], given["strings"]), given["attributes"]
    if attribute.shape[0] != literal.shape[0]:
        raise ValueError("strings without attributes")
    own = <int32_t*>arena_reserve(builder, &builder.literal_attr[bigram], builder.space[bigram].literal.n + 1, sizeof(int32_t))
    builder.space[bigram].literal_attr = own
    memset(own + known, 0xFF, <size_t>(builder.space[bigram].literal.n - known) * sizeof(int32_t))
    for k in range(builder.n_nodes):
        follow_rows(builder, k, bigram, part["nodes"][k], grams[k], place)
    for i in range(literal.shape[0]):
        if attribute[i] >= n:
            raise ValueError("an attribute that does not exist")
        if attribute[i] >= 0:
            place[attribute[i]] = <int64_t>(own + literal[i])
    for a in range(n):
        own = <int32_t*>place[a]
        if own == NULL:
            raise ValueError("an attribute that nothing makes")
        if own[0] < 0:
            own[0] = new_number(builder, bigram)
        number[a] = own[0]
    for k in range(builder.n_nodes):
        follow_rows(builder, k, bigram, part["nodes"][k], grams[k], place, number)
    return numbered


cdef int follow_rows(TableBuilder builder, int32_t number, bint bigram, dict given, gram_numbers, int64_t[::1] place,
                     const int32_t[::1] attribute=None) except -1:
    """Note for each attribute the place of one that has it, in the rows of a node; or write the new numbers, `attribute`, to all such places."""
    cdef:
        const NodeC* node = &builder.node[number]
        const int32_t[::1] gram = gram_numbers, row = given["rows"]
        int64_t g, rows = given["n"]
        int32_t a, slot
        int32_t* own
    if row.shape[0] != rows * node.n_slots:
        raise ValueError("rows that are not those of the grams")
    for slot in range(node.n_slots):
        if node.slot[slot].bigram != bigram:
            continue
        for g in range(rows):
            a = row[g * node.n_slots + slot]
            if a < 0:
                continue
            if a >= place.shape[0] or gram[g] < 0:
                raise ValueError("a row with an attribute that does not exist")
            own = node.row + gram[g] * node.stride + slot
            if attribute is None:
                place[a] = <int64_t>own
            else:
                own[0] = attribute[a]
