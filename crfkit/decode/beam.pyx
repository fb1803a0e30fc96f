"""N best paths, approximately: from left to right, only the best partial paths stay.

Of paths that end in the same label, all go on to a next label by the same score. So those that are in order before are in order
behind: for each label before and each next label they are a run, and the best of all are merged from the runs. A run begins with
the best path into the label before. Runs that begin too low are never looked at: when each path before goes on to the label that is
best for the first of its run, there are as many paths as before, and the last of them says what is too low.

All this is needed only where the beam may lose one of the best paths. The exact search finds these in less time. A path stays in the beam as long
as no more beginnings than the beam has room for score as much as its own; and where that holds for all of them, everywhere, they are what the beam
would find. How many such beginnings there are is counted from right to left along those alone, so that most counts are of one or two cells.
"""

from libc.float cimport DBL_MAX
from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.loops.numbers cimport INFINITY, fabs
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport EdgeC, crfkit_edge_score
from crfkit.memory cimport arena_reserve, memset
from .nbest cimport add_path, is_too_bad, search_nbest

cdef enum:
    DEEPEST = 200               # positions that a count goes back

cdef struct PartC:              # a partial path
    double score
    double way                  # score before the node's own was added
    int32_t label
    int32_t before              # rank at the position before
    int32_t label_before

cdef struct GroupC:             # of those that end in the same label
    int32_t label
    int32_t first, last         # ranks of the best one and of the worst
    int32_t best                # the best next label for the first

cdef struct RunC:
    PartC part                  # the next one to be taken
    double step                 # what going on scores


cdef struct HeadC:              # where a run stands
    double score
    int32_t run



cdef inline bint ranks_before(const PartC* x, const PartC* y) noexcept nogil:
    if x.score != y.score:
        return x.score > y.score
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
    """Restore a heap with the best on top. Which of two children is better cannot be foreseen: there is no branch for it."""
    cdef HeadC moving = heap[hole]
    cdef int64_t child
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size:
            if heap[child + 1].score == heap[child].score:
                child += is_better(&heap[child + 1], &heap[child], runs)
            else:
                child += heap[child + 1].score > heap[child].score
        if not is_better(&heap[child], &moving, runs):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = moving


