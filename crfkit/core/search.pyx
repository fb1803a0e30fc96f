"""The n best paths: exactly, or approximately by a beam.

The exact search is A* with a perfect heuristic, in the form known as recursive enumeration (Jimenez and Marzal 1999).
A forward Viterbi leaves in every cell (t, j) the best path that ends there. The path of rank r+1 into a cell is the
best of L candidates, one for each label before: the best path into that label which has not been used here yet. Only
one of them changes when a rank has been taken, so the next rank costs one look at the cell before, which may in turn
have to find its own next rank; and so on to the left, at most to the beginning. Ranks that nobody asks for are never
computed, and a cell gets its candidates when its second rank is first asked for: n best paths cost one Viterbi, T*L
for the second path, and T*log(L) or less for each one after it.

The textbook form, backward Viterbi as heuristic and one queue of partial paths, also gives exact results, but its
order rests on g + h, where rounding differs between a partial path and its continuation; here every comparison is
between scores added up in the same order as Viterbi adds them, so that rank 1 is Viterbi's path to the last bit and
ties come out by rule.

The order of paths: the greater score first; equal scores: the smaller last label first, then the smaller last but
one, and so on. (If rounding made scores equal whose beginnings were not: of paths into the same label, the one with
the better score on entering it, before the node's own score is added, comes first.)
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

from .kernels cimport K
from .lattice cimport SCORED, Lattice
from .memory cimport buffer_free, buffer_reserve

# Paths are numbers: below `cells` the best path into that cell t*P + j, from there on an entry of `paths`.

cdef struct PathC:
    double score
    int64_t before      # path at the position before
    int64_t next        # of the next rank into the same cell, or NONE
    int32_t label

cdef struct CandidateC:
    double way          # score on entering the cell
    int64_t path        # at the position before
    int32_t label       # of that path

cdef struct StateC:     # of a cell whose second rank was asked for
    int64_t second      # path of rank 2, or NONE
    int64_t last        # path of the highest rank found
    int64_t heap        # its candidates: from here on, best first
    int32_t size
    int32_t first_label # label before, on the best path
    bint exhausted

cdef int64_t NONE = -1


# ---------------------------------------------------------------------------------------------- candidates

cdef inline bint is_better(const CandidateC* x, const CandidateC* y) noexcept nogil:
    return x.way > y.way or (x.way == y.way and x.label < y.label)


cdef inline void sift_down(CandidateC* heap, int64_t size, int64_t hole) noexcept nogil:
    cdef CandidateC moving = heap[hole]
    cdef int64_t child
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and is_better(&heap[child + 1], &heap[child]):
            child += 1
        if not is_better(&heap[child], &moving):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = moving


cdef inline void sift_up(CandidateC* heap, int64_t hole) noexcept nogil:
    cdef CandidateC moving = heap[hole]
    cdef int64_t parent
    while hole > 0:
        parent = (hole - 1) // 2
        if not is_better(&moving, &heap[parent]):
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = moving


# ---------------------------------------------------------------------------------------------- exact search

cdef inline const double* step_scores(const LatticeC* lat, int64_t t) noexcept nogil:
    """Scores of the steps into position t."""
    return lat.tau if lat.slot[t] < 0 else lat.edge + <int64_t>lat.slot[t] * lat.L * lat.P


cdef inline StateC* state_of(Search s, int64_t cell) noexcept nogil:
    """Links hold, for a cell: 0 nothing known yet; n > 0 it has state n-1; n < 0 its best path comes from -n-1."""
    cdef int32_t link = (<int32_t*>s.links.data)[cell]
    return (<StateC*>s.states.data) + (link - 1) if link > 0 else NULL


cdef inline int64_t next_rank(Search s, int64_t path) noexcept nogil:
    """The path of the next rank into the same cell, as far as known."""
    cdef StateC* state
    if path >= s.cells:
        return (<PathC*>s.paths.data)[path - s.cells].next
    state = state_of(s, path)
    return NONE if state == NULL else state.second


cdef inline double path_score(Search s, const LatticeC* lat, int64_t path) noexcept nogil:
    return lat.alpha[path] if path < s.cells else (<PathC*>s.paths.data)[path - s.cells].score


cdef inline int32_t path_label(Search s, const LatticeC* lat, int64_t path) noexcept nogil:
    return <int32_t>(path % lat.P) if path < s.cells else (<PathC*>s.paths.data)[path - s.cells].label


cdef int32_t best_label_before(Search s, const LatticeC* lat, int64_t t, int64_t j) noexcept nogil:
    """Where the best path into cell (t, j) comes from: what Viterbi would say. Position T is the end."""
    cdef:
        int32_t* link = (<int32_t*>s.links.data) + t * lat.P + j
        const double* before = lat.alpha + (t - 1) * lat.P
        const double* step
        double way
        int32_t i = 0
    if link[0] > 0:
        return (<StateC*>s.states.data)[link[0] - 1].first_label
    if link[0] == 0:
        way = lat.beta[t * lat.P + j]
        step = step_scores(lat, t) + j
        while i < lat.L - 1 and before[i] + step[<int64_t>i * lat.P] != way:
            i += 1
        link[0] = -i - 1
    return -link[0] - 1


cdef inline int64_t path_before(Search s, const LatticeC* lat, int64_t path) noexcept nogil:
    cdef int64_t t
    if path >= s.cells:
        return (<PathC*>s.paths.data)[path - s.cells].before
    t = path // lat.P
    return (t - 1) * lat.P + best_label_before(s, lat, t, path % lat.P)


cdef int add_state(Search s, const LatticeC* lat, int64_t t, int64_t j) except -1 nogil:
    """Prepare cell (t, j) for its second rank: the ways into it, but for that of the best path."""
    cdef:
        int64_t row = (t - 1) * lat.P, cell = t * lat.P + j
        int64_t i
        int32_t first = best_label_before(s, lat, t, j)
        const double* before = lat.alpha + row
        const double* step = step_scores(lat, t) + j if t < lat.T else NULL
        CandidateC* heap
        StateC* state
        int32_t size = 0
        double way
    if s.n_states >= 0x7FFFFFFF:
        raise MemoryError("too many paths for one sequence: ask for fewer")
    buffer_reserve(&s.states, s.n_states + 1, sizeof(StateC))
    buffer_reserve(&s.candidates, s.n_candidates + lat.L, sizeof(CandidateC))
    heap = (<CandidateC*>s.candidates.data) + s.n_candidates
    for i in range(lat.L):
        way = before[i] + step[i * lat.P] if t < lat.T else before[i]
        if i != first and way > -INFINITY:
            heap[size].way, heap[size].path, heap[size].label = way, row + i, <int32_t>i
            size += 1
    for i in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, i)
    state = (<StateC*>s.states.data) + s.n_states
    state.second, state.last, state.heap, state.size = NONE, cell, s.n_candidates, size
    state.first_label, state.exhausted = first, False
    s.n_states += 1
    s.n_candidates += lat.L
    (<int32_t*>s.links.data)[cell] = <int32_t>s.n_states
    return 0


cdef int advance(Search s, const LatticeC* lat, int64_t t, int64_t j) except -1 nogil:
    """Find the next rank of cell (t, j), whose last path's successor at the position before is known by now."""
    cdef:
        StateC* state = state_of(s, t * lat.P + j)
        CandidateC* heap = (<CandidateC*>s.candidates.data) + state.heap
        int64_t before = path_before(s, lat, state.last)
        int64_t successor = next_rank(s, before), number = s.cells + s.n_paths
        int32_t label
        PathC* path
    if successor != NONE:
        label = path_label(s, lat, successor)
        heap[state.size].way = path_score(s, lat, successor)
        if t < lat.T:
            heap[state.size].way += step_scores(lat, t)[<int64_t>label * lat.P + j]
        heap[state.size].path, heap[state.size].label = successor, label
        if heap[state.size].way > -INFINITY:
            state.size += 1
            sift_up(heap, state.size - 1)
    if state.size == 0:
        state.exhausted = True
        return 0
    buffer_reserve(&s.paths, s.n_paths + 1, sizeof(PathC))
    path = (<PathC*>s.paths.data) + s.n_paths
    path.score = heap[0].way + (lat.score[t * lat.P + j] if t < lat.T else 0.0)
    path.before, path.next, path.label = heap[0].path, NONE, <int32_t>j
    s.n_paths += 1
    if state.last < s.cells:
        state.second = number
    else:
        (<PathC*>s.paths.data)[state.last - s.cells].next = number
    state.last = number
    state.size -= 1
    if state.size > 0:
        heap[0] = heap[state.size]
        sift_down(heap, state.size, 0)
    return 0


