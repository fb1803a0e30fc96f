"""Shared parts of trainers that compare the true path with paths they have found.

    Paths               towards the true path, away from those that were found
    AveragedTrainer     weights that may be averaged over all steps
    Differences         how the features of paths differ from those of the true one, as vectors

The average costs nothing at steps that do not touch a weight: with c the number of the step, u += c * change is kept
beside w += change, and the average after n steps is w - u / n.

Steps of large-margin trainers need inner products of differences, as sparse vectors. An attribute may occur at several positions,
or twice at one, so values are summed by weight in a table: of all cells where these are few, as where every token has the same
attributes with values of their own, else a hash table, which grows with the differences of one sequence, not with the model. So it stays
in the cache.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from crfkit.data.dataset cimport Dataset
from crfkit.lattice.lattice cimport lattice_load_scores
from crfkit.loops.structs cimport crfkit_set_score
from crfkit.memory cimport arena_reserve, arena_zeros, memset, vector
from crfkit.weights.cells cimport ANY, layout_cell, layout_history_cell, pairs_row, row_cell
from crfkit.weights.layout cimport Layout

cdef enum:
    FIRST_ROOM = 256        # features
    FEW_CELLS = 1 << 16     # with so many at most, the table has a slot for each: 256 KB

cdef struct ShareC:         # what is taken from a label or a pair of labels of one position
    int32_t prev, label
    double amount


cdef inline void add_share(Paths self, int32_t prev, int32_t label, double amount) noexcept nogil:
    """Add to the amount of a label pair (prev is 0 where single labels are counted), and list the pair if the amount was zero.
    A pair may be listed twice, if its amount became zero in between."""
    cdef double* total = self.amounts + (prev * self.P + label)
    cdef ShareC* share = (<ShareC*>self.shares.data) + self.n
    if total[0] == 0:
        share.prev, share.label = prev, label
        self.n += 1
    total[0] += amount


cdef inline void list_shares(Paths self, const SentenceC* sent, const uint16_t* paths, const double* probability, int64_t n, double gain, int64_t t,
                      bint pairs) noexcept nogil:
    """List the labels at position t, or the pairs with the labels before them, that gain on the true path or lose on the n others: each once,
    with the sum over all paths."""
    cdef:
        ShareC* share = <ShareC*>self.shares.data
        const uint16_t* label = sent.label + t
        double* amount
        int64_t k
        int32_t q, left = 0
    self.n = 0
    add_share(self, (label - 1)[0] if pairs else 0, label[0], gain)
    for k in range(n):
        label = paths + k * sent.T + t
        add_share(self, (label - 1)[0] if pairs else 0, label[0], -gain * probability[k])
    for q in range(self.n):
        amount = self.amounts + (share[q].prev * self.P + share[q].label)
        if amount[0] != 0:
            share[left] = ShareC(share[q].prev, share[q].label, amount[0])
            amount[0] = 0
            left += 1
    self.n = left


cdef inline bint all_agree(const SentenceC* sent, int64_t t, const uint16_t* paths, int64_t n) noexcept nogil:
    """Whether n paths have the true label at position t."""
    cdef int64_t k
    for k in range(n):
        if paths[k * sent.T + t] != sent.label[t]:
            return False
    return True


cdef class Paths:

    def __cinit__(self, Layout layout):
        self.P = layout.c.P
        self.amounts = <double*>arena_zeros(self, (<int64_t>layout.c.L if layout.c.has_tau or layout.c.B else 1) * self.P, sizeof(double))

    cdef int follow(self, OnlineTrainer trainer, const SentenceC* sent, const uint16_t* paths, const double* probability, int64_t n,
                    double gain, double* late) except -1 nogil:
        """out += gain * (features of the true path - their mean over n paths). Returns whether anything changed.

        The paths are stored one after the other, with probabilities that sum to 1. Only positions are visited where one of
        them differs from the true path; there the paths are summed first, so that each attribute is visited once.
        The lattice keeps up with the scores of label pairs, of which few change. `late`, if given, gains each change times the step.
        """
        cdef:
            const LayoutC* layout = &trainer.layout.c
            weight_t* w = trainer.out
            int64_t t, k, u
            int32_t q
            double by, when = trainer.steps
            bint before = True, here, any_change = False, in_step = trainer.pairs_known and trainer.batch == 1
            ShareC* shares
        shares = <ShareC*>arena_reserve(self, &self.shares, n + 1, sizeof(ShareC))
        for t in range(sent.T):
            here = all_agree(sent, t, paths, n)
            if not here:
                any_change = True
                list_shares(self, sent, paths, probability, n, gain, t, False)
                for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
                    by = sent.u_val[u] if sent.u_val != NULL else 1.0
                    for q in range(self.n):
                        change(w, late, when, layout_cell(layout, sent.u_id[u], shares[q].label), by * shares[q].amount)
            if t > 0 and not (here and before) and (layout.has_tau or layout.B):
                list_shares(self, sent, paths, probability, n, gain, t, True)
                if layout.has_tau:
                    for q in range(self.n):
                        k = shares[q].prev * self.P + shares[q].label
                        if layout.tau_mask[k]:
                            change(w, late, when, layout.tau0 + k, shares[q].amount)
                            if in_step:
                                crfkit_set_score(&trainer.lattice.c.shared, shares[q].prev, shares[q].label, w[layout.tau0 + k])
                if sent.b_ptr != NULL:
                    for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                        by = sent.b_val[u] if sent.b_val != NULL else 1.0
                        for q in range(self.n):
                            change(w, late, when, layout_history_cell(layout, sent.b_id[u], ANY, shares[q].prev, shares[q].label),
                                   by * shares[q].amount)
            before = here
        return any_change


cdef class AveragedTrainer(OnlineTrainer):
    """A subclass has a `step` that adds to `u`, if there is one, whatever it adds to `w`, times the number of the step (`instants`)."""

    looks_for_paths = True

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return OnlineTrainer.bytes_per_cell(options, threads) + 8 * options.average      # the average

    def __cinit__(self, Dataset data, Layout layout, options, str recursions="auto", **unused):
        self.lattice.list_features(&layout.c, recursions, False)
        if options.average:
            self.u = <double*>arena_zeros(self, layout.c.n_cells, sizeof(double))

    cdef int begin_update(self) except -1 nogil:
        """Scores of label pairs for the search; `step` keeps them up to date (lattice_follow)."""
        if not self.pairs_known:
            lattice_load_scores(&self.lattice.c, &self.layout.c, self.w)
            self.pairs_known = True

    cdef int64_t instants(self) noexcept nogil:
        """How many weight vectors the average is over: one after each step, unless a subclass counts differently."""
        return self.steps

    cdef dict vectors(self):
        found = OnlineTrainer.vectors(self)
        if self.u != NULL:
            found["late"] = vector(self, "d", self.u, self.layout.c.n_cells)
        return found

    def weights(self):
        """A copy of the weights that would be stored: the average, or the last ones."""
        cdef float[::1] cells = OnlineTrainer.weights(self)
        cdef int64_t k, n = self.instants()
        if self.u != NULL and n:
            for k in range(self.layout.c.n_cells):
                cells[k] = <float>(self.w[k] - self.u[k] / n)
        return cells.base


cdef class Differences:

    cdef int compare(self, const LayoutC* layout, const SentenceC* sent, const uint16_t* paths, int64_t n) except -1 nogil:
        """Compare n paths, stored one after the other, with the true one."""
        cdef:
            int64_t t, u
            bint nodes, edges, before = False
        begin(self, layout, n)
        for t in range(sent.T):
            nodes = not all_agree(sent, t, paths, n)
            edges, before = t > 0 and (nodes or before), nodes
            if nodes:
                find_sides(self, sent, paths, t, False)
                if n == 1:
                    add_values(self, layout, sent, t)
                else:
                    for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
                        add(self, layout, sent.u_id[u], sent.u_val[u] if sent.u_val != NULL else 1)
            if edges and (layout.has_tau or sent.b_ptr != NULL):
                find_sides(self, sent, paths, t, True)
                if layout.has_tau:
                    add(self, layout, pairs_row(layout), 1)
                if sent.b_ptr != NULL:
                    for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                        add(self, layout, <int64_t>layout.A + sent.b_id[u], 1)

    cdef void products(self, double* out) noexcept nogil:
        """The inner products of all differences, as a matrix of n x n."""
        cdef:
            int64_t f, k, q, n = self.n
            const double* row
        memset(out, 0, n * n * sizeof(double))
        for f in range(self.size):
            row = self.values + f * n
            for k in range(n):
                if row[k] != 0:
                    for q in range(k + 1):
                        out[k * n + q] += row[k] * row[q]
        for k in range(n):
            for q in range(k):
                out[q * n + k] = out[k * n + q]


cdef int begin(Differences self, const LayoutC* layout, int64_t n) except -1 nogil:
    """Forget what was compared before, and make room for the sides of n paths."""
    cdef:
        int32_t* table = <int32_t*>self.table.data
        int64_t f
    for f in range(self.size):
        table[self.features[f].slot] = 0
    self.size = 0
    if n != self.n:
        self.n, self.room = n, 0
    arena_reserve(self, &self.sides, n + 1, sizeof(SideC))
    arena_reserve(self, &self.side_of, n, sizeof(int32_t))
    if self.table.data == NULL and layout.n_cells <= FEW_CELLS:
        self.direct = True
        make_table(self, layout.n_cells)


cdef void find_sides(Differences self, const SentenceC* sent, const uint16_t* paths, int64_t t, bint pairs) noexcept nogil:
    """The labels or the pairs of labels that features look at on each path at position t: the true ones first, each once."""
    cdef:
        SideC* side = <SideC*>self.sides.data
        int32_t* side_of = <int32_t*>self.side_of.data
        const uint16_t* label = sent.label + t
        int64_t k
        int32_t q = 0, prev = (label - 1)[0] if pairs else 0
    side[0].prev, side[0].label = prev, label[0]
    self.n_sides = 1
    for k in range(self.n):
        label = paths + k * sent.T + t
        prev = (label - 1)[0] if pairs else 0
        if side[q].label != label[0] or side[q].prev != prev:       # most paths have the labels of the one before them
            q = 0
            while q < self.n_sides and (side[q].label != label[0] or side[q].prev != prev):
                q += 1
            if q == self.n_sides:
                side[q].prev, side[q].label = prev, label[0]
                self.n_sides += 1
        side_of[k] = q


cdef inline int64_t slot_of(const int32_t* table, const FeatureC* features, bint direct, int64_t mask, int64_t cell) noexcept nogil:
    """The slot of a cell, or the empty one that it would have."""
    cdef int64_t slot
    if direct:
        return cell
    slot = <int64_t>((<uint64_t>cell * <uint64_t>0x9E3779B97F4A7C15) >> 32) & mask
    while table[slot] and features[table[slot] - 1].cell != cell:
        slot = (slot + 1) & mask
    return slot


cdef inline int add(Differences self, const LayoutC* layout, int64_t r, double value) except -1 nogil:
    """The attribute of row r, at the position of the sides: its value for the true one, and its negative for that of each other path."""
    cdef:
        SideC* side = <SideC*>self.sides.data
        const int32_t* side_of = <int32_t*>self.side_of.data
        double* values
        int64_t k, n = self.n
        int32_t q
    if self.size + self.n_sides > self.room:
        more_room(self)
    values = self.values
    for q in range(self.n_sides):
        side[q].feature = feature_of(self, row_cell(layout, r, side[q].prev, side[q].label))
    for k in range(n):
        q = side_of[k]
        if q and side[0].feature >= 0:
            values[side[0].feature * n + k] += value
        if q and side[q].feature >= 0:
            values[side[q].feature * n + k] -= value


cdef inline int64_t feature_of(Differences self, int64_t cell) noexcept nogil:
    """The feature of a cell, or -1 if there is no cell. A new one is 0 on all paths."""
    cdef:
        int32_t* table = <int32_t*>self.table.data
        int64_t slot, k, f = self.size
    if cell < 0:
        return -1
    slot = slot_of(table, self.features, self.direct, self.mask, cell)
    if table[slot]:
        return table[slot] - 1
    self.size = f + 1
    table[slot] = <int32_t>(f + 1)
    self.features[f].cell, self.features[f].slot = cell, slot
    for k in range(f * self.n, (f + 1) * self.n):
        self.values[k] = 0
    return f


cdef int add_values(Differences self, const LayoutC* layout, const SentenceC* sent, int64_t t) except -1 nogil:
    """`add` for all unigram attributes at position t, of one path: what takes most of the time where attributes have values."""
    cdef:
        const SideC* side = <SideC*>self.sides.data
        int32_t true = side[0].label, own = side[1].label
        int32_t* table
        FeatureC* features
        double* values
        double by
        int64_t cell, slot, u, first = sent.u_ptr[t], last = sent.u_ptr[t + 1], mask, size = self.size
        bint direct = self.direct
        int q
    while size + 2 * (last - first) > self.room:
        more_room(self)
    table, features, values, mask = <int32_t*>self.table.data, self.features, self.values, self.mask
    for u in range(first, last):
        by = sent.u_val[u] if sent.u_val != NULL else 1
        for q in range(2):
            cell = layout_cell(layout, sent.u_id[u], own if q else true)
            if cell >= 0:
                slot = slot_of(table, features, direct, mask, cell)
                if table[slot]:
                    values[table[slot] - 1] += by
                else:
                    features[size].cell, features[size].slot, values[size] = cell, slot, by
                    size += 1
                    table[slot] = <int32_t>size
            by = -by
    self.size = size


cdef int more_room(Differences self) except -1 nogil:
    """Room for twice as many features, or for all that one attribute may add, and for them in the table, of which half stays empty."""
    cdef:
        int64_t room = max(2 * self.room, self.size + self.n_sides, FIRST_ROOM), slots = self.mask + 1, f, slot
        int32_t* table
    self.features = <FeatureC*>arena_reserve(self, &self.feature_buffer, room, sizeof(FeatureC))
    self.values = <double*>arena_reserve(self, &self.value_buffer, room * self.n, sizeof(double))
    self.room = room
    if self.direct or 2 * room <= slots:
        return 0
    while slots < 2 * room:
        slots *= 2
    if slots > <int64_t>1 << 31:
        raise MemoryError("too many features differ in one sequence")
    table = make_table(self, slots)
    for f in range(self.size):
        slot = slot_of(table, self.features, False, self.mask, self.features[f].cell)
        table[slot], self.features[f].slot = <int32_t>(f + 1), slot


cdef int32_t* make_table(Differences self, int64_t slots) except NULL nogil:
    """An empty table."""
    memset(arena_reserve(self, &self.table, slots, sizeof(int32_t)), 0, slots * sizeof(int32_t))
    self.mask = slots - 1
    return <int32_t*>self.table.data