cdef int64_t merge(NBest s, int64_t n, const PartC* before, const int32_t* following, const double* node, double least,
                   PartC* beam, int64_t width) except -1 nogil:
    """The best `width` of n runs, in order; how many. None is less than `least`; `following` is NULL where runs have one path."""
    cdef:
        int64_t k, size = 0
        int32_t r
        RunC* runs = <RunC*>s.ways.data
        RunC* run
        HeadC* heap
    arena_reserve(s, &s.heads, n + 1, sizeof(HeadC))
    heap = <HeadC*>s.heads.data
    for k in range(n):
        heap[k].score, heap[k].run = runs[k].part.score, <int32_t>k
    for k in range(n // 2 - 1, -1, -1):
        sink(heap, runs, n, k)
    while n > 0 and size < width:
        run = &runs[heap[0].run]
        beam[size] = run.part
        size += 1
        r = following[run.part.before] if following != NULL else -1
        if r >= 0:
            run.part.before = r
            run.part.way = before[r].score + run.step
            run.part.score = heap[0].score = run.part.way + node[run.part.label]
        if r < 0 or heap[0].score < least:
            n -= 1
            heap[0] = heap[n]
        sink(heap, runs, n, 0)
    return size


cdef int64_t gather(const PartC* before, int64_t n_before, GroupC* groups, int32_t* group_of, int32_t* following) noexcept nogil:
    """The groups; how many. `group_of` holds -1 for each label, and again in the end."""
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


cdef void go_on(const LatticeC* lat, const EdgeC* edge, const double* node, const PartC* before, GroupC* group,
                double* total) noexcept nogil:
    """What the first of a group scores with each next label, and the best of these."""
    cdef int32_t j, k, L = lat.L
    cdef double score = before[group.first].score
    cdef const double* step
    if edge.score != NULL:
        step = edge.score + <int64_t>group.label * lat.P
        for j in range(L):
            total[j] = (score + step[j]) + node[j]
    else:
        for j in range(L):
            total[j] = score + node[j]
        for k in range(edge.row_ptr[group.label], edge.row_ptr[group.label + 1]):
            j = edge.pair[k].to
            total[j] = (score + edge.pair[k].score) + node[j]
    group.best = 0
    for j in range(1, L):
        if total[j] > total[group.best]:
            group.best = j


cdef double least_kept(const EdgeC* edge, const double* node, const PartC* before, const GroupC* groups, int64_t n) noexcept nogil:
    """So many paths as were before score at least that."""
    cdef double least = INFINITY, step
    cdef int64_t g
    cdef int32_t r
    for g in range(n):
        step = crfkit_edge_score(edge, groups[g].label, groups[g].best)
        r = groups[g].last
        least = min(least, (before[r].score + step) + node[groups[g].best])
    return max(least, -DBL_MAX)


cdef int64_t extend(NBest s, const LatticeC* lat, int64_t t, const PartC* before, int64_t n_before, PartC* beam,
                    int64_t width) except -1 nogil:
    """Every partial path with every next label; the best stay."""
    cdef:
        const double* node = lat.score + t * lat.P
        const EdgeC* edge = lat.edge[t]
        int32_t* which = <int32_t*>s.which.data
        int32_t* following = <int32_t*>s.trail.data
        GroupC* groups = <GroupC*>s.states.data
        double* totals = <double*>s.rows.data
        RunC* runs
        double least = -DBL_MAX
        int64_t n = gather(before, n_before, groups, <int32_t*>s.links.data, following), g, k, found, n_runs = 0
    for g in range(n):
        go_on(lat, edge, node, before, &groups[g], totals + g * lat.P)
    if n_before == width:
        least = least_kept(edge, node, before, groups, n)
    for g in range(n):
        found = K.at_least(lat.L, totals + g * lat.P, least, which)
        arena_reserve(s, &s.ways, n_runs + found + 1, sizeof(RunC))
        runs = <RunC*>s.ways.data + n_runs
        for k in range(found):
            runs[k].step = crfkit_edge_score(edge, groups[g].label, which[k])
            runs[k].part.label, runs[k].part.before, runs[k].part.label_before = which[k], groups[g].first, groups[g].label
            runs[k].part.way = before[groups[g].first].score + runs[k].step
            runs[k].part.score = runs[k].part.way + node[which[k]]
        n_runs += found
    return merge(s, n_runs, before, following, node, least, beam, width)


cdef int64_t begin(NBest s, const LatticeC* lat, PartC* beam, int64_t width) except -1 nogil:
    """The paths of one label."""
    cdef RunC* runs
    cdef int64_t n = 0
    cdef int32_t j
    arena_reserve(s, &s.ways, lat.L, sizeof(RunC))
    runs = <RunC*>s.ways.data
    for j in range(lat.L):
        if lat.score[j] > -INFINITY:
            runs[n].part.score, runs[n].part.label = lat.score[j], j
            runs[n].part.way, runs[n].part.before, runs[n].part.label_before = 0, 0, 0
            n += 1
    return merge(s, n, NULL, NULL, NULL, 0, beam, width)


cdef int64_t count(NBest s, const LatticeC* lat, int64_t t, int64_t j, double loss, int64_t most, int depth) noexcept nogil:
    """How many beginnings end in cell (t, j) and lose no more than that against the best of them; more than `most` where that is not
    to be known. Cells whose best beginning is known to be alone end the count."""
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
    least = best - loss - ((<double*>s.rows.data)[j] if s.bounded and edge == &lat.shared else INFINITY)
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
    """Whether the paths that the exact search has found surely stay in a beam: they are then what it finds."""
    cdef:
        double* least
        const double* row
        double score, largest = 0, slack
        int64_t k, t, n
        int32_t i, j
    arena_reserve(s, &s.least, lat.T, sizeof(double))
    arena_reserve(s, &s.alone, <int64_t>lat.T * lat.P, sizeof(double))
    memset(s.alone.data, 0, <int64_t>lat.T * lat.P * sizeof(double))
    least = <double*>s.least.data
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
    """As search_nbest, but from left to right keeping only the best `width` (at least n) partial paths.

    Exact if there are no more partial paths than that. Where constraints leave none of those kept a way on, the
    exact search takes over.
    """
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
