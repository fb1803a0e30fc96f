"""Dual coordinate ascent on the L2-penalised likelihood: the start of L-BFGS.

In the dual problem each sequence has a distribution mu over its paths, and the weights are observed minus expected features:

    w = 1/l2 sum_i weight_i (F(x_i, y_i) - E_mu_i F)

A step takes one sequence and moves mu a fraction of the distance, the step size, towards the model's own distribution P(y|x; w).
Where the two agree for all sequences, w is the optimum (Shalev-Shwartz & Zhang, 2013; Le Priol, Piche & Lacoste-Julien,
2018, for CRFs). A step costs as much as one of stochastic gradient descent, but there is no learning rate to lower: the
steps get smaller by themselves. Features are sums over nodes and edges, so only the expectations under mu are kept, as differences
from the observed ones: they start at zero, with w = 0.

The best step size is 1 / (1 + curvature x stretch): the curvature is how fast marginals change with scores, the stretch how far a
full step changes scores. The stretch is known, except for features that several positions of the sequence share: changes of
such positions add up, so it is computed from the sum over positions too, with the overlap of two positions on average. The
curvature is estimated for each sequence by a secant: now and then the marginals are computed once more after the step, and show
for which step size the remaining distance would have been orthogonal to the step. The step size is SAFETY times that: expectations
near 0 or 1 curve more sharply than a secant shows. For the same reason no step may change scores by more than TRUST.

After some passes most sequences are close to the model's distribution, and a few are far from it. So a pass leaves out a sequence
whose squared distance was below TYPICAL times the mean; each pass that leaves it out multiplies the remembered distance by GROWTH.

Where not all labels of a sequence are given, the labellings that may be true have a distribution too, and its expectations are what is
observed. It is not known: steps move it towards the model's own distribution over these labellings, by as much as mu. The loops see
such a sequence twice, with all labels and with the possible ones, whose dual variables count with a negative sign. Where both
distributions agree with the model for all sequences, the gradient of the likelihood is zero. There is no dual problem, as that
likelihood has many optima; but it is a start.
"""

from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport fmax, fmin
from crfkit.loops.atomic cimport crfkit_prefetch_bytes
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_expect, lattice_load_for, lattice_path_score
from crfkit.weights.layout cimport Layout
from crfkit.weights.cells cimport feature_cell, rich_features
from crfkit.memory cimport Arena, arena_reserve, arena_zeros, data_zeros, memcpy
from crfkit.loops.structs cimport DatasetC, LatticeC, LayoutC, WayC, dataset_sentence
from crfkit.trainers.base cimport accuracies, wrong_labels

cdef enum:
    PASSES_BETWEEN_SECANTS = 3
    PASSES_OF_ALL = 3           # before the first sequence is left out
    # Potentials of label pairs are recomputed at every step, so lists pay off earlier than where weights stay the same
    # (most_pairs in lattice/forms.pyx).
    MANY_LABELS = 88
    FEW_PAIRS = 6               # one of so many

cdef double SAFETY = 0.7
cdef double LARGEST = 0.5       # step size, at most
cdef double LEAST_CURVATURE = 1e-3
cdef double LARGEST_CURVATURE = 16.0   # above that of any likelihood: it also makes up for a stretch that was underestimated
cdef double SHORT = 0.4         # SAFETY / LARGEST - 1: for a shorter stretch the step size is LARGEST, whatever the curvature
cdef double CURVATURE = 0.5     # before the first secant
cdef double TRUST = 2.0         # change of a node's score, at most
cdef double TYPICAL = 2.0
cdef double GROWTH = 3.0
cdef double UNLIKELY = 1e-3     # marginals below this add no curvature: with 161 labels, most of them would cost more than they tell


def dual_bytes(Dataset data not None, Layout layout not None) -> int:
    """Memory for the dual variables."""
    return (1 if data.possible is None else 2) * sizeof(float) * (
        data.c.n_tok * layout.c.P
        + data.c.n_seq * layout.c.n_pairs
        + (rich_features(&layout.c, data.c.b_id, 0, data.c.b_ptr[data.c.n_tok]) if data.c.b_ptr != NULL else 0)
    )


