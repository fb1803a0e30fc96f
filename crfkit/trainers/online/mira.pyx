"""MIRA, the margin-infused relaxed algorithm (Crammer and Singer 2003; McDonald et al. 2005), with one or n candidates.

Each step makes the smallest change to the weights after which the true path outscores each of the n best paths by a
margin, the number of wrong labels in that path. Margins are soft, with the cost C (--aggressiveness) of slack:

    minimise |w' - w|^2 / 2 + C sum_k slack_k     subject to     w' d_k >= wrong_k - slack_k

where d_k are the features of the true path minus those of path k. So w' = w + sum_k a_k d_k with 0 <= a_k <= C, and
the a_k are found by Hildreth's algorithm: each in turn is optimised while the others are fixed, until none
changes. With one candidate that is a_1 = (wrong_1 - w d_1) / |d_1|^2, within these limits. The instance weight of a
sequence multiplies its C.

With --shrinking everything is done as in CRF++. It subtracts the lead of path k over the true path from wrong_k, where MIRA adds
it: a step is (wrong_k + w d_k) / |d_k|^2, and there is none for a path that leads by more than wrong_k. C bounds the sum of
a sequence's steps over all passes. Sequences are visited in the order of the data. One that was right in N passes is left
out, until every step of a pass is zero or bounded by C; then all are visited once more, and training ends if the same holds
again.
"""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport fabs
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport IMPOSSIBLE, lattice_follow, lattice_path_score
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport BufferC, arena_reserve, data_zeros, memset, vector
from crfkit.decode.nbest cimport NBest, search_nbest
from crfkit.loops.structs cimport LatticeC, SentenceC
from crfkit.trainers.base cimport accuracies, differing
from .paths cimport AveragedTrainer, Differences, FeatureC, change

from crfkit.errors import ImpossibleError

cdef enum:
    MOST_SWEEPS = 10000     # over all candidates: a bound on time, hardly ever reached

cdef double PRECISION = 1e-7    # a margin has converged if it changes by less, in wrong labels


cdef void hildreth(int64_t n, const double* products, double* missing, double most, double* a) noexcept nogil:
    """The a with 0 <= a[k] <= most that maximise a . missing - |sum_k a[k] d_k|^2 / 2, from all inner products of the d; 0 where d_k is 0.
    On return missing[k] is what margin k still lacks."""
    cdef:
        int64_t k, q
        int sweep
        double by, moved = 1
    memset(a, 0, n * sizeof(double))
    for sweep in range(MOST_SWEEPS):
        moved = 0
        for k in range(n):
            if products[k * n + k] == 0:
                continue
            by = min(max(a[k] + missing[k] / products[k * n + k], 0), most) - a[k]
            if by == 0:
                continue
            a[k] += by
            for q in range(n):
                missing[q] -= by * products[k * n + q]
            moved = max(moved, fabs(by) * products[k * n + k])
        if moved <= PRECISION:
            break


