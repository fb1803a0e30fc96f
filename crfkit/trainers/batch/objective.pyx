"""Negative log-likelihood with an L2 penalty, and its gradient, over a whole data set.

    f(x) = sum_i weight_i (log Z(x_i) - score(x_i, y_i)) + l2/2 |x|^2

Where not all labels of a sequence are given, the sum over all labellings that may be true takes the place of the score. As any of
these labellings y has log Z - log Z' = (log Z - score(y)) - (log Z' - score(y)), the loops see such a sequence twice, with all
labels and then with the possible ones alone, and the weight -weight_i.

A chunk has the sequences that begin within one range of CHUNK_TOKENS tokens (constants.py). Threads take chunks from a common counter
and add to gradients of their own. Which thread takes which chunk changes no bits: gradient terms are
rounded so that their sums are exact (loops/simd/scatter.inc), and the likelihoods of chunks are added in order at the end.
"""

import array
from math import isqrt

from crfkit import constants
from crfkit.parallel import threads_of

from crfkit.loops.numbers cimport INFINITY
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_load_weights, lattice_path_score
from crfkit.weights.layout cimport layout_clear_absent
from crfkit.memory cimport arena_zeros, memcpy, memset
from crfkit.trainers.base cimport wrong_labels
from crfkit.loops.atomic cimport crfkit_fetch_add, crfkit_look, crfkit_take
from crfkit.loops.structs cimport LatticeC, LayoutC, SentenceC, VisitsC, dataset_sentence
from .quanta cimport find_quanta, spread_quanta
from .quanta import largest_factors, sums_of_terms

cdef enum:
    COLUMNS = 8         # labels of a row of doubles that share a cache line; rows are padded to whole lines


def chunk_starts(Dataset data not None, int64_t before=0) -> array.array:
    """The first sequence of each chunk, and at the end the number of sequences. `before`: how many tokens of all data precede these."""
    cdef int64_t s, last = -1, place, tokens = constants.CHUNK_TOKENS
    starts = array.array("q")
    for s in range(data.c.n_seq):
        place = (before + data.c.seq_ptr[s]) // tokens
        if place != last:
            starts.append(s)
        last = place
    starts.append(data.c.n_seq)
    return starts


