"""One block of weights: those of an attribute, its gradient, and a step that does not raise the objective (sbcd.pyx).

A visit to a block touches only the sequences that contain its attribute, and runs only those steps of the recursions that are
not up to date yet (chains.pyx). From the marginals p at the positions, with v the attribute's value there,

    g = sum v (p - observed),  h = sum v^2 p (1 - p),  w <- soft(kappa h w - g, l1) / (kappa h + l2).

h treats the weights of a block, and the positions of one sequence, as independent; kappa makes up for that. The change of the
likelihoods follows from the positions of the block alone, so the change of the objective F is known exactly, and so is
the curvature along the step. Each block's kappa follows that curvature; a step that would raise F is undone and repeated
with a larger kappa.
"""

from crfkit.loops.numbers cimport fabs, fmax, fmin
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport EdgeC, LayoutC, weight_of
from crfkit.memory cimport arena_zeros, memcpy
from crfkit.weights.cells cimport feature_cell, pairs_row

from crfkit.errors import TrainingError

cdef enum:
    MAX_TRIALS = 40
    AHEAD = 2           # sequences are prefetched so many occurrences ahead
    NOTHING = -1        # no kind
    HELD = 64           # steps whose pair marginals a sweep adds up together

# No score changes by more than this in one visit: h is a local model.
cdef double RADIUS = 4
# No kappa falls below this, nor by more than half in a visit.
cdef double LEAST_KAPPA = 0.1
# Rounding error of F, relative to F.
cdef double ROUNDING = 1e-13


cdef class Occurrences:
    """Where each attribute occurs: the unigram attributes of a data set, or its rich bigram attributes (ignored at the first position of
    a sequence). An attribute that a token has more than once is one occurrence with the sum of the values; those of a token are sorted."""

    def __cinit__(self, Dataset data not None, int32_t n, bint rich):
        cdef:
            const int64_t* row = data.c.b_ptr if rich else data.c.u_ptr
            const int32_t* id = data.c.b_id if rich else data.c.u_id
            const float* given = <const float*>NULL if rich else data.c.u_val     # rich attributes have no values
            bint valued = given != NULL
            int64_t s, t, u, k
            int64_t* ptr
            int32_t* token
            float* value = NULL
        if n < (data.n_b if rich else data.n_u):
            raise ValueError(f"{n} attributes, the data have more")
        if data.c.n_tok > 0x7FFFFFFF:
            raise TrainingError("sbcd takes at most 2,147,483,647 tokens")
        self.ptr = ptr = <int64_t*>arena_zeros(self, <int64_t>n + 2, sizeof(int64_t))
        if row == NULL or n == 0:
            return
        ptr += 1    # counts, then starts; filling the rows moves each start to its end
        for s in range(data.c.n_seq):
            for t in range(data.c.seq_ptr[s] + rich, data.c.seq_ptr[s + 1]):
                for u in range(row[t], row[t + 1]):
                    if u == row[t] or id[u] != id[u - 1]:
                        ptr[id[u] + 1] += 1
                    else:
                        valued = True
        for k in range(n):
            ptr[k + 1] += ptr[k]
        token = <int32_t*>arena_zeros(self, ptr[n], sizeof(int32_t))
        if valued:
            value = <float*>arena_zeros(self, ptr[n], sizeof(float))
        self.token, self.value = token, value
        for s in range(data.c.n_seq):
            for t in range(data.c.seq_ptr[s] + rich, data.c.seq_ptr[s + 1]):
                for u in range(row[t], row[t + 1]):
                    if u > row[t] and id[u] == id[u - 1]:
                        value[ptr[id[u]] - 1] += given[u] if given != NULL else 1
                        continue
                    k = ptr[id[u]]
                    token[k] = <int32_t>t
                    if value != NULL:
                        value[k] = given[u] if given != NULL else 1
                    ptr[id[u]] += 1


def blocks_of(Layout layout not None) -> int:
    """How many blocks there are: one for each unigram attribute, for each rich bigram attribute, and for plain label pairs."""
    cdef int64_t n = pairs_row(&layout.c) + (1 if layout.c.has_tau else 0)
    if n > 0x7FFFFFFF:
        raise TrainingError("sbcd takes at most 2,147,483,647 attributes, those of single labels and those of pairs together")
    return n


