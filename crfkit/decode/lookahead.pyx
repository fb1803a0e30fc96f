"""The search of history-based taggers: the best label now, judged by the best continuation.

The value of a label at token t, after the labels chosen so far, is the best score of that label and the `depth`
labels after it (fewer where the sentence ends). It is found without walking the tree of all label sequences:

    reach[s][i]     the best score of tokens s .. last when the label before them is i: one step of Viterbi,
                    backwards, for each token of the window

Where no feature looks two labels back, that is the value itself. Where some do, a step counts with its maximum over the
label before, so reach is an upper bound; labels are then tried in the order of their bounds, replacing each bound by the
exact value, until the best one is exact (`best_of`, `solve`). Solutions are cached by the two labels before them, so that
nothing is solved twice.

Scores are computed when the window reaches a token, a few tokens at a time, and again when the weights have changed
(`forget`); callers that change weights of label pairs report it (`note_pair`, `note_history`).
"""

from crfkit.weights.cells cimport ANY, history_begin, key_of
from crfkit.loops.numbers cimport INFINITY
from crfkit.loops.kernels cimport K
from crfkit.weights.layout cimport rich_row_fits
from crfkit.memory cimport arena_reserve, arena_zeros, memcpy
from crfkit.loops.structs cimport LatticeC, LayoutC

from crfkit.errors import ModelFileError

cdef enum:
    AHEAD = 8           # tokens scored at a time: their weights are fetched while others are summed


cdef inline void add_features(const LayoutC* layout, const weight_t* w, int32_t b, int64_t before, int64_t previous,
                              double* row) noexcept nogil:
    """row[label] += weight of the features of attribute b after these labels."""
    cdef int64_t f = history_begin(layout, b, key_of(before, previous, 0)), last = layout.b_ptr[b + 1]
    while f < last and layout.b_prev[f] == previous and (layout.b_prev2 == NULL or layout.b_prev2[f] == before):
        row[layout.b_label[f]] += w[layout.rich0 + f]
        f += 1


