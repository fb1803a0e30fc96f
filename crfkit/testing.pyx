"""Doors for tests: parts that no program drives from Python. Nothing else imports this."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.decode.beam cimport search_beam
from crfkit.decode.nbest cimport NBest, search_nbest
from crfkit.decode.scratch cimport Scratch
from crfkit.features.cells cimport View
from crfkit.features.strings cimport StringTable
from crfkit.features.walk cimport Extractor
from crfkit.lattice cimport forms
from crfkit.lattice.lattice cimport (
    IMPOSSIBLE, Lattice, find_row_tops, forbid_steps, lattice_allow, lattice_expect, lattice_forbid, lattice_path_score,
)
from crfkit.loops.numbers cimport INFINITY
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport EdgeC, LatticeC, PairC, SentenceC, weight_t
from crfkit.parser.trees cimport Treebank
from crfkit.memory cimport Arena, BufferC, arena_reserve, arena_zeros, array_of, memset
from crfkit.template.patterns cimport Patterns
from crfkit.template.regex cimport Regex
from crfkit.text.rows cimport Rows
from crfkit.text.writing cimport (
    Output, begin_sentence, end_sentence, out_decimal, out_hexadecimal, out_integer, out_label, out_lines, out_significant,
)
from crfkit.trainers.batch.blocks cimport Occurrences
from crfkit.trainers.batch.dual cimport DualAscent
from crfkit.trainers.batch.edges cimport Edges
from crfkit.trainers.batch.nests cimport Nests
from crfkit.trainers.batch.steps cimport History
from crfkit.trainers.batch.visits cimport Visits
from crfkit.weights.layout cimport Layout
from crfkit.threads cimport Threads
from crfkit.trainers.batch.objective cimport PARTS, Objective

from array import array

from crfkit.errors import ImpossibleError


def most_pairs(int64_t labels, str recursions) -> int:
    """Up to how many pairs with a weight a step is a list."""
    return forms.most_pairs(labels, forms.recursions_of(recursions))


def scaled_by_threads(const double[::1] gradient not None, const float[::1] curvature not None, int threads) -> list[list[float]]:
    """What threads that find a direction leave in their rooms, of which there are two: gradient / scale, of the last part of each share."""
    cdef:
        History history = History(gradient.shape[0], 2, Threads(threads - 1))
        int64_t size = gradient.shape[0] // PARTS, k, i
    history.scale_by_curvature(&curvature[0], 0)
    history.direction(&gradient[0], &gradient[0])
    return [[history.scaled[k * (size + 1) + i] for i in range(size)] for k in range(2)]


def change_steps(int64_t labels, int64_t cells) -> tuple[int, int]:
    """From how many labels on, and with how many cells a change, steps with rich attributes are changes of the shared one; what was set before."""
    before = forms.labels_to_change, forms.cells_a_change
    forms.labels_to_change, forms.cells_a_change = labels, cells
    return before


def step_forms(Edges edges not None, const float[::1] cells not None) -> list[tuple[str, bool]]:
    """The form of the step into each token with these weights, "list" or "matrix", and whether it is kept."""
    cdef:
        const EdgeC* edge
        int64_t t
    edges.w = &cells[0]
    edges.load_all()
    found = []
    for t in range(edges.data.c.n_tok):
        edge = edges.of(t)
        found.append(("matrix" if edge.pair == NULL else "list", edge != &edges.spare))
    return found


def forms_of(Scratch scratch not None) -> list[str]:
    """The form of each step with rich attributes of the scored sentence."""
    cdef LatticeC* lat = &scratch.lattice.c
    cdef int64_t k
    return ["changes" if lat.own[k].plain != NULL else "list" if lat.own[k].pair != NULL else "matrix" for k in range(lat.n_own)]


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


cdef class OpenLattice(Lattice):
    """A lattice for any scores; its arguments are not checked:

        lattice = OpenLattice(labels=2)
        lattice.load([[0.5, 0.0], [0.0, 1.0]], tau=[[0.0, -1.0], [-1.0, 0.0]])
        score, labels = lattice.viterbi()
        logz = lattice.expect()
        marginals = lattice.nodes()
    """
    cdef str lists                      # which steps are lists: "none", "shared" or "all"
    cdef BufferC given, given_pairs, given_index, path

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
        """Let no step be a list of label pairs (none; rows: Viterbi chooses which to look at; changes: so it does, and steps are changes of the
        one that positions share), or that one, or all; the number of its pairs. It stays so when other scores are loaded."""
        cdef:
            LatticeC* lat = &self.c
            int64_t k, p, cell, L = lat.L
            int64_t indices = 2 * (L + 1) + L * L
            EdgeC* edge
        self.lists = which
        lat.shared.pair, lat.shared.row_top = NULL, NULL
        K.exp_tau(lat)
        if which in ("rows", "changes"):
            find_row_tops(lat)
        elif which != "none":
            self.list_pairs("sparse")
        arena_reserve(self, &self.given_pairs, 2 * lat.n_own * L * L + 1, sizeof(PairC))
        arena_reserve(self, &self.given_index, lat.n_own * indices + 1, sizeof(int32_t))
        for k in range(lat.n_own):
            edge = lat.own + k
            edge.score = <double*>self.given.data + 2 * k * L * lat.P
            edge.pair, edge.plain = NULL, NULL
            if which == "changes":
                edge.changed, edge.n = <PairC*>self.given_pairs.data + 2 * k * L * L, 0
                for p in range(2 * L * L):      # each twice, as where two attributes have a pair
                    cell = p % (L * L) // L * lat.P + p % L
                    if edge.score[cell] != lat.shared.score[cell]:
                        edge.changed[edge.n] = PairC(<int32_t>(p % (L * L) // L), <int32_t>(p % L), edge.score[cell], 0)
                        edge.n += 1
                edge.plain, edge.score = &lat.shared, NULL
            if which == "all":
                K.list_pairs(edge, NULL, L * L, <PairC*>self.given_pairs.data + k * L * L,
                             <int32_t*>self.given_index.data + k * indices)
                for p in range(edge.n):     # as merge_list leaves pairs whose scores it changes
                    edge.pair[p].e = 0
                edge.score = NULL
        return lat.shared.n if lat.shared.pair != NULL else None

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


def weights_in(Rows rows not None) -> list[float]:
    """The weight of each sequence."""
    return [rows.c.seq_weight[s] for s in range(rows.c.n_seq)]


def attributes_of(Extractor extractor not None, Rows rows not None) -> list[tuple[list[int], list[int]]]:
    """The attributes of each token of a parsed block: (unigram ids, bigram ids)."""
    cdef const SentenceC* sent = &extractor.sentence
    cdef int64_t s, t
    found = []
    for s in range(rows.c.n_seq):
        extractor.extract(&rows.c, rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1])
        for t in range(sent.T):
            of_pairs = [sent.b_id[k] for k in range(sent.b_ptr[t], sent.b_ptr[t + 1])] if sent.b_ptr != NULL else []
            found.append(([sent.u_id[k] for k in range(sent.u_ptr[t], sent.u_ptr[t + 1])], of_pairs))
    return found


def curvature_of(DualAscent ascent not None) -> array:
    """The curvature along each weight, as the ascent estimates it."""
    cdef float[::1] cells = array("f", bytes(4 * ascent.layout.c.n_cells))
    if cells.shape[0]:
        ascent.add_curvature(&cells[0])
    return cells.base


def occurrences_of(Occurrences found not None, int32_t a) -> list[tuple[int, float]]:
    """The tokens with an attribute, and the values it has there."""
    return [(found.token[k], found.value[k] if found.value != NULL else 1.0) for k in range(found.ptr[a], found.ptr[a + 1])]


def rows_of(Nests nests not None) -> list[list[int]]:
    """The attributes and nests of each token; -1 - k is nest k."""
    return [[nests.c.u_id[u] for u in range(nests.c.u_ptr[t], nests.c.u_ptr[t + 1])] for t in range(nests.c.n_tok)]


def visits_of(Dataset data not None, Layout layout not None) -> tuple[int, int, int]:
    """How many sums, rows and cells all tokens visit."""
    cdef Visits visits = Visits(data, layout)
    return visits.c.sum_ptr[data.c.n_tok], visits.c.row_ptr[data.c.n_tok], visits.c.cell_ptr[data.c.n_tok]


def parts_of(Nests nests not None, int32_t k) -> list[int]:
    """What nest k adds up."""
    return [nests.part[i] for i in range(nests.start[k], nests.start[k + 1])]


def value_at(Objective objective not None, const double[::1] cells not None, double bound=INFINITY) -> tuple[float, array]:
    """The objective and its gradient at a point in single precision; above the bound it may be infinite and the gradient undefined."""
    if cells.shape[0] != objective.layout.c.n_cells:
        raise ValueError("a point of another layout")
    cdef:
        int64_t k, n = cells.shape[0]
        Arena room = Arena()        # the loops need aligned vectors
        double* g = <double*>arena_zeros(room, n, sizeof(double))
        weight_t* w = <weight_t*>arena_zeros(room, n, sizeof(weight_t))
    for k in range(n):
        w[k] = <weight_t>cells[k]
    objective.bound = bound
    try:
        return objective.evaluate(w, g), array_of("d", g, n)
    finally:
        objective.bound = INFINITY


def made_of(bytes cell not None, plan) -> bytes | None:
    """What a macro (crfkit.features.plan.ViewPlan) makes of a cell; None: no value, and so no feature."""
    cdef View view = View(0, plan, StringTable(), 0)
    cdef Output room = Output()
    cdef const char* value
    cdef int64_t n = view.transform(cell, len(cell), &room.c.room, &value)
    return value[:n] if n >= 0 else None


def found_in(Regex regex not None, cell) -> str | bytes | None:
    """The leftmost match in a cell (str or bytes): the piece that matches, or None."""
    cdef bytes text = cell.encode() if isinstance(cell, str) else cell
    cdef int64_t start = 0, end = 0
    if not regex.search(text, len(text), &start, &end):
        return None
    return text[start:end].decode() if isinstance(cell, str) else text[start:end]


def said_by(Patterns patterns not None, Rows rows not None) -> list[list[bytes]]:
    """The strings of the patterns at each token of a sentence, the first of the rows."""
    cdef Output line = Output()
    cdef int64_t t, n, T = rows.c.seq_ptr[1]
    cdef int32_t i
    found = []
    for t in range(T):
        strings = []
        for i in range(patterns.n):
            n = patterns.expand(i, &rows.c, 0, T, t, &line.c.room)
            strings.append(line.c.room.data[:n])
        found.append(strings)
    return found


def heads_in(Treebank bank not None, int64_t s) -> list[int]:
    """The heads of a sentence: numbers of words from 1, 0 for the root."""
    return [bank.head[t] + 1 for t in range(bank.start[s], bank.start[s + 1])]


def tagged(Rows rows not None, labels, bytes separator=None) -> bytes:
    """The rows' text with the label (bytes) of each token behind its line, after the separator (None: the line's own)."""
    cdef Output out = Output()
    cdef const char* between = <const char*>separator if separator is not None else NULL
    cdef int64_t s, t, pos
    cdef bytes label
    for s in range(rows.c.n_seq):
        pos = begin_sentence(&rows.c, s, &out.c)
        for t in range(rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1]):
            label = labels[t]
            pos = out_label(&rows.c, t, pos, label, <int32_t>len(label), between, <int32_t>len(separator or b""), -1, &out.c)
        end_sentence(&rows.c, s, pos, &out.c)
    out_lines(&rows.c, rows.c.tail_start, rows.c.n_text, True, &out.c)
    return out.getvalue()


def written(str form, number, int decimals=6) -> bytes:
    """A number as it is written in these forms: integer, decimal, significant, hexadecimal."""
    cdef Output text = Output()
    if form == "integer":
        out_integer(&text.c, number)
    elif form == "decimal":
        out_decimal(&text.c, number, decimals)
    elif form == "significant":
        out_significant(&text.c, number)
    else:
        out_hexadecimal(&text.c, number)
    return text.getvalue()
