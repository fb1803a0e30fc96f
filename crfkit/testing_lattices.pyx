"""Doors for tests: lattices of any scores, and searches in them. Nothing else imports this."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.decode.beam cimport search_beam
from crfkit.decode.nbest cimport NBest, search_nbest
from crfkit.lattice.lattice cimport (
    IMPOSSIBLE, Lattice, find_row_tops, forbid_steps, lattice_allow, lattice_expect, lattice_forbid, lattice_path_score, list_masked,
)
from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport INFINITY
from crfkit.loops.structs cimport ChangeC, EdgeC, LatticeC, LayoutC, PairC, crfkit_find_pair
from crfkit.memory cimport BufferC, arena_reserve, memset

from array import array

from crfkit.errors import ImpossibleError


cdef bint copy_scores(LatticeC* lat, list rows, double* out) except -1:
    """Copy rows of L scores; padding -inf. Whether a score is -inf."""
    cdef int64_t r, j
    cdef bint forbidden = False
    for r, row in enumerate(rows):
        for j in range(lat.P):
            out[r * lat.P + j] = row[j] if j < lat.L else -INFINITY
        forbidden |= -INFINITY in row
    return forbidden


cdef bytes flags(rows):
    return bytes([1 if flag else 0 for row in rows for flag in row])


cdef list matrix_as_lists(const double* first, int64_t n, int64_t L, int64_t P):
    cdef int64_t r, j
    return [[first[r * P + j] for j in range(L)] for r in range(n)]


cdef bint is_changed(const LatticeC* lat, int64_t cell):
    """Whether a step of its own scores this pair differently."""
    cdef int64_t k
    for k in range(lat.n_own):
        if lat.own[k].score[cell] != lat.shared.score[cell]:
            return True
    return False


cdef class OpenLattice(Lattice):
    """A lattice for any scores; its arguments are not checked:

        lattice = OpenLattice(labels=2)
        lattice.load([[0.5, 0.0], [0.0, 1.0]], tau=[[0.0, -1.0], [-1.0, 0.0]])
        score, labels = lattice.viterbi()
        logz = lattice.expect()
        marginals = lattice.nodes()
    """
    cdef str lists                      # which form steps have: see `use_lists`
    cdef BufferC given, given_pairs, given_changes, given_index, path

    def __init__(self, int32_t labels):
        self.lists = "none"

    def load(self, nodes, tau, edges=None):
        """Scores to work on: nodes[t][j] of labels, tau[i][j] of label pairs, edges[t][i][j] instead of tau for the
        step into position t. Finite, or -inf for what cannot be."""
        cdef:
            LatticeC* lat = &self.c
            int64_t matrix = <int64_t>lat.L * lat.P
            int64_t k, t
            EdgeC* edge
        edges = edges or {}
        self.reserve_shared(len(nodes))
        lat.own = <EdgeC*>arena_reserve(self, &self.steps, len(edges), sizeof(EdgeC))
        arena_reserve(self, &self.given, 2 * len(edges) * matrix, sizeof(double))
        lat.n_own = <int32_t>len(edges)
        copy_scores(lat, nodes, lat.score)
        lat.forbidden = copy_scores(lat, tau, lat.shared.score)
        for k, t in enumerate(sorted(edges)):
            edge = lat.own + k
            memset(edge, 0, sizeof(EdgeC))
            edge.L, edge.P = lat.L, lat.P
            edge.score = <double*>self.given.data + 2 * k * matrix
            edge.E = edge.score + matrix
            lat.forbidden |= copy_scores(lat, edges[t], edge.score)
            lat.edge[t] = edge
        self.use_lists(self.lists)

    def use_lists(self, str which):
        """Let no step be a list of label pairs (none; rows: Viterbi chooses which to look at), or the shared one (shared), or all; or let the others
        be changes of the shared one (changes: of a matrix with chosen rows; listed: of a list). The number of the shared step's pairs, if it is
        a list. It stays so when other scores are loaded."""
        cdef:
            LatticeC* lat = &self.c
            int64_t k, cell, L = lat.L
            int64_t indices = 2 * (L + 1) + L * L
            EdgeC* edge
            LayoutC bare
            bytes mask
        self.lists = which
        lat.shared.pair, lat.shared.row_top = NULL, NULL
        for k in range(lat.n_own):
            edge = lat.own + k
            edge.score = <double*>self.given.data + 2 * k * L * lat.P
            edge.pair, edge.plain = NULL, NULL
        K.exp_tau(lat)
        if which == "listed":
            listed = bytearray(L * lat.P)
            for cell in range(L * lat.P):
                listed[cell] = cell % lat.P < L and (lat.shared.score[cell] != 0 or is_changed(lat, cell))
            mask = bytes(listed)
            list_masked(self, <const uint8_t*><const char*>mask, sum(mask))
        if which in ("rows", "changes", "listed"):
            find_row_tops(lat)
        elif which != "none":
            memset(&bare, 0, sizeof(LayoutC))
            self.list_pairs(&bare, "sparse")
        for k in range(lat.n_own):
            if which in ("changes", "listed"):
                self.make_changes(k)
            elif which == "all":
                edge = lat.own + k
                arena_reserve(self, &self.given_pairs, lat.n_own * L * L, sizeof(PairC))
                arena_reserve(self, &self.given_index, lat.n_own * indices, sizeof(int32_t))
                K.list_pairs(edge, NULL, L * L, <PairC*>self.given_pairs.data + k * L * L,
                             <int32_t*>self.given_index.data + k * indices)
                for cell in range(edge.n):     # as merge_list leaves pairs whose scores it changes
                    edge.pair[cell].e = 0
                edge.score = NULL
        return lat.shared.n if lat.shared.pair != NULL else None

    cdef make_changes(self, int64_t k):
        """Each twice, as where two attributes have a pair."""
        cdef:
            LatticeC* lat = &self.c
            EdgeC* edge = lat.own + k
            int64_t p, i, j, at = 0, L = lat.L
        edge.changed = <ChangeC*>arena_reserve(self, &self.given_changes, 2 * lat.n_own * L * L, sizeof(ChangeC)) + 2 * k * L * L
        edge.n = 0
        for p in range(2 * L * L):
            i, j = p % (L * L) // L, p % L
            if edge.score[i * lat.P + j] != lat.shared.score[i * lat.P + j]:
                if lat.shared.pair != NULL:
                    at = crfkit_find_pair(&lat.shared, <int32_t>i, <int32_t>j) - lat.shared.pair
                edge.changed[edge.n] = ChangeC(<uint16_t>i, <uint16_t>j, <int32_t>at, edge.score[i * lat.P + j], 0)
                edge.n += 1
        edge.plain, edge.score = &lat.shared, NULL

    def allow(self, mask):
        """Only labels whose flag in mask[t][j] is set remain possible."""
        allowed = flags(mask)
        lattice_allow(&self.c, <const uint8_t*><const char*>allowed)

    def forbid(self, mask):
        """Steps from label i to label j whose flag in mask[i][j] is 0 become impossible, at every position."""
        cdef int64_t k
        cdef str lists = self.lists
        transitions = flags(mask)
        self.use_lists("none")
        for k in range(self.c.n_own):
            forbid_steps(&self.c, self.c.own[k].score, <const uint8_t*><const char*>transitions)
        lattice_forbid(&self.c, <const uint8_t*><const char*>transitions)
        self.use_lists(lists)

    def viterbi(self):
        """The best path: its score and labels; of equally good ones that with the smaller last label, last but one, and so on."""
        cdef double score
        cdef int64_t t
        cdef uint16_t* labels
        labels = <uint16_t*>arena_reserve(self, &self.path, self.c.T, sizeof(uint16_t))
        with nogil:
            score = K.viterbi(&self.c, labels)
        if score == -INFINITY:
            raise ImpossibleError(IMPOSSIBLE)
        return score, [labels[t] for t in range(self.c.T)]

    def expect(self):
        """Forward-backward: the logarithm of the sum of exp(score) over all paths. Marginals follow from it."""
        with nogil:
            lattice_expect(&self.c)
        return self.c.logz

    def nodes(self):
        """Probability of label j at position t, as [t][j], after `expect`."""
        return matrix_as_lists(self.c.node, self.c.T, self.c.L, self.c.P)

    def pair(self, int32_t t):
        """Probability of label i at position t-1 and label j at position t, as [i][j]."""
        cdef int32_t i, j
        return [[K.pair_marginal(&self.c, t, i, j) for j in range(self.c.L)] for i in range(self.c.L)]

    def pair_sums(self):
        """Expected number of steps from label i to label j in the whole sequence, as [i][j]."""
        K.add_pairs(&self.c, 1.0)
        K.finish_pairs(&self.c)
        sums = matrix_as_lists(self.c.pair, self.c.L, self.c.L, self.c.P)
        memset(self.c.pair, 0, <int64_t>self.c.L * self.c.P * sizeof(double))
        return sums

    def path_score(self, labels):
        """Score of one path, -inf if it cannot be."""
        cdef uint16_t[::1] path = array("H", labels)
        return lattice_path_score(&self.c, &path[0])


cdef class OpenSearch(NBest):
    """A search for the n best paths, on such a lattice."""

    cdef list results(self):
        cdef int64_t k, t
        return [
            (self.scores[k], [self.labels[k * self.length + t] for t in range(self.length)])
            for k in range(self.found)
        ]

    def nbest(self, OpenLattice lattice not None, int n, double ratio=0.0):
        """The n best paths as (score, labels), best first; all paths if there are fewer.

        Paths less than `ratio` times as probable as the best one are left out.
        """
        with nogil:
            search_nbest(self, &lattice.c, n, ratio, 1.0)
        return self.results()

    def beam(self, OpenLattice lattice not None, int n, int width=50, double ratio=0.0):
        """The n best paths, approximately: only `width` partial paths are kept at each position."""
        with nogil:
            search_beam(self, &lattice.c, n, width, ratio, 1.0)
        return self.results()

    @property
    def extended(self) -> bool:
        """Whether any search has extended partial paths: Viterbi's tables were not enough."""
        return self.trail.capacity > 0
