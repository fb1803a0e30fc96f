"""Trees in CoNLL-U, read and checked, and the values of the cells of their sentences.

Heads are a tree if one token has the head 0, and the heads of all others lead to that token. A tree is projective if the
parser can build it.
"""

import array

from crfkit.features.tables cimport Features
from crfkit.features.walk cimport find_tokens, learn_tokens
from crfkit.memory cimport arena_reserve, arena_zeros
from crfkit.text.rows cimport Rows
from crfkit.text.scanning cimport is_digit
from crfkit.text.table cimport rows_cell
from .states cimport LEFT, NOBODY, RIGHT, SHIFT, state_allows, state_do, state_ended, state_start

from crfkit.errors import DataError
from crfkit.header import misfits_column
from crfkit.text.block import places_of

cdef enum:
    MOST_TEXTS = 1 << 16        # a table with more is replaced by a new one


cdef class TokenValues(Arena):

    def __cinit__(self, Features index not None, columns):
        cdef int32_t i, column
        self.n_views, self.n, self.texts = index.n_views, len(columns), StringTable()
        self.columns = <int32_t*>arena_zeros(self, self.n, sizeof(int32_t))
        for i, column in enumerate(columns):
            self.columns[i] = column

    cdef bint fit(self, StateTables tables) noexcept:
        """Whether the tables are for these values."""
        return tables.n_views == self.n_views and tables.width == self.n_views + self.n

    cdef int fill(self, Workspace workspace, const RowsC* rows, int64_t first, int32_t* values) except -1 nogil:
        cdef int64_t t, width = self.n_views + self.n
        cdef int32_t i, n
        cdef const int32_t* value
        cdef const char* text
        for i in range(self.n_views):
            value = (<const int32_t**>workspace.value_at.data)[i]
            for t in range(workspace.T):
                values[t * width + i] = value[t]
        if self.n and self.texts.c.n > MOST_TEXTS:
            with gil:
                self.texts = StringTable()
        for t in range(workspace.T):
            for i in range(self.n):
                text = rows_cell(rows, first + t, self.columns[i], &n)
                values[t * width + self.n_views + i] = self.texts.intern(text, n)


cdef int correct_kind(const StateC* s, const int32_t* head, const int32_t* waiting) noexcept nogil:
    if s.depth > 1:
        if head[s.stack[s.depth - 2]] == s.stack[s.depth - 1]:
            return LEFT
        if head[s.stack[s.depth - 1]] == s.stack[s.depth - 2] and waiting[s.stack[s.depth - 1]] == 0:
            return RIGHT
    return SHIFT if state_allows(s, SHIFT) else NOBODY


cdef int64_t number_in(const char* s, int64_t n) noexcept nogil:
    cdef int64_t i, found = 0
    if n < 1 or n > 10:
        return -1
    for i in range(n):
        if not is_digit(s[i]):
            return -1
        found = 10 * found + (s[i] - 48)
    return found


cdef class TreeColumns:
    """The indices of the columns ID, HEAD and DEPREL."""

    def __cinit__(self, names, path=None):
        self.id, self.head, self.relation = places_of(("id", "head", "deprel"), names, path)


def check_ids(Rows rows not None, int32_t column):
    """DataError unless the words of each sentence are numbered 1, 2, 3 ..., as heads refer to these numbers."""
    cdef int64_t s, t
    cdef int32_t n
    cdef const char* text
    if rows.c.n_tok and not 0 <= column < rows.c.n_cols:
        raise IndexError(f"column {column} of {rows.c.n_cols}")
    for s in range(rows.c.n_seq):
        for t in range(rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1]):
            text = rows_cell(&rows.c, t, column, &n)
            if number_in(text, n) != t - rows.c.seq_ptr[s] + 1:
                raise fault(rows, s, t, f"ID is {shown(rows, t, column)}, expected {t - rows.c.seq_ptr[s] + 1}: words are numbered one by one")


