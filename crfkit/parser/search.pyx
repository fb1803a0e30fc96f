"""Lookahead: the value of an action is the best sum of its score and those of the next D actions (Tsuruoka, Miyao and
Kazama, 2011, figure 2).

The search goes depth first through the tree of actions, on one state whose actions it undoes. It keeps the nodes: after
an action, the subtree of that action is the new tree. Only its deepest level has to be scored, 3^D states instead of
3^D + ... + 3 + 1. Features do not see relations. So of all left arcs, and of all right arcs, only the one with the best
relation is followed.

A Scratch parses rows in this way, in one thread, with the weights of a model.
"""

import array

from crfkit.features.tables cimport Features
from crfkit.features.walk cimport Extractor
from crfkit.loops.numbers cimport INFINITY
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.memory cimport arena_reserve, arena_zeros, memset
from crfkit.text.rows cimport Rows
from crfkit.text.table cimport rows_cell
from crfkit.text.writing cimport OutC, Output, out_bytes, out_char, out_integer
from .states cimport KINDS, LEFT, NOBODY, RIGHT, SHIFT, state_allows, state_do, state_ended, state_start, state_undo
from .statetables cimport NO_ROW, LineC, has_feature, key_home, line_find
from .trees cimport TokenValues, TreeColumns, number_in

from .trees import check_ids

cdef enum:
    PART_OF_MARGIN = 3      # what a left arc that can wait needs over shift: the third part (docs/defaults.md)


cdef class Search(Arena):
    """The search of one thread. Its owner sets `w`, the weights in the order of the tables' `action`."""

    def __cinit__(self, StateTables tables not None, int32_t depth):
        cdef int32_t i
        self.tables, self.depth = tables, depth
        for i in range(depth + 1):
            self.capacity = 3 * self.capacity + 1
        self.node = <SearchNodeC*>arena_zeros(self, self.capacity, sizeof(SearchNodeC))
        self.scores = <float*>arena_zeros(self, <int64_t>self.capacity * tables.n_actions, sizeof(float))
        self.free = <int32_t*>arena_zeros(self, self.capacity, sizeof(int32_t))
        self.key = <uint32_t*>arena_zeros(self, tables.n_lines * tables.most_cells, sizeof(uint32_t))
        self.home = <int64_t*>arena_zeros(self, tables.n_lines, sizeof(int64_t))
        self.row = <int32_t*>arena_zeros(self, tables.n_lines, sizeof(int32_t))
        self.left_out = <uint8_t*>arena_zeros(self, tables.n_lines, 1)
        for i in range(self.capacity):
            self.free[i] = self.capacity - 1 - i
        self.n_free = self.capacity
        self.root = self.root_relation = NOBODY

    cdef int start(self, int32_t T, const int32_t* values) except -1 nogil:
        """Begin a sentence, with its values."""
        state_start(&self.state, T, <int32_t*>arena_reserve(self, &self.tokens, 6 * <int64_t>T, sizeof(int32_t)))
        self.values = values
        self.forget()

    cdef int32_t kind_of(self, int32_t action) noexcept nogil:
        return SHIFT if action == 0 else LEFT if action <= self.tables.n_relations else RIGHT

    cdef void forget(self) noexcept nogil:
        """Discard all scores: the weights or the sentence have changed."""
        release(self, self.root)
        self.root = new_node(self)

    cdef void choose(self, int32_t correct, bint can_wait, double margin, ActionChoiceC* choice) noexcept nogil:
        """Choose the action with the highest value, the first of equal ones. `margin` is subtracted from the value of the correct
        action (NOBODY: not known). If that is a left arc that can wait, shift is correct instead if its value is higher, and else
        the arc needs only a part of the margin over shift."""
        cdef:
            SearchNodeC* node = &self.node[self.root]
            const float* score = self.scores + <int64_t>self.root * self.tables.n_actions
            double[3] ahead     # of each kind of action
            int32_t kind, a, first, last, also = NOBODY, R = self.tables.n_relations
            double value, of_correct = 0, allowance = 0
        if not node.known:
            score_actions(self, self.root)
        for kind in range(KINDS):
            if state_allows(&self.state, kind):
                ahead[kind] = best_after(self, node, kind, self.depth)
        if correct >= 0:
            of_correct = score[correct] + ahead[self.kind_of(correct)]
        if can_wait:
            value = score[0] + ahead[SHIFT]
            if value > of_correct:
                correct, also, of_correct = 0, correct, value
            else:
                allowance = margin - margin / PART_OF_MARGIN
        choice.action, choice.value, choice.correct, choice.correct_value = NOBODY, -INFINITY, correct, of_correct - margin
        for kind in range(KINDS):
            if not state_allows(&self.state, kind):
                continue
            first, last = node.best[kind], node.best[kind] + 1
            if kind != SHIFT and (first == correct or first == also):
                first, last = (1, 1 + R) if kind == LEFT else (1 + R, 1 + 2 * R)
            for a in range(first, last):
                value = choice.correct_value if a == correct else score[a] + ahead[kind] - (allowance if a == 0 else 0)
                if a != also and value > choice.value:
                    choice.action, choice.value = a, value
        if choice.action == NOBODY:  # weights of a damaged model may be NaN
            choice.action = 0 if state_allows(&self.state, SHIFT) else 1

    cdef int32_t best_actions(self, int32_t action, int32_t* actions) noexcept nogil:
        """List this action and the best ones after it, as found by the search; returns their number."""
        cdef int32_t n = 1, number = self.node[self.root].child[self.kind_of(action)]
        actions[0] = action
        while n <= self.depth and number >= 0 and self.node[number].choice >= 0:
            actions[n] = self.node[number].best[self.node[number].choice]
            n += 1
            number = self.node[number].child[self.node[number].choice]
        return n

    cdef void execute(self, int32_t action) noexcept nogil:
        """Execute an action."""
        cdef int32_t kind = self.kind_of(action), next_root = self.node[self.root].child[kind]
        state_do(&self.state, kind, 0 if action == 0 else (action - 1) % self.tables.n_relations)
        self.node[self.root].child[kind] = NOBODY
        release(self, self.root)
        self.root = next_root if next_root >= 0 else new_node(self)

    cdef void run(self) noexcept nogil:
        """Parse the sentence; afterwards `state` has its heads."""
        cdef ActionChoiceC choice
        while not state_ended(&self.state):
            self.choose(NOBODY, False, 0, &choice)
            self.execute(choice.action)


