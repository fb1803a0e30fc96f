"""Forward-backward and Viterbi in time proportional to labels + active label pairs.

A label pair whose weight is zero has the potential 1, whatever the labels are (Lavergne, Cappe and Yvon 2010,
section 3.2). So write the shared potentials as E[i][j] = base + m[i][j], with m zero for all pairs but the active
ones; then

    (alpha E)[j] = base * sum_i alpha[i] + sum_{i: (i,j) active} alpha[i] m[i][j],

and one sum serves all labels. The potentials are those of the lattice, exp(tau - taumax), so base = exp(-taumax), and
everything the recursions leave there (alpha, beta, right, inv, logz) means what the dense ones mean by it; node and
pair marginals follow as always.

Cancellation. For weights far below zero m is almost -base, and a label that nearly all of alpha cannot reach gets a
small difference of large numbers. Where the positive and the negative parts cancel to less than CANCELLED of their
size, the sum is taken again over all labels, which have no negative terms: the relative error stays below 1e-11.

Positions with edge scores of their own are dense steps. What does not fit into the linear domain goes to the dense
loops, and so do forbidden transitions: their bounds need a look at every label anyway.
"""

from libc.math cimport INFINITY

from .kernels cimport K
from .lattice cimport EXPECTED, IMPOSSIBLE, SCORED, Lattice
from .memory cimport buffer_free, buffer_reserve
from ..errors import ImpossibleError

cdef double CANCELLED = 1e-4
cdef double WIDEST = 650          # as in simd/recursions.inc
cdef int32_t TOP = 8              # labels before that sparse Viterbi keeps in order


cdef int sparse_load(SparseEdges edges, const LatticeC* lat) except -1 nogil:
    """The active pairs of a lattice's shared edge scores. Again whenever those have changed."""
    cdef:
        SparseEdgesC* c = &edges.c
        int64_t L = lat.L, P = lat.P, i, j, k = 0, active = 0
    for i in range(L):
        for j in range(L):
            active += lat.tau[i * P + j] != 0
    buffer_reserve(&edges.offsets, 2 * (L + 1), sizeof(int64_t))
    buffer_reserve(&edges.labels, 2 * active + L, sizeof(int32_t))
    buffer_reserve(&edges.values, 3 * active, sizeof(double))
    c.L, c.P, c.active = lat.L, lat.P, active
    c.base = K.exp(-lat.taumax)
    c.next_ptr = <int64_t*>edges.offsets.data
    c.prev_ptr = c.next_ptr + L + 1
    c.next_label = <int32_t*>edges.labels.data
    c.prev_label = c.next_label + active
    c.mark = c.prev_label + active
    c.next_tau = <double*>edges.values.data
    c.next_m = c.next_tau + active
    c.prev_m = c.next_m + active
    c.next_ptr[0] = c.prev_ptr[0] = 0
    for j in range(L):
        for i in range(L):
            if lat.tau[i * P + j] != 0:
                c.next_label[k] = <int32_t>i
                c.next_tau[k] = lat.tau[i * P + j]
                c.next_m[k] = lat.etau[i * P + j] - c.base
                k += 1
        c.next_ptr[j + 1] = k
        c.mark[j] = -1
    k = 0
    for i in range(L):
        for j in range(L):
            if lat.tau[i * P + j] != 0:
                c.prev_label[k] = <int32_t>j
                c.prev_m[k] = lat.etau[i * P + j] - c.base
                k += 1
        c.prev_ptr[i + 1] = k
    return 0


cdef bint sparse_is_better(const SparseEdgesC* edges) noexcept nogil:
    """Whether sparse forward-backward is faster than the dense one; measured by benchmarks/sparse_threshold.py."""
    return edges.L >= 48 and edges.active * 16 < <int64_t>edges.L * edges.L


cdef bint sparse_viterbi_is_better(const SparseEdgesC* edges) noexcept nogil:
    """The same for Viterbi, where the dense loop is harder to beat."""
    return edges.L >= 128 and edges.active * 32 < <int64_t>edges.L * edges.L


cdef inline double row_sum(const double* x, int64_t P) noexcept nogil:
    """Sum of a row; eight partial sums do not wait for each other."""
    cdef double part[8]
    cdef int64_t j, k
    for k in range(8):
        part[k] = x[k]
    for j in range(8, P, 8):
        for k in range(8):
            part[k] += x[j + k]
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))


