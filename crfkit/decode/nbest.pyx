"""The n best paths, exactly.

The exact search is A* with a perfect heuristic, in the form known as recursive enumeration (Jimenez and Marzal 1999).
A forward Viterbi leaves in every cell (t, j) the best path that ends there. The path of rank r+1 into a cell is the
best of L candidates, one for each label before: the best path into that label which has not been used here yet. Only
one of them changes when a rank has been taken, so the next rank costs one look at the cell before, which may in turn
have to find its own next rank; and so on to the left, at most to the beginning. Ranks are computed on demand, and so are
the candidates of a cell when its second rank is needed. The L candidates are simply scanned: up to a hundred labels that
beats a heap.

With a minimum ratio to the best path few candidates remain: a path loses at least as much against the best one as it
loses in any cell it goes through, so candidates that lose more than the ratio allows are dropped. In a trained
model that leaves one or two of the L, and no second rank in most cells. Most of the others would lose too much even
with the highest score in the column of label pairs, and need not look up their own.

For n paths, each cell needs at most n ranks, and these extend at most its n best candidates. Where steps are lists, with hundreds of
labels, all others are left out: most labels then have the same continuation, by pairs without a weight, and lie within the ratio.

Two paths over matrices need no search: see second_path in loops/simd/viterbi.inc.

The textbook form, one queue of partial paths, takes 4 to 100 times as long. With continuations sorted on demand it is up to five times
faster for hundreds of paths, but it orders by g + h, where rounding differs between a partial path and its continuation. Here every
comparison is between scores added up in the order in which Viterbi adds them, so that rank 1 is Viterbi's path to the last bit and ties
are broken by rule.

The order of paths: the greater score first; equal scores: the smaller last label first, then the smaller last but
one, and so on. (If rounding made scores equal whose beginnings were not: of paths into the same label, the one with
the better score on entering it, before the node's own score is added, comes first.)
"""

from crfkit.loops.numbers cimport INFINITY, fabs, fmax
from crfkit.loops.kernels cimport K
from crfkit.memory cimport arena_reserve, memcpy, memset
from crfkit.loops.structs cimport EdgeC, PairC, crfkit_find_pair

cdef enum:
    MANY = 8            # with this many labels for each path wanted, only the best candidates are looked for, where steps are lists
    MOST_BYTES = 1 << 30    # of the paths of one sequence

# Paths are numbers: below `cells` the best path into that cell t*P + j, from there on an entry of `paths`.

cdef struct PathC:
    double score
    int64_t before      # path at the position before
    int64_t next        # of the next rank into the same cell, or NONE
    int32_t label

cdef struct CandidateC:       # a candidate for the next rank of a cell; those of a cell stand in the order of labels before
    double score        # on entering the cell
    double step         # what of it the step into the cell scores
    int64_t path        # at the position before

cdef struct RanksC:     # of a cell whose second rank was needed
    int64_t second      # path of rank 2, or NONE
    int64_t last        # path of the highest rank found
    int64_t before      # the same without its last position
    double floor        # candidates must have more
    int64_t ways        # its candidates start there
    int32_t n_ways
    int32_t first_label # label before, on the best path
    int32_t last_label  # label before, on the last path
    int32_t last_way    # which candidate that was
    bint exhausted

cdef int64_t NONE = -1
cdef double ROUNDING = 1e-15    # of a score, by which another may be the same one


cdef inline RanksC* state_of(NBest s, int64_t cell) noexcept nogil:
    """The link of a cell is 0 if nothing is known yet, n > 0 if it has state n-1, n < 0 if its best path comes from label -n-1."""
    cdef int32_t link = (<int32_t*>s.links.data)[cell]
    return (<RanksC*>s.states.data) + (link - 1) if link > 0 else NULL


cdef inline PathC* entry(NBest s, int64_t path) noexcept nogil:
    return (<PathC*>s.paths.data) + (path - s.cells)


cdef inline int64_t next_rank(NBest s, int64_t path) noexcept nogil:
    """The path of the next rank into the same cell, as far as known."""
    cdef RanksC* state
    if path >= s.cells:
        return entry(s, path).next
    state = state_of(s, path)
    return NONE if state == NULL else state.second


cdef int32_t first_label(NBest s, const LatticeC* lat, int64_t t, int64_t j) noexcept nogil:
    """The label before on the best path into cell (t, j), as Viterbi would choose it."""
    cdef:
        int32_t* link = (<int32_t*>s.links.data) + t * lat.P + j
    if link[0] > 0:
        return (<RanksC*>s.states.data)[link[0] - 1].first_label
    if link[0] == 0:
        link[0] = -K.came_from(lat, <int32_t>t, <int32_t>j) - 1
    return -link[0] - 1


