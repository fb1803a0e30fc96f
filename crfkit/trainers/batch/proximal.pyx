"""Dual coordinate ascent (dual.pyx) where there is an L1 penalty, and little or no L2 penalty: a proximal method.

Without an L2 penalty the dual variables do not determine the weights. So each pass minimises the objective plus a proximal term,
which pulls each weight towards a centre,

    F(w) + sum_f stiffness_f / 2 (w_f - centre_f)^2,

and then moves the centres to the weights: at the optimum both are equal, and the term is zero (Rockafellar, 1976: the method of
multipliers on the dual, with the centres as multipliers). Given D, the sum of the dual variables, the weights are

    w = soft(stiffness x centre + D, l1) / (stiffness + l2).

The dual constraint |D| <= l1 is violated by at most stiffness x (the last move of a centre), less and less near the optimum.

At the optimum most weights are zero. Near it, steps leave out attributes whose weights are all zero and will stay so for some
passes (`screen`): these neither score nor follow the dual variables until all sums are recomputed (`bound`). That also makes
steps longer: features that do not move do not add to the change of scores.

The stiffness of a frequent feature must be greater than that of a rare one: it starts as the root of the count. It falls while a
weight keeps moving in one direction, and rises when the weight turns back. Where many features nearly agree, such as n-grams within
longer ones, all may fall so far that passes lead away from the optimum: then `stiffen` makes all stiffer.
"""

import array

from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport fabs, fmax, fmin, sqrt
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport DatasetC, DualC, LayoutC, SentenceC, dataset_sentence, weight_of
from crfkit.memory cimport arena_zeros, data_zeros, memset, vector
from crfkit.weights.cells cimport feature_cell, layout_row, pairs_row, row_cell
from crfkit.weights.layout cimport Layout
from .quasinewton cimport dual_objective

cdef enum:
    SHARES = 16                         # of a new point in the mixture that are tried (`bound`)

cdef double STIFFNESS = 0.28            # of a feature that occurs once
cdef double FIRST_LEAST = 0.2, FIRST_MOST = 6.0
cdef double LEAST = 0.15, MOST = 10.0   # bounds on it
cdef double FLOOR = 0.005
cdef double FIRM = 1.0                  # at least, after passes that led away
cdef double SOFTER = 0.93, STIFFER = 1.3
cdef double UNSEEN = 0.02               # how much an occurrence counts for the labels that it does not have
cdef double TYPICAL = 0.3               # lower than in dual.pyx: the constraint needs short distances, too
cdef double IDLE = 0.8                  # part of l1: where |pull + sum| is below that, a weight stays zero for some passes
cdef float FAR = 1e30                   # a squared distance that is never left out


