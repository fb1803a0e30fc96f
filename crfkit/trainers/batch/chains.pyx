"""Forward-backward of every sequence, kept up to date where weights change.

Block coordinate descent comes back to a sequence as often as it has blocks, and each visit needs marginals at a few
positions only. So alpha and beta of all sequences are kept. A change of the potentials at position t leaves alpha
before t and beta from t on unchanged; the next visit, at position u, takes the |u - t| steps between. It stops early at rows that
come out as they were before the change: chains forget, so that a long sequence is as fast as many short ones. One exponential a
weight serves all its positions: potentials are multiplied, not recomputed.

    refresh   computes the potentials of a sequence from the weights; invalidates its recursions
    need      computes alpha up to one position and beta down to another, before a visit
    changed   takes in changed potentials of some positions; returns the change of log Z
    expect    runs the lattice, for sequences whose scores lie too far apart for plain products (`wide`)
"""

from crfkit.loops.numbers cimport fabs, fmax, fmin, isfinite
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_expect, lattice_load_weights
from crfkit.memory cimport arena_zeros, memcpy
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.loops.structs cimport SentenceC, dataset_sentence
from crfkit.trainers.base cimport not_finite

# Bound on the logarithms of a sequence's potentials. Products of a node's, an edge's and a visit's change are then far
# from the limits of double precision.
cdef double WIDEST = 250


cdef int64_t FETCHED = 192      # numbers of a row, at most
cdef int64_t STEPS_FETCHED = 3  # rows are prefetched this many steps ahead
cdef int64_t NEAR = 64          # changes no farther apart are left to the next visit as one


cdef inline void fold(double* product, double* logarithm) noexcept nogil:
    """Keep a product of many numbers within the range of doubles."""
    if product[0] < 1e-140 or product[0] > 1e140:
        logarithm[0] += K.log(product[0])
        product[0] = 1