cdef class Blocks:
    """Blocks of the weights of `chains`, which a step changes: unigram attributes, rich bigram attributes, plain label pairs."""

    def __cinit__(self, Chains chains not None, double kappa):
        cdef int64_t most = <int64_t>chains.layout.c.L * chains.layout.c.P, a, s
        self.data, self.layout, self.chains = chains.data, chains.layout, chains
        self.n = blocks_of(self.layout)
        self.nodes = Occurrences(self.data, self.layout.c.A, False)
        self.pairs = Occurrences(self.data, self.layout.c.B, True)
        self.kappa = <float*>arena_zeros(self, self.n, sizeof(float))
        for a in range(self.n):
            self.kappa[a] = kappa
        self.first = <double*>arena_zeros(self, 10 * most, sizeof(double))
        self.second, self.seen = self.first + most, self.first + 2 * most
        self.change, self.factor = self.first + 3 * most, self.first + 4 * most
        self.expected, self.observed = self.first + 5 * most, self.first + 6 * most
        self.h, self.old, self.potential = self.first + 7 * most, self.first + 8 * most, self.first + 9 * most
        self.steps = <int32_t*>arena_zeros(self, self.data.c.n_tok, sizeof(int32_t))
        for s in range(self.data.c.n_seq):
            for a in range(self.data.c.seq_ptr[s] + 1, self.data.c.seq_ptr[s + 1]):
                self.steps[self.n_steps] = <int32_t>a
                self.n_steps += 1
        self.awake = <uint8_t*>arena_zeros(self, self.layout.c.n_cells, 1)
        self.cell = <int64_t*>arena_zeros(self, most, sizeof(int64_t))
        self.at = <int64_t*>arena_zeros(self, most, sizeof(int64_t))
        self.prev = <uint16_t*>arena_zeros(self, 2 * most, sizeof(uint16_t))
        self.label = self.prev + most
        self.lefts = <double*>arena_zeros(self, 2 * HELD * <int64_t>self.layout.c.P, sizeof(double))
        self.rights = self.lefts + HELD * <int64_t>self.layout.c.P

    cdef int gather(self, int32_t block) except -1 nogil:
        """Select a block and clear the terms of its gradient."""
        cdef int64_t k
        choose(self, block)
        self.picked = NOTHING
        for k in range(self.size):      # no other cells are read
            self.first[self.at[k]] = self.second[self.at[k]] = self.seen[self.at[k]] = 0
            self.expected[k] = self.h[k] = 0
        self.largest = 0
        visit(self, block, True)
        add_held(self)
        for k in range(self.size):
            self.expected[k] += self.first[self.at[k]]
            self.h[k] += self.second[self.at[k]]
            self.observed[k] = self.seen[self.at[k]]
            self.old[k] = self.w[self.cell[k]]

    cdef double update(self, int32_t block, double f) except? -1 nogil:
        """One visit: a step that does not raise F, whose value is f. Returns the change of F."""
        cdef:
            double rise = 0, likelihood, penalty, slope, curvature, met, kappa = self.kappa[block]
            int64_t k, trial
        self.gather(block)
        for trial in range(MAX_TRIALS):
            penalty = step(self, kappa, &slope, &curvature)
            if curvature == 0 and slope == 0 and penalty == 0 and trial == 0:
                return 0
            rise += apply(self, block)
            likelihood = rise
            for k in range(self.size):
                likelihood -= self.observed[k] * (self.w[self.cell[k]] - self.old[k])
            met = 2 * (likelihood - slope) / curvature if curvature > 0 else kappa
            if likelihood + penalty <= ROUNDING * fabs(f):
                self.kappa[block] = <float>fmax(LEAST_KAPPA, fmax(met, 0.5 * kappa))
                return likelihood + penalty
            kappa = fmax(2 * kappa, met)
        for k in range(self.size):
            self.change[self.at[k]] = self.old[k] - self.w[self.cell[k]]
            self.w[self.cell[k]] = <weight_t>self.old[k]
        apply(self, block)
        return 0


cdef void choose(Blocks blocks, int32_t block) noexcept nogil:
    """Collect the awake features of a block."""
    cdef:
        const LayoutC* c = &blocks.layout.c
        int64_t f, i, k
        int32_t b = block - c.A
    blocks.size = 0
    if b < 0:
        for f in range(c.u_ptr[block], c.u_ptr[block + 1]):
            add_feature(blocks, 0, c.u_label[f], feature_cell(c, block, f))
    elif b < c.B:
        for f in range(c.b_ptr[b], c.b_ptr[b + 1]):
            add_feature(blocks, c.b_prev[f], c.b_label[f], c.rich0 + f)
    else:
        for i in range(c.L):
            for k in range(c.L):
                if c.tau_mask[i * c.P + k]:
                    add_feature(blocks, i, k, c.tau0 + i * c.P + k)


