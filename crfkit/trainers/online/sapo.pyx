"""Search-based probabilistic online learning (Sun et al.), also known as DBL-CRF.

It lies between the perceptron and SGD: expected features come from the n best paths alone, whose probabilities P_k are the softmax
of their scores:

    w <- (1 - rate * l2 / |S|) w + rate * (features of the true path - sum_k P_k features of path k)

With all paths this is SGD; with the best one, a constant rate and no penalty it is the perceptron. Where all
candidates are the true path, only the penalty changes weights.

The weights are w = s v (sgd.pyx). The best paths are the same under v, so the search uses scores without the
scale, and only differences of scores are multiplied by it. Thus the scores of label pairs need not be reloaded for each step:
they change only where an update touches them.
"""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.data.ordered cimport sentence_at
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport IMPOSSIBLE, lattice_load_scores, lattice_load_weights, lattice_path_score, lattice_sum
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport BufferC, arena_reserve
from crfkit.decode.beam cimport search_beam
from crfkit.decode.nbest cimport NBest, search_nbest
from crfkit.loops.structs cimport LatticeC, SentenceC
from .paths cimport Paths
from crfkit.trainers.stepwise cimport OnlineTrainer
from .sgd cimport ScaledTrainer

from math import ceil

from crfkit.errors import ImpossibleError

cdef double LITTLE = 0.2    # of the probability: if candidates have less on held-out sequences, lbfgs scores higher on average (docs/defaults.md)


cdef class Sapo(ScaledTrainer):
    """The loss is over the candidates: sum of log sum_k exp(score_k) - score of the true path. A pass also reports how many sequences
    changed the weights (`updates`)."""
    cdef NBest search
    cdef Paths paths
    cdef BufferC probability
    cdef int n, width           # width 0: the search is exact
    cdef double ratio
    cdef int64_t updates

    looks_for_paths = True
    fewest_tokens = 5000        # that tell the share of candidates: with fewer it is small on what a trial held out, whatever the data

    def __cinit__(self, Dataset data, Layout layout, options, **unused):
        self.search, self.paths = NBest(), Paths(layout)
        self.n, self.ratio = options.nbest, options.ratio
        self.width = options.beam if options.search == "beam" else 0

    cdef int candidates(self, LatticeC* lat, double unit) except -1 nogil:
        """Find the best paths of a scored sequence; how many there are."""
        if self.width:
            return search_beam(self.search, lat, self.n, self.width, self.ratio, unit)
        return search_nbest(self.search, lat, self.n, self.ratio, unit)

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            double* probability
            double total = 0, behind, gain
            int k, found
            SentenceC own
        if not self.pairs_known:
            lattice_load_scores(lat, &self.layout.c, self.w)
            self.pairs_known = self.leader is None      # other threads change what a worker has loaded
        K.score(&self.layout.c, self.w, 1.0, self.valued(sent, False, &own), lat)
        found = self.candidates(lat, self.scale)
        if found == 0:
            raise ImpossibleError(IMPOSSIBLE)
        probability = <double*>arena_reserve(self, &self.probability, found, sizeof(double))
        for k in range(found):
            probability[k] = K.exp(self.scale * (self.search.scores[k] - self.search.scores[0]))
            total += probability[k]
        for k in range(found):
            probability[k] /= total
        behind = self.scale * (self.search.scores[0] - lattice_path_score(lat, sent.label))
        loss[0] += sent.weight * (K.log(total) + behind)
        gain = self.gain(sent.weight)
        self.updates += self.paths.follow(self, self.valued(sent, True, &own), self.search.labels, probability, found, gain, NULL)

    cdef double share(self, const int32_t* which, int64_t n, double scale) except? -1:
        cdef:
            LatticeC* lat = &self.lattice.c
            SentenceC sent
            int64_t s
            int k, found
            double total = 0
        if self.data.c.n_tok < self.fewest_tokens:
            return 1
        lattice_load_weights(lat, &self.layout.c, self.w, scale)
        for s in range(n):
            sent = sentence_at(self.ordered, which + s)
            self.lattice.reserve(&self.layout.c, &sent)
            K.score(&self.layout.c, self.w, scale, &sent, lat)
            found = self.candidates(lat, 1.0)
            lattice_sum(lat)
            for k in range(found):
                total += K.exp(self.search.scores[k] - lat.logz)
        return total / n

    def warning(self):
        if self.covered >= LITTLE:
            return None
        return (f"the candidates of sapo (--nbest {self.n}) have at most {ceil(100 * self.covered)} % of the probability on a sample, and it learns "
                "from them alone: lbfgs is likely to score higher here; a larger --nbest helps less")

    cdef void follow(self, OnlineTrainer leader) noexcept:
        ScaledTrainer.follow(self, leader)
        self.updates = 0

    cdef void absorb(self, OnlineTrainer worker) noexcept:
        self.updates += (<Sapo>worker).updates

    def run_pass(self, should_stop=None):
        """Every sequence once; also how many of them changed the weights."""
        self.updates = 0
        record = OnlineTrainer.run_pass(self, should_stop)
        record["updates"] = self.updates
        return record