cdef inline int32_t path_label(NBest s, const LatticeC* lat, int64_t t, int64_t path) noexcept nogil:
    """Last label of a path that ends at position t."""
    return <int32_t>(path - t * lat.P) if path < s.cells else entry(s, path).label


cdef inline int64_t path_before(NBest s, const LatticeC* lat, int64_t t, int64_t path) noexcept nogil:
    """A path that ends at position t without its last position."""
    if path >= s.cells:
        return entry(s, path).before
    return (t - 1) * lat.P + first_label(s, lat, t, path - t * lat.P)


cdef inline int32_t label_at_rank(NBest s, const LatticeC* lat, int64_t t, int32_t k) noexcept nogil:
    """The k-th best label at position t, or -1; found in order and on demand, for k below L."""
    cdef int32_t* order = (<int32_t*>s.orders.data) + t * lat.P
    cdef int32_t* known = (<int32_t*>s.n_ordered.data) + t
    if k == known[0]:
        order[k] = K.next_best(lat.L, lat.P, lat.alpha + t * lat.P, order[k - 1] if k else -1)
        known[0] += 1
    return order[k]


cdef inline void put_way(CandidateC* ways, int32_t n, double score, int64_t path) noexcept nogil:
    """Add one candidate whose step scores nothing, in the order of labels."""
    while n > 0 and ways[n - 1].path > path:
        ways[n] = ways[n - 1]
        n -= 1
    ways[n].score, ways[n].step, ways[n].path = score, 0, path


cdef int32_t best_ways(NBest s, const LatticeC* lat, int64_t t, int64_t j, double floor, CandidateC* ways) noexcept nogil:
    """The candidates of a cell over a list, or of the end: those of pairs, and the best of all others, whose scores are unchanged by
    the step; how many."""
    cdef:
        const EdgeC* edge = lat.edge[t] if t < lat.T else NULL
        const double* before = lat.alpha + (t - 1) * lat.P
        const PairC* pair
        int64_t row = (t - 1) * lat.P
        int32_t n = 0, k, i, others = 0
        double score
    if edge != NULL:
        for k in range(edge.column_ptr[j], edge.column_ptr[j + 1]):
            pair = edge.pair + edge.column[k]
            score = before[pair.source] + pair.score
            if score > floor:
                ways[n].score, ways[n].step, ways[n].path = score, pair.score, row + pair.source
                n += 1
    for k in range(lat.L):
        if others == s.wanted:
            break
        i = label_at_rank(s, lat, t - 1, k)
        if i < 0 or not before[i] > floor:
            break
        if edge == NULL or crfkit_find_pair(edge, i, <int32_t>j) == NULL:
            put_way(ways, n, before[i], row + i)
            n += 1
            others += 1
    return n


cdef double most_into(NBest s, const LatticeC* lat, const EdgeC* edge, int64_t j) noexcept nogil:
    """A bound on what a step scores into label j."""
    cdef double most
    cdef int64_t k
    if edge.plain != NULL:
        most = most_into(s, lat, edge.plain, j)
        for k in range(edge.n):
            if edge.changed[k].to == j and edge.changed[k].score > most:
                most = edge.changed[k].score
        return most
    if edge.pair == NULL:
        return (<double*>s.rows.data)[j] if s.bounded and edge == &lat.shared else INFINITY
    most = 0
    for k in range(edge.column_ptr[j], edge.column_ptr[j + 1]):
        most = max(most, edge.pair[edge.column[k]].score)
    return most