cdef fault(Rows rows, int64_t s, int64_t t, str message):
    path, line = rows.where(t)
    if line is None:
        return DataError(f"sentence {s + 1}, token {t - rows.c.seq_ptr[s] + 1}: {message}")
    return DataError(message, path, line)


cdef str shown(Rows rows, int64_t t, int32_t column):
    cdef int32_t n
    cdef const char* text = rows_cell(&rows.c, t, column, &n)
    return repr(text[:min(n, 40)].decode("utf-8", "replace"))


cdef int read_heads(Rows rows, TreeColumns columns, int64_t s, int32_t* head) except -1:
    """Read the heads of a sentence as indices of tokens, NOBODY for the root. DataError if they are not a tree."""
    cdef int64_t first = rows.c.seq_ptr[s], T = rows.c.seq_ptr[s + 1] - first, t, found, root = -1
    cdef int32_t n, at
    cdef const char* text
    for t in range(T):
        text = rows_cell(&rows.c, first + t, columns.head, &n)
        found = number_in(text, n)
        if found < 0 or found > T:
            cell = shown(rows, first + t, columns.head)
            what = "HEAD is missing" if cell == "'_'" else f"HEAD is {cell}"
            raise fault(rows, s, first + t, f"{what}, expected a number from 0 to {T}: that of a word of the sentence, 0 for the root")
        if found == 0:
            if root >= 0:
                raise fault(rows, s, first + t, f"a second root: HEAD of word {root + 1} is 0 already; expected one root per sentence")
            root = t
        head[t] = <int32_t>found - 1
    # Walk upwards from each word, to the root or to a word of an earlier walk. A walk that meets itself is a cycle.
    cdef Arena room = Arena()
    cdef int32_t* seen = <int32_t*>arena_zeros(room, T, sizeof(int32_t))
    for t in range(T):
        at = <int32_t>t
        while at >= 0 and seen[at] == 0:
            seen[at] = <int32_t>t + 1
            at = head[at]
        if at >= 0 and seen[at] == t + 1:
            raise fault(rows, s, first + t, f"HEAD {head[t] + 1} is part of a cycle: expected a tree, in which every word leads to the root")


cdef int read_relations(Rows rows, TreeColumns columns, int64_t s, StringTable relations, bint learn, int32_t* relation) except -1:
    """Read the relations of a sentence as their numbers in a table, which grows with `learn`; without a table all have the number 0."""
    cdef int64_t first = rows.c.seq_ptr[s], t, known
    cdef int32_t n
    cdef const char* text
    for t in range(first, rows.c.seq_ptr[s + 1]):
        text = rows_cell(&rows.c, t, columns.relation, &n)
        if relations is None:
            relation[t - first] = 0
        elif not learn:
            relation[t - first] = relations.find(text[:n])
        elif n == 0 or (n == 1 and text[0] == b"_"):
            raise fault(rows, s, t, "DEPREL is missing: expected the name of a relation")
        else:
            known = relations.c.n
            relation[t - first] = relations.intern(text, n)
            if relations.c.n > known and misfits_column(text[:n].decode()):
                raise fault(rows, s, t, f"DEPREL {shown(rows, t, columns.relation)} holds a tab, a line end or a zero byte")