cdef void hold(Blocks blocks, int32_t kind, const double* left, const double* right, double gain) noexcept nogil:
    """Defer a step of a sweep until there are many of its kind: one pass over the matrix of sums then adds them all."""
    cdef int64_t P = blocks.layout.c.P, j
    if blocks.held == HELD or kind != blocks.held_kind:
        add_held(blocks)
        blocks.held_kind = kind
    memcpy(blocks.lefts + blocks.held * P, left, P * sizeof(double))
    for j in range(P):
        blocks.rights[blocks.held * P + j] = gain * right[j]
    blocks.held += 1


cdef double step(Blocks blocks, double kappa, double* smooth, double* curvature) noexcept nogil:
    """The block's new weights, from the gradient at the old ones; by how much the penalties rise. `smooth` and `curvature` get g.d and d.h.d, the
    terms of the likelihood's rise, blocks.change the difference from the current weights."""
    cdef:
        double g, h, z, penalty = 0, most = RADIUS / fmax(blocks.largest, 1e-30)
        double old, d
        weight_t new
        int64_t k
    smooth[0] = curvature[0] = 0
    for k in range(blocks.size):
        g, h, old = blocks.expected[k] - blocks.observed[k], fmax(kappa * blocks.h[k], 1e-12), blocks.old[k]
        z = soft(h * old - g, blocks.l1) / (h + blocks.l2)
        new = <weight_t>fmax(old - most, fmin(old + most, z))
        d = new - old
        smooth[0] += g * d
        curvature[0] += blocks.h[k] * d * d
        penalty += blocks.l1 * (fabs(new) - fabs(old)) + 0.5 * blocks.l2 * (<double>new * new - old * old)
        blocks.change[blocks.at[k]] = <double>new - blocks.w[blocks.cell[k]]
        blocks.w[blocks.cell[k]] = new
    return penalty


cdef double apply(Blocks blocks, int32_t block) except? -1 nogil:
    """Update potentials and recursions after the block's weights have changed by blocks.change. Returns the rise of log Z."""
    cdef int32_t b = block - blocks.layout.c.A
    cdef int64_t k
    cdef double rise
    if b == blocks.layout.c.B:
        blocks.chains.load_edges()
    elif b >= 0:
        k = blocks.pairs.ptr[b]
        blocks.chains.load_users(b, blocks.pairs.token + k, blocks.pairs.ptr[b + 1] - k)
    blocks.farthest = 0
    for k in range(blocks.size):
        blocks.farthest = fmax(blocks.farthest, blocks.largest * fabs(blocks.change[blocks.at[k]]))
    rise = visit(blocks, block, False)
    for k in range(blocks.size):
        blocks.change[blocks.at[k]] = 0
    return rise


cdef inline void add_feature(Blocks blocks, int64_t prev, int64_t label, int64_t cell) noexcept nogil:
    blocks.prev[blocks.size], blocks.label[blocks.size] = <uint16_t>prev, <uint16_t>label
    blocks.at[blocks.size], blocks.cell[blocks.size] = prev * blocks.layout.c.P + label, cell
    blocks.size += blocks.awake[cell]


cdef double visit(Blocks blocks, int32_t block, bint look) except? -1 nogil:
    """Go through all sequences with a block: add up its gradient, or change their potentials by blocks.change. By how much log Z rises."""
    cdef:
        const int32_t* token = blocks.steps
        const float* value = NULL
        int32_t b = block - blocks.layout.c.A
        int64_t k = 0, end = blocks.n_steps, stop, s
        double rise = 0
    if b < 0:
        k, end, token, value = blocks.nodes.ptr[block], blocks.nodes.ptr[block + 1], blocks.nodes.token, blocks.nodes.value
        if not look:
            K.exp_row(blocks.layout.c.P, blocks.change, 1, blocks.factor)
    elif b < blocks.layout.c.B:
        k, end, token, value = blocks.pairs.ptr[b], blocks.pairs.ptr[b + 1], blocks.pairs.token, blocks.pairs.value
    while k < end:
        s = blocks.chains.sequence[token[k]]
        stop = k + 1
        while stop < end and token[stop] < blocks.data.c.seq_ptr[s + 1]:
            stop += 1
        if token != blocks.steps and stop + AHEAD < end:
            blocks.chains.fetch(token[stop + AHEAD])
        rise += one_sequence(blocks, b, s, look, token + k, value + k if value != NULL else NULL, stop - k)
        k = stop
    return rise