cdef class LookaheadSearch:
    """The scratch of one thread; it reads weights that others may change."""

    def __cinit__(self, Layout layout not None, Lattice lattice not None, int32_t depth, shared):
        """`shared`: bigram attributes that every token has; one that it has twice is listed twice."""
        cdef int64_t k, L = layout.c.L, P = layout.c.P
        self.layout, self.lattice, self.depth = layout, lattice, depth
        if layout.c.b_prev2 != NULL:
            for k in range(layout.c.b_ptr[layout.c.B]):
                self.second |= layout.c.b_prev2[k] != ANY
        self.ring = depth + 1
        self.pairs, self.most = <double*>arena_zeros(self, L * P, sizeof(double)), <double*>arena_zeros(self, (L + 1) * P, sizeof(double))
        self.touched = <int64_t*>arena_zeros(self, L * P + L, sizeof(int64_t))
        self.rows, self.sums = <double*>arena_zeros(self, 2 * P * (depth + 1), sizeof(double)), <double*>arena_zeros(self, P, sizeof(double))
        if self.second:
            self.memo = <MemoC*>arena_zeros(self, (depth + 1) * (L + 2) * L, sizeof(MemoC))
        shared = [b for b in shared if b >= 0]
        self.n_shared = len(shared)
        self.shared = <int32_t*>arena_zeros(self, self.n_shared, sizeof(int32_t))
        for k in range(self.n_shared):
            if shared[k] >= layout.c.B:
                raise ValueError("attributes of another layout")
            self.shared[k] = shared[k]
            if not rich_row_fits(&layout.c, shared[k]):
                raise ModelFileError("the model is damaged: its tables of features contradict each other")
        self.stale = True

    cdef int watch(self, const SentenceC* sent, int32_t scored) except -1 nogil:
        """Start a sentence, whose first `scored` tokens have scores in the lattice. There must be room for all."""
        self.sent, self.scored, self.bounded, self.complete = sent, scored, 0, sent.T
        arena_reserve(self, &self.reach, <int64_t>sent.T * self.layout.c.P, sizeof(double))
        arena_reserve(self, &self.has_own, sent.T, 1)
        if self.stale:
            refresh(self)

    cdef int choose(self, int32_t t, const uint16_t* labels, int32_t correct, double margin, ChoiceC* out) except -1 nogil:
        """The best label of token t after labels[0 .. t-1]; of equally good ones the smallest. The correct one, if not
        -1, has to be better than the others by the margin."""
        cdef:
            int32_t L = self.layout.c.L, unused
            double* row = self.rows
            double* base = row + self.layout.c.P
        out.t, out.last = t, min(t + self.depth, self.sent.T - 1)
        out.previous = labels[t - 1] if t > 0 else L
        out.before = labels[t - 2] if t > 1 else L + 1 - t
        self.stamp += 1
        score_to(self, out.last)
        bound_to(self, out.last)
        fill_reach(self, t + 1, out.last)
        fill_level(self, t, 0, out.last, out.before, out.previous)
        if self.second and correct >= 0 and t < out.last:
            row[correct] = base[correct] + solve(self, t + 1, 1, out.last, out.previous, correct, &unused)
        if correct >= 0:
            out.correct = row[correct]
            row[correct] -= margin
            base[correct] -= margin
        out.label = best_of(self, t, 0, out.last, out.previous)
        out.value = row[out.label]

    cdef int leaf(self, const ChoiceC* choice, int32_t label, uint16_t* labels) except -1 nogil:
        """The best labels of tokens t .. last that begin with this one. Only for a label whose exact value was
        found, as those of the best and of the correct one are."""
        cdef:
            int64_t P = self.layout.c.P, j
            int32_t L = self.layout.c.L, t, best = label, before = choice.before, previous = choice.previous
            double value, highest
            const double* node
            const double* step
            const double* reach
        for t in range(choice.t, choice.last + 1):
            if t > choice.t and self.second:
                solve(self, t, t - choice.t, choice.last, before, previous, &best)
            elif t > choice.t:
                node, step = self.lattice.c.score + t * P, steps(self, t)
                reach = <double*>self.reach.data + (t + 1) * P
                highest, best = -INFINITY, 0
                for j in range(L):
                    value = node[j] + (reach[j] if t < choice.last else 0) + step[j * P + previous]
                    if value > highest:
                        highest, best = value, <int32_t>j
            labels[t - choice.t] = <uint16_t>best
            before, previous = previous, best

    cdef void forget(self, int32_t t) noexcept nogil:
        """The weights have changed: recompute scores from token t on."""
        self.scored = self.bounded = t
        self.complete = self.sent.T

    cdef void note_pair(self, int32_t i, int32_t j, double by) noexcept nogil:
        """The weight of a plain label pair has changed."""
        cdef int64_t P = self.layout.c.P
        cdef double* tau = self.lattice.c.shared.score
        tau[i * P + j] += by
        self.pairs[j * P + i] += by

    cdef void note_history(self, int32_t b, int32_t before, int32_t previous, int32_t label, double by) noexcept nogil:
        """The weight of a feature of an attribute has changed. A bound on the features after several labels may stay
        too high until the next sentence."""
        cdef int64_t i, L = self.layout.c.L, P = self.layout.c.P, times = times_shared(self, b)
        cdef double* row = self.pairs + label * P
        if times == 0:
            return
        by *= times
        self.stale |= before != ANY or previous == ANY
        if previous == ANY:
            for i in range(L):
                row[i] += max(by, 0.0)
        elif previous < L:
            row[previous] += by if before == ANY else max(by, 0.0)

    cdef int tag(self, uint16_t* labels) except -1 nogil:
        """The labels of the whole sentence, each chosen after those before it. Returns 1 as soon as none is possible, else 0."""
        cdef ChoiceC choice
        cdef int32_t t
        for t in range(self.sent.T):
            self.choose(t, labels, -1, 0, &choice)
            if choice.value == -INFINITY:
                return 1
            labels[t] = <uint16_t>choice.label
        return 0

    cdef double path_score(self, const uint16_t* labels) except? -1 nogil:
        """The sum of the weights of the features of a labelling."""
        cdef int32_t t, L = self.layout.c.L
        cdef double total = 0
        cdef double* row = self.rows
        score_to(self, self.sent.T - 1)
        for t in range(self.sent.T):
            fill_row(self, t, labels[t - 2] if t > 1 else L + 1 - t, labels[t - 1] if t > 0 else L, row)
            total += row[labels[t]]
        return total