cdef class Chains:
    """For the weights of the edges."""

    def __cinit__(self, Edges edges not None):
        cdef int64_t n = edges.data.c.n_tok, n_seq = edges.data.c.n_seq, s, t
        self.data, self.layout, self.edges = edges.data, edges.layout, edges
        self.lattice = Lattice(self.layout.c.L)
        self.P = self.layout.c.P
        self.pot = <double*>arena_zeros(self, (3 * n + 3) * self.P, sizeof(double))     # rows are compared before they are known
        self.row = 3 * self.P
        self.alpha, self.beta = self.pot + self.P, self.pot + 2 * self.P
        self.right = self.pot + n * self.row
        self.ones, self.fresh = self.right + self.P, self.right + 2 * self.P
        for t in range(self.P):
            self.ones[t] = t < self.layout.c.L
        self.scale, self.token_width = <double*>arena_zeros(self, n, sizeof(double)), <double*>arena_zeros(self, n, sizeof(double))
        self.sequence = <int32_t*>arena_zeros(self, n, sizeof(int32_t))
        self.offset, self.width = <double*>arena_zeros(self, n_seq, sizeof(double)), <double*>arena_zeros(self, n_seq, sizeof(double))
        self.done_alpha = <int32_t*>arena_zeros(self, 4 * n_seq, sizeof(int32_t))
        self.done_beta = self.done_alpha + n_seq
        self.last_change, self.first_change = self.done_beta + n_seq, self.done_beta + 2 * n_seq
        self.wide = <uint8_t*>arena_zeros(self, n_seq, 1)
        for s in range(n_seq):
            for t in range(self.data.c.seq_ptr[s], self.data.c.seq_ptr[s + 1]):
                self.sequence[t] = <int32_t>s
        self.edge_size = <double*>arena_zeros(self, self.layout.c.B, sizeof(double))

    cdef int load_edges(self) except -1 nogil:
        """All edge potentials from the weights."""
        cdef int32_t b
        self.edges.load_all()
        for b in range(self.layout.c.B):
            measure_rich(self, b)
        self.edge_width = self.edges.largest

    cdef int load_users(self, int32_t b, const int32_t* token, int64_t n) except -1 nogil:
        """The edge potentials that depend on one rich attribute, which these n tokens have."""
        measure_rich(self, b)
        self.edges.load_users(b, token, n)
        self.edge_width = fmax(self.edge_width, self.edges.largest)

    cdef int refresh(self, int64_t s) except -1 nogil:
        """Node potentials from the weights."""
        cdef:
            SentenceC sent = dataset_sentence(&self.data.c, s)
            int64_t first = self.data.c.seq_ptr[s], t
            double most = 0
            double* beta
        self.lattice.c.shared.range = 0
        sent.b_ptr = NULL
        self.lattice.reserve(&self.layout.c, &sent)
        K.score(&self.layout.c, self.edges.w, 1.0, &sent, &self.lattice.c)
        self.width[s] = K.potentials(&self.lattice.c)
        self.offset[s] = 0
        for t in range(sent.T):
            self.offset[s] += self.lattice.c.rowmax[t]
        if self.data.c.b_ptr != NULL and not self.edges.shared:
            for t in range(first + 1, first + sent.T):
                most = fmax(most, rich_width(self, t))
            self.width[s] += most
        for t in range(sent.T):
            memcpy(self.pot + (first + t) * self.row, self.lattice.c.pot + t * self.P, self.P * sizeof(double))
            self.token_width[first + t] = self.width[s]
        self.done_alpha[s], self.last_change[s] = -1, sent.T
        self.done_beta[s], self.first_change[s] = sent.T - 1, -1
        beta = self.beta + (first + sent.T - 1) * self.row
        for t in range(self.P):
            beta[t] = self.ones[t] / self.layout.c.L
        self.wide[s] = not self.width[s] + self.edge_width <= WIDEST

    cdef void fetch(self, int64_t token) noexcept nogil:
        """Prefetch the rows that a visit to this token begins with: sequences of a block lie anywhere in memory."""
        cdef:
            int64_t s = self.sequence[token], begin = self.data.c.seq_ptr[s], at = token - begin, k
        crfkit_prefetch(self.scale + token)
        crfkit_prefetch(self.token_width + token)
        if self.done_alpha[s] < at <= self.done_alpha[s] + NEAR:
            for k in range(max(self.done_alpha[s], 0), min(at, self.done_alpha[s] + STEPS_FETCHED) + 1):
                fetch_row(self, begin + k)
        elif self.done_beta[s] - NEAR <= at < self.done_beta[s]:
            for k in range(self.done_beta[s], max(at, self.done_beta[s] - STEPS_FETCHED) - 1, -1):
                fetch_row(self, begin + k)
        else:
            fetch_row(self, token)

    cdef int need(self, int64_t s, int32_t first, int32_t last) except -1 nogil:
        """alpha up to position `last`, beta from `first` on. Potentials that have come too near the limits of the range are recomputed."""
        cdef bint far
        if not self.wide[s] and not self.width[s] + self.edge_width <= WIDEST:
            self.refresh(s)
        if self.wide[s]:
            if self.done_alpha[s] < 0:
                self.expect(s)
            return 0
        far = go_forward(self, s, last)
        if go_back(self, s, first) or far:   # the last visit's changes are far away: finish them before making new ones
            go_all_the_way(self, s)

    cdef double dot(self, int64_t k) noexcept nogil:
        """alpha . beta of a token."""
        return K.dot_row(self.P, self.alpha + k * self.row, self.beta + k * self.row)

    cdef int expect(self, int64_t s) except -1 nogil:
        """Run the lattice on a wide sequence; its node marginals go to alpha, log Z to offset."""
        cdef:
            SentenceC sent = dataset_sentence(&self.data.c, s)
            int64_t first = self.data.c.seq_ptr[s], t
        lattice_load_weights(&self.lattice.c, &self.layout.c, self.edges.w, 1.0)
        self.lattice.reserve(&self.layout.c, &sent)
        K.score(&self.layout.c, self.edges.w, 1.0, &sent, &self.lattice.c)
        lattice_expect(&self.lattice.c)
        if not isfinite(self.lattice.c.logz):
            raise not_finite("--l1 or --l2")
        for t in range(sent.T):
            memcpy(self.alpha + (first + t) * self.row, self.lattice.c.node + t * self.P, self.P * sizeof(double))
            memcpy(self.beta + (first + t) * self.row, self.ones, self.P * sizeof(double))
        self.offset[s] = self.lattice.c.logz
        self.done_alpha[s], self.done_beta[s] = sent.T - 1, 0
        self.steps += 2 * sent.T

    cdef double changed(self, int64_t s, const int32_t* token, int64_t n, double* factor, const double* change,
                        const float* value, double farthest) except? -1 nogil:
        """After `need`: multiply node potentials at n tokens of a sequence by `factor`, or by exp(value * change). If `factor` is NULL,
        the steps into these tokens have changed. Returns the rise of log Z."""
        cdef:
            int64_t begin = self.data.c.seq_ptr[s], first = token[0], last = token[n - 1], t = first, k, at
            double product, rise = 0, before
            bint same = True, apart = last - first > NEAR    # same: alpha before t is unchanged
        if self.wide[s]:
            rise = -self.offset[s]
            self.expect(s)
            return rise + self.offset[s]
        product = 1 / self.dot(last)
        for k in range(n):
            at = token[k]
            while t < at and not same:
                before = self.scale[t]
                same = forward(self, begin, t)
                product *= self.scale[t] / before
                fold(&product, &rise)
                t += 1
            t = at + 1
            before = self.scale[at]
            if factor != NULL:
                if value != NULL:
                    K.exp_row(self.P, change, value[k], factor)
                K.multiply(self.P, factor, self.pot + at * self.row)
            if farthest > 0:
                widen(self, at, farthest)
            if same and factor != NULL:
                self.scale[at] *= K.chain_times(self.P, factor, self.alpha + at * self.row)
                same = False
            else:
                same = forward(self, begin, at)
            product *= self.scale[at] / before
            fold(&product, &rise)
        self.done_alpha[s], self.last_change[s] = <int32_t>(last - begin), max(self.last_change[s], <int32_t>(last - begin))
        self.done_beta[s], self.first_change[s] = <int32_t>(last - begin), min(self.first_change[s], <int32_t>(first - begin))
        rise += K.log(product * self.dot(last))
        if apart:
            for k in range(n - 1, 0, -1):
                t = token[k] - 1
                while t >= token[k - 1] and not backward(self, t):
                    t -= 1
            self.done_beta[s] = <int32_t>(first - begin)
            go_all_the_way(self, s)
        return rise

    cdef double full_log_z(self, int64_t s, bint both) except? -1 nogil:
        """log Z after `refresh`; computes alpha at all positions, and with `both` beta too."""
        cdef:
            int64_t begin = self.data.c.seq_ptr[s], end = self.data.c.seq_ptr[s + 1], k
            double product = 1, log_z = self.offset[s]
        self.need(s, 0 if both else <int32_t>(end - begin - 1), <int32_t>(end - begin - 1))
        if self.wide[s]:
            return self.offset[s]
        for k in range(begin, end):
            product *= self.scale[k]
            fold(&product, &log_z)
        return log_z + K.log(product)