cdef int add_state(NBest s, const LatticeC* lat, int64_t t, int64_t j) except -1 nogil:
    """Prepare cell (t, j) for its second rank: its candidate for each label before that may count."""
    cdef:
        int64_t row = (t - 1) * lat.P, P = lat.P, stride = 0
        int32_t n = 0, k, few, i
        const double* before = lat.alpha + row
        int32_t* which = <int32_t*>s.which.data
        const EdgeC* edge = lat.edge[t] if t < lat.T else NULL      # no step leads to the end
        double best = lat.beta[t * P + j] if t < lat.T else s.scores[0]
        double floor = best - fmax(s.slack, ROUNDING * fabs(best)), score, step     # the best one counts, however large
        double most = 0 if t == lat.T else most_into(s, lat, edge, j)
        double unchanged = 0
        const double* column = &unchanged
        CandidateC* ways
        RanksC* state
    if s.n_states >= 0x7FFFFFFF:
        raise MemoryError("too many paths for one sequence: ask for fewer")
    arena_reserve(s, &s.states, s.n_states + 1, sizeof(RanksC))     # without what it returns: a hundredth of the search
    arena_reserve(s, &s.ways, s.n_ways + lat.L, sizeof(CandidateC))
    ways = (<CandidateC*>s.ways.data) + s.n_ways
    state = (<RanksC*>s.states.data) + s.n_states
    ways.path = row                             # if scores are NaN no candidate counts, not even the best
    if s.wanted < lat.L // MANY and (edge == NULL or edge.pair != NULL):
        n = best_ways(s, lat, t, j, floor, ways)
    else:
        few = K.at_least(lat.L, before, floor - most, which)
        if edge != NULL:
            column = K.column_of(edge, <int32_t>j, lat.tops + P, &stride)
        for k in range(few):                    # without a branch: which candidates count is unpredictable
            i = which[k]
            step = column[i * stride]
            score = before[i] + step
            ways[n].score, ways[n].step, ways[n].path = score, step, row + i
            n += score > floor
    state.last_way = 0
    while ways[state.last_way].score != best and state.last_way < n - 1:
        state.last_way += 1
    state.first_label = <int32_t>(ways[state.last_way].path - row)
    state.second, state.last, state.before = NONE, t * P + j, row + state.first_label
    state.last_label, state.floor = state.first_label, floor
    state.ways, state.n_ways, state.exhausted = s.n_ways, n, False
    s.n_states += 1
    s.n_ways += n
    (<int32_t*>s.links.data)[t * P + j] = <int32_t>s.n_states


cdef int advance(NBest s, const LatticeC* lat, int64_t t, int64_t j) except -1 nogil:
    """Find the next rank of cell (t, j). The successor of its last path's prefix, in the cell before, is known."""
    cdef:
        RanksC* state = state_of(s, t * lat.P + j)
        CandidateC* ways = (<CandidateC*>s.ways.data) + state.ways
        CandidateC* used = ways + state.last_way
        int64_t successor = next_rank(s, state.before)
        int32_t k, best = 0
        PathC* path
    used.score = -INFINITY
    if successor != NONE:
        used.score, used.path = entry(s, successor).score, successor
        if t < lat.T:
            used.score += used.step     # not looked up again: a step that is changes would go through all of them
    for k in range(1, state.n_ways):
        if ways[k].score > ways[best].score:
            best = k
    if not ways[best].score > state.floor:
        state.exhausted = True
        return 0
    arena_reserve(s, &s.paths, s.n_paths + 1, sizeof(PathC))
    if state.last < s.cells:
        state.second = s.cells + s.n_paths
    else:
        entry(s, state.last).next = s.cells + s.n_paths
    state.last, state.before, state.last_way = s.cells + s.n_paths, ways[best].path, best
    state.last_label = path_label(s, lat, t - 1, state.before)
    path = entry(s, state.last)
    path.score = ways[best].score + lat.score[t * lat.P + j] if t < lat.T else ways[best].score
    path.before, path.next, path.label = state.before, NONE, <int32_t>j
    s.n_paths += 1


cdef RanksC* next_path(NBest s, const LatticeC* lat) except NULL nogil:
    """The next rank at the end: go left as long as the cell before has to find a next rank too, then come back.

    Returns the state of the end, which is cell 0 of position T."""
    cdef:
        int32_t* trail = <int32_t*>s.trail.data
        int64_t t = lat.T, before
        RanksC* state
    trail[t] = 0
    while True:
        state = state_of(s, t * lat.P + trail[t])
        if state == NULL:
            add_state(s, lat, t, trail[t])
            state = state_of(s, t * lat.P + trail[t])
        before, trail[t - 1] = state.before, state.last_label
        if t == 1 or next_rank(s, before) != NONE:
            break
        state = state_of(s, (t - 1) * lat.P + trail[t - 1])
        if state != NULL and state.exhausted:
            break
        t -= 1
    while t <= lat.T:
        advance(s, lat, t, trail[t])
        t += 1
    return state_of(s, <int64_t>lat.T * lat.P)


cdef int add_path(NBest s, const LatticeC* lat, double score) except -1 nogil:
    """Add a path with this score; its labels follow."""
    arena_reserve(s, &s.score_buffer, s.found + 1, sizeof(double))
    arena_reserve(s, &s.label_buffer, (<int64_t>s.found + 1) * lat.T, sizeof(uint16_t))
    s.scores = <double*>s.score_buffer.data
    s.labels = <uint16_t*>s.label_buffer.data
    s.scores[s.found] = score
    s.found += 1