def paying_threads(Dataset data not None, Layout layout not None) -> int:
    """With about how many threads a pass is fastest, one for each processor at most: their gradients are added up in the end. Reading one
    weight's takes about a fiftieth of the time of an attribute of a token, and twice that of a pair of labels."""
    pay = isqrt((50 * data.n_incidences[0] + data.c.n_tok * <int64_t>layout.c.L**2 // 2) // max(layout.c.n_cells, 1))
    return min(max(2, pay), threads_of(0))


cdef class Worker:
    """The scratch of one thread."""


cdef class Objective:
    """Evaluates f and its gradient at a point given as cells (see Layout). `recursions`, "sparse" or "dense", forces one kind of
    loops (lattice/forms.pyx): the results are the same up to rounding.
    Where the data are a part: `survey` and `sums` (sums_of_terms) are of all data, `chunks` (chunk_starts) of this part among them."""

    def __init__(self, Dataset data not None, Layout layout not None, double l2, int threads, str recursions="auto", survey=None, sums=None,
                 chunks=None):
        cdef:
            Worker worker
            double quantum
            double* cold_quanta = NULL
            const int64_t[::1] starts = chunk_starts(data) if chunks is None else chunks
            int64_t n, k
        self.only_once()
        layout.check(data)
        self.data, self.layout, self.l2 = data, layout, l2
        self.tokens, self.sequences = data.c.n_tok, data.c.n_seq
        self.keep_data_in(data.folder)
        self.bound = INFINITY
        self.survey = survey
        n = starts.shape[0] - 1
        if n < 0 or starts[0] != 0 or starts[n] != data.c.n_seq or list(starts) != sorted(set(starts)):
            raise ValueError("chunks that are not those of the data")
        self.chunk = <int64_t*>arena_zeros(self, n + 1, sizeof(int64_t))
        memcpy(self.chunk, &starts[0], (n + 1) * sizeof(int64_t))
        self.n_chunks = n
        self.nll = <double*>arena_zeros(self, n, sizeof(double))
        if sums is None:
            largest = largest_factors(data) if data.has_values or data.has_weights else None
            sums = sums_of_terms(data, largest)
            self.extent = (largest, sums) if data.has_values else None
        if data.possible is not None:       # the loops see sequences twice
            sums = array.array("d", [2 * sum for sum in sums])
        self.quanta = <double*>arena_zeros(self, layout.c.A, sizeof(double))
        quantum = find_quanta(data, layout, sums, self.quanta)
        if data.c.u_val != NULL:
            cold_quanta = spread_quanta(layout, self.quanta, self)
        threads = max(1, min(threads, n))
        self.workers = []
        for k in range(threads):
            worker = Worker()
            worker.lattice, worker.path = Lattice(layout.c.L, listing=True), <uint16_t*>arena_zeros(worker, data.c.longest, sizeof(uint16_t))
            worker.lattice.list_features(&layout.c, recursions, True)
            worker.lattice.c.quantum = quantum
            worker.lattice.c.quanta, worker.lattice.c.cold_quanta = self.quanta, cold_quanta
            if k > 0:
                worker.g = <double*>arena_zeros(worker, layout.c.n_cells, sizeof(double))
            self.workers.append(worker)
        self.pool = Threads(threads - 1)

    cdef int list_visits(self) except -1:
        """List what tokens visit. Not at creation, since a dual ascent before the first evaluation needs the memory itself."""
        cdef Visits visits = Visits(self.data, self.layout, self.survey)
        cdef Worker worker
        for worker in self.workers:
            worker.g_sums = <double*>arena_zeros(worker, <int64_t>visits.nests.n * self.layout.c.P, sizeof(double))
        self.visits, self.nests, self.survey = visits, visits.nests, None

    cdef int only_once(self) except -1:
        if self.layout is not None:
            raise TypeError("an objective is made once")

    cdef double evaluate(self, const weight_t* w, double* g) except? -1:
        """f(w); its gradient goes to g. INFINITY, with no gradient, where f(w) is above `bound`, or a step was so long that scores are not finite."""
        cdef double total, squares = 0
        cdef int part
        self.w, self.g = w, g
        try:
            total = self.sum_up()
            if self.given_up:
                return INFINITY
            self.pool.in_shares(self, take_share, FINISH, PARTS)
        finally:
            self.w, self.g = NULL, NULL         # they are the caller's
        self.squared_norm = 0
        for part in range(PARTS):
            self.squared_norm += self.g_squares[part]
            squares += self.w_squares[part]
        return total + 0.5 * self.l2 * squares if self.l2 != 0 else total

    cdef double sum_up(self) except? -1:
        """The likelihood at w, and its gradient in g; or `given_up` is set: the likelihood is above the bound, or not finite."""
        cdef:
            int64_t k
            Worker worker
            double total = 0
        if self.visits is None:
            self.list_visits()
        if self.nests.n:                # else no thread is woken
            self.pool.in_shares(self, take_share, ADD_UP, self.layout.c.P // COLUMNS)
        self.next_chunk = self.given_up = 0
        for worker in self.workers:
            worker.wrong = worker.flawed = 0
        (<Worker>self.workers[0]).g = self.g
        self.pool.in_shares(self, take_chunks, 0, len(self.workers))
        if self.given_up:
            return INFINITY
        self.wrong = self.flawed = 0
        for worker in self.workers:
            self.wrong += worker.wrong
            self.flawed += worker.flawed
        self.pool.in_shares(self, take_share, GATHER, PARTS)
        if self.nests.n:
            self.pool.in_shares(self, take_share, HAND_DOWN, self.layout.c.P // COLUMNS)
        for k in range(self.n_chunks):
            total += self.nll[k]
        return total


cdef int take_chunks(owner, int what, int64_t first, int64_t last) except -1:
    """What workers first .. last - 1 do in an evaluation: each takes chunks until none is left."""
    cdef:
        Objective self = owner
        Worker worker
        LatticeC* lat
        const LayoutC* layout = &self.layout.c
        int64_t c, s
        double nll, lost
    for worker in self.workers[first:last]:
        lat, lost = &worker.lattice.c, 0
        with nogil:
            memset(worker.g, 0, layout.n_cells * sizeof(double))
            memset(worker.g_sums, 0, <int64_t>self.nests.n * layout.P * sizeof(double))
            lattice_load_weights(lat, layout, self.w, 1.0)
            while not crfkit_look(&self.given_up):
                c = crfkit_fetch_add(&self.next_chunk, 1)
                if c >= self.n_chunks:
                    break
                nll = 0
                for s in range(self.chunk[c], self.chunk[c + 1]):
                    # no sequence lowers the sum, so the rest need not be looked at if it is too large
                    if not add_sequence(self, worker, s, &nll) or lost + nll > self.bound:
                        crfkit_take(&self.given_up, 1)
                    if crfkit_look(&self.given_up):
                        break
                K.finish_pairs(lat)
                K.scatter_pairs(layout, lat, worker.g)
                self.nll[c] = nll
                lost += nll


cdef int take_share(owner, int what, int64_t first, int64_t last) except -1:
    """One thread's share of the work on cells: lines of columns first .. last - 1, or these parts of vectors."""
    cdef:
        Objective self = owner
        const LayoutC* layout = &self.layout.c
        Worker leader = self.workers[0] if self.workers else None, worker
        int part
    if what == GATHER:
        for part in range(first, last):             # part by part, so that the sum stays in the cache
            for worker in self.workers[1:]:
                with nogil:
                    add_part(layout.n_cells, part, worker.g, leader.g)
                    add_part(self.nests.n * <int64_t>layout.P, part, worker.g_sums, leader.g_sums)
        return 0
    with nogil:
        if what == ADD_UP:
            self.nests.add_up(layout, self.w, first * COLUMNS, last * COLUMNS)
        elif what == HAND_DOWN:
            self.nests.hand_down(layout, leader.g_sums, self.g, first * COLUMNS, last * COLUMNS)
        else:
            for part in range(first, last):
                complete(self, part)


cdef void add_part(int64_t n, int part, const double* of, double* to) noexcept nogil:
    """Add a part of a vector of n numbers to another one."""
    cdef int64_t start = n * part // PARTS
    K.add(n * (part + 1) // PARTS - start, to + start, of + start)


cdef void complete(Objective objective, int part) noexcept nogil:
    """Finish a part of the gradient once the likelihood's is there."""
    cdef:
        int64_t first = objective.layout.c.n_cells * part // PARTS, n = objective.layout.c.n_cells * (part + 1) // PARTS - first
        double* g = objective.g + first
        const weight_t* w = objective.w + first
    layout_clear_absent(&objective.layout.c, objective.g, first, first + n)
    if objective.l2 != 0:
        K.add_floats(n, g, objective.l2, w)
    objective.w_squares[part], objective.g_squares[part] = K.dot_floats(n, w, w), K.dot_doubles(n, g, g)


cdef bint add_sequence(Objective objective, Worker worker, int64_t s, double* nll) except -1 nogil:
    """Add a sequence to the likelihood and to its gradient. False if a sum is not finite."""
    cdef:
        const LayoutC* layout = &objective.layout.c
        LatticeC* lat = &worker.lattice.c
        SentenceC sent = dataset_sentence(&objective.data.c, s)
        int64_t first = objective.data.c.seq_ptr[s], wrong
        VisitsC visits = objective.visits.of(first)
    worker.lattice.reserve(layout, &sent)
    K.score_visits(layout, &visits, objective.w, objective.nests.sums, &sent, lat)
    if objective.counts:
        wrong = wrong_labels(lat, &sent, worker.path)
        worker.wrong += wrong
        worker.flawed += wrong > 0
    if not add_scored(worker, layout, &visits, &sent, nll):
        return False
    if objective.data.possible is None or not objective.data.possible.restrict(lat, sent.label, first):
        return True
    sent.weight = -sent.weight
    return add_scored(worker, layout, &visits, &sent, nll)


cdef bint add_scored(Worker worker, const LayoutC* layout, const VisitsC* visits, const SentenceC* sent, double* nll) noexcept nogil:
    """The same with the scores that stand in the lattice."""
    cdef LatticeC* lat = &worker.lattice.c
    if K.forward_backward(lat) != 0:
        return False
    K.node_marginals(lat)
    nll[0] += sent.weight * (lat.logz - lattice_path_score(lat, sent.label))
    K.add_pairs(lat, sent.weight)
    K.scatter_visits(layout, visits, sent, lat, worker.g, worker.g_sums)
    return True
