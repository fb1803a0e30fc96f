"""Why a token got its label: its rival, and the reasons for the one or the other.

The rival of a token is the best labelling of the sentence that gives this token another label. Viterbi forward has the best score
up to each label (alpha), Viterbi backward that of what follows it (beta). Of the other labels the rival has the one with the greatest
sum of both.

A rival leaves the best path at the token or before it, and joins it again at the token or behind it. Elsewhere the two have the same features, so
the reasons are in between. From a label to one side, the best way up to the best path is the same for all rivals that come through this
label. It is followed once, and kept are its largest reasons and the sum of the others. A way that is one position longer adds its own to
these. So the time grows with the number of tokens, even if rivals differ from the best path over thousands of them.
"""

from crfkit.lattice.lattice cimport put_changes, take_changes
from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport INFINITY, fabs
from crfkit.loops.structs cimport EdgeC, PairC, crfkit_edge_score, crfkit_find_pair
from crfkit.memory cimport arena_reserve, memset
from crfkit.weights.cells cimport ANY, layout_cell, layout_history_cell

cdef enum:
    BEFORE = -1             # the sides of a position
    BEHIND = 1
    MOST_BYTES = 1 << 30    # of the reasons of one sequence


cdef class Rivals:
    cdef int search(self, Scratch x, const uint16_t* labels, int64_t most) except -1 nogil:
        """Prepare for questions about a scored sentence, for which Viterbi has just found these labels. Uses beta of the lattice."""
        cdef LatticeC* lat = &x.lattice.c
        cdef int64_t t, cells = 2 * <int64_t>lat.T * lat.P
        self.lat, self.sent, self.layout, self.most = lat, &x.extractor.sentence, &x.decoder.layout.c, most
        self.w, self.more, self.bias = x.decoder.w, x.decoder.rest, x.decoder.bias
        arena_reserve(self, &self.best, lat.T, sizeof(int32_t))
        arena_reserve(self, &self.trail, lat.T, sizeof(int32_t))
        arena_reserve(self, &self.links, cells, sizeof(int32_t))
        arena_reserve(self, &self.sides, 1, sizeof(SideC))
        for t in range(lat.T):
            (<int32_t*>self.best.data)[t] = labels[t]
        memset(self.links.data, 0, cells * sizeof(int32_t))
        memset(self.sides.data, 0, sizeof(SideC))       # side 0, of the best path itself: nothing differs
        self.n_sides, self.n_reasons = 1, 0
        look_ahead(lat)

    cdef tuple token(self, int64_t t):
        """Of a token: (label, rival's label or -1, lead, first and last place with another label, reasons, number of others, what these say).

        A reason is (place, attribute, previous label, label, weight times value, and the last three in the rival). Places are counted from
        the token. Attribute -1 is that of plain label pairs; previous label -1: the attribute does not look at it. Both: the bias."""
        cdef:
            LatticeC* lat = self.lat
            const int32_t* best = <int32_t*>self.best.data
            const double* way = lat.alpha + t * lat.P
            const double* ahead = lat.beta + t * lat.P
            const ReasonC* r
            int32_t j = label_at(self, t)
            int64_t before, behind, k
            double lead
            list reasons = []
        if j < 0:
            return best[t], -1, INFINITY, 0, 0, reasons, 0, 0.0
        with nogil:
            before, behind = side(self, BEFORE, t, j), side(self, BEHIND, t, j)
            memset(&self.made, 0, sizeof(SideC))
            add_label(self, t, j)
            add_side(self, before)
            add_side(self, behind)
        for k in range(self.made.n):
            r = <ReasonC*>self.chosen.data + k
            reasons.append((r.position - t, r.attribute, -1 if r.before < 0 else best[r.position - 1], best[r.position], r.score,
                            r.before, r.label, r.rival))
        lead = (way[best[t]] + ahead[best[t]]) - (way[j] + ahead[j])
        return (best[t], j, max(lead, 0.0), end_of(self, before, t) - t, end_of(self, behind, t) - t, reasons, self.made.others, self.made.rest)


cdef int32_t label_at(Rivals self, int64_t t) noexcept nogil:
    """The label that the rival of a token gives it, or -1: it can have no other one."""
    cdef const double* way = self.lat.alpha + t * self.lat.P
    cdef const double* ahead = self.lat.beta + t * self.lat.P
    cdef double most = -INFINITY
    cdef int32_t j, found = -1
    for j in range(self.lat.L):
        if way[j] + ahead[j] > most and j != (<int32_t*>self.best.data)[t]:
            most, found = way[j] + ahead[j], j
    return found


# ------------------------------------------------------------------------- ways