cdef inline void times_edges(int64_t L, int64_t P, double base, const int64_t* ptr, const int32_t* label,
                             const double* m, const double* x, const double* E, int64_t row, int64_t column,
                             double* out) noexcept nogil:
    """out[j] = base * sum(x) + sum_k m[k] x[label[k]] over the active pairs of j; E[j * row + i * column] is the
    potential of i with j, for sums that cancel."""
    cdef:
        double total = base * row_sum(x, P), plus, minus, term
        int64_t i, j, k
    for j in range(L):
        plus, minus = total, 0
        for k in range(ptr[j], ptr[j + 1]):
            term = m[k] * x[label[k]]
            if term > 0:
                plus += term
            else:
                minus -= term
        out[j] = plus - minus
        if out[j] < CANCELLED * plus:
            out[j] = 0
            for i in range(L):
                out[j] += x[i] * E[j * row + i * column]
    for j in range(L, P):
        out[j] = 0


cdef inline void times_matrix(int64_t L, int64_t P, const double* x, const double* E, double* out) noexcept nogil:
    """out = x E"""
    cdef int64_t i, j
    for j in range(P):
        out[j] = 0
    for i in range(L):
        for j in range(P):
            out[j] += x[i] * E[i * P + j]


cdef inline void times_transposed(int64_t L, int64_t P, const double* x, const double* E, double* out) noexcept nogil:
    """out = E x"""
    cdef int64_t i, j
    for i in range(L):
        out[i] = 0
        for j in range(L):
            out[i] += E[i * P + j] * x[j]
    for i in range(L, P):
        out[i] = 0


cdef int sparse_forward_backward(SparseEdgesC* edges, LatticeC* lat) noexcept nogil:
    """As the dense loop: alpha, beta, right, inv, logz of a scored sequence. 0, or -1 when no path is possible."""
    cdef:
        int64_t L = lat.L, P = lat.P, T = lat.T, t, j
        double* alpha = lat.alpha
        double* beta = lat.beta + (T - 1) * P
        double* right
        const double* pot
        double total, logz = 0
        double widest
    widest = K.potentials(lat)
    if lat.forbidden or widest < 0 or widest > WIDEST:
        return K.forward_backward(lat)
    lat.log_domain = 0
    for t in range(T):
        alpha, pot = lat.alpha + t * P, lat.pot + t * P
        if t == 0:
            for j in range(P):
                alpha[j] = 1
        elif lat.slot[t] < 0:
            times_edges(L, P, edges.base, edges.next_ptr, edges.next_label, edges.next_m, alpha - P, lat.etau, 1, P,
                        alpha)
            logz += lat.taumax
        else:
            times_matrix(L, P, alpha - P, lat.eedge + lat.slot[t] * L * P, alpha)
            logz += lat.edgemax[lat.slot[t]]
        for j in range(P):
            alpha[j] *= pot[j]
        total = row_sum(alpha, P)
        if not total > 0:
            return -1
        lat.inv[t] = 1 / total
        for j in range(P):
            alpha[j] *= lat.inv[t]
        logz += lat.rowmax[t] + K.log(total)
    lat.logz = logz
    for j in range(P):
        beta[j] = j < L
    for t in range(T - 1, -1, -1):
        beta, right, pot = lat.beta + t * P, lat.right + t * P, lat.pot + t * P
        for j in range(P):
            right[j] = pot[j] * beta[j] * lat.inv[t]
        if t == 0:
            return 0
        if lat.slot[t] < 0:
            times_edges(L, P, edges.base, edges.prev_ptr, edges.prev_label, edges.prev_m, right, lat.etau, P, 1,
                        beta - P)
        else:
            times_transposed(L, P, right, lat.eedge + lat.slot[t] * L * P, beta - P)
    return 0


cdef void sparse_add_pairs(const SparseEdgesC* edges, LatticeC* lat, double gain) noexcept nogil:
    """As the dense loop, for active pairs only; pairs without a weight get nothing from positions that share the
    edge scores. (K.pair_marginal knows them.)"""
    cdef:
        int64_t P = lat.P, i, k, t
        const double* alpha
        const double* right
        double* outer
    if lat.log_domain:
        K.add_pairs(lat, gain)
        return
    for t in range(1, lat.T):
        alpha, right = lat.alpha + (t - 1) * P, lat.right + t * P
        if lat.slot[t] < 0:
            for i in range(edges.L):
                outer = lat.outer + i * P
                for k in range(edges.prev_ptr[i], edges.prev_ptr[i + 1]):
                    outer[edges.prev_label[k]] += gain * alpha[i] * right[edges.prev_label[k]]
        else:
            add_pairs_at(lat, t, gain)


cdef void add_pairs_at(LatticeC* lat, int64_t t, double gain) noexcept nogil:
    """Pair marginals of a position with edge scores of its own."""
    cdef:
        int64_t L = lat.L, P = lat.P, i, j
        const double* alpha = lat.alpha + (t - 1) * P
        const double* right = lat.right + t * P
        const double* E = lat.eedge + lat.slot[t] * L * P
    for i in range(L):
        for j in range(L):
            lat.pair[i * P + j] += gain * (alpha[i] * E[i * P + j] * right[j])