cdef double one_sequence(Blocks blocks, int32_t b, int64_t s, bint look, const int32_t* token, const float* value,
                         int64_t n) except? -1 nogil:
    """What `visit` does in one sequence, at its n tokens with the block."""
    cdef:
        int64_t begin = blocks.data.c.seq_ptr[s], k, at
        double v = 1, weight = weight_of(&blocks.data.c, s)
    if not look:
        return weight * blocks.chains.changed(s, token, n, blocks.factor if b < 0 else NULL, blocks.change, value,
                                              blocks.farthest if b < blocks.layout.c.B else 0)
    blocks.looked += n
    blocks.chains.need(s, <int32_t>(token[0] - begin), <int32_t>(token[n - 1] - begin))
    if b >= 0 and blocks.chains.wide[s]:
        blocks.chains.expect(s)    # the lattice has the pair marginals
    for k in range(n):
        if value != NULL:
            v = value[k]
        blocks.largest = fmax(blocks.largest, fabs(v))
        if b < 0:
            at = token[k] * blocks.chains.row
            K.chain_nodes(blocks.chains.P, blocks.chains.alpha + at, blocks.chains.beta + at, weight * v, weight * v * v,
                          blocks.first, NULL if blocks.sweeps else blocks.second)
            blocks.seen[blocks.data.c.label[token[k]]] += weight * v
        else:
            look_at_pair(blocks, s, token[k], weight, v)
    return 0


cdef void look_at_pair(Blocks blocks, int64_t s, int64_t t, double weight, double v) noexcept nogil:
    """The step into token t."""
    cdef:
        int32_t P = blocks.chains.P, j, k, where = <int32_t>(t - blocks.data.c.seq_ptr[s])
        const double* left = blocks.chains.alpha + (t - 1) * blocks.chains.row
        const EdgeC* edge
        double* right = blocks.chains.right
        int64_t row = t * blocks.chains.row
        double p, scale
    if blocks.chains.wide[s]:
        for k in range(blocks.size):
            p = K.pair_marginal(&blocks.chains.lattice.c, where, blocks.prev[k], blocks.label[k])
            blocks.expected[k] += weight * v * p
            blocks.h[k] += weight * v * v * (p - p * p)
    else:
        scale = 1 / (blocks.chains.scale[t] * blocks.chains.dot(t))
        for j in range(P):
            right[j] = blocks.chains.pot[row + j] * blocks.chains.beta[row + j] * scale
        k = blocks.chains.edges.kind[t]
        if blocks.sweeps and 16 * blocks.size > blocks.layout.c.L * P and (k == 0 or blocks.chains.edges.shared):
            hold(blocks, k, left, right, weight * v)
        else:
            edge = blocks.chains.edges.of(t)
            if edge.pair == NULL and 4 * blocks.size > blocks.layout.c.L * P:
                K.chain_pairs(blocks.layout.c.L, P, left, edge.E, right, weight * v, weight * v * v, blocks.first,
                              NULL if blocks.sweeps else blocks.second)
            else:
                if k != blocks.picked:
                    K.pick_potentials(edge, blocks.size, blocks.prev, blocks.label, blocks.potential)
                    blocks.picked = k
                K.chain_features(blocks.size, blocks.prev, blocks.label, blocks.potential, left, right, weight * v, weight * v * v,
                                 blocks.expected, NULL if blocks.sweeps else blocks.h)
    blocks.seen[<int64_t>blocks.data.c.label[t - 1] * P + blocks.data.c.label[t]] += weight * v


cdef void add_held(Blocks blocks) noexcept nogil:
    """Add the pair marginals of the deferred steps."""
    if blocks.held:
        K.add_outers(blocks.layout.c.L, blocks.layout.c.P, blocks.held, blocks.layout.c.P, blocks.lefts, blocks.rights, 1,
                     blocks.chains.edges.matrix_of(blocks.held_kind), blocks.first)
    blocks.held = 0