cdef class Proximal(DualAscent):
    """Options: l1, l2."""

    numbers = DualAscent.numbers + ("usual", "ways", "visited", "screened", "mixed")

    def __cinit__(self, Dataset data, Layout layout, options, **others):
        cdef int64_t n = layout.c.n_cells, n_visits = data.c.u_ptr[data.c.n_tok]
        self.l1, self.penalty_l2 = options.l1, options.l2
        self.entropy = <double*>data_zeros(self, data.c.n_seq, sizeof(double))
        self.typical = TYPICAL
        self.sum, self.pull = <float*>arena_zeros(self, n, sizeof(float)), <float*>arena_zeros(self, n, sizeof(float))
        self.inverse, self.moved = <float*>arena_zeros(self, n, sizeof(float)), <float*>arena_zeros(self, n, sizeof(float))
        self.unit = <float*>arena_zeros(self, pairs_row(&layout.c) + 1, sizeof(float))
        self.exact, self.mean = <double*>arena_zeros(self, n, sizeof(double)), <double*>arena_zeros(self, n, sizeof(double))
        self.kept_ptr = <int64_t*>data_zeros(self, data.c.n_tok, sizeof(int64_t))
        self.kept_id = <int32_t*>data_zeros(self, n_visits, sizeof(int32_t))
        if data.c.u_val != NULL:
            self.kept_val = self.zeros(n_visits)
        self.kept = <uint8_t*>arena_zeros(self, layout.c.A, sizeof(uint8_t))
        self.screened, self.mixed = False, 0
        find_stiffness(self)

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef SentenceC own = sent[0]
        if self.screened:
            own.u_ptr = self.kept_ptr + self.data.c.seq_ptr[self.sequence]
            own.u_id, own.u_val = self.kept_id, self.kept_val
        return DualAscent.step(self, &own, loss)

    cdef void advance(self, const SentenceC* sent, const DualC* dual, double part) noexcept nogil:
        K.update_dual(&self.layout.c, sent, &self.lattice.c, dual, part, sent.weight * part, self.sum)
        K.soften(&self.layout.c, sent, dual, self.l1, self.pull, self.sum, self.inverse, self.w)

    cdef int end_pass(self) except -1:
        with nogil:
            move_centers(self)

    cdef void stiffen(self) noexcept nogil:
        """After passes that led away from the optimum."""
        cdef int64_t r, k, first, n
        cdef float least
        for r in range(pairs_row(&self.layout.c) + 1):
            n = layout_row(&self.layout.c, r, &first)
            least = <float>(FIRM * self.unit[r])
            for k in range(first, first + n):
                if 0 < self.moved[k] < least:
                    self.moved[k] = least
                elif -least < self.moved[k] < 0:
                    self.moved[k] = -least

    cdef double entropy_of_all(self) noexcept nogil:
        """A lower bound of the entropy of the distributions given by the dual variables."""
        cdef double total = 0
        cdef int64_t s
        for s in range(self.data.c.n_seq):
            total += weight_of(&self.data.c, s) * self.entropy[s]
        return total

    def bound(self) -> float:
        """A lower bound of the objective, from the dual variables.

        Each sequence i has a distribution mu_i over its paths, of entropy at least e_i. Let D_f be the weighted sum over all sequences of the
        expected value of feature f under mu_i minus the observed one, and e = sum_i weight_i e_i. Then for all weights (Fenchel, Young)

            objective(w) >= e - sum_f max(|D_f| - l1, 0) |w_f| + l2/2 |w|^2.

        So e is a bound if no |D_f| exceeds l1, and with an L2 penalty e - sum_f max(|D_f| - l1, 0)^2 / (2 l2) is one in any case.

        Where some |D_f| do exceed l1, other distributions are needed. A mixture of distributions has mixed expectations and, as entropy is
        concave, at least the mixed entropies. Two mixtures are made. First, of the points that an ascent visits: its steps are random, so
        that the D_f of frequent features vary from point to point, and much less in their mean. Then with the observed paths, which have
        e = 0 and D = 0: the bound is

            scale e,   scale = min(1, l1 / max_f |D_f|).
        """
        cdef:
            int64_t k
            int i
            double entropy = self.entropy_of_all(), best = 0, part = 0, found
        with nogil:
            add_up(self)
            for i in range(SHARES + 1):
                found = bound_of_mixture(self, <double>i / SHARES, entropy)
                if found > best:
                    best, part = found, <double>i / SHARES
            for k in range(self.layout.c.n_cells):
                self.mean[k] += part * (self.exact[k] - self.mean[k])
                self.sum[k] = <float>-self.exact[k]     # without the rounding errors of the steps
            self.mixed += part * (entropy - self.mixed)
        screen(self)
        return best

    cdef dict vectors(self):
        cdef int64_t n = self.layout.c.n_cells, n_seq = self.data.c.n_seq
        return {
            **DualAscent.vectors(self),
            "sum": vector(self, "f", self.sum, n),
            "pull": vector(self, "f", self.pull, n),
            "inverse": vector(self, "f", self.inverse, n),
            "moved": vector(self, "f", self.moved, n),
            "mean": vector(self, "d", self.mean, n),
            "node": vector(self, "f", self.first.node, self.data.c.n_tok * self.layout.c.P),
            "pair": vector(self, "f", self.first.pair, n_seq * self.layout.c.n_pairs),
            "rich": vector(self, "f", self.first.rich, self.rich_start[n_seq]),
            "entropy": vector(self, "d", self.entropy, n_seq),
            "left": vector(self, "f", self.left, n_seq),
            "told": vector(self, "f", self.told, n_seq),
            "curvature": vector(self, "f", self.curvature, n_seq),
        }

    def restore(self, dict state):
        DualAscent.restore(self, state)
        if self.screened:
            screen(self)

    def set_l1(self, double l1) -> None:
        """Change the penalty. For a smaller one the distributions move towards the observed labels, which leaves the weights as they are."""
        cdef double part = fmin(l1 / self.l1, 1.0) if self.l1 > 0 else 1.0
        cdef int64_t k, n_seq = self.data.c.n_seq
        with nogil:
            for k in range(self.data.c.n_tok * self.layout.c.P):
                self.first.node[k] = <float>(part * self.first.node[k])
            for k in range(n_seq * self.layout.c.n_pairs):
                self.first.pair[k] = <float>(part * self.first.pair[k])
            for k in range(self.rich_start[n_seq]):
                self.first.rich[k] = <float>(part * self.first.rich[k])
            for k in range(n_seq):
                self.entropy[k] *= part
                self.left[k] = FAR
            for k in range(self.layout.c.n_cells):
                self.sum[k] = <float>(part * self.sum[k])
                self.w[k] = soft(self.pull[k] + self.sum[k], l1) * self.inverse[k]
                self.mean[k] = 0
        self.l1, self.mixed = l1, 0
        if self.screened:
            self.screened = False
            self.find_overlaps(self.data.c.u_ptr, self.data.c.u_id, self.data.c.u_val)


