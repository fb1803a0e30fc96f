"""Sparse block coordinate descent (Lavergne, Cappe and Yvon 2010) for

    F(w) = NLL(w) + l1 |w|_1 + l2/2 |w|^2.

A block is all weights of one attribute: those of a unigram attribute with its labels, of a rich bigram attribute with
its label pairs, or the weights of plain label pairs. A visit to a block looks only at the sequences with that attribute,
and there only at the steps of the recursions that lie between what is known and its positions (chains.pyx). From the
marginals p at the positions, with v the attribute's value there,

    g = sum v (p - observed),  h = sum v^2 p (1 - p),  w <- soft(kappa h w - g, l1) / (kappa h + l2).

h takes the weights of a block, and positions of one sequence, for independent; kappa makes up for that. After the step
the likelihoods of the sequences are known up to the last position of the block, which is all that changes them, so the
change of F is known exactly, and so is the curvature that the step has met. Each block's kappa follows that curvature;
a step that would raise F is taken back and made again with a larger kappa. So F never rises.

A pass visits the weights that are not zero, or will not be: those where |g| > l1; and only blocks that have such. Between
passes a full sweep, one forward-backward over all sequences, looks for those. It also tells when F is at its minimum.

Attributes that nearly mean the same, such as a word and a pair of words, pass weight to each other little by little, all
passes in the same direction. So after its blocks a pass goes on along the way from where the blocks of the pass before
had ended, in steps twice as long each, as long as F falls.
"""

from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport BufferC, arena_reserve
from crfkit.loops.structs cimport EdgeC, weight_t
from crfkit.trainers.base cimport Trainer
from crfkit.vectors cimport take, vector
from .chains cimport Chains
from .edges cimport Edges
from .quasinewton cimport dual_objective
from crfkit.data.occurrences cimport Occurrences

from collections import deque

from crfkit.errors import TrainingError

cdef enum:
    MAX_TRIALS = 40
    AHEAD = 2           # occurrences between a sequence asked for and the one at work
    STEPS_BETWEEN_SIGNALS = 100_000
    # Plain label pairs occur everywhere and go with everything: visited more often, they halve the number of passes.
    VISITS_OF_PAIRS = 4
    HELD = 64           # steps whose pair marginals a sweep adds up at once

# No score changes by more than this in one visit: h says nothing about what lies farther away.
cdef double RADIUS = 4
# No kappa falls below this, nor by more than half in a visit.
cdef double LEAST_KAPPA = 0.1
# How far a pass goes on, in parts of that way. First it tries what the pass before could do, or half.
cdef double LEAST_STRIDE = 0.5, MOST_STRIDE = 64
# Relative to F: what is rounding of its sums.
cdef double ROUNDING = 1e-13


cdef inline double soft(double z, double r) noexcept nogil:
    return z - r if z > r else z + r if z < -r else 0


def bytes_of_data(Dataset data not None, Layout layout not None) -> int:
    """Memory beside that of the weights: recursions of all tokens, matrices of edges, occurrences of attributes."""
    cdef:
        int64_t in_u, in_b, matrix = <int64_t>layout.c.L * layout.c.P, kinds = 1, values = 1
    in_u, in_b = data.n_incidences
    # With one rich attribute a step there are as many kinds as attributes; with more, nearly as many as steps.
    if in_b <= data.c.n_tok and (layout.c.B + 1) * <int64_t>layout.c.L <= data.c.n_tok:
        kinds = layout.c.B + 1
    if data.c.u_val != NULL:
        values = 2
    return (data.c.n_tok * (3 * 8 * <int64_t>layout.c.P + 16) + 3 * 8 * kinds * matrix + 4 * values * (in_u + in_b)
            + 16 * (<int64_t>layout.c.A + layout.c.B) + 9 * 8 * matrix)


