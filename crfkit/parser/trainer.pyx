"""Learning to parse with lookahead (Tsuruoka, Miyao and Kazama, 2011, figure 3): a margin perceptron.

Each state on the way to the tree of a sentence is a decision. The value of an action is the best sum of scores that
begins with it and looks `depth` actions ahead (search.pyx). The value of the correct action must exceed all others by
`margin`. If it does not, the features on the best path from the correct action gain 1, and those on the best path from
the other action lose 1. Features on both paths do not change.

While the head of a left arc has children in the queue, shift leads to the tree, too: the arc can wait for them. With the
oracle `either`, the one with the higher value is then the correct action, and training goes on from there.

With `dropout`, each sentence is learned without some values of its words, as if these were new, and without some lines of
the template. A value that n words of the data have is left out once in n + 1 times, a line with the probability `dropout`. So the parser
learns what to do with new words, and weights do not rely on each other (docs/defaults.md).

A feature is created when its weight changes for the first time, because until then the weight is zero. So the search
may meet any state, and only features that were updated take memory. A full row is copied to a place twice as large.
Each weight keeps the number that it got when it was created; `weights` are in the order of these numbers.

The average is over the weights after each decision, as in trainers/online/paths.pyx: late += decision * change.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from crfkit.loops.numbers cimport isfinite
from crfkit.memory cimport Arena, BufferC, arena_reserve, arena_zeros, array_of, restore_vectors, vector
from crfkit.rng cimport rng_fraction, rng_seed, rng_shuffle
from .search cimport ActionChoiceC, Search
from .states cimport LEFT, NOBODY, SHIFT, state_do, state_ended, state_undo
from .statetables cimport MOST_CELLS, RowC, StateTables, has_feature
from .trees cimport Treebank, correct_kind, count_children

from crfkit.errors import TrainingError

cdef enum:
    SENTENCES_BETWEEN_SIGNALS = 64
    SIZES = 20                  # sizes of rows: 2, 4, 8 ... weights

cdef double USUAL_MARGIN = 100
cdef double USUAL_DROPOUT = 0.1


cdef class ParserTrainer(Arena):
    """Options: depth, margin, average (crfkit.options.Lookahead). `initial` lists weights to start from: (line, key, action, weight). The loss
    is the sum of the margin violations of all decisions. The loop over passes knows it as one of the trainers (trainers/base.pyx)."""

    converged, warms_up = None, False
    cdef readonly Treebank data
    cdef readonly StateTables tables
    cdef readonly object options
    cdef readonly bint interrupted
    cdef readonly int64_t passes, decisions
    cdef readonly int64_t n_features
    cdef Search search
    cdef uint64_t[4] rng
    cdef double margin
    cdef int32_t root_relation          # relation of the root in every parse
    cdef float* w                       # in the order of the tables' `action`
    cdef double* late
    cdef int32_t* number                # of each weight; the first of a free row has the next free row of that size
    cdef int32_t[SIZES] free_rows
    cdef int32_t* order
    cdef bint either                    # while a left arc can wait, shift may be the correct action
    cdef double dropout                 # probability with which a line is left out
    cdef int32_t** count                # [views][1 + value] in how many words of the data each value is
    cdef int32_t* some_values           # [T][width] of the sentence, without those left out
    cdef int32_t* waiting               # see count_children
    cdef int32_t* last_child
    cdef int32_t* right
    cdef int32_t* wrong
    cdef BufferC w_buf, late_buf, number_buf

    def __cinit__(self, Treebank data not None, StateTables tables not None, options, seed=0, initial=()):
        cdef int32_t i
        if not data.token_values.fit(tables) or tables.mapped is not None:
            raise ValueError("tables of another template, or in use")
        tables.mapped = ()
        self.data, self.tables, self.options = data, tables, options
        self.margin = USUAL_MARGIN if options.margin is None else options.margin
        self.dropout = USUAL_DROPOUT if options.dropout is None else options.dropout
        self.either = options.oracle == "either"
        self.search = Search(tables, options.depth)
        self.root_relation = data.root_relation()
        if data.n_sequences > 0x7FFFFFFF:
            raise TrainingError("online trainers take at most 2,147,483,647 sequences")
        rng_seed(self.rng, <uint64_t>(seed & 0xFFFFFFFFFFFFFFFF))
        self.order = <int32_t*>arena_zeros(self, data.n_sequences, sizeof(int32_t))
        self.waiting = <int32_t*>arena_zeros(self, data.longest, sizeof(int32_t))
        self.last_child = <int32_t*>arena_zeros(self, data.longest, sizeof(int32_t))
        self.right = <int32_t*>arena_zeros(self, options.depth + 1, sizeof(int32_t))
        self.wrong = <int32_t*>arena_zeros(self, options.depth + 1, sizeof(int32_t))
        for i in range(data.n_sequences):
            self.order[i] = i
        for i in range(SIZES):
            self.free_rows[i] = NOBODY
        if self.dropout > 0:
            self.some_values = <int32_t*>arena_zeros(self, data.longest * data.width, sizeof(int32_t))
            self.count_values()
        for line, key, action, weight in initial:
            self.change(self.row_of(line, key), action, weight)

    cdef int count_values(self) except -1:
        cdef int64_t k
        cdef int32_t v, width = self.data.width
        self.count = <int32_t**>arena_zeros(self, self.tables.n_views, sizeof(int32_t*))
        for v, size in enumerate(self.data.sizes()[: self.tables.n_views]):
            self.count[v] = <int32_t*>arena_zeros(self, size + 1, sizeof(int32_t))
        for k in range(self.data.n_tokens):
            for v in range(self.tables.n_views):
                self.count[v][1 + self.data.values[k * width + v]] += 1

    def row_of(self, int32_t line, key, sizes=None) -> int:
        """The row of a key of this line; a new key gets a new row, without weights. `sizes`: the number of values of each view;
        with it, ValueError if the key has a value that does not exist."""
        cdef uint32_t[MOST_CELLS] cells
        if not 0 <= line < self.tables.n_lines or len(key) > MOST_CELLS:
            raise ValueError("lines: of another template")
        for i, cell in enumerate(key):
            cells[<int>i] = <uint32_t><int64_t>cell
        if sizes is not None and not self.tables.exists(line, <const int32_t*>cells, sizes):
            raise ValueError("keys: of values that do not exist")
        return self.tables.add(line, cells)

    def sentence_order(self) -> list[int]:
        """The order of the sentences in the last pass."""
        return array_of("i", self.order, self.data.n_sequences).tolist()

    # ------------------------------------------------------------------------------------------ weights

    cdef int change(self, int32_t r, int32_t action, double by) except -1 nogil:
        """Add `by` to the weight of an action in a row; the weight is created if it is new."""
        cdef RowC* row = &self.tables.row[r]
        cdef int64_t k, last = row.first + <int64_t>row.n
        for k in range(row.first, last):
            if self.tables.action[k] == action:
                self.w[k] += <float>by
                self.late[k] += by * self.decisions
                return 0
        if row.n == 0 or (row.n > 1 and row.n & (row.n - 1) == 0):
            self.grow_row(row)
        k = row.first + row.n
        row.n += 1
        self.tables.action[k] = <uint16_t>action
        self.w[k], self.late[k] = <float>by, by * self.decisions
        self.number[k] = <int32_t>self.n_features
        self.n_features += 1

    cdef int grow_row(self, RowC* row) except -1 nogil:
        """Move a full row to a place for twice as many weights."""
        cdef int32_t size = 0, n = row.n, first, k
        while (2 << size) < max(2 * n, 2):
            size += 1
        if self.free_rows[size] >= 0:
            first = self.free_rows[size]
            self.free_rows[size] = self.number[first]
        else:
            if self.tables.n_cells > 0x7FF00000:
                raise OverflowError("more than two thousand million weights")
            first = <int32_t>self.tables.n_cells
            self.reserve(self.tables.n_cells + (2 << size))
        for k in range(n):
            self.tables.action[first + k] = self.tables.action[row.first + k]
            self.w[first + k], self.late[first + k] = self.w[row.first + k], self.late[row.first + k]
            self.number[first + k] = self.number[row.first + k]
        if n:
            self.number[row.first] = self.free_rows[size - 1]
            self.free_rows[size - 1] = row.first
        row.first = first

    cdef int reserve(self, int64_t n) except -1 nogil:
        self.tables.action = <uint16_t*>arena_reserve(self.tables, &self.tables.action_buf, n, sizeof(uint16_t))
        self.w = self.search.w = <float*>arena_reserve(self, &self.w_buf, n, sizeof(float))
        self.late = <double*>arena_reserve(self, &self.late_buf, n, sizeof(double))
        self.number = <int32_t*>arena_reserve(self, &self.number_buf, n, sizeof(int32_t))
        self.tables.n_cells = n

    def weights(self) -> array.array:
        """A copy of the weights for a model: the average, or the last ones."""
        cdef float[::1] found = array.array("f", [0.0]) * self.n_features
        cdef int64_t r, k, n = self.decisions if self.options.average else 0
        cdef RowC row
        for r in range(self.tables.n_rows):
            row = self.tables.row[r]
            for k in range(row.first, row.first + <int64_t>row.n):
                found[self.number[k]] = <float>(self.w[k] - self.late[k] / n) if n else self.w[k]
        return found.base

    def placed(self, const float[::1] weights) -> array.array:
        """Weights in the order of `weights`, maybe of an earlier pass, rearranged in the order of the tables' `action`."""
        cdef float[::1] found = array.array("f", [0.0]) * max(self.tables.n_cells, 1)
        cdef int64_t r, k
        cdef RowC row
        for r in range(self.tables.n_rows):
            row = self.tables.row[r]
            for k in range(row.first, row.first + <int64_t>row.n):
                if self.number[k] < weights.shape[0]:
                    found[k] = weights[self.number[k]]
        return found.base

    # ------------------------------------------------------------------------------------------ passes

    def run_pass(self, should_stop=None) -> dict:
        """Learn from every sentence once, in a new random order. The pass ends early if `should_stop()`, called now and then, is true."""
        cdef int64_t k = 0, n = self.data.n_sequences, last
        cdef double loss = 0
        rng_shuffle(self.rng, self.order, n)
        while k < n:
            last = min(n, k + SENTENCES_BETWEEN_SIGNALS)
            with nogil:
                while k < last:
                    self.step(self.order[k], &loss)
                    k += 1
            if should_stop is not None and should_stop():
                break
        self.interrupted = k < n
        if not isfinite(loss):
            raise TrainingError("training diverged: a weight is not finite; lower --margin")
        self.passes += 1
        return {"loss": loss}

    cdef int step(self, int64_t s, double* loss) except -1 nogil:
        """Learn from one sentence."""
        cdef:
            int64_t first = self.data.start[s]
            int32_t T = <int32_t>(self.data.start[s + 1] - first), correct, n
            const int32_t* head = self.data.head + first
            const int32_t* relation = self.data.relation + first
            const int32_t* values = self.data.values + first * self.data.width
            ActionChoiceC choice
            int kind
            bint can_wait       # a left arc, as its head has children in the queue
        count_children(head, T, self.waiting, self.last_child)
        self.search.start(T, self.with_gaps(values, T) if self.dropout > 0 else values)
        while not state_ended(&self.search.state):
            kind = correct_kind(&self.search.state, head, self.waiting)
            can_wait = self.either and kind == LEFT and self.last_child[self.top()] >= self.search.state.next
            self.search.choose(self.action_of(kind, relation), can_wait, self.margin, &choice)
            correct = choice.correct
            if choice.action != correct:
                n = self.search.best_actions(correct, self.right)
                self.update(self.right, n, 1)
                n = self.search.best_actions(choice.action, self.wrong)
                self.update(self.wrong, n, -1)
                loss[0] += choice.value - choice.correct_value
                self.search.forget()
            self.decisions += 1
            self.search.execute(correct)
            if correct != 0:
                self.waiting[self.top()] -= 1

    cdef const int32_t* with_gaps(self, const int32_t* values, int32_t T) noexcept nogil:
        """A copy of a sentence's values without some of them. Leaves out some lines of the template, too."""
        cdef int32_t t, v
        cdef int64_t i
        cdef double chance
        for t in range(T):
            chance = rng_fraction(self.rng)
            for v in range(self.data.width):
                i = <int64_t>t * self.data.width + v
                self.some_values[i] = values[i]
                if v < self.tables.n_views and chance * (1 + self.count[v][1 + values[i]]) < 1:
                    self.some_values[i] = NOBODY
        for i in range(self.tables.n_lines):
            self.search.left_out[i] = rng_fraction(self.rng) < self.dropout
        return self.some_values

    cdef int32_t top(self) noexcept nogil:
        return self.search.state.stack[self.search.state.depth - 1]

    cdef int32_t action_of(self, int kind, const int32_t* relation) noexcept nogil:
        """The correct action, given its kind."""
        if kind == SHIFT:
            return 0
        if kind == LEFT:
            return 1 + relation[self.search.state.stack[self.search.state.depth - 2]]
        return 1 + self.tables.n_relations + relation[self.top()]

    cdef int update(self, const int32_t* actions, int32_t n, double gain) except -1 nogil:
        """Add `gain` to the weights of all features of the states in which these actions are taken, one after another."""
        cdef:
            int32_t[16] gone
            const uint32_t* key
            int32_t i, k
        for k in range(n):
            self.tables.keys(&self.search.state, self.search.values, self.search.key)
            key = self.search.key
            for i in range(self.tables.n_lines):
                if has_feature(&self.tables.line[i], key) and not self.search.left_out[i]:
                    self.change(self.tables.add(i, key), actions[k], gain)
                key += self.tables.most_cells
            gone[k] = state_do(&self.search.state, self.search.kind_of(actions[k]), 0)
        for k in range(n - 1, -1, -1):
            state_undo(&self.search.state, self.search.kind_of(actions[k]), gone[k])

    def prepare(self, should_stop=None) -> tuple:
        """Does nothing: no preparation is needed before the first pass."""
        return ()

    def finish(self) -> None:
        """Called after the last pass."""

    def chosen(self) -> dict:
        """Options chosen by the trainer for these data: none."""
        return {}

    def warning(self) -> str | None:
        """Why another trainer may suit these data better: there is no other."""
        return None

    def measures(self) -> dict:
        """Further figures for the log."""
        return {"features": self.n_features}

    # ------------------------------------------------------------------------------------------ resuming

    cdef dict vectors(self):
        return {"rng": vector(self, "Q", self.rng, 4), "order": vector(self, "i", self.order, self.data.n_sequences)}

    def state(self) -> dict:
        """The state on which the next pass depends. For each row its line and key; for each weight, in order of creation, its row, its action,
        its value, and its sum for the average."""
        rows, actions = array.array("i", [0]) * self.n_features, array.array("i", [0]) * self.n_features
        weights, late = array.array("f", [0.0]) * self.n_features, array.array("d", [0.0]) * self.n_features
        cdef int32_t[::1] row_of = rows, action_of = actions
        cdef float[::1] weight_of = weights
        cdef double[::1] late_of = late
        cdef int64_t r, k
        for r in range(self.tables.n_rows):
            for k in range(self.tables.row[r].first, self.tables.row[r].first + <int64_t>self.tables.row[r].n):
                row_of[self.number[k]], action_of[self.number[k]] = <int32_t>r, self.tables.action[k]
                weight_of[self.number[k]], late_of[self.number[k]] = self.w[k], self.late[k]
        lines, keys = self.tables.row_keys()
        return {"lines": lines, "keys": keys, "rows": rows, "actions": actions, "weights": weights, "late": late, **self.vectors(),
                "passes": self.passes, "decisions": self.decisions, "converged": None}

    def restore(self, dict state) -> None:
        """Continue from the state of another trainer. KeyError, OverflowError, TypeError or ValueError if the state does not fit; this
        trainer is then unusable."""
        cdef int64_t k, number, row, action, width = self.tables.most_cells
        names = zip(("lines", "keys", "rows", "actions", "weights", "late"), "iiiifd", strict=True)
        lines, keys, rows, actions, weights, late = [memoryview(state[name]).cast("B").cast(form) for name, form in names]
        if len(keys) != len(lines) * width or not len(rows) == len(actions) == len(weights) == len(late):
            raise ValueError("weights: of other features")
        if self.tables.n_rows:
            raise ValueError("a trainer that has already learned")
        sizes = self.data.sizes()
        for row, line in enumerate(lines):
            if self.row_of(line, keys[row * width : (row + 1) * width], sizes) != row:
                raise ValueError("keys: the same twice")
        for number, (row, action) in enumerate(zip(rows, actions, strict=True)):
            if not 0 <= row < self.tables.n_rows or not 0 <= action < self.tables.n_actions:
                raise ValueError("actions: that do not exist")
            self.change(<int32_t>row, <int32_t>action, weights[number])
            if self.n_features == number:
                raise ValueError("actions: the same twice")
            k = self.tables.row[row].first + self.tables.row[row].n - 1
            self.w[k], self.late[k] = weights[number], late[number]
        restore_vectors(state, self.vectors())
        if sorted(self.sentence_order()) != list(range(self.data.n_sequences)):
            raise ValueError("order: not one of the sentences")
        self.passes, self.decisions = state["passes"], state["decisions"]
        if self.passes < 0 or self.decisions < 0:
            raise ValueError("passes: fewer than 0")

    # ------------------------------------------------------------------------------------------ development data

    def parsed(self, Treebank data not None, const float[::1] weights not None):
        """Parse sentences with weights in the order of `weights`. Returns the number of words with the right head, of words with the
        right head and relation, and of sentences without an error."""
        cdef Search search = Search(self.tables, self.options.depth)
        placed = self.placed(weights)
        cdef const float[::1] view = placed
        cdef int64_t s, t, first, heads = 0, both = 0, whole = 0, good
        cdef int32_t head, relation
        search.w = &view[0]
        search.root_relation = self.root_relation
        for s in range(data.n_sequences):
            first = data.start[s]
            search.start(<int32_t>(data.start[s + 1] - first), data.values + first * data.width)
            with nogil:
                search.run()
            good = 0
            for t in range(search.state.T):
                head = search.state.head[t]
                relation = self.root_relation if head < 0 else search.state.relation[t]
                if head == data.head[first + t]:
                    heads += 1
                    good += relation == data.relation[first + t]
            both += good
            whole += good == search.state.T
        return heads, both, whole
