"""The scratch of one thread: owns the arrays of a LatticeC and lets them grow, never shrink.

The loops are in loops/simd/*.inc and are called through the table K. This module has what may fail (memory, a
sequence without any possible path) and what need not be fast. Which form a step has is chosen in forms.pyx.
"""

from crfkit.loops.numbers cimport INFINITY
from crfkit.loops.kernels cimport K
from crfkit.memory cimport arena_mostly_unused, arena_reserve, arena_zeros, memchr, memset
from crfkit.lattice.forms cimport (
    AUTO, LARGEST_CELL, Recursions, is_listed, labels_to_change, mark_rich, mark_scored, most_changes, most_pairs, pairs_known, places_fit, recursions_of,
)
from crfkit.weights.cells cimport padded, rich_features
from crfkit.loops.structs cimport ChangeC, EdgeC, PairC, crfkit_edge_score, crfkit_most_places, crfkit_row_top, crfkit_sums_bytes
from crfkit.errors import ImpossibleError

cdef int64_t MOST_POSITIONS = (1 << 31) - 64

cdef enum:
    ROWS_TO_CHOOSE = 32     # labels: with fewer, going through all rows of a matrix is faster than choosing

IMPOSSIBLE = "no sequence of labels is possible under the constraints, or a weight is not finite"


cdef void lattice_load_weights(LatticeC* lat, const LayoutC* layout, const weight_t* w, double scale) noexcept nogil:
    """Load the shared edge scores and their potentials. To be called again whenever label-pair weights have changed."""
    if lat.counted:
        K.load_listed(layout, w, scale, lat)
    elif lat.place != NULL:
        K.load_places(layout, w, scale, lat)
    else:
        K.load_tau(layout, w, scale, lat)
        K.exp_tau(lat)


cdef void lattice_load_for(LatticeC* lat, const LayoutC* layout, const weight_t* w, double scale, const SentenceC* sent) noexcept nogil:
    """The same for one sequence: a token alone has no step, and with many labels loading takes far longer than all else that is done for it."""
    if sent.T > 1:
        lattice_load_weights(lat, layout, w, scale)


cdef void lattice_load_scores(LatticeC* lat, const LayoutC* layout, const weight_t* w) noexcept nogil:
    """Load the shared edge scores, for searches of best paths only; `lattice_follow` keeps them up to date."""
    if lat.counted:
        K.load_listed(layout, w, 1.0, lat)
    else:
        K.load_tau(layout, w, 1.0, lat)
    choose_rows(lat)


cdef void choose_rows(LatticeC* lat) noexcept nogil:
    """Let Viterbi skip rows of the shared step, where that pays."""
    if lat.shared.pair != NULL or lat.L >= ROWS_TO_CHOOSE:
        find_row_tops(lat)


cdef void find_row_tops(LatticeC* lat) noexcept nogil:
    """Compute the best score of each row, by which it chooses."""
    cdef int32_t i
    for i in range(lat.P):
        lat.tops[i] = crfkit_row_top(&lat.shared, i) if i < lat.L else -INFINITY
    lat.shared.row_top = lat.tops


cdef int lattice_sum(LatticeC* lat) except -1 nogil:
    """Forward and backward over a scored sequence."""
    if K.forward_backward(lat) != 0:
        raise ImpossibleError(IMPOSSIBLE)


cdef int lattice_expect(LatticeC* lat) except -1 nogil:
    """Forward, backward and node marginals of a scored sequence."""
    lattice_sum(lat)
    K.node_marginals(lat)


cdef double lattice_path_score(const LatticeC* lat, const uint16_t* labels) noexcept nogil:
    """Score of one path of a scored sequence."""
    cdef:
        double total = lat.score[labels[0]]
        int32_t t
    for t in range(1, lat.T):
        # in the order of Viterbi's additions, so that its path gets the same score to the bit
        total += crfkit_edge_score(lat.edge[t], labels[t - 1], labels[t])
        total += lat.score[<int64_t>t * lat.P + labels[t]]
    return total


cdef void lattice_add(LatticeC* lat, const double* more, int64_t stride) noexcept nogil:
    """After score: add to the scores of labels. `more` has a row for each position, at this distance from the one before; 0: all have the same."""
    cdef int64_t t, j
    for t in range(lat.T):
        for j in range(lat.L):
            lat.score[t * lat.P + j] += more[t * stride + j]


cdef const EdgeC* put_changes(const EdgeC* edge) noexcept nogil:
    """The step itself, or if it is changes the shared one, with their scores until take_changes: in between no other step may be asked."""
    if edge.plain == NULL:
        return edge
    K.exchange_scores(edge, False)
    return edge.plain