cdef void measure_rich(Chains chains, int32_t b) noexcept nogil:
    cdef int64_t f
    cdef double most = 0
    for f in range(chains.layout.c.b_ptr[b], chains.layout.c.b_ptr[b + 1]):
        most = fmax(most, fabs(chains.edges.w[chains.layout.c.rich0 + f]))
    chains.edge_size[b] = most


cdef inline void fetch_row(Chains chains, int64_t token) noexcept nogil:
    cdef int64_t k
    for k in range(0, min(chains.row, FETCHED), 8):
        crfkit_prefetch(chains.pot + token * chains.row + k)


cdef bint forward(Chains chains, int64_t begin, int64_t k) noexcept nogil:
    """Compute alpha of a token from the one before; whether it came out as before."""
    cdef double* alpha = chains.alpha + k * chains.row
    chains.steps += 1
    fetch_row(chains, min(k + STEPS_FETCHED, chains.data.c.n_tok - 1))
    return K.chain_forward(chains.P, chains.edges.of(k) if k > begin else NULL, alpha - chains.row if k > begin else NULL,
                           chains.pot + k * chains.row, chains.fresh, chains.scale + k, alpha)


cdef bint backward(Chains chains, int64_t k) noexcept nogil:
    """Compute beta of a token from the next one; whether it came out as before."""
    cdef double* beta = chains.beta + k * chains.row
    chains.steps += 1
    fetch_row(chains, max(k - STEPS_FETCHED, 0))
    return K.chain_backward(chains.edges.of(k + 1), chains.pot + (k + 1) * chains.row, beta + chains.row, chains.right, chains.fresh, beta)