cdef int next_path(Search s, const LatticeC* lat) except -1 nogil:
    """The next rank at the end: go left as long as the cell before has to find a next rank too, then come back."""
    cdef:
        int32_t* trail = <int32_t*>s.trail.data
        int64_t t = lat.T, before
        StateC* state
    trail[t] = 0
    while True:
        state = state_of(s, t * lat.P + trail[t])
        if state == NULL:
            add_state(s, lat, t, trail[t])
            state = state_of(s, t * lat.P + trail[t])
        if t == 1:
            break
        before = path_before(s, lat, state.last)
        if next_rank(s, before) != NONE:
            break
        trail[t - 1] = path_label(s, lat, before)
        state = state_of(s, (t - 1) * lat.P + trail[t - 1])
        if state != NULL and state.exhausted:
            break
        t -= 1
    while t <= lat.T:
        advance(s, lat, t, trail[t])
        t += 1
    return 0


cdef int output(Search s, const LatticeC* lat, double score) except -1 nogil:
    """Room for one more path found; its score."""
    buffer_reserve(&s.score_buffer, s.found + 1, sizeof(double))
    buffer_reserve(&s.label_buffer, (<int64_t>s.found + 1) * lat.T, sizeof(uint16_t))
    s.scores = <double*>s.score_buffer.data
    s.labels = <uint16_t*>s.label_buffer.data
    s.scores[s.found] = score
    s.found += 1
    return 0