cdef int64_t side(Rivals self, int direction, int64_t t, int32_t j) except -1 nogil:
    """The number of the side of a label at position t: go on as far as nothing is known, then come back."""
    cdef:
        const int32_t* best = <int32_t*>self.best.data
        int32_t* trail = <int32_t*>self.trail.data
        int32_t* links = <int32_t*>self.links.data + (self.lat.T * <int64_t>self.lat.P if direction > 0 else 0)
        int64_t u = t, next, found
    trail[u] = j
    while trail[u] != best[u] and links[u * self.lat.P + trail[u]] == 0 and 0 <= u + direction < self.lat.T:
        trail[u + direction] = neighbour(self, direction, u, trail[u])
        u += direction
    found = 0 if trail[u] == best[u] else links[u * self.lat.P + trail[u]]
    while u != t:
        next = u
        u -= direction
        memset(&self.made, 0, sizeof(SideC))
        add_side(self, found)
        add_label(self, next, trail[next])
        if direction > 0:
            add_step(self, next, trail[u], trail[next])
        else:
            add_step(self, u, trail[next], trail[u])
        found = keep(self, u if trail[next] == best[next] else end_of(self, found, next))
        links[u * self.lat.P + trail[u]] = <int32_t>found
    return found


cdef int32_t neighbour(Rivals self, int direction, int64_t t, int32_t j) noexcept nogil:
    """The next label on the best way from label j at position t to one side; if several are as good, that of the best path."""
    cdef:
        const LatticeC* lat = self.lat
        int64_t row = (t + direction) * lat.P
        int32_t k, found = (<int32_t*>self.best.data)[t + direction]
        const EdgeC* edge = lat.edge[t if direction < 0 else t + 1]
        const EdgeC* step = put_changes(edge)       # else each label would search the changes
        double most = way_score(lat, step, direction, t, j, found), score
    for k in range(lat.L):
        score = way_score(lat, step, direction, t, j, k)
        if score > most:
            most, found = score, k
    take_changes(edge)
    return found


cdef int64_t keep(Rivals self, int64_t end) except -1 nogil:
    """The number of the side that was made."""
    cdef int64_t k
    if (self.n_reasons + self.made.n) * <int64_t>sizeof(ReasonC) > MOST_BYTES or self.n_sides >= 0x7FFFFFFF:
        raise MemoryError("the reasons for the labels of one sequence would take more than a gigabyte: ask for fewer")
    arena_reserve(self, &self.sides, self.n_sides + 1, sizeof(SideC))
    arena_reserve(self, &self.reasons, self.n_reasons + self.made.n, sizeof(ReasonC))
    for k in range(self.made.n):
        (<ReasonC*>self.reasons.data)[self.n_reasons + k] = (<ReasonC*>self.chosen.data)[k]
    self.made.first, self.made.end = self.n_reasons, end
    (<SideC*>self.sides.data)[self.n_sides] = self.made
    self.n_reasons += self.made.n
    self.n_sides += 1
    return self.n_sides - 1


# ------------------------------------------------------------------------- reasons

cdef int add_side(Rivals self, int64_t side) except -1 nogil:
    """Add the reasons of a side."""
    cdef SideC* other = <SideC*>self.sides.data + side
    cdef int64_t k
    for k in range(other.first, other.first + other.n):
        add(self, (<ReasonC*>self.reasons.data)[k])
    self.made.others += other.others
    self.made.rest += other.rest


cdef int add_label(Rivals self, int64_t t, int32_t j) except -1 nogil:
    """Add the reasons for the best label of position t, and against label j."""
    cdef int64_t u
    cdef int32_t a, best = (<int32_t*>self.best.data)[t]
    cdef double value
    if j == best:
        return 0
    for u in range(self.sent.u_ptr[t], self.sent.u_ptr[t + 1]):
        a, value = self.sent.u_id[u], self.sent.u_val[u] if self.sent.u_val != NULL else 1.0
        add(self, ReasonC(value * weight(self, layout_cell(self.layout, a, best)), value * weight(self, layout_cell(self.layout, a, j)),
                         <int32_t>t, a, -1, j))
    if self.bias != NULL:
        add(self, ReasonC(self.bias[best], self.bias[j], <int32_t>t, -1, -1, j))


cdef int add_step(Rivals self, int64_t t, int32_t i, int32_t j) except -1 nogil:
    """Add the reasons for the best path's step into position t, and against the one from label i to label j."""
    cdef const int32_t* best = <int32_t*>self.best.data
    cdef int32_t b, before = best[t - 1], label = best[t]
    cdef int64_t u, pairs = self.layout.tau0, P = self.layout.P
    if self.layout.has_tau:
        add(self, ReasonC(weight(self, pairs + before * P + label), weight(self, pairs + i * P + j), <int32_t>t, -1, i, j))
    if self.sent.b_ptr != NULL:
        for u in range(self.sent.b_ptr[t], self.sent.b_ptr[t + 1]):
            b = self.sent.b_id[u]
            add(self, ReasonC(weight(self, layout_history_cell(self.layout, b, ANY, before, label)),
                             weight(self, layout_history_cell(self.layout, b, ANY, i, j)), <int32_t>t, b, i, j))