cdef bint is_too_bad(NBest s, double score, double ratio, double unit) noexcept nogil:
    """Whether a path is too improbable, compared with the best one."""
    return ratio > 0 and K.exp(unit * (score - s.scores[0])) < ratio


cdef int search_best(NBest s, LatticeC* lat) except -1 nogil:
    """The best path of a scored sequence. Returns how many there are, 0 or 1. Uses alpha and beta of the lattice."""
    cdef double score
    s.found, s.length, s.wanted, s.bounded = 0, lat.T, 1, False
    arena_reserve(s, &s.label_buffer, lat.T, sizeof(uint16_t))
    score = K.viterbi(lat, <uint16_t*>s.label_buffer.data)
    if score > -INFINITY:
        add_path(s, lat, score)
    return s.found


cdef int search_nbest(NBest s, LatticeC* lat, int n, double ratio, double unit) except -1 nogil:
    """The n best paths of a scored sequence, best first, and only those with exp(unit (score - best score)) >= ratio.

    Returns how many there are: fewer than n if no more exist, 0 if none does. Uses alpha and beta of the lattice."""
    s.found = 0
    if n > 0 and search_best(s, lat) > 0 and n > 1:
        search_further(s, lat, n, ratio, unit)
    return s.found


cdef int search_further(NBest s, LatticeC* lat, int n, double ratio, double unit) except -1 nogil:
    """As search_nbest for n of at least 2, after search_best has found a path."""
    cdef:
        int64_t t, path
        uint16_t* labels
        RanksC* state
    s.wanted = n
    if n == 2 and lat.shared.pair == NULL:
        add_path(s, lat, -INFINITY)
        s.scores[1] = K.second_path(lat, s.labels, s.labels + lat.T)
        if not s.scores[1] > -INFINITY or is_too_bad(s, s.scores[1], ratio, unit):
            s.found = 1
        return s.found
    # the slack covers rounding: is_too_bad decides
    s.slack = 1e-6 - K.log(ratio) / unit + 1e-9 * fabs(s.scores[0]) if ratio > 0 else INFINITY
    s.cells = (<int64_t>lat.T + 1) * lat.P
    s.n_states = s.n_ways = s.n_paths = 0
    arena_reserve(s, &s.links, s.cells, sizeof(int32_t))
    arena_reserve(s, &s.trail, <int64_t>lat.T + 1, sizeof(int32_t))
    arena_reserve(s, &s.which, lat.L, sizeof(int32_t))
    arena_reserve(s, &s.rows, 2 * lat.P, sizeof(double))
    s.bounded = ratio > 0 and lat.shared.pair == NULL
    if s.bounded:
        memset(s.rows.data, 0, 2 * lat.P * sizeof(double))
        K.max_plus(lat.L, lat.P, (<double*>s.rows.data) + lat.P, lat.shared.score, <double*>s.rows.data)
    memset(s.links.data, 0, s.cells * sizeof(int32_t))
    if n < lat.L // MANY:
        arena_reserve(s, &s.orders, s.cells, sizeof(int32_t))
        arena_reserve(s, &s.n_ordered, lat.T, sizeof(int32_t))
        memset(s.n_ordered.data, 0, lat.T * sizeof(int32_t))
    # the best path at the end comes from Viterbi's last label
    (<int32_t*>s.links.data)[<int64_t>lat.T * lat.P] = -<int32_t>s.labels[lat.T - 1] - 1
    while s.found < n:
        state = next_path(s, lat)
        if state.exhausted or is_too_bad(s, entry(s, state.last).score, ratio, unit):
            break
        if s.n_paths * <int64_t>sizeof(PathC) + s.found * <int64_t>lat.T * <int64_t>sizeof(uint16_t) > MOST_BYTES:
            raise MemoryError("the best paths of one sequence would take more than a gigabyte: ask for fewer")
        add_path(s, lat, entry(s, state.last).score)
        labels = s.labels + (s.found - 1) * <int64_t>lat.T
        path = state.before
        for t in range(lat.T - 1, -1, -1):
            labels[t] = <uint16_t>path_label(s, lat, t, path)
            if path < s.cells and labels[t] == s.labels[t]:         # what is before is that of the best path
                memcpy(labels, s.labels, t * sizeof(uint16_t))
                break
            if t > 0:
                path = path_before(s, lat, t, path)
    return s.found


cdef class NBest:
    pass