cdef class DualAscent(OnlineTrainer):
    """The loss of a pass is each sequence's negative log-likelihood at its visit. l2 is more than zero; `recursions` as in Objective."""

    def __cinit__(self, Dataset data, Layout layout, options, str recursions="auto", **unused):
        cdef:
            int64_t s, k, first, last
            int64_t n = data.c.n_seq
            int64_t* cell
        self.l2 = options.l2
        self.usual, self.typical = CURVATURE, TYPICAL
        if recursions == "auto" and layout.c.L >= MANY_LABELS and FEW_PAIRS * layout.c.n_pairs <= <int64_t>layout.c.L * layout.c.L:
            recursions = "sparse"
        self.lattice.list_features(&layout.c, recursions, True)
        self.curvature, self.overlap = self.zeros(n), self.zeros(n)
        self.first.sum = <double*>arena_zeros(self, layout.c.P, sizeof(double))
        self.find_overlaps(data.c.u_ptr, data.c.u_id, data.c.u_val)
        if options.train_accuracy:
            self.wrong = <int32_t*>data_zeros(self, n, sizeof(int32_t))
        self.left, self.told = self.zeros(n), self.zeros(n)
        self.rich_start = <int64_t*>data_zeros(self, n, sizeof(int64_t))
        for s in range(n if data.c.b_ptr != NULL else 0):
            first, last = data.c.b_ptr[data.c.seq_ptr[s]], data.c.b_ptr[data.c.seq_ptr[s + 1]]
            self.rich_start[s + 1] = self.rich_start[s] + rich_features(&layout.c, data.c.b_id, first, last)
        self.first.pair_cell = cell = <int64_t*>arena_zeros(self, layout.c.n_pairs, sizeof(int64_t))
        s = 0
        for k in range(<int64_t>layout.c.L * layout.c.P if layout.c.has_tau else 0):
            if layout.c.tau_mask[k]:
                cell[s] = k
                s += 1
        self.observed = self.first
        add_variables(self, &self.first)
        if data.possible is not None:
            add_variables(self, &self.observed)

    cdef float* zeros(self, int64_t n) except NULL:
        return <float*>data_zeros(self, n, sizeof(float))

    cdef DualC dual_of(self, int64_t s, bint observed=False) noexcept nogil:
        cdef DualC dual = self.observed if observed else self.first
        dual.node += self.data.c.seq_ptr[s] * self.layout.c.P
        dual.pair += s * self.layout.c.n_pairs
        dual.rich += self.rich_start[s]
        dual.overlap = self.overlap[s]
        return dual

    cdef int find_overlaps(self, const int64_t* u_ptr, const int32_t* u_id, const float* u_val) except -1:
        """The inner product of the attributes of two positions of a sequence, on average over all pairs."""
        cdef:
            const DatasetC* data = &self.data.c
            Arena room = Arena()
            float* sum      # of each attribute's values so far
            double common
            int64_t s, t, u, first, last
        sum = <float*>arena_zeros(room, self.layout.c.A, sizeof(float))
        with nogil:
            for s in range(data.n_seq):
                first, last = data.seq_ptr[s], data.seq_ptr[s + 1]
                common = 0
                for t in range(first, last):
                    for u in range(u_ptr[t], u_ptr[t + 1]):
                        common += sum[u_id[u]] * (u_val[u] if u_val != NULL else 1.0)
                    for u in range(u_ptr[t], u_ptr[t + 1]):
                        sum[u_id[u]] += u_val[u] if u_val != NULL else 1
                for u in range(u_ptr[first], u_ptr[last]):
                    sum[u_id[u]] = 0
                if last - first > 1:
                    self.overlap[s] = <float>fmax(2 * common / ((last - first) * (last - first - 1.0)), 0.0)

    cdef double remaining(self) noexcept nogil:
        """The sum of the squared distances of all sequences at their last visits; it falls about as fast as the distance from the optimum."""
        cdef int64_t s
        cdef double total = 0
        for s in range(self.data.c.n_seq):
            total += self.left[s]
        return total

    cdef int add_curvature(self, float* curvature) except -1:
        """Add the curvature of the likelihood along each weight: the sum of p (1 - p) x squared value over all tokens, where p is the
        marginal under mu. That of a pair is taken for the product of its labels' marginals, since only sums over positions are kept."""
        cdef:
            Arena room = Arena()
            int64_t s
            SentenceC sent
            double* marginal = <double*>arena_zeros(room, 2 * self.layout.c.P, sizeof(double))
            int32_t* likely = <int32_t*>arena_zeros(room, 2 * self.layout.c.P, sizeof(int32_t))
        with nogil:
            for s in range(self.data.c.n_seq):
                sent = dataset_sentence(&self.data.c, s)
                add_curvature_of(self, &sent, self.dual_of(s).node, marginal, likely, curvature)
                if self.data.possible is not None:
                    sent.weight = -sent.weight
                    add_curvature_of(self, &sent, self.dual_of(s, observed=True).node, marginal, likely, curvature)

    cdef int begin_pass(self) except -1:
        self.enough = 0
        if self.passes >= PASSES_OF_ALL and self.visited:
            self.enough = self.typical * self.ways / self.visited
        self.ways, self.visited = 0, 0

    cdef void fetch(self, const int32_t* which, int64_t n) noexcept nogil:
        cdef DualC dual
        OnlineTrainer.fetch(self, which, n)
        if n > 2 and self.left[which[2]] >= self.enough:
            dual = self.dual_of(which[2])
            crfkit_prefetch_bytes(dual.node, 512)
            crfkit_prefetch_bytes(dual.pair, 512)

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            int64_t s = self.sequence
            DualC dual = self.dual_of(s)
            bint known = self.curvature[s] > 0, secant
            double curvature = self.curvature[s] if known else self.usual, stretch, part
            WayC way
            double entropy = 0
        if self.left[s] < self.enough:
            self.left[s] *= GROWTH
            loss[0] += self.told[s]
            return 0
        score(self, sent)
        if self.wrong != NULL:
            self.wrong[s] = <int32_t>wrong_labels(lat, sent, self.path)
        lattice_expect(lat)
        self.told[s] = <float>(sent.weight * (lat.logz - lattice_path_score(lat, sent.label)))
        sum_pairs(lat)
        if self.entropy != NULL:
            entropy = lat.logz - K.expected_score(&self.layout.c, sent, lat, self.w, &dual)
        way = K.dual_way(sent, lat, &dual)
        # the overlap is an average: with it, tokens that have few attributes may seem to stretch less than nothing
        stretch = sent.weight * fmax(way.stretched, 0) / (self.l2 * fmax(way.squared, 1e-100))
        part = min(SAFETY / (1 + curvature * stretch), LARGEST)
        if part * sent.weight * way.reach > TRUST * self.l2:
            part = TRUST * self.l2 / (sent.weight * way.reach)
        self.advance(sent, &dual, part)
        if self.entropy != NULL:
            # entropy is concave: the mixture, of which only the expectations are kept, has at least this
            self.entropy[s] += part * (entropy - self.entropy[s])
        secant = stretch > SHORT and (not known or (self.passes + s) % PASSES_BETWEEN_SECANTS == 0)
        if secant or self.data.possible is not None:    # the distance before the step, for best_part and observe
            arena_reserve(self, &self.way, <int64_t>sent.T * lat.P, sizeof(double))
            memcpy(self.way.data, lat.node, <int64_t>sent.T * lat.P * sizeof(double))
        if self.may_be(sent):
            observe(self, sent, part, &way.squared)
        loss[0] += self.told[s]
        self.left[s] = <float>(sent.weight * way.squared)
        self.ways += self.left[s]
        self.visited += 1
        if secant:
            part = best_part(self, sent, part)
            if part > 0:
                curvature = fmin(fmax((1 / part - 1) / stretch, 0.5 * curvature), 2 * curvature)
                self.curvature[s] = <float>fmin(fmax(curvature, LEAST_CURVATURE), LARGEST_CURVATURE)
                self.usual += 0.05 * (self.curvature[s] - self.usual)

    cdef void advance(self, const SentenceC* sent, const DualC* dual, double part) noexcept nogil:
        """Make a step of this size and update the weights."""
        K.update_dual(&self.layout.c, sent, &self.lattice.c, dual, part, sent.weight * part / self.l2, self.w)

    def measures(self) -> dict:
        """Training accuracy, each sequence counted as of its last visit."""
        cdef int64_t s, wrong = 0, flawed = 0
        if self.wrong == NULL:
            return {}
        for s in range(self.data.c.n_seq):
            wrong += self.wrong[s]
            flawed += self.wrong[s] > 0
        return accuracies(wrong, self.data.c.n_tok, flawed, self.data.c.n_seq)


