"""N best paths, approximately: from left to right, only the best partial paths are kept.

All paths that end in one label get the same score for the step to a next label, so they keep their order: for each label before
and each next label they form a sorted run, and the best of all are merged from the runs. A run begins with
the best path into the label before. Runs that begin too low are never looked at: extending each path to the label that is best for
the first of its run gives as many paths as before, and the worst of them is the bound.

Where a step is a list, with hundreds of labels, all labels before without a pair to a next label extend to it with their scores
unchanged. Their paths form one run, the beam itself in its order. The best label begins the first of these runs; the next run is
looked for when the previous one has been started.

All this is needed only where the beam may lose one of the best paths; the exact search finds these in less time. A path stays in the
beam as long as the prefixes that score at least as much as its own fit into the beam. Where that holds for all of the best paths at
every position, they are what the beam would find. Such prefixes are counted from right to left along the prefixes themselves, so that
most counts visit one or two cells.
"""

from libc.float cimport DBL_MAX
from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.loops.numbers cimport INFINITY, fabs
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport put_changes, take_changes
from crfkit.loops.structs cimport EdgeC, crfkit_edge_score, crfkit_find_pair
from crfkit.memory cimport arena_reserve, memset
from .nbest cimport add_path, is_too_bad, most_into, search_nbest

cdef enum:
    DEEPEST = 200               # positions that a count goes back at most

cdef struct PartC:              # a partial path
    double score
    double way                  # score before the node's own was added
    int32_t label
    int32_t before              # rank at the position before
    int32_t label_before

cdef struct GroupC:             # paths that end in the same label
    int32_t label
    int32_t first, last         # ranks of the best one and of the worst
    int32_t best                # the best next label for the first

cdef struct RunC:
    PartC part                  # the next one to be taken
    double step                 # score of the step
    bint others                 # the run of all paths whose label has no pair with the next one

cdef struct HeadC:              # the current position in a run
    double score
    int32_t run

cdef struct StepC:              # from the paths at a position to those at the next one
    const PartC* before
    int64_t n_before
    const int32_t* following    # the next path of the same label, or -1; NULL: runs have one path
    const double* node
    const EdgeC* edge
    const double* score         # [L][P] its scores, unless it is a list
    const double* total         # [P] for a list: score of the best path before with each next label that it has no pair with
    double least                # a bound: no path that stays scores less


cdef inline bint ranks_before(const PartC* x, const PartC* y) noexcept nogil:
    """Of two with the same score."""
    if x.label != y.label:
        return x.label < y.label
    if x.way != y.way:
        return x.way > y.way
    if x.label_before != y.label_before:
        return x.label_before < y.label_before
    return x.before < y.before


cdef inline bint is_better(const HeadC* x, const HeadC* y, const RunC* runs) noexcept nogil:
    if x.score != y.score:
        return x.score > y.score
    return ranks_before(&runs[x.run].part, &runs[y.run].part)


cdef inline void sink(HeadC* heap, const RunC* runs, int64_t size, int64_t hole) noexcept nogil:
    """Restore a heap with the best on top. The better of two children is unpredictable, so it is chosen without a branch."""
    cdef HeadC moving = heap[hole]
    cdef int64_t child
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size:
            child += is_better(&heap[child + 1], &heap[child], runs)
        if not is_better(&heap[child], &moving, runs):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = moving


