"""The scratch of one thread: owns the arrays of a LatticeC and lets them grow, never shrink.

The loops themselves stand in loops/simd/*.inc and are called through the table K; here is what may fail (memory, a
sequence without any possible path) and what needs no speed. From Python a Lattice decodes any scores:

    lattice = Lattice(labels=2)
    lattice.load([[0.5, 0.0], [0.0, 1.0]], tau=[[0.0, -1.0], [-1.0, 0.0]])
    score, labels = lattice.viterbi()
    logz = lattice.expect()
    marginals = lattice.nodes()
"""

from libc.math cimport INFINITY, isnan
from libc.string cimport memset

from crfkit.loops.kernels cimport K
from crfkit.memory cimport buffer_free, buffer_reserve
from crfkit.loops.structs cimport PairC, PairsC, crfkit_list_of_step
from crfkit.errors import ImpossibleError

cdef int64_t MOST_POSITIONS = (1 << 31) - 64

IMPOSSIBLE = "no sequence of labels is possible under the constraints, or a weight is not finite"


cdef void lattice_load_weights(LatticeC* lat, const LayoutC* layout, const weight_t* w, double scale) noexcept nogil:
    """Shared edge scores and their exponentials. Again whenever label-pair weights have changed."""
    K.load_tau(layout, w, scale, lat)
    K.exp_tau(lat)


cdef int lattice_expect(LatticeC* lat) except -1 nogil:
    """Forward, backward and node marginals of a scored sequence."""
    if K.forward_backward(lat) != 0:
        raise ImpossibleError(IMPOSSIBLE)
    K.node_marginals(lat)
    return 0


cdef double lattice_path_score(const LatticeC* lat, const uint16_t* labels) noexcept nogil:
    """Score of one path of a scored sequence."""
    cdef:
        double total = lat.score[labels[0]]
        int32_t t
    for t in range(1, lat.T):
        # in the order of Viterbi's additions, so that its path gets the very same score
        total += K.step_score(lat, t, labels[t - 1], labels[t])
        total += lat.score[<int64_t>t * lat.P + labels[t]]
    return total


cdef void lattice_allow(LatticeC* lat, const uint8_t* allowed) noexcept nogil:
    """After score: labels whose flag in allowed[T][L] is 0 cannot be taken."""
    cdef int64_t t, j
    for t in range(lat.T):
        for j in range(lat.L):
            if not allowed[t * lat.L + j]:
                lat.score[t * lat.P + j] = -INFINITY


cdef void lattice_forbid(LatticeC* lat, const uint8_t* transitions) noexcept nogil:
    """After load_weights: transitions whose flag in transitions[L][L] is 0 cannot be taken.

    Positions with rich edges copy the shared scores when they are scored, so they inherit this.
    """
    forbid_steps(lat, lat.tau, transitions)
    K.exp_tau(lat)


cdef void forbid_steps(LatticeC* lat, double* matrix, const uint8_t* transitions) noexcept nogil:
    cdef int64_t i, j
    for i in range(lat.L):
        for j in range(lat.L):
            if not transitions[i * lat.L + j]:
                matrix[i * lat.P + j] = -INFINITY
                lat.forbidden = 1


cdef int copy_scores(LatticeC* lat, object rows, double* out, int64_t n, str what) except -1:
    """n rows of L scores from nested sequences; padding -inf."""
    cdef int64_t r, j
    cdef double x
    if len(rows) != n:
        raise ValueError(f"{what}: {len(rows)} rows where {n} are needed")
    for r in range(n):
        row = rows[r]
        if len(row) != lat.L:
            raise ValueError(f"{what}: row {r} has {len(row)} scores, the lattice has {lat.L} labels")
        for j in range(lat.L):
            x = row[j]
            if isnan(x) or x == INFINITY:
                raise ValueError(f"{what}: score {x} in row {r}, column {j}; finite scores and -inf are possible")
            out[r * lat.P + j] = x
        for j in range(lat.L, lat.P):
            out[r * lat.P + j] = -INFINITY
    return 0


cdef bytes flags(object rows, int64_t n, int64_t L, str what):
    """n rows of L flags from nested sequences, one byte each."""
    given = [[1 if flag else 0 for flag in row] for row in rows]
    if len(given) != n or any(len(row) != L for row in given):
        raise ValueError(f"{what}: {n} rows of {L} flags are needed")
    return bytes([flag for row in given for flag in row])


cdef list matrix_as_lists(const double* first, int64_t n, int64_t L, int64_t P):
    cdef int64_t r, j
    return [[first[r * P + j] for j in range(L)] for r in range(n)]