cdef inline bint is_too_bad(Search s, double score, double ratio) noexcept nogil:
    """Too improbable against the best path."""
    return ratio > 0 and K.exp(score - s.scores[0]) < ratio


cdef int search_nbest(Search s, LatticeC* lat, int n, double ratio) except -1 nogil:
    """The n best paths of a scored sequence, best first, and only those with exp(score - best score) >= ratio.

    Returns how many there are: fewer than n if no more exist, 0 if none does. Uses alpha and beta of the lattice.
    """
    cdef:
        int64_t t, path
        double score
        StateC* state
    s.found, s.length = 0, lat.T
    if n < 1:
        return 0
    buffer_reserve(&s.label_buffer, lat.T, sizeof(uint16_t))
    score = K.viterbi(lat, <uint16_t*>s.label_buffer.data)
    if not score > -INFINITY:
        return 0
    output(s, lat, score)
    if n == 1:
        return 1
    s.cells = (<int64_t>lat.T + 1) * lat.P
    s.n_states = s.n_candidates = s.n_paths = 0
    buffer_reserve(&s.links, s.cells, sizeof(int32_t))
    buffer_reserve(&s.trail, <int64_t>lat.T + 1, sizeof(int32_t))
    memset(s.links.data, 0, s.cells * sizeof(int32_t))
    # the end is cell 0 of position T; its best path comes from Viterbi's last label
    (<int32_t*>s.links.data)[<int64_t>lat.T * lat.P] = -<int32_t>s.labels[lat.T - 1] - 1
    while s.found < n:
        next_path(s, lat)
        state = state_of(s, <int64_t>lat.T * lat.P)
        if state.exhausted:
            break
        path = state.last
        score = path_score(s, lat, path)
        if is_too_bad(s, score, ratio):
            break
        output(s, lat, score)
        for t in range(lat.T - 1, -1, -1):
            path = path_before(s, lat, path)
            s.labels[(s.found - 1) * <int64_t>lat.T + t] = <uint16_t>path_label(s, lat, path)
    return s.found


# ---------------------------------------------------------------------------------------------- beam search

cdef struct BeamC:
    double score
    double way              # score before the node's own was added
    int32_t label
    int32_t before          # rank at the position before
    int32_t label_before


cdef inline bint ranks_before(const BeamC* x, const BeamC* y) noexcept nogil:
    if x.score != y.score:
        return x.score > y.score
    if x.label != y.label:
        return x.label < y.label
    if x.way != y.way:
        return x.way > y.way
    if x.label_before != y.label_before:
        return x.label_before < y.label_before
    return x.before < y.before


cdef inline void sink(BeamC* heap, int64_t size, int64_t hole) noexcept nogil:
    """Restore a heap with the worst on top."""
    cdef BeamC moving = heap[hole]
    cdef int64_t child
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and ranks_before(&heap[child], &heap[child + 1]):
            child += 1
        if not ranks_before(&moving, &heap[child]):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = moving