cdef int add_variables(DualAscent ascent, DualC* first) except -1:
    """Make room for the dual variables of all sequences; `first`: of the first one."""
    cdef int64_t n = ascent.data.c.n_seq
    first.node = ascent.zeros(ascent.data.c.n_tok * ascent.layout.c.P)
    first.pair = ascent.zeros(n * ascent.layout.c.n_pairs)
    first.rich = ascent.zeros(ascent.rich_start[n])


cdef int observe(DualAscent ascent, const SentenceC* sent, double part, double* squared) except -1 nogil:
    """A step of this size of what is observed, with the labellings that may be true in the lattice. The distance that was kept becomes
    that of both distributions together, and its square goes to `squared`."""
    cdef:
        LatticeC* lat = &ascent.lattice.c
        int64_t s = ascent.sequence, k
        DualC dual = ascent.dual_of(s, observed=True)
        double* way = <double*>ascent.way.data
    lattice_expect(lat)
    ascent.told[s] -= <float>(sent.weight * (lat.logz - lattice_path_score(lat, sent.label)))
    sum_pairs(lat)
    K.dual_way(sent, lat, &dual)
    squared[0] = 0
    for k in range(<int64_t>sent.T * lat.P):
        way[k] -= lat.node[k]
        squared[0] += way[k] * way[k]
    K.update_dual(&ascent.layout.c, sent, lat, &dual, part, -sent.weight * part / ascent.l2, ascent.w)