cdef int refresh(LookaheadSearch search) except -1 nogil:
    """Compute the bounds of steps between labels from the current weights."""
    cdef int64_t k
    copy_tau(&search.lattice.c, search.pairs)
    for k in range(search.n_shared):
        add_bounds(search, search.shared[k], search.pairs)
    search.stale = False


cdef const double* steps(LookaheadSearch search, int32_t t) noexcept nogil:
    """The steps into token t, [label][label before]."""
    if (<uint8_t*>search.has_own.data)[t]:
        return <double*>search.own.data + <int64_t>(t % search.ring) * search.layout.c.L * search.layout.c.P
    return search.pairs


cdef double solve(LookaheadSearch search, int32_t t, int32_t level, int32_t last, int32_t before, int32_t previous,
                  int32_t* label) noexcept nogil:
    """The best score of tokens t .. last after two labels, and the first of their labels."""
    cdef:
        int64_t L = search.layout.c.L
        MemoC* memo = search.memo + ((level * (L + 2) + before) * L + previous)
    if memo.stamp != search.stamp:
        fill_level(search, t, level, last, before, previous)
        memo.label = best_of(search, t, level, last, previous)
        memo.value, memo.stamp = search.rows[2 * search.layout.c.P * level + memo.label], search.stamp
    label[0] = memo.label
    return memo.value


cdef void fill_row(LookaheadSearch search, int32_t t, int32_t before, int32_t previous, double* row) noexcept nogil:
    """row[j] = the score of label j at token t after two labels."""
    cdef:
        const LayoutC* layout = &search.layout.c
        const SentenceC* sent = search.sent
        int64_t P = layout.P, j, u
        const double* tau = search.lattice.c.shared.score + previous * P
    memcpy(row, search.lattice.c.score + t * P, P * sizeof(double))
    if previous < layout.L:
        for j in range(layout.L):
            row[j] += tau[j]
    if sent.b_ptr != NULL:
        for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
            add_features(layout, search.w, sent.b_id[u], ANY, previous, row)
            if search.second:
                add_features(layout, search.w, sent.b_id[u], before, previous, row)
                add_features(layout, search.w, sent.b_id[u], before, ANY, row)


cdef int64_t times_shared(LookaheadSearch search, int32_t b) noexcept nogil:
    """How often every token has attribute b."""
    cdef int64_t k, n = 0
    for k in range(search.n_shared):
        n += search.shared[k] == b
    return n


cdef void copy_tau(const LatticeC* lat, double* matrix) noexcept nogil:
    """matrix[j][i] = the score of the plain pair i, j."""
    cdef int64_t i, j, P = lat.P
    for i in range(P):
        for j in range(lat.L):
            matrix[j * P + i] = lat.shared.score[i * P + j] if i < lat.L else 0


cdef void add_bounds(LookaheadSearch search, int32_t b, double* matrix) noexcept nogil:
    """matrix[j][i] += the maximum that the features of attribute b add to the step from i to j."""
    cdef:
        const LayoutC* layout = &search.layout.c
        int64_t f, k, cell, n = 0, i, j, L = layout.L, P = layout.P
        double* most = search.most
        int64_t* touched = search.touched
        double x
    for f in range(layout.b_ptr[b], layout.b_ptr[b + 1]):
        x = search.w[layout.rich0 + f]
        i, j = layout.b_prev[f], layout.b_label[f]
        if layout.b_prev2 == NULL or layout.b_prev2[f] == ANY:
            if i < L:
                matrix[j * P + i] += x
        elif x > 0 and i != L:
            # the best of all labels before; with any label i, in the last row of `most`
            cell = L * P + j if i == ANY else j * P + i
            if most[cell] == 0:
                touched[n] = cell
                n += 1
            most[cell] = max(most[cell], x)
    for k in range(n):
        cell = touched[k]
        if cell < L * P:
            matrix[cell] += most[cell]
        else:
            for i in range(L):
                matrix[(cell - L * P) * P + i] += most[cell]
        most[cell] = 0