cdef inline void see(const LayoutC* layout, int64_t r, int32_t previous, int32_t label, double weight, float* seen) noexcept nogil:
    """Count an occurrence of a feature, if it is one."""
    cdef int64_t k = row_cell(layout, r, previous, label)
    if k >= 0:
        seen[k] += <float>weight


cdef int find_stiffness(Proximal ascent) except -1:
    """The first stiffness of all weights, and ascent.l2, a mean of them for the choice of step sizes."""
    cdef:
        const DatasetC* data = &ascent.data.c
        const LayoutC* c = &ascent.layout.c
        SentenceC sent
        int64_t s, u, r, k, first, n, pairs = pairs_row(c)
        int32_t t
        float* seen = ascent.moved            # by feature: its count; borrows memory that is not used yet
        double seen_at, stiffness, total = 0, pulled = 0
        double[::1] count = array.array("d", [0.0]) * (pairs + 1)       # of each row
        double[::1] square = array.array("d", [0.0]) * (pairs + 1)      # and the squared values
    with nogil:
        for s in range(data.n_seq):
            sent = dataset_sentence(data, s)
            count[pairs] += sent.weight * (sent.T - 1) / c.L
            for t in range(sent.T):
                for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
                    count[sent.u_id[u]] += sent.weight
                    square[sent.u_id[u]] += sent.weight * (sent.u_val[u] ** 2 if sent.u_val != NULL else 1)
                    see(c, sent.u_id[u], -1, sent.label[t], sent.weight, seen)
                if t and c.has_tau:
                    see(c, pairs, sent.label[t - 1], sent.label[t], sent.weight, seen)
                if t == 0 or sent.b_ptr == NULL:
                    continue
                for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                    r = <int64_t>c.A + sent.b_id[u]
                    count[r] += sent.weight / c.L
                    square[r] += sent.weight / c.L
                    see(c, r, sent.label[t - 1], sent.label[t], sent.weight, seen)
        square[pairs] = count[pairs]
        for r in range(pairs + 1):
            n = layout_row(&ascent.layout.c, r, &first)
            ascent.unit[r] = square[r] / count[r] if square[r] > 0 else 1
            for k in range(first, first + n):
                seen_at = seen[k] + UNSEEN * count[r]
                stiffness = ascent.unit[r] * fmin(fmax(STIFFNESS * sqrt(seen_at), FIRST_LEAST), FIRST_MOST)
                ascent.inverse[k] = <float>(1 / (stiffness + ascent.penalty_l2))
                seen[k] = <float>stiffness
                total += seen_at * ascent.unit[r]
                pulled += seen_at * ascent.unit[r] * ascent.inverse[k]
    ascent.l2 = total / pulled if pulled > 0 else 1.0