cdef void widen(Chains chains, int64_t k, double by) noexcept nogil:
    """Widen the bound of a sequence. If it gets too wide it is measured anew."""
    cdef double least = 1, most = 1
    cdef const double* pot = chains.pot + k * chains.row
    cdef int64_t s = chains.sequence[k], i
    chains.token_width[k] += by
    if chains.token_width[k] + chains.edge_width > WIDEST:
        for i in range(chains.layout.c.L):
            least, most = fmin(least, pot[i]), fmax(most, pot[i])
        chains.token_width[k] = fmax(K.log(most), -K.log(least)) + rich_width(chains, k)
    chains.width[s] = fmax(chains.width[s], chains.token_width[k])


cdef void go_all_the_way(Chains chains, int64_t s) noexcept nogil:
    """alpha and beta of all positions."""
    go_forward(chains, s, <int32_t>(chains.data.c.seq_ptr[s + 1] - chains.data.c.seq_ptr[s] - 1))
    go_back(chains, s, 0)


cdef bint go_forward(Chains chains, int64_t s, int32_t last) noexcept nogil:
    """Compute alpha up to position `last`. True if it is valid to the end, since a row behind all changes came out as before."""
    cdef int64_t begin = chains.data.c.seq_ptr[s]
    cdef int32_t t, end = <int32_t>(chains.data.c.seq_ptr[s + 1] - begin - 1)
    for t in range(chains.done_alpha[s] + 1, last + 1):
        if forward(chains, begin, begin + t) and t > chains.last_change[s]:
            chains.done_alpha[s], chains.last_change[s] = end, -1
            return True
    chains.done_alpha[s] = max(chains.done_alpha[s], last)
    if chains.done_alpha[s] == end:
        chains.last_change[s] = -1
    return False


cdef bint go_back(Chains chains, int64_t s, int32_t first) noexcept nogil:
    """Compute beta from position `first` on, likewise."""
    cdef int64_t begin = chains.data.c.seq_ptr[s]
    cdef int32_t t, length = <int32_t>(chains.data.c.seq_ptr[s + 1] - begin)
    for t in range(chains.done_beta[s] - 1, first - 1, -1):
        if backward(chains, begin + t) and t < chains.first_change[s]:
            chains.done_beta[s], chains.first_change[s] = 0, length
            return True
    chains.done_beta[s] = min(chains.done_beta[s], first)
    if chains.done_beta[s] == 0:
        chains.first_change[s] = length
    return False


cdef double rich_width(Chains chains, int64_t k) noexcept nogil:
    """The bound for the step into a token, where `edge_width` does not cover rich pairs."""
    cdef int64_t u
    cdef double width = 0
    if chains.data.c.b_ptr != NULL and not chains.edges.shared:
        for u in range(chains.data.c.b_ptr[k], chains.data.c.b_ptr[k + 1]):
            width += chains.edge_size[chains.data.c.b_id[u]]
    return width
