"""MIRA, the margin-infused relaxed algorithm (Crammer and Singer 2003; McDonald et al. 2005), with one or n candidates.

Each step makes the smallest change to the weights after which the true path outscores each of the n best paths by a
margin, the number of wrong labels in that path; a path that would cost more than C (--aggressiveness) is let off:

    minimise |w' - w|^2 / 2 + C sum_k slack_k     subject to     w' d_k >= wrong_k - slack_k

where d_k are the features of the true path minus those of path k. So w' = w + sum_k a_k d_k with 0 <= a_k <= C, and
the a_k are found by Hildreth's algorithm: each in turn gets the value that is best while the others stay, until none
moves. With one candidate that is a_1 = (wrong_1 - w d_1) / |d_1|^2, within these limits. The instance weight of a
sequence multiplies its C.
"""

from libc.stdint cimport int32_t, int64_t
from libc.math cimport fabs
from libc.string cimport memset

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport IMPOSSIBLE, lattice_path_score
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport BufferC, arena_reserve
from crfkit.decode.nbest cimport NBest, search_nbest
from crfkit.loops.structs cimport LatticeC, SentenceC, weight_t
from .averaged cimport AveragedTrainer
from .differences cimport Differences, FeatureC

from crfkit.errors import ImpossibleError

cdef enum:
    MOST_SWEEPS = 10000     # over all candidates: a bound on time, hardly ever met

cdef double PRECISION = 1e-7    # a margin that moves less than that, in wrong labels, stands still


cdef void hildreth(int64_t n, const double* products, double* missing, double most, double* a) noexcept nogil:
    """The a with 0 <= a[k] <= most that maximise a . missing - |sum_k a[k] d_k|^2 / 2, from all inner products of the d.

    On return missing[k] is what margin k still lacks. Where d_k = 0 no step helps, and a[k] = 0.
    """
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
    """Options: nbest, aggressiveness, average (crfkit.options.Mira).

    The loss is what the margin met first lacks most: the largest wrong_k - w d_k among the candidates, if positive.
    """
    cdef NBest search
    cdef Differences differences
    cdef BufferC numbers
    cdef int n
    cdef double most

    def __cinit__(self, Dataset data, Layout layout, options, **unused):
        self.search, self.differences = NBest(), Differences()
        self.n, self.most = options.nbest, options.aggressiveness

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            double worst = 0
            double* missing
            int n
        K.score(&self.layout.c, self.w, 1.0, sent, lat)
        n = search_nbest(self.search, lat, self.n, 0, 1)
        if n == 0:
            raise ImpossibleError(IMPOSSIBLE)
        arena_reserve(self, &self.numbers, <int64_t>n * (n + 2), sizeof(double))
        missing = <double*>self.numbers.data
        worst = self.margins(sent, n, missing)
        loss[0] += sent.weight * worst
        if worst > 0:
            self.differences.take(&self.layout.c, sent, self.search.labels, n)
            self.differences.products(missing + 2 * n)
            hildreth(n, missing + 2 * n, missing, self.most * sent.weight, missing + n)
            self.change(missing + n)
            K.load_tau(&self.layout.c, self.w, 1.0, lat)
        return 0

    cdef double margins(self, const SentenceC* sent, int n, double* missing) noexcept nogil:
        """What the margin of each candidate lacks, and the most of it."""
        cdef:
            double true = lattice_path_score(&self.lattice.c, sent.label), worst = 0
            int32_t t, k, wrong
        for k in range(n):
            wrong = 0
            for t in range(sent.T):
                wrong += self.search.labels[<int64_t>k * sent.T + t] != sent.label[t]
            missing[k] = wrong - (true - self.search.scores[k]) if wrong else 0
            worst = max(worst, missing[k])
        return worst

    cdef void change(self, const double* a) noexcept nogil:
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
                self.w[features[f].cell] += <weight_t>by
                if self.u != NULL:
                    self.u[features[f].cell] += by * self.steps

    cdef int begin_pass(self) except -1:
        K.load_tau(&self.layout.c, self.w, 1.0, &self.lattice.c)
        return 0