cdef void sum_pairs(LatticeC* lat) noexcept nogil:
    """Sum up the marginals of pairs of labels. A token alone has none."""
    if lat.T > 1:
        K.add_pairs(lat, 1.0)
        K.finish_pairs(lat)


cdef void score(DualAscent ascent, const SentenceC* sent) noexcept nogil:
    lattice_load_for(&ascent.lattice.c, &ascent.layout.c, ascent.w, 1.0, sent)
    K.score(&ascent.layout.c, ascent.w, 1.0, sent, &ascent.lattice.c)


cdef void add_curvature_of(DualAscent ascent, const SentenceC* sent, const float* node, double* marginal, int32_t* likely, float* curvature) noexcept nogil:
    """Add that of one sequence, whose dual variables are `node`. `marginal` and `likely` have room for two positions. This runs once in
    a training, so it is no kernel; those of loops/simd/scatter.inc multiply by values, not by their squares."""
    cdef:
        const LayoutC* layout = &ascent.layout.c
        int32_t P = layout.P, t, i, j, a, n_before = 0, n = 0
        int64_t u, f
        double weight, p
        double* before = marginal + P
        double* now = marginal
        int32_t* likely_before = likely + P
        int32_t* likely_now = likely
    for t in range(sent.T):
        before, now, likely_before, likely_now = now, before, likely_now, likely_before
        n_before, n = n, 0
        for j in range(layout.L):
            now[j] = fmin(fmax(node[<int64_t>t * P + j] + (j == sent.label[t]), 0), 1)
            likely_now[n] = j
            n += now[j] > UNLIKELY
        for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
            a, weight = sent.u_id[u], sent.weight
            if sent.u_val != NULL:
                weight *= <double>sent.u_val[u] * sent.u_val[u]
            if a < layout.H:
                for i in range(n):
                    p = now[likely_now[i]]
                    curvature[<int64_t>a * P + likely_now[i]] += <float>(weight * p * (1 - p))
            else:
                for f in range(layout.u_ptr[a], layout.u_ptr[a + 1]):
                    p = now[layout.u_label[f]]
                    curvature[feature_cell(layout, a, f)] += <float>(weight * p * (1 - p))
        for i in range(n_before if layout.has_tau else 0):
            for j in range(n):
                p = before[likely_before[i]] * now[likely_now[j]]
                curvature[layout.tau0 + <int64_t>likely_before[i] * P + likely_now[j]] += <float>(sent.weight * p * (1 - p))
        if t == 0 or sent.b_ptr == NULL:
            continue
        for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
            for f in range(layout.b_ptr[sent.b_id[u]], layout.b_ptr[sent.b_id[u] + 1]):
                p = before[layout.b_prev[f]] * now[layout.b_label[f]]
                curvature[layout.rich0 + f] += <float>(sent.weight * p * (1 - p))


cdef double best_part(DualAscent ascent, const SentenceC* sent, double part) except -1 nogil:
    """The step size by the secant, from the distance before the step, which was kept, and after it. 0: too short to tell."""
    cdef:
        LatticeC* lat = &ascent.lattice.c
        int64_t k, n = <int64_t>sent.T * lat.P
        const double* before = <double*>ascent.way.data
        double length = 0, left
    for k in range(n):
        length += before[k] * before[k]
    if not length > 1e-8:           # dual variables are stored in single precision
        return 0
    score(ascent, sent)
    left = along(ascent, sent, before, False)
    if ascent.may_be(sent):
        left -= along(ascent, sent, before, True)
    return part * length / max(length - left, 0.1 * length)


cdef double along(DualAscent ascent, const SentenceC* sent, const double* before, bint observed) except? -1 nogil:
    """The inner product of a distance and that of the scores in the lattice from the dual variables."""
    cdef:
        LatticeC* lat = &ascent.lattice.c
        DualC dual = ascent.dual_of(ascent.sequence, observed)
        int64_t t, k
        double product = 0
    lattice_expect(lat)
    for t in range(sent.T):
        lat.node[t * lat.P + sent.label[t]] -= 1
    for k in range(<int64_t>sent.T * lat.P):
        product += before[k] * (lat.node[k] - dual.node[k])
    return product