cdef int score_to(LookaheadSearch search, int32_t last) except -1 nogil:
    """Node scores up to token `last`, and of some more."""
    cdef:
        LatticeC part
        SentenceC some
        int64_t P = search.layout.c.P
    while search.scored <= last:
        some, part = search.sent[0], search.lattice.c
        some.T = min(max(last + 1 - search.scored, AHEAD), search.sent.T - search.scored)
        some.u_ptr += search.scored
        some.b_ptr = NULL
        part.score += search.scored * P
        part.n_own = 0
        K.score(&search.layout.c, search.w, 1.0, &some, &part)
        search.scored += some.T


cdef int bound_to(LookaheadSearch search, int32_t last) except -1 nogil:
    """Steps into the tokens up to `last`, where they have bigram attributes that not all tokens have, or lack some that the others have
    (--dropout)."""
    cdef:
        const SentenceC* sent = search.sent
        int64_t u, left, size = <int64_t>search.layout.c.L * search.layout.c.P
        int32_t t
        bint own
        double* matrix
    for t in range(search.bounded, last + 1):
        left, own = 0, False
        if sent.b_ptr != NULL and search.depth:
            left = search.n_shared
            for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                left -= times_shared(search, sent.b_id[u]) > 0
            own = left or sent.b_ptr[t + 1] - sent.b_ptr[t] > search.n_shared
        (<uint8_t*>search.has_own.data)[t] = own
        if own:
            matrix = <double*>arena_reserve(search, &search.own, search.ring * size, sizeof(double)) + (t % search.ring) * size
            if left:
                copy_tau(&search.lattice.c, matrix)
            else:
                memcpy(matrix, search.pairs, size * sizeof(double))
            for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                if left or times_shared(search, sent.b_id[u]) == 0:
                    add_bounds(search, sent.b_id[u], matrix)
    search.bounded = max(search.bounded, last + 1)


cdef void fill_reach(LookaheadSearch search, int32_t first, int32_t last) noexcept nogil:
    """reach[first .. last]; those that end with the sentence serve the decisions after this one, too."""
    cdef:
        int64_t P = search.layout.c.P, j
        int32_t s, L = search.layout.c.L
        double* x = search.sums
        const double* node
        double* reach
    for s in range(last if last < search.sent.T - 1 else min(last, search.complete - 1), first - 1, -1):
        node, reach = search.lattice.c.score + s * P, <double*>search.reach.data + s * P
        for j in range(L):
            x[j] = node[j] + (reach[P + j] if s < last else 0)
        K.max_plus(L, <int32_t>P, x, steps(search, s), reach)
    if last == search.sent.T - 1:
        search.complete = min(search.complete, first)


cdef void fill_level(LookaheadSearch search, int32_t t, int32_t level, int32_t last, int32_t before, int32_t previous) noexcept nogil:
    """The row of a level: values of the labels of token t, or before the last token their bounds; and after it, in a second row,
    the scores without continuations."""
    cdef:
        int64_t P = search.layout.c.P, j
        double* row = search.rows + 2 * P * level
        const double* reach
    fill_row(search, t, before, previous, row)
    memcpy(row + P, row, P * sizeof(double))
    if t < last:
        reach = <double*>search.reach.data + (t + 1) * P
        for j in range(search.layout.c.L):
            row[j] += reach[j]


cdef int32_t best_of(LookaheadSearch search, int32_t t, int32_t level, int32_t last, int32_t previous) noexcept nogil:
    """The best label in the row of a level (fill_level), whose bounds are made exact as far as needed."""
    cdef:
        int64_t P = search.layout.c.P, j, exact = -1
        double* row = search.rows + 2 * P * level
        const double* base = row + P
        int32_t best, unused
    while True:
        best = 0
        for j in range(1, search.layout.c.L):
            if row[j] > row[best]:
                best = <int32_t>j
        if not search.second or t == last or row[best] == -INFINITY or best == exact:
            return best
        row[best] = base[best] + solve(search, t + 1, level + 1, last, previous, best, &unused)
        exact = best