cdef int64_t keep_best(BeamC* heap, int64_t size, int64_t width, const BeamC* item) noexcept nogil:
    """Add one to the best `width` seen so far; the number kept."""
    cdef int64_t k
    if size < width:
        heap[size] = item[0]
        size += 1
        if size == width:
            for k in range(size // 2 - 1, -1, -1):
                sink(heap, size, k)
    elif ranks_before(item, &heap[0]):
        heap[0] = item[0]
        sink(heap, size, 0)
    return size


cdef void sort_beam(BeamC* heap, int64_t size, int64_t width) noexcept nogil:
    """Best first."""
    cdef int64_t k
    cdef BeamC worst
    if size < width:
        for k in range(size // 2 - 1, -1, -1):
            sink(heap, size, k)
    for k in range(size - 1, 0, -1):
        worst = heap[0]
        heap[0] = heap[k]
        heap[k] = worst
        sink(heap, k, 0)


cdef int64_t extend_beam(const LatticeC* lat, int64_t t, const BeamC* before, int64_t n_before, BeamC* beam,
                         int64_t width) noexcept nogil:
    """Every partial path with every next label; the best stay."""
    cdef:
        const double* node = lat.score + t * lat.P
        const double* step
        int64_t size = 0, r, j
        BeamC item
    for r in range(n_before):
        step = step_scores(lat, t) + <int64_t>before[r].label * lat.P
        item.before, item.label_before = <int32_t>r, before[r].label
        for j in range(lat.L):
            item.way = before[r].score + step[j]
            item.score = item.way + node[j]
            if item.score > -INFINITY and (size < width or item.score >= beam[0].score):
                item.label = <int32_t>j
                size = keep_best(beam, size, width, &item)
    sort_beam(beam, size, width)
    return size


cdef int search_beam(Search s, LatticeC* lat, int n, int width, double ratio) except -1 nogil:
    """As search_nbest, but from left to right keeping only the best `width` (at least n) partial paths.

    Exact if there are no more partial paths than that. Where constraints leave none of those kept a way on, the
    exact search takes over.
    """
    cdef:
        int64_t t, size = 0, k, rank
        BeamC* layers
        BeamC item
    s.found, s.length = 0, lat.T
    if n < 1:
        return 0
    width = max(width, n)
    buffer_reserve(&s.paths, <int64_t>width * lat.T, sizeof(BeamC))
    buffer_reserve(&s.trail, lat.T, sizeof(int32_t))
    layers = <BeamC*>s.paths.data
    item.way, item.before, item.label_before = 0, 0, 0
    for k in range(lat.L):
        item.score, item.label = lat.score[k], <int32_t>k
        if item.score > -INFINITY:
            size = keep_best(layers, size, width, &item)
    sort_beam(layers, size, width)
    for t in range(1, lat.T):
        size = extend_beam(lat, t, layers + (t - 1) * width, size, layers + t * width, width)
        if size == 0:
            return search_nbest(s, lat, n, ratio)
    for k in range(min(size, n)):
        item = layers[(<int64_t>lat.T - 1) * width + k]
        if k > 0 and is_too_bad(s, item.score, ratio):
            break
        output(s, lat, item.score)
        rank = k
        for t in range(lat.T - 1, -1, -1):
            s.labels[k * lat.T + t] = <uint16_t>layers[t * width + rank].label
            rank = layers[t * width + rank].before
    return s.found


cdef class Search:

    def __dealloc__(self):
        buffer_free(&self.score_buffer)
        buffer_free(&self.label_buffer)
        buffer_free(&self.links)
        buffer_free(&self.states)
        buffer_free(&self.candidates)
        buffer_free(&self.paths)
        buffer_free(&self.trail)

    cdef list results(self):
        cdef int64_t k, t
        return [
            (self.scores[k], [self.labels[k * self.length + t] for t in range(self.length)])
            for k in range(self.found)
        ]

    def nbest(self, Lattice lattice not None, int n, double ratio=0.0):
        """The n best paths as (score, labels), best first; all paths if there are fewer.

        Paths less than `ratio` times as probable as the best one are left out.
        """
        lattice.need(SCORED)
        lattice.stage = SCORED
        with nogil:
            search_nbest(self, &lattice.c, n, ratio)
        return self.results()

    def beam(self, Lattice lattice not None, int n, int width=50, double ratio=0.0):
        """The same, approximately: only `width` partial paths are kept at each position."""
        lattice.need(SCORED)
        lattice.stage = SCORED
        with nogil:
            search_beam(self, &lattice.c, n, width, ratio)
        return self.results()