cdef class Treebank(Arena):
    """Sentences one after another. The builder numbers their cells, of which the values of tokens are made."""

    def __cinit__(self, TableBuilder builder not None, TokenValues token_values not None):
        if token_values.n_views != builder.n_views:
            raise ValueError("values of another template")
        self.builder, self.token_values, self.width = builder, token_values, token_values.n_views + token_values.n
        self.attributes = Dataset()
        self.start = <int64_t*>arena_reserve(self, &self.start_buf, 1, sizeof(int64_t))
        self.start[0] = 0

    def sizes(self) -> list[int]:
        """For each of the values of a token, one more than the largest in the data."""
        cdef int64_t[::1] size = array.array("q", [0]) * self.width
        cdef int64_t k
        for k in range(self.n_tokens * self.width):
            size[k % self.width] = max(size[k % self.width], self.values[k] + 1)
        return size.base.tolist()

    def add(self, Rows rows not None, TreeColumns columns not None, StringTable relations=None, bint learn=True):
        """Add the sentences of a parsed block. With `learn`, new values and relations get numbers, and trees with crossing arcs are
        counted and left out. `relations` numbers the relations; without it all have the number 0."""
        cdef TableBuilder builder = self.builder
        cdef int64_t s, first, T, n
        check_ids(rows, columns.id)
        for s in range(rows.c.n_seq):
            first, n = rows.c.seq_ptr[s], self.n_tokens
            T = rows.c.seq_ptr[s + 1] - first
            self.head = <int32_t*>arena_reserve(self, &self.head_buf, n + T, sizeof(int32_t))
            self.relation = <int32_t*>arena_reserve(self, &self.relation_buf, n + T, sizeof(int32_t))
            self.values = <int32_t*>arena_reserve(self, &self.value_buf, (n + T) * self.width, sizeof(int32_t))
            self.start = <int64_t*>arena_reserve(self, &self.start_buf, self.n_sequences + 2, sizeof(int64_t))
            read_heads(rows, columns, s, self.head + n)
            if learn and not projective(self.head + n, <int32_t>T):
                self.n_crossing += 1
                continue
            read_relations(rows, columns, s, relations, learn, self.relation + n)
            self.attributes.c.n_tok = 0
            if learn:
                learn_tokens(builder, builder.workspace, &rows.c, first, first + T, self.attributes)
            else:
                find_tokens(builder, builder.workspace, &rows.c, first, first + T, self.attributes)
            self.token_values.fill(builder.workspace, &rows.c, first, self.values + n * self.width)
            self.n_tokens += T
            self.n_sequences += 1
            self.start[self.n_sequences] = self.n_tokens
            self.longest = max(self.longest, T)

    def root_relation(self):
        """The most frequent relation of roots; 0 if there are no sentences."""
        cdef int64_t t
        counts = {}
        for t in range(self.n_tokens):
            if self.head[t] < 0:
                counts[self.relation[t]] = counts.get(self.relation[t], 0) + 1
        return max(counts, key=counts.get, default=0)

    def checksum(self):
        """A hash as 32 hexadecimal digits: equal for treebanks from which training learns the same."""
        from xxhash import xxh3_128

        digest = xxh3_128()
        digest.update((<char*>self.start)[:8 * (self.n_sequences + 1)])
        digest.update((<char*>self.head)[:4 * self.n_tokens])
        digest.update((<char*>self.relation)[:4 * self.n_tokens])
        digest.update((<char*>self.values)[:4 * self.n_tokens * self.width])
        return digest.hexdigest()


cdef int projective(const int32_t* head, int32_t T) except -1:
    """Whether the actions shift, left and right can build the tree."""
    cdef Arena room = Arena()
    cdef int32_t* tokens = <int32_t*>arena_zeros(room, 8 * <int64_t>T, sizeof(int32_t))
    cdef int32_t* waiting = tokens + 6 * <int64_t>T
    cdef StateC s
    cdef int32_t t
    cdef int kind
    count_children(head, T, waiting, waiting + T)
    state_start(&s, T, tokens)
    while not state_ended(&s):
        kind = correct_kind(&s, head, waiting)
        if kind == NOBODY:
            return False
        t = NOBODY if kind == SHIFT else s.stack[s.depth - 1 if kind == LEFT else s.depth - 2]
        if t >= 0:
            waiting[t] -= 1
        state_do(&s, kind, 0)
    return True


cdef void count_children(const int32_t* head, int32_t T, int32_t* n, int32_t* last) noexcept nogil:
    cdef int32_t t
    for t in range(T):
        n[t], last[t] = 0, NOBODY
    for t in range(T):
        if head[t] >= 0:
            n[head[t]] += 1
            last[head[t]] = t