cdef void release(Search search, int32_t number) noexcept nogil:
    """Free a node and all below it."""
    cdef int32_t kind
    if number >= 0:
        for kind in range(KINDS):
            release(search, search.node[number].child[kind])
        search.free[search.n_free] = number
        search.n_free += 1


cdef double best_after(Search search, SearchNodeC* node, int32_t kind, int32_t depth) noexcept nogil:
    """The best sum of scores of the `depth` actions after one of this kind."""
    cdef int32_t gone
    cdef double value
    if depth == 0:
        return 0
    if node.child[kind] < 0:
        node.child[kind] = new_node(search)
    gone = state_do(&search.state, kind, 0)
    value = explore(search, node.child[kind], depth - 1)
    state_undo(&search.state, kind, gone)
    return value


cdef int32_t new_node(Search search) noexcept nogil:
    cdef int32_t number = search.free[search.n_free - 1], kind
    search.n_free -= 1
    search.node[number].known = False
    for kind in range(KINDS):
        search.node[number].child[kind] = NOBODY
    return number


cdef void find_rows(Search search) noexcept nogil:
    """Find the row of each line in the current state. What is read next is prefetched for all lines before the first is read."""
    cdef:
        const uint32_t* key = search.key
        const LineC* line
        int32_t i, r
        int64_t k
    search.tables.keys(&search.state, search.values, search.key)
    for i in range(search.tables.n_lines):
        line = &search.tables.line[i]
        search.row[i] = NO_ROW
        if line.n_slots and has_feature(line, key) and not search.left_out[i]:
            search.row[i] = 0
            search.home[i] = key_home(key, line.arity, line.n_slots)
            crfkit_prefetch(line.slot + search.home[i] * (1 + line.arity))
        key += search.tables.most_cells
    key = search.key
    for i in range(search.tables.n_lines):
        if search.row[i] >= 0:
            search.row[i] = r = line_find(&search.tables.line[i], key, search.home[i])
            if r >= search.tables.n_rows:
                search.row[i] = NO_ROW
            elif r >= 0:
                crfkit_prefetch(&search.tables.row[r])
        key += search.tables.most_cells
    for i in range(search.tables.n_lines):
        if search.row[i] >= 0:
            k = search.tables.row[search.row[i]].first
            if 0 <= k < search.tables.n_cells:
                crfkit_prefetch(&search.tables.action[k])
                crfkit_prefetch(&search.w[k])