cdef inline void rise(HeadC* heap, const RunC* runs, int64_t place) noexcept nogil:
    """Restore a heap that has grown by one."""
    cdef HeadC moving = heap[place]
    while place > 0 and is_better(&moving, &heap[(place - 1) // 2], runs):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = moving


cdef inline void stand(RunC* run, const StepC* step, int32_t r) noexcept nogil:
    """Set the next path of the run, which extends path r."""
    run.part.before, run.part.label_before = r, step.before[r].label
    run.part.way = step.before[r].score + run.step
    run.part.score = run.part.way + step.node[run.part.label]


cdef inline bint start(RunC* run, const StepC* step, int32_t r, int32_t label, double score, bint others) noexcept nogil:
    """Start a run to this label with path r; whether it may count."""
    run.part.label, run.step, run.others = label, score, others
    stand(run, step, r)
    return run.part.score >= step.least


cdef int64_t merge(NBest s, const LatticeC* lat, int64_t n, const StepC* step, PartC* beam, int64_t width) except -1 nogil:
    """Merge the best `width` paths of n runs, in order; how many."""
    cdef:
        int64_t k, size = 0, n_runs = n
        int32_t r, j
        RunC* runs
        RunC* run
        HeadC* heap
    runs = <RunC*>arena_reserve(s, &s.ways, n + lat.L, sizeof(RunC))
    heap = <HeadC*>arena_reserve(s, &s.heads, n + lat.L, sizeof(HeadC))
    for k in range(n):
        heap[k].score, heap[k].run = runs[k].part.score, <int32_t>k
    for k in range(n // 2 - 1, -1, -1):
        sink(heap, runs, n, k)
    while n > 0 and size < width:
        run = &runs[heap[0].run]
        beam[size], r = run.part, run.part.before
        if not run.others:
            size += 1
            r = step.following[r] if step.following != NULL else -1
        else:
            size += crfkit_find_pair(step.edge, run.part.label_before, run.part.label) == NULL
            if r == 0:
                j = K.next_best(lat.L, lat.P, step.total, run.part.label)
                if j >= 0 and start(&runs[n_runs], step, 0, j, 0, True):
                    heap[n].score, heap[n].run = runs[n_runs].part.score, <int32_t>n_runs
                    rise(heap, runs, n)
                    n, n_runs = n + 1, n_runs + 1
            r = r + 1 if r + 1 < step.n_before else -1
        if r >= 0:
            stand(run, step, r)
            heap[0].score = run.part.score
        if r < 0 or heap[0].score < step.least:
            n -= 1
            heap[0] = heap[n]
        sink(heap, runs, n, 0)
    return size


cdef int64_t gather(const PartC* before, int64_t n_before, GroupC* groups, int32_t* group_of, int32_t* following) noexcept nogil:
    """Make the groups; how many. `group_of` holds -1 for each label before and after."""
    cdef int64_t n = 0, r, g
    for r in range(n_before):
        following[r] = -1
        g = group_of[before[r].label]
        if g < 0:
            group_of[before[r].label] = <int32_t>n
            groups[n].label, groups[n].first, groups[n].last = before[r].label, <int32_t>r, <int32_t>r
            n += 1
        else:
            following[groups[g].last] = <int32_t>r
            groups[g].last = <int32_t>r
    for g in range(n):
        group_of[groups[g].label] = -1
    return n


cdef void go_on(const LatticeC* lat, const StepC* step, GroupC* group, double* total) noexcept nogil:
    """The scores of the first path of a group with each next label, and the best of them."""
    cdef int32_t j, L = lat.L
    cdef double score = step.before[group.first].score
    cdef const double* row = step.score + <int64_t>group.label * lat.P
    for j in range(L):
        total[j] = (score + row[j]) + step.node[j]
    group.best = 0
    for j in range(1, L):
        if total[j] > total[group.best]:
            group.best = j


cdef double least_kept(const StepC* step, const GroupC* groups, int64_t n) noexcept nogil:
    """A score that as many paths as before reach."""
    cdef double least = INFINITY, way
    cdef int64_t g
    for g in range(n):
        way = step.before[groups[g].last].score + crfkit_edge_score(step.edge, groups[g].label, groups[g].best)
        least = min(least, way + step.node[groups[g].best])
    return max(least, -DBL_MAX)


cdef int64_t runs_of_matrix(NBest s, const LatticeC* lat, StepC* step, GroupC* groups, int64_t n, int64_t width) except -1 nogil:
    """Start the runs of each group to each label; how many."""
    cdef:
        int32_t* which = <int32_t*>s.which.data
        double* totals = <double*>s.rows.data
        int64_t g, k, found, n_runs = 0
        double score
    for g in range(n):
        go_on(lat, step, &groups[g], totals + g * lat.P)
    if step.n_before == width:
        step.least = least_kept(step, groups, n)
    for g in range(n):
        found = K.at_least(lat.L, totals + g * lat.P, step.least, which)
        arena_reserve(s, &s.ways, n_runs + found, sizeof(RunC))
        for k in range(found):
            score = step.score[<int64_t>groups[g].label * lat.P + which[k]]
            start(<RunC*>s.ways.data + n_runs + k, step, groups[g].first, which[k], score, False)
        n_runs += found
    return n_runs


cdef int64_t runs_of_list(NBest s, const LatticeC* lat, StepC* step, GroupC* groups, int64_t n, int64_t width) except -1 nogil:
    """Start the runs of the pairs, and the first one of all others; how many."""
    cdef:
        const EdgeC* edge = step.edge
        double* total = <double*>s.rows.data
        int64_t g, n_runs = 0
        int32_t j, k, best
    for j in range(lat.P):
        total[j] = step.before[0].score + step.node[j]
    step.total, best = total, K.next_best(lat.L, lat.P, total, -1)
    if best < 0:
        return 0
    for g in range(n):
        groups[g].best = best
    if step.n_before == width:
        step.least = least_kept(step, groups, n)
    for g in range(n):
        j = groups[g].label
        arena_reserve(s, &s.ways, n_runs + edge.row_ptr[j + 1] - edge.row_ptr[j] + 1, sizeof(RunC))
        for k in range(edge.row_ptr[j], edge.row_ptr[j + 1]):
            n_runs += start(<RunC*>s.ways.data + n_runs, step, groups[g].first, edge.pair[k].to, edge.pair[k].score, False)
    return n_runs + start(<RunC*>s.ways.data + n_runs, step, 0, best, 0, True)


cdef int64_t extend(NBest s, const LatticeC* lat, int64_t t, const PartC* before, int64_t n_before, PartC* beam,
                    int64_t width) except -1 nogil:
    """Extend every partial path by every next label, and keep the best."""
    cdef:
        GroupC* groups = <GroupC*>s.states.data
        int32_t* following = <int32_t*>s.trail.data
        StepC step = StepC(before, n_before, following, lat.score + t * lat.P, put_changes(lat.edge[t]), NULL, NULL, -DBL_MAX)
        int64_t n = gather(before, n_before, groups, <int32_t*>s.links.data, following)
    try:
        if step.edge.pair == NULL:
            step.score = step.edge.score
            n = runs_of_matrix(s, lat, &step, groups, n, width)
        else:
            n = runs_of_list(s, lat, &step, groups, n, width)
        return merge(s, lat, n, &step, beam, width)
    finally:
        take_changes(lat.edge[t])


cdef int64_t begin(NBest s, const LatticeC* lat, PartC* beam, int64_t width) except -1 nogil:
    """The partial paths of one label, for the first token: keep the best."""
    cdef:
        PartC nothing = PartC(0, 0, 0, 0, 0)
        StepC step = StepC(&nothing, 1, NULL, lat.score, NULL, NULL, NULL, -DBL_MAX)
        int64_t n = 0
        int32_t j
    arena_reserve(s, &s.ways, lat.L, sizeof(RunC))
    for j in range(lat.L):
        n += start(<RunC*>s.ways.data + n, &step, 0, j, 0, False)
    return merge(s, lat, n, &step, beam, width)


cdef int64_t count(NBest s, const LatticeC* lat, int64_t t, int64_t j, double loss, int64_t most, int depth) noexcept nogil:
    """How many prefixes end in cell (t, j) and score at most `loss` less than the best of them; more than `most` if that cannot be
    told. Counting stops at cells whose best prefix is known to be the only one."""
    cdef:
        double* alone = <double*>s.alone.data + t * lat.P + j
        const double* before
        const EdgeC* edge
        double best, least, way
        int64_t n = 0
        int32_t i
    if t == 0 or loss <= alone[0]:
        return 1
    if depth == DEEPEST:
        return most + 1
    before, edge, best = lat.alpha + (t - 1) * lat.P, lat.edge[t], lat.beta[t * lat.P + j]
    least = best - loss - most_into(s, lat, edge, j)
    for i in range(lat.L):
        if before[i] >= least:
            way = before[i] + crfkit_edge_score(edge, i, <int32_t>j)
            if way >= best - loss:
                n += count(s, lat, t - 1, i, loss - (best - way), most - n, depth + 1)
                if n > most:
                    return n
    if n == 1:
        alone[0] = loss
    return n


cdef bint beam_keeps(NBest s, const LatticeC* lat, int64_t width) except -1 nogil:
    """Whether the paths found by the exact search surely stay in the beam: they are then what it would find."""
    cdef:
        double* least
        const double* row
        double score, largest = 0, slack
        int64_t k, t, n
        int32_t i, j
    least = <double*>arena_reserve(s, &s.least, lat.T, sizeof(double))
    arena_reserve(s, &s.alone, <int64_t>lat.T * lat.P, sizeof(double))
    for k in range(s.found):
        i = s.labels[k * lat.T]
        score = lat.score[i]
        for t in range(lat.T):
            if t > 0:
                j = s.labels[k * lat.T + t]
                score = (score + crfkit_edge_score(lat.edge[t], i, j)) + lat.score[t * lat.P + j]
                i = j
            least[t] = score if k == 0 else min(least[t], score)
            largest = max(largest, fabs(score))
    slack = 1e-9 * (1 + largest)        # rounding must not decide
    if not slack < INFINITY:
        return False
    for t in range(lat.T):
        row = lat.alpha + t * lat.P
        memset(<double*>s.alone.data + t * lat.P, 0, lat.P * sizeof(double))
        n = 0
        for j in range(lat.L):
            if row[j] >= least[t] - slack:
                if not row[j] < INFINITY:
                    return False
                n += count(s, lat, t, j, row[j] - (least[t] - slack), width - n, 0)
                if n > width:
                    return False
    return True


cdef int search_beam(NBest s, LatticeC* lat, int n, int width, double ratio, double unit) except -1 nogil:
    """As search_nbest, but from left to right, keeping only the best `width` (at least n) partial paths.

    Exact if there are no more partial paths than that. If constraints forbid all steps of the kept paths, the
    exact search takes over."""
    cdef:
        int64_t t, size, k, rank
        PartC* layers
        PartC* part
    if n < 1:
        s.found, s.length = 0, lat.T
        return 0
    width = max(width, n)
    if search_nbest(s, lat, n, ratio, unit) == 0 or beam_keeps(s, lat, width):
        return s.found
    s.found = 0
    arena_reserve(s, &s.paths, <int64_t>width * lat.T, sizeof(PartC))
    arena_reserve(s, &s.which, lat.L, sizeof(int32_t))
    arena_reserve(s, &s.links, lat.L, sizeof(int32_t))
    arena_reserve(s, &s.trail, width, sizeof(int32_t))
    arena_reserve(s, &s.states, min(width, lat.L), sizeof(GroupC))
    arena_reserve(s, &s.rows, <int64_t>min(width, lat.L) * lat.P, sizeof(double))
    for k in range(lat.L):
        (<int32_t*>s.links.data)[k] = -1
    layers = <PartC*>s.paths.data
    size = begin(s, lat, layers, width)
    for t in range(1, lat.T):
        size = extend(s, lat, t, layers + (t - 1) * width, size, layers + t * width, width)
        if size == 0:
            return search_nbest(s, lat, n, ratio, unit)
    for k in range(min(size, n)):
        part = &layers[(<int64_t>lat.T - 1) * width + k]
        if k > 0 and is_too_bad(s, part.score, ratio, unit):
            break
        add_path(s, lat, part.score)
        rank = k
        for t in range(lat.T - 1, -1, -1):
            s.labels[k * lat.T + t] = <uint16_t>layers[t * width + rank].label
            rank = layers[t * width + rank].before
    return s.found