cdef void take_changes(const EdgeC* edge) noexcept nogil:
    """After put_changes: let the shared step be what it was."""
    if edge.plain != NULL:
        K.exchange_scores(edge, True)


cdef void forbid_labels(double* row, const uint8_t* allowed, int64_t L) noexcept nogil:
    """Forbid the labels whose flag is 0, in a row of scores."""
    cdef int64_t j
    for j in range(L):
        if not allowed[j]:
            row[j] = -INFINITY


cdef void lattice_allow(LatticeC* lat, const uint8_t* allowed) noexcept nogil:
    """After score: forbid labels whose flag in allowed[T][L] is 0."""
    cdef int64_t t
    for t in range(lat.T):
        forbid_labels(lat.score + t * lat.P, allowed + t * lat.L, lat.L)


cdef void lattice_forbid(LatticeC* lat, const uint8_t* transitions) noexcept nogil:
    """After lattice_load_weights: forbid transitions whose flag in transitions[L][L] is 0.

    Positions with rich edges copy the shared scores when they are scored, so they inherit this."""
    forbid_steps(lat, lat.shared.score, transitions)
    K.exp_tau(lat)


cdef void forbid_steps(LatticeC* lat, double* matrix, const uint8_t* transitions) noexcept nogil:
    cdef int64_t i
    for i in range(lat.L):
        forbid_labels(matrix + i * lat.P, transitions + i * lat.L, lat.L)
    lat.forbidden |= memchr(transitions, 0, <size_t>lat.L * lat.L) != NULL


cdef class Lattice:
    """Owner of the arrays of one LatticeC. At first the score of each step is zero."""

    def __cinit__(self, int32_t labels, bint listing=False):
        """`listing`: `list_features` comes next."""
        if not 1 <= labels <= 65535:
            raise ValueError(f"a lattice needs 1 to 65,535 labels, not {labels}")
        self.c.L = self.c.shared.L = labels
        self.c.P = self.c.shared.P = padded(labels)
        self.most, self.changeable = -1, True
        if not listing:
            take_tables(self)
            pad_scores(&self.c)

    cdef int list_pairs(self, const LayoutC* layout, str recursions) except -1:
        """After lattice_load_weights, or lattice_forbid: make steps lists of the pairs with a weight, if these are few; and of those of rich features,
        if they still are. After list_features these may be lists already."""
        cdef uint8_t* mask = <uint8_t*>self.c.unfolded      # scratch
        cdef int64_t n, rich
        if not self.c.counted:
            self.c.shared.pair = NULL
            self.most = most_pairs(self.c.L, recursions_of(recursions))
            n = mark_scored(&self.c.shared, mask) if self.most >= 0 else 0
            if n > self.most:
                self.most = -1
            else:
                rich = mark_rich(layout, mask, self.most - n)
                self.changeable = rich >= 0
                list_masked(self, mask if self.changeable else NULL, n + rich if self.changeable else n)
        choose_rows(&self.c)

    cdef int list_features(self, const LayoutC* layout, str recursions, bint summed) except -1:
        """For weights that change all the time: make steps lists of the pairs that are features, with or without weight,
        if these are few. Only their expectations are counted then. `summed`: best paths are never searched."""
        cdef EdgeC* shared = &self.c.shared
        cdef int64_t n = layout.n_pairs
        cdef Recursions form = recursions_of(recursions)
        self.c.counted, self.summed = is_listed(layout, form, summed), summed
        take_tables(self)
        if self.c.counted:
            self.most = most_pairs(layout.L, form)
            # without features nothing is looked at, neither a mask nor all scores
            list_masked(self, layout.tau_mask if layout.has_tau else <const uint8_t*>shared.score, n)
            self.changeable = pairs_known(layout)
            self.c.counts = <double*>arena_reserve(self, &self.counts, crfkit_most_places(layout.L, n), sizeof(double))
            if summed and self.changeable:  # single scores, which lie far apart in a matrix, are never needed
                shared.score = NULL
        elif form == AUTO and places_fit(layout) and 0 < n <= <int64_t>layout.L * layout.L // 4:
            list_places(self, layout, n)
        if shared.score != NULL:
            pad_scores(&self.c)

    cdef int reserve(self, const LayoutC* layout, const SentenceC* sent) except -1 nogil:
        """Reserve room for a sequence, and choose the form of each of its steps. To be called before score and, where steps are
        lists, after every `list_pairs`. Nothing of the previous sequence is kept."""
        cdef:
            LatticeC* lat = &self.c
            const int64_t* b_ptr = sent.b_ptr
            int64_t t
            int32_t k = 0
        if b_ptr == NULL:
            return self.reserve_shared(sent.T)
        reserve_rows(self, sent.T)
        lat.own = <EdgeC*>arena_reserve(self, &self.steps, sent.T, sizeof(EdgeC))
        for t in range(1, sent.T):
            if b_ptr[t] == b_ptr[t + 1]:
                lat.edge[t] = &lat.shared
            else:
                lat.edge[t] = lat.own + k
                k += 1
        lat.n_own = k
        if lat.shared.pair != NULL or lat.L >= labels_to_change or k > self.n_matrices:
            reserve_forms(self, layout, sent)
        return 0

    cdef int reserve_shared(self, int32_t T) except -1 nogil:
        """Reserve room for a sequence of T positions, all of whose steps are the shared one."""
        cdef LatticeC* lat = &self.c
        cdef int64_t t
        reserve_rows(self, T)
        lat.T, lat.n_own = T, 0
        for t in range(1, T):
            lat.edge[t] = &lat.shared