cdef void move_centers(Proximal ascent) noexcept nogil:
    """Move the centres to the weights, and adapt each stiffness."""
    cdef:
        int64_t r, k, first, n, rows = pairs_row(&ascent.layout.c) + 1
        double l2 = ascent.penalty_l2, old, new, center, way, wish
    for r in range(rows):
        n = layout_row(&ascent.layout.c, r, &first)
        for k in range(first, first + n):
            old = 1 / <double>ascent.inverse[k] - l2
            center = ascent.pull[k] / old
            way = ascent.w[k] - center
            wish = fabs(ascent.moved[k])
            if way * ascent.moved[k] > 0:
                wish = fmax(SOFTER * wish, FLOOR * ascent.unit[r])
            elif way * ascent.moved[k] < 0:
                wish = fmin(fmax(STIFFER * wish, LEAST * ascent.unit[r]), MOST * ascent.unit[r])
            new = fmax(wish, LEAST * ascent.unit[r])
            center += (new / wish if ascent.w[k] != 0 else 1) * way
            ascent.moved[k] = <float>(wish if way > 0 else -wish if way < 0 else ascent.moved[k])
            ascent.inverse[k] = <float>(1 / (new + l2))
            ascent.pull[k] = <float>(new * center) if center * ascent.w[k] > 0 else 0
            ascent.w[k] = soft(ascent.pull[k] + ascent.sum[k], ascent.l1) * ascent.inverse[k]


cdef inline float soft(float x, double l1) noexcept nogil:
    cdef float most = <float>l1
    return x - most if x > most else x + most if x < -most else 0


cdef int screen(Proximal ascent) except -1:
    """Choose the attributes that steps see until the next call; the sums must be exact."""
    cdef:
        const DatasetC* data = &ascent.data.c
        const LayoutC* c = &ascent.layout.c
        int64_t a, t, u, k, first, n, found = 0
    with nogil:
        for a in range(c.A):
            n = layout_row(c, a, &first)
            ascent.kept[a] = False
            for k in range(first, first + n):
                if ascent.w[k] != 0 or fabs(ascent.pull[k] + ascent.sum[k]) > IDLE * ascent.l1:
                    ascent.kept[a] = True
                    break
        for t in range(data.n_tok):
            ascent.kept_ptr[t] = found
            for u in range(data.u_ptr[t], data.u_ptr[t + 1]):
                if ascent.kept[data.u_id[u]]:
                    ascent.kept_id[found] = data.u_id[u]
                    if ascent.kept_val != NULL:
                        ascent.kept_val[found] = data.u_val[u]
                    found += 1
        ascent.kept_ptr[data.n_tok] = found
    ascent.screened = True
    return ascent.find_overlaps(ascent.kept_ptr, ascent.kept_id, ascent.kept_val)


cdef double bound_of_mixture(Proximal ascent, double part, double entropy) noexcept nogil:
    """The bound, with this share of the new point, of this entropy."""
    cdef:
        int64_t k
        double l1 = ascent.l1, most = 0, excess = 0, size
    for k in range(ascent.layout.c.n_cells):
        size = fabs(ascent.mean[k] + part * (ascent.exact[k] - ascent.mean[k]))
        if size > l1:
            most = fmax(most, size)
            excess += (size - l1) ** 2
    return dual_objective(ascent.mixed + part * (entropy - ascent.mixed), l1, ascent.penalty_l2, most, excess)


cdef void add_up(Proximal ascent) noexcept nogil:
    """Compute `exact` from the dual variables."""
    cdef:
        const LayoutC* c = &ascent.layout.c
        SentenceC sent
        DualC dual
        int64_t s, u, f, k
        int32_t t, a
        double x
        double* exact = ascent.exact
        const float* node
        const float* rich
    memset(exact, 0, c.n_cells * sizeof(double))
    for s in range(ascent.data.c.n_seq):
        sent, dual = dataset_sentence(&ascent.data.c, s), ascent.dual_of(s)
        rich = dual.rich
        for t in range(sent.T):
            node = dual.node + <int64_t>t * c.P
            for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
                a = sent.u_id[u]
                x = sent.weight * (sent.u_val[u] if sent.u_val != NULL else 1)
                for f in range(c.u_ptr[a], c.u_ptr[a + 1]):
                    exact[feature_cell(c, a, f)] += x * node[c.u_label[f]]
            if t == 0 or sent.b_ptr == NULL:
                continue
            for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                for f in range(c.b_ptr[sent.b_id[u]], c.b_ptr[sent.b_id[u] + 1]):
                    exact[c.rich0 + f] += sent.weight * rich[0]
                    rich += 1
        for k in range(c.n_pairs):
            exact[c.tau0 + dual.pair_cell[k]] += sent.weight * dual.pair[k]