cdef inline int32_t keep_top(const double* x, int64_t L, int32_t* top) noexcept nogil:
    """The best few labels, best first, equal ones by number; how many."""
    cdef int32_t n = 0, k
    cdef int64_t i
    for i in range(L):
        if n == TOP and not x[i] > x[top[n - 1]]:
            continue
        k = n if n < TOP else TOP - 1
        n = k + 1
        while k > 0 and x[i] > x[top[k - 1]]:
            top[k] = top[k - 1]
            k -= 1
        top[k] = <int32_t>i
    return n


cdef inline int32_t best_inactive(const double* x, int64_t L, const int32_t* top, int32_t n, const int32_t* mark,
                                  int32_t j) noexcept nogil:
    """The best label before that is not marked as active with j, or -1."""
    cdef int32_t k, best = -1
    cdef int64_t i
    for k in range(n):
        if mark[top[k]] != j:
            return top[k]
    for i in range(L):
        if mark[i] != j and (best < 0 or x[i] > x[best]):
            best = <int32_t>i
    return best


cdef double sparse_viterbi(SparseEdgesC* edges, LatticeC* lat, uint16_t* labels) noexcept nogil:
    """As the dense loop, bit for bit: best path; its score. Ties go to the smaller label."""
    cdef:
        int64_t L = lat.L, P = lat.P, T = lat.T, t, i, j, k
        int32_t top[8]
        int32_t n, other
        const double* before
        const double* node
        const double* edge
        double* total
        double* way
        double best
    for j in range(P):
        lat.alpha[j] = lat.score[j]
    for t in range(1, T):
        before, total = lat.alpha + (t - 1) * P, lat.alpha + t * P
        way, node = lat.beta + t * P, lat.score + t * P
        if lat.slot[t] < 0:
            n = keep_top(before, L, top)
            for j in range(L):
                best = -INFINITY
                for k in range(edges.next_ptr[j], edges.next_ptr[j + 1]):
                    i = edges.next_label[k]
                    edges.mark[i] = <int32_t>j
                    best = max(best, before[i] + edges.next_tau[k])
                other = best_inactive(before, L, top, n, edges.mark, <int32_t>j)
                way[j] = max(best, before[other]) if other >= 0 else best
            for j in range(L):
                edges.mark[j] = -1
        else:
            edge = lat.edge + lat.slot[t] * L * P
            for j in range(L):
                way[j] = before[0] + edge[j]
            for i in range(1, L):
                for j in range(L):
                    way[j] = max(way[j], before[i] + edge[i * P + j])
        for j in range(P):
            total[j] = way[j] + node[j] if j < L else -INFINITY
    return K.trace_back(lat, labels)


cdef class SparseEdges:

    def __dealloc__(self):
        buffer_free(&self.offsets)
        buffer_free(&self.labels)
        buffer_free(&self.values)

    def load(self, Lattice lattice not None):
        """Find the active pairs among a lattice's shared edge scores. Again whenever those have changed."""
        lattice.need(SCORED)
        sparse_load(self, &lattice.c)

    @property
    def active(self):
        """Number of label pairs with a weight."""
        return self.c.active

    @property
    def worthwhile(self):
        """Whether expect and viterbi are expected to be faster than those of the lattice, as a pair."""
        return bool(sparse_is_better(&self.c)), bool(sparse_viterbi_is_better(&self.c))

    def expect(self, Lattice lattice not None):
        """Lattice.expect by the sparse loops; nodes() and pair(t) of the lattice work as after that."""
        cdef int status
        self.check(lattice)
        with nogil:
            status = sparse_forward_backward(&self.c, &lattice.c)
            if status == 0:
                K.node_marginals(&lattice.c)
        lattice.stage = SCORED if status else EXPECTED
        if status:
            raise ImpossibleError(IMPOSSIBLE)
        return lattice.c.logz

    def pair_sums(self, Lattice lattice not None):
        """Lattice.pair_sums after expect(), for active pairs; what the others get at shared positions is left out."""
        cdef int64_t i, j
        self.check(lattice)
        lattice.need(EXPECTED)
        sparse_add_pairs(&self.c, &lattice.c, 1.0)
        return lattice.take_pairs()

    def viterbi(self, Lattice lattice not None):
        """Lattice.viterbi by the sparse loops."""
        cdef double score
        self.check(lattice)
        labels = lattice.path_buffer()
        with nogil:
            score = sparse_viterbi(&self.c, &lattice.c, labels)
        return lattice.take_path(score)

    cdef int check(self, Lattice lattice) except -1:
        lattice.need(SCORED)
        if self.c.next_ptr == NULL or self.c.L != lattice.c.L:
            raise RuntimeError("call load() with this lattice first")
        return 0