cdef Lattice lattice_of(const LayoutC* layout, const weight_t* w, str recursions, bint matrix=False):
    """A lattice with these weights, for `list_pairs`. Where there are no pairs of labels, steps are lists at once, unless a `matrix` is wanted:
    with many labels, matrices of nothing but zeros would take far more time and memory than all else."""
    cdef bint listing = layout.n_pairs == 0 and not matrix
    cdef Lattice lattice = Lattice(layout.L, listing=listing)
    if listing:
        lattice.list_features(layout, recursions, False)
    lattice_load_weights(&lattice.c, layout, w, 1.0)
    return lattice


cdef int take_tables(Lattice lattice) except -1:
    """The tables of all pairs of labels, as one block. Of lists most of it is never touched."""
    cdef LatticeC* lat = &lattice.c
    cdef int64_t matrix = <int64_t>lat.L * lat.P, outer = crfkit_most_places(lat.L, matrix), n = 4 * matrix + outer + 2 * lat.P + <int64_t>lat.L * max(lat.P, 64)
    try:
        lat.shared.score = <double*>(arena_mostly_unused if lat.counted else arena_zeros)(lattice, n, sizeof(double))
    except MemoryError as error:
        raise MemoryError(f"{error}, for all pairs of {lat.L:,} labels") from None
    lat.shared.E = lat.shared.score + matrix
    lat.shared.ET = lat.shared.E + matrix
    lat.outer = lat.shared.ET + matrix
    lat.pair = lat.outer + outer
    lat.tops = lat.pair + matrix
    lat.unfolded = lat.tops + 2 * lat.P


cdef void pad_scores(LatticeC* lat) noexcept nogil:
    """The padding of the shared step's single scores; it lies all over the table, which takes memory from then on."""
    cdef int64_t i, j
    for i in range(lat.L):
        for j in range(lat.L, lat.P):
            lat.shared.score[i * lat.P + j] = -INFINITY


cdef int reserve_forms(Lattice lattice, const LayoutC* layout, const SentenceC* sent) except -1 nogil:
    """Give each step with rich attributes changes of the shared step, if these are few, and of a list only if that has all their pairs, or a list
    of its own, if that is short, or else a matrix. If all have matrices, these stay in place for the next sequences."""
    cdef:
        LatticeC* lat = &lattice.c
        EdgeC* edge = lat.own
        double* matrix
        PairC* pair
        ChangeC* changed
        int32_t* index
        int64_t size = <int64_t>lat.L * lat.P, matrices = 0, lists = 0, pairs = 0, longest = 0, changes = 0, few = -1, rich, n, t
    lattice.n_matrices = 0
    if lattice.changeable:
        few = most_changes(lat.L, lat.P, lat.shared.n if lat.shared.pair != NULL else -1, lat.n_own, lattice.summed)
    memset(edge, 0, lat.n_own * sizeof(EdgeC))
    for t in range(1, sent.T):
        if lat.edge[t] == &lat.shared:
            continue
        rich = rich_features(layout, sent.b_id, sent.b_ptr[t], sent.b_ptr[t + 1])
        n = lat.shared.n + rich
        edge.L, edge.P, edge.n = lat.L, lat.P, <int32_t>n
        if rich <= few:
            edge.plain, edge.n = &lat.shared, <int32_t>rich
            changes += rich
        elif n <= lattice.most:
            lists += 1
            pairs += n
            longest = max(longest, n)
        else:
            edge.n = -1
            matrices += 1
        edge += 1
    matrix = <double*>arena_reserve(lattice, &lattice.own_matrices, 2 * matrices * size, sizeof(double))
    index = <int32_t*>arena_reserve(lattice, &lattice.own_index, lists * (2 * <int64_t>lat.P + 3) + pairs, sizeof(int32_t))
    lat.merged[0] = <PairC*>arena_reserve(lattice, &lattice.own_pairs, pairs + 2 * longest + 1, sizeof(PairC))
    lat.merged[1] = lat.merged[0] + longest
    pair = lat.merged[1] + longest
    changed = <ChangeC*>arena_reserve(lattice, &lattice.own_changes, changes + 1, sizeof(ChangeC))
    for n in range(lat.n_own):
        edge = lat.own + n
        if edge.plain != NULL:
            edge.changed = changed
            changed += edge.n
        elif edge.n < 0:
            edge.score, edge.E = matrix, matrix + size
            matrix += 2 * size
        else:
            edge.pair, edge.room = pair, index
            pair += edge.n
            index += (2 * lat.P + edge.n + 3) // 2 * 2      # where numbers of 8 bytes may stand
    lattice.n_matrices = matrices if matrices == lat.n_own else 0