cdef void score_actions(Search search, int32_t number) noexcept nogil:
    """Score all actions in the current state. No access is out of bounds, whatever the tables contain."""
    cdef:
        SearchNodeC* node = &search.node[number]
        float* score = search.scores + <int64_t>number * search.tables.n_actions
        int32_t i, a, kind, R = search.tables.n_relations
        int64_t k, last
    find_rows(search)
    memset(score, 0, search.tables.n_actions * sizeof(float))
    for i in range(search.tables.n_lines):
        if search.row[i] >= 0:
            k = search.tables.row[search.row[i]].first
            last = k + search.tables.row[search.row[i]].n
            if k < 0 or last > search.tables.n_cells:
                continue
            while k < last:
                if search.tables.action[k] < search.tables.n_actions:
                    score[search.tables.action[k]] += search.w[k]
                k += 1
    node.best[SHIFT], node.best[LEFT], node.best[RIGHT] = 0, 1, 1 + R
    for kind in range(LEFT, KINDS):
        a = 1 + (kind - LEFT) * R + search.root_relation
        if search.root_relation >= 0 and R > 1 and score[a] <= 0:
            score[a] = -INFINITY  # where no feature is known, it would be the best of equals if it is the first relation
        for a in range(node.best[kind], 1 + kind * R):
            if score[a] > score[node.best[kind]]:
                node.best[kind] = a
    node.known = True


cdef double explore(Search search, int32_t number, int32_t depth) noexcept nogil:
    """The best sum of scores of the next depth + 1 actions, 0 if there are none. Records the choice in the node."""
    cdef:
        SearchNodeC* node = &search.node[number]
        const float* score = search.scores + <int64_t>number * search.tables.n_actions
        int32_t kind
        double value, best = -INFINITY
    node.choice = NOBODY
    if state_ended(&search.state):
        return 0
    if not node.known:
        score_actions(search, number)
    for kind in range(KINDS):
        if not state_allows(&search.state, kind):
            continue
        value = score[node.best[kind]] + best_after(search, node, kind, depth)
        if value > best:
            best = value
            node.choice = kind
    return best


# ------------------------------------------------------------------------------------------ from rows to heads

cdef class Scratch(Arena):
    """The memory of one parsing thread. `columns` are the columns of the rows that the index uses, `compared` those that are
    compared. `relations` are the names of the relations, empty if the parser predicts none."""

    cdef Extractor extractor
    cdef TokenValues token_values
    cdef StateTables tables
    cdef Search search
    cdef object weights
    cdef list relations
    cdef BufferC values
    cdef Output out, gold

    def __cinit__(self, Features index not None, StateTables tables not None, const float[::1] weights not None, int32_t depth, columns, compared,
                  relations, int32_t root_relation):
        self.extractor = Extractor(index, columns)
        self.token_values, self.tables, self.weights = TokenValues(index, compared), tables, weights
        if not self.token_values.fit(tables) or not tables.mapped or weights.shape[0] != tables.n_cells:
            raise ValueError("tables of another template, or not of a model, or other weights")
        self.search = Search(tables, depth)
        self.search.w = &weights[0] if weights.shape[0] else NULL
        self.search.root_relation = root_relation
        self.relations = [name.encode() for name in relations]
        self.out, self.gold = Output(), Output()

    cdef int parse(self, Rows rows, int64_t s) except -1 nogil:
        """Parse one sentence; afterwards `search.state` has its heads."""
        cdef int64_t first = rows.c.seq_ptr[s], last = rows.c.seq_ptr[s + 1]
        cdef int32_t* values
        self.extractor.extract(&rows.c, first, last)
        values = <int32_t*>arena_reserve(self, &self.values, (last - first) * self.tables.width, sizeof(int32_t))
        self.token_values.fill(self.extractor.workspace, &rows.c, first, values)
        self.search.start(<int32_t>(last - first), values)
        self.search.run()

    def heads(self, Rows rows not None, int64_t s):
        """The heads of a sentence: numbers of words from 1, 0 for the root; with relations, pairs (head, relation)."""
        cdef int64_t t
        with nogil:
            self.parse(rows, s)
        heads = [self.search.state.head[t] + 1 for t in range(self.search.state.T)]
        if not self.relations:
            return heads
        return [(head, self.name_of(t).decode()) for t, head in enumerate(heads)]

    cdef bytes name_of(self, int64_t t):
        return self.relations[self.search.root_relation if self.search.state.head[t] < 0 else self.search.state.relation[t]]

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
                        out_integer(out, self.search.state.head[t - rows.c.seq_ptr[s]] + 1)
                    else:
                        name = self.name_of(t - rows.c.seq_ptr[s])
                        out_bytes(out, name, len(name))
        out_bytes(out, rows.c.text + at, rows.c.n_text - at)
        return self.out.getvalue(), self.gold.getvalue()

    cdef int note_gold(self, Rows rows, int64_t s, TreeColumns columns, bint relations) except -1:
        """Write the gold tree of a sentence: heads, each with its relation after a colon. An empty line if the text has no heads."""
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


def packed_values(Features index not None, marks):
    """(attributes, values): new numbers for the marked values of each view, and for their attributes; -1 for all others."""
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