cdef int add(Rivals self, ReasonC reason) except -1 nogil:
    """Put a reason among the largest; one that has no room there goes to the rest."""
    cdef double says = reason.score - reason.rival
    cdef ReasonC* chosen
    cdef int64_t k = self.made.n
    if says == 0:
        return 0
    if k < self.most:
        arena_reserve(self, &self.chosen, k + 1, sizeof(ReasonC))
        self.made.n += 1
    chosen = <ReasonC*>self.chosen.data
    if k == self.most:
        k -= 1
        self.made.others += 1
        if fabs(says) <= fabs(chosen[k].score - chosen[k].rival):
            self.made.rest += says
            return 0
        self.made.rest += chosen[k].score - chosen[k].rival
    while k > 0 and fabs(chosen[k - 1].score - chosen[k - 1].rival) < fabs(says):
        chosen[k] = chosen[k - 1]
        k -= 1
    chosen[k] = reason


cdef inline double weight(Rivals self, int64_t cell) noexcept nogil:
    """The weight of a cell; 0 if there is no such feature."""
    if cell < 0:
        return 0
    return <double>self.w[cell] + self.more[cell] if self.more != NULL else self.w[cell]


cdef inline int64_t end_of(Rivals self, int64_t side, int64_t t) noexcept nogil:
    """The last position with another label of a side of such a label at position t. Only at an end of the sentence is that side 0."""
    return (<SideC*>self.sides.data)[side].end if side else t


cdef inline double way_score(const LatticeC* lat, const EdgeC* step, int direction, int64_t t, int32_t j, int32_t k) noexcept nogil:
    """The best score of the way from label j at position t to one side, over this step to label k."""
    cdef int64_t cell = (t + direction) * lat.P + k
    if direction < 0:
        return lat.alpha[cell] + crfkit_edge_score(step, k, j)
    return crfkit_edge_score(step, j, k) + (lat.score[cell] + lat.beta[cell])


cdef void look_ahead(LatticeC* lat) noexcept nogil:
    """Viterbi from the end: beta becomes the best score of what follows each label."""
    cdef:
        int64_t t, j, P = lat.P
        double* ahead = lat.right       # scratch, as are the positions behind
        const EdgeC* step
    for j in range(lat.L):
        lat.beta[(lat.T - 1) * P + j] = 0
    for t in range(lat.T - 2, -1, -1):
        for j in range(P):
            ahead[j] = lat.score[(t + 1) * P + j] + lat.beta[(t + 1) * P + j] if j < lat.L else -INFINITY
        step = put_changes(lat.edge[t + 1])
        if step.pair != NULL:
            best_of_list(step, ahead, lat.beta + t * P, <int32_t*>(ahead + P))
        else:
            best_of_matrix(lat.L, P, step.score, ahead, lat.beta + t * P)
        take_changes(lat.edge[t + 1])


cdef void best_of_matrix(int64_t L, int64_t P, const double* score, const double* ahead, double* way) noexcept nogil:
    """way[i] = the best over all labels j of ahead[j] and the step from i to j."""
    cdef int64_t i, j
    cdef const double* row
    for i in range(L):
        row, way[i] = score + i * P, -INFINITY
        for j in range(L):
            if row[j] + ahead[j] > way[i]:
                way[i] = row[j] + ahead[j]


cdef void best_of_list(const EdgeC* edge, const double* ahead, double* way, int32_t* order) noexcept nogil:
    """The same from a list: of the labels that are not on it, to which a step scores 0, the best one counts. `order`: scratch for L numbers,
    the labels from the best on, as far as they were needed."""
    cdef:
        int32_t i, k, label, known = 0
        const PairC* pair
    for i in range(edge.L):
        way[i] = -INFINITY
        for k in range(edge.row_ptr[i], edge.row_ptr[i + 1]):
            pair = edge.pair + k
            if pair.score + ahead[pair.to] > way[i]:
                way[i] = pair.score + ahead[pair.to]
        for k in range(edge.L):
            if k == known:
                order[k] = K.next_best(edge.L, edge.P, ahead, order[k - 1] if k else -1)
                known += 1
            label = order[k]
            if label < 0 or ahead[label] <= way[i]:
                break
            if crfkit_find_pair(edge, i, label) == NULL:
                way[i] = ahead[label]
                break