cdef class Lattice:
    """Owner of the arrays of one LatticeC."""

    def __cinit__(self, int32_t labels):
        cdef int64_t matrix
        if not 1 <= labels <= 65535:
            raise ValueError(f"a lattice needs 1 to 65,535 labels, not {labels}")
        self.c.L = labels
        self.c.P = (labels + 7) // 8 * 8
        matrix = <int64_t>self.c.L * self.c.P
        buffer_reserve(&self.matrices, 6 * matrix, sizeof(double))
        self.c.tau = <double*>self.matrices.data
        self.c.etau = self.c.tau + matrix
        self.c.etauT = self.c.etau + matrix
        self.c.outer = self.c.etauT + matrix
        self.c.pair = self.c.outer + matrix
        self.c.unfolded = self.c.pair + matrix
        memset(self.c.outer, 0, 2 * matrix * sizeof(double))

    def __dealloc__(self):
        buffer_free(&self.matrices)
        buffer_free(&self.rows)
        buffer_free(&self.slots)
        buffer_free(&self.lists)
        buffer_free(&self.list_pairs)
        buffer_free(&self.list_indices)
        buffer_free(&self.path)

    cdef int reserve(self, const SentenceC* sent) except -1 nogil:
        """Room for the sequence. Call before score; keeps nothing of the sequence before."""
        cdef int64_t matrices = 0
        cdef int32_t t
        if sent.b_ptr != NULL:
            for t in range(1, sent.T):
                matrices += sent.b_ptr[t + 1] > sent.b_ptr[t]
        return self.reserve_positions(sent.T, matrices)

    cdef int reserve_lists(self, const LayoutC* layout, const SentenceC* sent) except -1 nogil:
        """`reserve` for a lattice that may keep the edge scores of positions as lists."""
        cdef int64_t matrices = 0, lists = 0, pairs = 0, longest = 0, n
        cdef int32_t t
        if self.c.sparse == NULL:
            return self.reserve(sent)
        if sent.b_ptr != NULL:
            for t in range(1, sent.T):
                if sent.b_ptr[t + 1] > sent.b_ptr[t]:
                    n = crfkit_list_of_step(layout, sent, t, self.c.sparse)
                    matrices += n < 0
                    lists += n >= 0
                    pairs += max(n, 0)
                    longest = max(longest, n)
        if lists:
            buffer_reserve(&self.lists, lists, sizeof(PairsC))
            buffer_reserve(&self.list_pairs, pairs + 2 * longest, sizeof(PairC))
            buffer_reserve(&self.list_indices, lists * 2 * (<int64_t>self.c.L + 1) + pairs, sizeof(int32_t))
            self.c.own = <PairsC*>self.lists.data
            self.c.own_pair, self.c.own_index = <PairC*>self.list_pairs.data, <int32_t*>self.list_indices.data
        return self.reserve_positions(sent.T, matrices)

    cdef int reserve_positions(self, int64_t positions, int64_t matrices) except -1 nogil:
        """Room for so many positions, and for so many of them with edge scores of their own."""
        cdef:
            LatticeC* lat = &self.c
            int64_t matrix = <int64_t>lat.L * lat.P
            int64_t cells
        if positions > lat.cap_T:
            positions = min(max(positions, lat.cap_T + <int64_t>lat.cap_T // 2, 64), MOST_POSITIONS)
            lat.cap_T = 0
            # six matrices and two vectors of doubles, then the slots: every part starts aligned
            positions = (positions + 15) // 16 * 16
            buffer_reserve(&self.rows, positions * (6 * lat.P * 8 + 2 * 8 + 4), 1)
            cells = positions * lat.P
            lat.score = <double*>self.rows.data
            lat.pot = lat.score + cells
            lat.alpha = lat.pot + cells
            lat.beta = lat.alpha + cells
            lat.right = lat.beta + cells
            lat.node = lat.right + cells
            lat.rowmax = lat.node + cells
            lat.inv = lat.rowmax + positions
            lat.slot = <int32_t*>(lat.inv + positions)
            lat.cap_T = <int32_t>positions
        if matrices > lat.cap_slots:
            matrices = max(matrices, lat.cap_slots + <int64_t>lat.cap_slots // 2, 16)
            lat.cap_slots = 0
            buffer_reserve(&self.slots, matrices * (2 * matrix + 1), sizeof(double))
            lat.edge = <double*>self.slots.data
            lat.eedge = lat.edge + matrices * matrix
            lat.edgemax = lat.eedge + matrices * matrix
            lat.cap_slots = <int32_t>matrices
        return 0

    def load(self, nodes, tau, edges=None):
        """Scores to work on: nodes[t][j] of labels, tau[i][j] of label pairs, edges[t][i][j] instead of tau for the
        step into position t. Finite, or -inf for what cannot be."""
        cdef:
            LatticeC* lat = &self.c
            int64_t matrix = <int64_t>lat.L * lat.P
            int64_t k
        nodes, edges = list(nodes), dict(edges or {})
        self.stage = EMPTY
        if not 1 <= len(nodes) <= MOST_POSITIONS:
            raise ValueError(f"nodes: {len(nodes)} positions; a sequence has 1 to {MOST_POSITIONS:,}")
        for t in edges:
            if not 1 <= t < len(nodes):
                raise ValueError(f"edges: no step leads into position {t} of a sequence of {len(nodes)}")
        self.reserve_positions(len(nodes), len(edges))
        lat.T, lat.n_slots, lat.n_own = <int32_t>len(nodes), <int32_t>len(edges), 0
        copy_scores(lat, nodes, lat.score, lat.T, "nodes")
        copy_scores(lat, tau, lat.tau, lat.L, "tau")
        for k in range(lat.T):
            lat.slot[k] = -1
        for k, t in enumerate(edges):
            copy_scores(lat, edges[t], lat.edge + k * matrix, lat.L, f"edges[{t}]")
            lat.slot[<int64_t>t] = <int32_t>k
        lat.forbidden = has_minus_inf(lat, lat.tau, 1) or has_minus_inf(lat, lat.edge, lat.n_slots)
        K.exp_tau(lat)
        self.stage = SCORED

    def allow(self, mask):
        """Only labels whose flag in mask[t][j] is set remain possible."""
        self.need(SCORED)
        allowed = flags(mask, self.c.T, self.c.L, "mask")
        lattice_allow(&self.c, <const uint8_t*><const char*>allowed)
        self.stage = SCORED

    def forbid(self, mask):
        """Steps from label i to label j whose flag in mask[i][j] is 0 become impossible, at every position."""
        cdef int64_t k
        self.need(SCORED)
        transitions = flags(mask, self.c.L, self.c.L, "mask")
        for k in range(self.c.n_slots):
            forbid_steps(&self.c, self.c.edge + k * self.c.L * self.c.P, <const uint8_t*><const char*>transitions)
        lattice_forbid(&self.c, <const uint8_t*><const char*>transitions)
        self.stage = SCORED

    def viterbi(self):
        """The best path: its score and its labels. Of equally good ones that with the smaller last label, then
        with the smaller last but one, and so on."""
        cdef double score
        self.need(SCORED)
        labels = self.path_buffer()
        with nogil:
            score = K.viterbi(&self.c, labels)
        return self.take_path(score)

    cdef uint16_t* path_buffer(self) except NULL:
        """Room for the labels of one path."""
        buffer_reserve(&self.path, self.c.T, sizeof(uint16_t))
        return <uint16_t*>self.path.data

    cdef tuple take_path(self, double score):
        """Score and labels that some Viterbi has left. It used alpha and beta: expectations are gone."""
        cdef int64_t t
        self.stage = SCORED
        if score == -INFINITY:
            raise ImpossibleError(IMPOSSIBLE)
        return score, [(<uint16_t*>self.path.data)[t] for t in range(self.c.T)]

    def expect(self):
        """Forward-backward: the logarithm of the sum of exp(score) over all paths. Marginals follow from it."""
        self.need(SCORED)
        with nogil:
            lattice_expect(&self.c)
        self.stage = EXPECTED
        return self.c.logz

    def nodes(self):
        """Probability of label j at position t, as [t][j]."""
        self.need(EXPECTED)
        return matrix_as_lists(self.c.node, self.c.T, self.c.L, self.c.P)

    def pair(self, int32_t t):
        """Probability of label i at position t-1 and label j at position t, as [i][j]."""
        cdef int32_t i, j
        self.need(EXPECTED)
        if not 1 <= t < self.c.T:
            raise IndexError(f"no step leads into position {t} of a sequence of {self.c.T}")
        return [[K.pair_marginal(&self.c, t, i, j) for j in range(self.c.L)] for i in range(self.c.L)]

    def pair_sums(self):
        """Expected number of steps from label i to label j in the whole sequence, as [i][j]."""
        self.need(EXPECTED)
        K.add_pairs(&self.c, 1.0)
        return self.take_pairs()

    cdef list take_pairs(self):
        """The sums collected in the lattice, which start again from zero."""
        K.finish_pairs(&self.c)
        sums = matrix_as_lists(self.c.pair, self.c.L, self.c.L, self.c.P)
        memset(self.c.pair, 0, <int64_t>self.c.L * self.c.P * sizeof(double))
        return sums

    def path_score(self, labels):
        """Score of one path, -inf if it cannot be."""
        cdef int64_t t, label
        self.need(SCORED)
        if len(labels) != self.c.T:
            raise ValueError(f"{len(labels)} labels for a sequence of {self.c.T}")
        path = self.path_buffer()
        for t in range(self.c.T):
            label = labels[t]
            if not 0 <= label < self.c.L:
                raise ValueError(f"label {label} at position {t}; the lattice has labels 0 to {self.c.L - 1}")
            path[t] = <uint16_t>label
        return lattice_path_score(&self.c, path)

    cdef int need(self, int stage) except -1:
        if self.stage < stage:
            raise RuntimeError("call expect() first" if self.stage == SCORED else "call load() first")
        return 0


cdef bint has_minus_inf(const LatticeC* lat, const double* matrices, int64_t n) noexcept nogil:
    cdef int64_t r, j
    for r in range(n * lat.L):
        for j in range(lat.L):
            if matrices[r * lat.P + j] == -INFINITY:
                return True
    return False