cdef int reserve_rows(Lattice lattice, int64_t positions) except -1 nogil:
    """Reserve room for this many positions."""
    cdef LatticeC* lat = &lattice.c
    cdef int64_t cells
    if positions > lattice.positions:
        positions = min(max(positions, lattice.positions + lattice.positions // 2, 64), MOST_POSITIONS)
        # six matrices and two vectors of doubles, then pointers: every part starts aligned
        positions = (positions + 15) // 16 * 16
        lat.score = <double*>arena_reserve(lattice, &lattice.rows, positions * (6 * lat.P * 8 + 2 * 8 + sizeof(EdgeC*)), 1)
        cells = positions * lat.P
        lat.pot = lat.score + cells
        lat.alpha = lat.pot + cells
        lat.beta = lat.alpha + cells
        lat.right = lat.beta + cells
        lat.node = lat.right + cells
        lat.rowmax = lat.node + cells
        lat.inv = lat.rowmax + positions
        lat.edge = <const EdgeC**>(lat.inv + positions)
        lattice.positions = positions


cdef int reserve_lists(Lattice lattice, int64_t pairs) except -1 nogil:
    """Reserve room for a list of this many of the shared step's pairs."""
    arena_reserve(lattice, &lattice.pairs, pairs + 1, sizeof(PairC))
    arena_reserve(lattice, &lattice.index, 2 * (<int64_t>lattice.c.L + 1) + pairs, sizeof(int32_t))
    lattice.c.shared.pair = NULL


cdef int list_masked(Lattice lattice, const uint8_t* mask, int64_t n) except -1:
    """Make the shared step a list of the n pairs in a mask of L x P; NULL: of those with a score."""
    reserve_lists(lattice, n)
    K.list_pairs(&lattice.c.shared, mask, n, <PairC*>lattice.pairs.data, <int32_t*>lattice.index.data)
    list_sums(lattice)


cdef int list_sums(Lattice lattice) except -1 nogil:
    """After list_pairs: the same pairs for sums."""
    if lattice.c.shared.n > 0 and <int64_t>lattice.c.L * lattice.c.P > LARGEST_CELL:
        return 0
    K.list_sums(&lattice.c.shared, <char*>arena_reserve(lattice, &lattice.sums, crfkit_sums_bytes(lattice.c.L, lattice.c.shared.n), 1))


cdef int list_places(Lattice lattice, const LayoutC* layout, int64_t n) except -1 nogil:
    """The places of the pairs that are features, for a step that is a matrix."""
    cdef:
        int64_t i, j, k = 0, place
        int32_t* order
        int32_t* number     # scratch: of each place in the order of rows
    order = <int32_t*>arena_reserve(lattice, &lattice.places, 3 * n, sizeof(int32_t))
    lattice.c.at_places = <double*>arena_reserve(lattice, &lattice.at_places, n + 8, sizeof(double))
    number = <int32_t*>lattice.c.unfolded
    for place in range(<int64_t>layout.L * layout.P):
        if layout.tau_mask[place]:
            order[k] = <int32_t>place
            number[place] = <int32_t>k
            k += 1
    for j in range(layout.L):
        for i in range(layout.L):
            if layout.tau_mask[i * layout.P + j]:
                order[k] = <int32_t>(j * layout.P + i)
                order[n + k] = number[i * layout.P + j]
                k += 1
    lattice.c.place, lattice.c.n_places = order, <int32_t>n
    lattice.c.shared.max = -1          # a maximum of no scores: potentials are not computed yet