cdef class Mira(AveragedTrainer):
    """The loss of a step is the largest violation before it: the largest wrong_k - w d_k among the candidates, if positive."""
    cdef NBest search
    cdef Differences differences
    cdef BufferC room
    cdef int n
    cdef double most
    cdef int32_t shrinking
    cdef double* added          # with shrinking, by sequence: the sum of its steps so far
    cdef int32_t* right         # and the passes since it was wrong
    cdef int64_t active, bounded, wrong, flawed     # in this pass: sequences visited, steps bounded by C, wrong labels, sequences with one
    cdef double violation       # the largest one that C allows to be reduced
    cdef public int64_t quiet   # passes without such a violation

    numbers = AveragedTrainer.numbers + ("quiet",)
    steps_like_values = True

    def __cinit__(self, Dataset data, Layout layout, options, **unused):
        self.search, self.differences = NBest(), Differences()
        self.n, self.most, self.shrinking = options.nbest, options.aggressiveness, options.shrinking
        if self.shrinking:
            self.added = <double*>data_zeros(self, data.c.n_seq, sizeof(double))
            self.right = <int32_t*>data_zeros(self, data.c.n_seq, sizeof(int32_t))

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            int64_t s = self.sequence, wrong
            double worst = 0, most = self.most * sent.weight
            double* missing
            int n
        if self.shrinking:
            if self.right[s] >= self.shrinking:
                return 0
            most = max(most - self.added[s], 0)
        self.active += 1
        K.score(&self.layout.c, self.w, 1.0, sent, lat)
        n = search_nbest(self.search, lat, self.n, 0, 1)
        if n == 0:
            raise ImpossibleError(IMPOSSIBLE)
        missing = <double*>arena_reserve(self, &self.room, <int64_t>n * (n + 2), sizeof(double))
        worst = self.margins(sent, n, missing)
        loss[0] += sent.weight * worst
        wrong = differing(self.search.labels, sent)
        self.wrong += wrong
        self.flawed += wrong > 0
        if self.shrinking:
            self.right[s] = 0 if wrong else self.right[s] + 1
        if worst > 0:
            self.differences.compare(&self.layout.c, sent, self.search.labels, n)
            self.differences.products(missing + 2 * n)
            hildreth(n, missing + 2 * n, missing, most, missing + n)
            if self.shrinking:
                self.note_added(n, missing + n, most, worst)
            self.take_step(missing + n)

    cdef void note_added(self, int n, const double* a, double most, double worst) noexcept nogil:
        """Count a step towards the limit C of its sequence."""
        cdef double sum = 0
        cdef int k
        for k in range(n):
            sum += a[k]
        self.added[self.sequence] += sum
        if sum >= most:
            self.bounded += 1
        else:
            self.violation = max(self.violation, worst)

    cdef double margins(self, const SentenceC* sent, int n, double* missing) noexcept nogil:
        """What the margin of each candidate lacks; returns the largest."""
        cdef:
            double true = lattice_path_score(&self.lattice.c, sent.label), worst = 0, lead
            int64_t k, wrong
        for k in range(n):
            wrong = differing(self.search.labels + k * sent.T, sent)
            lead = self.search.scores[k] - true
            missing[k] = wrong + (-lead if self.shrinking else lead) if wrong else 0
            worst = max(worst, missing[k])
        return worst

    cdef void take_step(self, const double* a) noexcept nogil:
        """w += sum_k a[k] d_k."""
        cdef:
            const FeatureC* features = self.differences.features
            const double* values = self.differences.values
            int64_t f, k, n = self.differences.n
            double by
        for f in range(self.differences.size):
            by = 0
            for k in range(n):
                by += a[k] * values[f * n + k]
            if by != 0:
                change(self.w, self.u, self.steps, features[f].cell, by)
                lattice_follow(&self.lattice.c, &self.layout.c, self.w, features[f].cell)

    cdef int begin_pass(self) except -1:
        cdef int64_t k
        self.active = self.bounded = self.wrong = self.flawed = 0
        self.violation = 0
        if self.shrinking:
            for k in range(self.data.c.n_seq):
                self.sequences[k] = <int32_t>k

    cdef int end_pass(self) except -1:
        if not self.shrinking or self.interrupted:
            return 0
        self.quiet = 0 if self.violation > 0 else self.quiet + 1
        if self.quiet:
            memset(self.right, 0, self.data.c.n_seq * sizeof(int32_t))
        if self.quiet == 2:
            self.converged = "no sequence asks for more (--shrinking)"

    def measures(self) -> dict:
        """The fields of a pass: the errors met, and with shrinking how far training has come."""
        record = accuracies(self.wrong, self.data.c.n_tok, self.flawed, self.data.c.n_seq) if self.options.train_accuracy else {}
        if self.shrinking:
            record.update(
                active_sequences=self.active,
                bounded_sequences=self.bounded,
                squared_norm=K.dot_floats(self.layout.c.n_cells, self.w, self.w),
                violation=self.violation,
            )
        return record

    cdef dict vectors(self):
        found = AveragedTrainer.vectors(self)
        if self.shrinking:
            found.update(added=vector(self, "d", self.added, self.data.c.n_seq), right=vector(self, "i", self.right, self.data.c.n_seq))
        return found

    def restore(self, dict state):
        AveragedTrainer.restore(self, state)
        if not 0 <= self.quiet <= 2:
            raise ValueError("quiet: passes that are not possible")