cdef class Sbcd(Trainer):
    """Options: l1, l2, max_iter, kappa, epsilon, delta, period, recursions (crfkit.options.Sbcd)."""
    cdef:
        Chains chains
        Occurrences nodes, pairs
        weight_t* end                   # [n_cells] the weights after the blocks of a pass
        weight_t* before                # [n_cells] and after those of the pass before
        double* count                   # [n_cells] observed values of the features
        uint8_t* awake                  # [n_cells] features with a weight, or that want one
        double stride                   # how much farther the last pass went than its blocks
        int32_t n_blocks                # unigram attributes, rich bigram attributes, plain label pairs
        double l1, l2, f
        double bound                    # F is nowhere below this
        double norm_g, norm_w           # of the gradient, as far as it can be followed, and of the weights
        bint started
        bint sweeps                     # second derivatives are not asked for
        double* lefts                   # [HELD][P] alpha of the steps held back,
        double* rights                  # [HELD][P] and what it is to be multiplied by beside the potentials of their kind
        int64_t held
        int32_t held_kind
        object recent
        BufferC kappas, active_blocks, tables, lists, copies, steps_held
        float* kappa                    # [n_blocks]
        int32_t* active                 # blocks to be visited
        int64_t n_active
        double* first                   # [L][P] sums of p, or [P]
        double* second                  # [L][P] sums of p (1 - p)
        double* seen                    # [L][P] observed
        double* change                  # [L][P] of the weights
        double* factor                  # [P] its exponential
        # the block at hand: its features, where they stand in these tables and among the cells, and their terms
        int32_t n
        int64_t* cell
        int32_t* at
        int32_t* row                    # label before, of a pair
        double* expected
        double* observed
        double* h
        double* old
        double largest                  # absolute value of the attribute
        double farthest                 # change of a score

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        return layout.c.n_cells * cls.bytes_per_cell(options, threads) + bytes_of_data(data, layout)

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return 3 * 4 + 8 + 1 + 4      # now, before and after the blocks of a pass; counts; a copy for the model

    def __init__(self, Dataset data, Layout layout, options, initial=None, **unused):
        cdef int64_t matrix = <int64_t>layout.c.L * layout.c.P, most, a
        self.chains = Chains(data, layout, Edges(data, layout, options.recursions))
        self.chains.w = self.w
        self.nodes = Occurrences(data, layout.c.A, False)
        self.pairs = Occurrences(data, layout.c.B, True)
        self.n_blocks = layout.c.A + layout.c.B + (1 if layout.c.has_tau else 0)
        self.l1, self.l2 = options.l1, options.l2
        arena_reserve(self, &self.kappas, self.n_blocks, sizeof(float))
        self.kappa = <float*>self.kappas.data
        for a in range(self.n_blocks):
            self.kappa[a] = options.kappa
        arena_reserve(self, &self.active_blocks, self.n_blocks, sizeof(int32_t))
        self.active = <int32_t*>self.active_blocks.data
        most = max(matrix, layout.c.P)
        arena_reserve(self, &self.tables, 9 * most, sizeof(double))
        self.first = <double*>self.tables.data
        self.second, self.seen = self.first + most, self.first + 2 * most
        self.change, self.factor = self.first + 3 * most, self.first + 4 * most
        self.expected, self.observed = self.first + 5 * most, self.first + 6 * most
        self.h, self.old = self.first + 7 * most, self.first + 8 * most
        memset(self.tables.data, 0, 9 * most * sizeof(double))
        arena_reserve(self, &self.lists, most + 1, sizeof(int64_t) + 2 * sizeof(int32_t))
        self.cell = <int64_t*>self.lists.data
        self.at = <int32_t*>(self.cell + most + 1)   # one more: `add_feature` writes before it looks
        self.row = self.at + most + 1
        arena_reserve(self, &self.steps_held, 2 * HELD * <int64_t>layout.c.P, sizeof(double))
        self.lefts = <double*>self.steps_held.data
        self.rights = self.lefts + HELD * <int64_t>layout.c.P
        arena_reserve(self, &self.copies, layout.c.n_cells, sizeof(double) + 2 * sizeof(weight_t) + 1)
        self.count = <double*>self.copies.data
        self.end = <weight_t*>(self.count + layout.c.n_cells)
        self.before = self.end + layout.c.n_cells
        self.awake = <uint8_t*>(self.before + layout.c.n_cells)
        self.stride = 1
        memset(self.count, 0, layout.c.n_cells * sizeof(double))
        self.recent = deque(maxlen=options.period + 1)
        self.started = False

    # --- one block ------------------------------------------------------------------------------------------------

    cdef void choose(self, int32_t block) noexcept nogil:
        """The features of a block that are to be visited."""
        cdef:
            int64_t f, k, i, cold0 = self.layout.c.cold0 - self.layout.c.u_ptr[self.layout.c.H], P = self.layout.c.P
            int32_t b = block - self.layout.c.A
        self.n = 0
        if b < 0:
            for f in range(self.layout.c.u_ptr[block], self.layout.c.u_ptr[block + 1]):
                k = self.layout.c.u_label[f]
                self.add_feature(0, k, block * P + k if block < self.layout.c.H else cold0 + f)
        elif b < self.layout.c.B:
            for f in range(self.layout.c.b_ptr[b], self.layout.c.b_ptr[b + 1]):
                i = self.layout.c.b_prev[f]
                self.add_feature(i, i * P + self.layout.c.b_label[f], self.layout.c.rich0 + f)
        else:
            for i in range(self.layout.c.L):
                for k in range(i * P, i * P + self.layout.c.L):
                    if self.layout.c.tau_mask[k]:
                        self.add_feature(i, k, self.layout.c.tau0 + k)

    cdef inline void add_feature(self, int64_t row, int64_t at, int64_t cell) noexcept nogil:
        self.row[self.n], self.at[self.n], self.cell[self.n] = <int32_t>row, <int32_t>at, cell
        self.n += self.awake[cell]

    cdef int gather(self, int32_t block, double* log_z) except -1 nogil:
        """Choose a block: the terms of its gradient; and log Z of its sequences, up to what it does not change."""
        cdef int64_t size = self.layout.c.P if block < self.layout.c.A else <int64_t>self.layout.c.L * self.layout.c.P, k
        self.choose(block)
        memset(self.first, 0, size * sizeof(double))
        memset(self.second, 0, size * sizeof(double))
        memset(self.seen, 0, size * sizeof(double))
        self.largest = 0
        log_z[0] = 0
        self.visit(block, True, log_z)
        self.add_held()
        for k in range(self.n):
            self.expected[k] = self.first[self.at[k]]
            self.h[k] = self.second[self.at[k]]
            self.observed[k] = self.seen[self.at[k]]
            self.old[k] = self.w[self.cell[k]]
        return 0

    cdef int visit(self, int32_t block, bint look, double* log_z) except -1 nogil:
        """All sequences with a block: look at them, or change their potentials by self.change; adds up log Z."""
        cdef:
            const int64_t* ptr = NULL
            const int32_t* token = NULL
            const float* value = NULL
            const int64_t* seq_ptr = self.data.c.seq_ptr
            int32_t b = block - self.layout.c.A
            int64_t k, end, stop, s
            double weight
        if b < self.layout.c.B:
            if b < 0:
                ptr, token, value = self.nodes.ptr + block, self.nodes.token, self.nodes.value
            else:
                ptr, token, value = self.pairs.ptr + b, self.pairs.token, self.pairs.value
            if b < 0 and not look:
                K.exp_row(self.layout.c.P, self.change, 1, self.factor)
            k, end = ptr[0], ptr[1]
            while k < end:
                s = self.chains.sequence[token[k]]
                stop = k + 1
                while stop < end and token[stop] < seq_ptr[s + 1]:
                    stop += 1
                if stop + AHEAD < end:
                    self.chains.fetch(token[stop + AHEAD])
                weight = self.data.c.seq_weight[s] if self.data.c.seq_weight != NULL else 1
                log_z[0] += weight * self.one_sequence(b, s, weight, look, token + k, value + k if value != NULL else NULL,
                                                       stop - k)
                k = stop
        else:
            for s in range(self.data.c.n_seq):
                if seq_ptr[s + 1] - seq_ptr[s] > 1:
                    weight = self.data.c.seq_weight[s] if self.data.c.seq_weight != NULL else 1
                    log_z[0] += weight * self.one_sequence(b, s, weight, look, NULL, NULL,
                                                           seq_ptr[s + 1] - seq_ptr[s] - 1)
        return 0

    cdef double one_sequence(self, int32_t b, int64_t s, double weight, bint look, const int32_t* token,
                             const float* value, int64_t n) except? -1 nogil:
        """The n tokens of a sequence with the block (all but the first, if none are given)."""
        cdef:
            int64_t begin = self.data.c.seq_ptr[s], k, t
            int32_t first = <int32_t>(token[0] - begin) if token != NULL else 1
            int32_t last = <int32_t>(token[n - 1] - begin) if token != NULL else <int32_t>n
            double v = 1, sum
        if look:
            self.chains.prepare(s)
            self.chains.need(s, first, last)
            if b >= 0 and self.chains.wide[s]:
                self.chains.expect(s)    # pair marginals are asked of the lattice
            for k in range(n):
                t = token[k] if token != NULL else begin + k + 1
                if value != NULL:
                    v = value[k]
                self.largest = fmax(self.largest, fabs(v))
                if b < 0:
                    self.look_at_node(t, weight, v)
                else:
                    self.look_at_pair(s, t, weight, v)
            return self.chains.log_z(s, first, last)
        if not self.chains.wide[s]:
            # twice: largest and smallest may move apart, and the largest from 1
            if b < self.layout.c.B:
                self.chains.width[s] = self.chains.width[s] + 2 * self.farthest
            if b < 0:
                for k in range(n):
                    if value != NULL:
                        K.exp_row(self.chains.P, self.change, value[k], self.factor)
                    K.multiply(<int32_t>self.chains.P, self.factor, self.chains.pot + token[k] * self.chains.row)
                    if k == 0:
                        sum = K.chain_times(<int32_t>self.chains.P, self.factor, self.chains.alpha + token[0] * self.chains.row)
                        self.chains.scale[token[0]] = sum * self.chains.scale[token[0]]
            self.chains.done_alpha[s] = first if b < 0 else first - 1
        self.chains.changed(s, first, last)
        return self.chains.log_z(s, first, last)

    cdef void look_at_node(self, int64_t t, double weight, double v) noexcept nogil:
        cdef int64_t at = t * self.chains.row
        K.chain_nodes(<int32_t>self.chains.P, self.chains.alpha + at, self.chains.beta + at, weight * v, weight * v * v,
                      self.first, self.second)
        self.seen[self.data.c.label[t]] += weight * v

    cdef void look_at_pair(self, int64_t s, int64_t t, double weight, double v) noexcept nogil:
        """The step into token t."""
        cdef:
            int32_t P = <int32_t>self.chains.P, j, k, where = <int32_t>(t - self.data.c.seq_ptr[s])
            const double* left = self.chains.alpha + (t - 1) * self.chains.row
            const EdgeC* edge
            double* right = self.chains.right
            int64_t row = t * self.chains.row
            double p, scale
        if self.chains.wide[s]:
            for k in range(self.n):
                p = K.pair_marginal(&self.chains.lattice.c, where, self.row[k], self.at[k] - self.row[k] * P)
                self.first[self.at[k]] += weight * v * p
                self.second[self.at[k]] += weight * v * v * (p - p * p)
        else:
            scale = 1 / (self.chains.scale[t] * K.dot_row(P, self.chains.alpha + row, self.chains.beta + row))
            for j in range(P):
                right[j] = self.chains.pot[row + j] * self.chains.beta[row + j] * scale
            k = self.chains.edges.kind[t]
            if self.sweeps and 16 * self.n > self.layout.c.L * P and (k == 0 or self.chains.edges.shared):
                self.hold(k, left, right, weight * v)
            else:
                edge = self.chains.edges.of(t)
                if edge.pair == NULL and 4 * self.n > self.layout.c.L * P:
                    K.chain_pairs(self.layout.c.L, P, left, edge.E, right, weight * v, weight * v * v, self.first,
                                  NULL if self.sweeps else self.second)
                else:
                    K.chain_features(edge, self.n, self.row, self.at, left, right, weight * v, weight * v * v, self.first,
                                     self.second)
        self.seen[<int64_t>self.data.c.label[t - 1] * P + self.data.c.label[t]] += weight * v

    cdef void hold(self, int32_t kind, const double* left, const double* right, double gain) noexcept nogil:
        """A step of a sweep, until there are many of its kind: the matrix of sums is then gone through once for all."""
        cdef int64_t P = self.layout.c.P, j
        if self.held == HELD or kind != self.held_kind:
            self.add_held()
            self.held_kind = kind
        memcpy(self.lefts + self.held * P, left, P * sizeof(double))
        for j in range(P):
            self.rights[self.held * P + j] = gain * right[j]
        self.held += 1

    cdef void add_held(self) noexcept nogil:
        """The pair marginals of the steps held back."""
        if self.held:
            K.add_outers(self.layout.c.L, self.layout.c.P, self.held, self.layout.c.P, self.lefts, self.rights, 1,
                         self.chains.edges.matrix_of(self.held_kind), self.first)
        self.held = 0

    cdef double step(self, double kappa, double* smooth, double* curvature) noexcept nogil:
        """The block's new weights, from the gradient at the old ones. Returns by how much the penalties rise; the terms
        g.d and d.h.d of the likelihood's rise come in `smooth` and `curvature`. self.change becomes the way from the
        weights as they stand."""
        cdef:
            double g, h, z, penalty = 0, most = RADIUS / fmax(self.largest, 1e-30)
            double old, d
            weight_t new
            int64_t k
        smooth[0] = curvature[0] = 0
        for k in range(self.n):
            g, h, old = self.expected[k] - self.observed[k], fmax(kappa * self.h[k], 1e-12), self.old[k]
            z = soft(h * old - g, self.l1) / (h + self.l2)
            new = <weight_t>fmax(old - most, fmin(old + most, z))
            d = new - old
            smooth[0] += g * d
            curvature[0] += self.h[k] * d * d
            penalty += self.l1 * (fabs(new) - fabs(old)) + 0.5 * self.l2 * (<double>new * new - old * old)
            self.change[self.at[k]] = <double>new - self.w[self.cell[k]]
            self.w[self.cell[k]] = new
        return penalty

    cdef int apply(self, int32_t block, double* log_z) except -1 nogil:
        """Potentials and recursions after the weights of the block at hand have changed by self.change."""
        cdef int32_t b = block - self.layout.c.A
        cdef int64_t k
        if b >= 0:
            if b < self.layout.c.B:
                self.chains.load_users(b)
            else:
                self.chains.load_edges()
        log_z[0] = self.farthest = 0
        for k in range(self.n):
            self.farthest = fmax(self.farthest, self.largest * fabs(self.change[self.at[k]]))
        self.visit(block, False, log_z)
        for k in range(self.n):
            self.change[self.at[k]] = 0
        return 0

    cdef int update(self, int32_t block) except -1 nogil:
        """One visit: a step that does not raise F."""
        cdef:
            double before, after, penalty, slope, curvature, met, kappa = self.kappa[block], rise
            int64_t k, trial
            bint moves
        self.gather(block, &before)
        for trial in range(MAX_TRIALS):
            penalty = self.step(kappa, &slope, &curvature)
            if curvature == 0 and slope == 0 and penalty == 0 and trial == 0:
                return 0
            self.apply(block, &after)
            rise = after - before
            for k in range(self.n):
                rise -= self.observed[k] * (self.w[self.cell[k]] - self.old[k])
            met = 2 * (rise - slope) / curvature if curvature > 0 else kappa
            if rise + penalty <= ROUNDING * fabs(self.f):
                self.f += rise + penalty
                self.kappa[block] = <float>fmax(LEAST_KAPPA, fmax(met, 0.5 * kappa))
                return 0
            kappa = fmax(2 * kappa, met)
        for k in range(self.n):
            self.change[self.at[k]] = self.old[k] - self.w[self.cell[k]]
            self.w[self.cell[k]] = <weight_t>self.old[k]
        self.apply(block, &after)
        return 0

    def stability_factors(self) -> list[float]:
        """kappa of every block: unigram attributes, rich bigram attributes, plain label pairs."""
        cdef int64_t k
        return [self.kappa[k] for k in range(self.n_blocks)]

    # --- passes ---------------------------------------------------------------------------------------------------

    def set_l1(self, double l1) -> None:
        """Another weight of the L1 penalty; the next pass goes on from the weights as they are."""
        if not (l1 >= 0 and isfinite(l1)):
            raise ValueError(f"l1: expected a finite number of at least 0, found {l1}")
        self.l1, self.started, self.converged, self.stride, self.bound = l1, False, None, 1, 0
        self.recent.clear()

    def state(self):
        state = Trainer.state(self)
        state.update(
            kappas=vector(self, "f", self.kappa, self.n_blocks),
            before=vector(self, "f", self.before, self.layout.c.n_cells),
            stride=self.stride,
            started=self.started,
            bound=self.bound,
            recent=list(self.recent),
        )
        return state

    def restore(self, dict state):
        Trainer.restore(self, state)
        take(state, "kappas", "f", self.kappa, self.n_blocks)
        take(state, "before", "f", self.before, self.layout.c.n_cells)
        self.stride, self.started, self.bound = state["stride"], state["started"], state["bound"]
        self.recent.clear()
        self.recent.extend(map(float, state["recent"]))
        if self.started:
            self.full_sweep()       # all else follows from the weights

    cdef int full_sweep(self) except -1:
        """F, the norm of its gradient, and the blocks to visit, at the weights as they are."""
        cdef:
            int64_t s, k
            int32_t block
            double f = 0, log_z, g, w, weight, squares = 0, weights = 0, entropy = 0, most = 0, excess = 0
            bint is_active
        self.chains.load_edges()
        self.n_active = 0
        memset(self.awake, 1, self.layout.c.n_cells)
        self.sweeps = True
        with nogil:
            for s in range(self.data.c.n_seq):
                weight = self.data.c.seq_weight[s] if self.data.c.seq_weight != NULL else 1
                self.chains.refresh(s)
                f += weight * self.chains.full_log_z(s, True)
            entropy = f
            for block in range(self.n_blocks - 1, -1, -1):
                self.gather(block, &log_z)
                is_active = False
                for k in range(self.n):
                    g, w = self.expected[k] - self.observed[k], self.old[k]
                    f += self.l1 * fabs(w) + 0.5 * self.l2 * w * w - w * self.observed[k]
                    self.count[self.cell[k]] = self.observed[k]
                    weights += w * w
                    entropy -= w * self.expected[k]
                    most = fmax(most, fabs(g))
                    excess += soft(g, self.l1) ** 2
                    g += self.l2 * w
                    g = soft(g, self.l1) if w == 0 else g + self.l1 if w > 0 else g - self.l1
                    squares += g * g
                    self.awake[self.cell[k]] = w != 0 or g != 0
                    is_active |= self.awake[self.cell[k]]
                if is_active:
                    self.active[self.n_active] = block
                    self.n_active += 1
        self.sweeps = False
        self.f, self.norm_g, self.norm_w = f, sqrt(squares), sqrt(weights)
        self.bound = fmax(self.bound, dual_objective(entropy, self.l1, self.l2, most, excess))
        if not isfinite(f) or not isfinite(squares):
            raise TrainingError(
                "the objective is not finite; scale down the values of the features, or raise --l1 or --l2"
            )
        return 0

    cdef int64_t run_blocks(self, int64_t k) except -1 nogil:
        """Blocks from the k-th active one on, for a while; the first one left."""
        cdef int j
        cdef int64_t until = self.chains.steps + STEPS_BETWEEN_SIGNALS
        while k < self.n_active and self.chains.steps < until:
            self.update(self.active[k])
            if self.active[k] == self.layout.c.A + self.layout.c.B:
                for j in range(1, VISITS_OF_PAIRS):
                    self.update(self.active[k])
            k += 1
        return k

    def run_pass(self, should_stop=None) -> dict:
        """Every active block once, and a full sweep."""
        cdef int64_t k = 0
        if not self.started:
            self.full_sweep()
            memcpy(self.before, self.w, self.layout.c.n_cells * sizeof(weight_t))
            self.recent.append(self.f)
            self.started = True
        visited, stopped = self.n_active, False
        while k < self.n_active:
            with nogil:
                k = self.run_blocks(k)
            if should_stop is not None and should_stop():
                stopped = True
                break
        if not stopped:
            self.go_on()
        self.full_sweep()
        self.check_convergence()
        record = {"objective": self.f, "gradient": self.norm_g, "blocks": visited}
        if self.bound > 0:
            record["gap"] = fmax(self.f - self.bound, 0.0)
        return record

    cdef int go_on(self) except -1:
        """Farther along the way from the end of the last pass's blocks to that of this one's, as long as F falls."""
        cdef double best = 0, step = self.stride
        cdef int64_t n = self.layout.c.n_cells
        memcpy(self.end, self.w, n * sizeof(weight_t))
        while step <= MOST_STRIDE and self.trial(step):
            best = step
            step *= 2
        self.place(best)
        memcpy(self.before, self.end, n * sizeof(weight_t))
        self.stride = fmax(LEAST_STRIDE, best if best > 0 else 0.5 * self.stride)
        return 0

    cdef void place(self, double step) noexcept nogil:
        """The weights so much farther on that way. Those that are zero stay zero, and none changes its sign."""
        cdef int64_t k
        cdef double x
        for k in range(self.layout.c.n_cells):
            x = self.end[k] + step * (<double>self.end[k] - self.before[k])
            self.w[k] = <weight_t>x if x * self.end[k] > 0 else 0

    cdef bint trial(self, double step) except -1:
        """Whether F is lower there."""
        cdef double f
        self.place(step)
        f = self.value()
        if f < self.f:
            self.f = f
            return True
        return False

    cdef double value(self) except? -1:
        """F at the weights as they are."""
        cdef:
            double f = 0, w
            int64_t s, k
        self.chains.load_edges()
        with nogil:
            for s in range(self.data.c.n_seq):
                self.chains.refresh(s)
                f += (self.data.c.seq_weight[s] if self.data.c.seq_weight != NULL else 1) * self.chains.full_log_z(s, False)
            for k in range(self.layout.c.n_cells):
                w = self.w[k]
                f += self.l1 * fabs(w) + 0.5 * self.l2 * w * w - w * self.count[k]
        return f

    cdef int check_convergence(self) except -1:
        self.recent.append(self.f)
        if self.norm_g <= self.options.epsilon * fmax(1.0, self.norm_w):
            self.converged = "the gradient is small (--epsilon)"
        elif len(self.recent) > self.options.period:
            if self.recent[0] - self.f < self.options.delta * fmax(fabs(self.f), 1e-300):
                self.converged = "the objective hardly falls any more (--delta)"
        return 0
