"""AROW, adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009), for sequences.

Each step minimises the divergence from the distribution before it, plus 1/(2r) of the squared hinge loss
max(0, 1 - m)^2, plus 1/(2r) of the variance v of the margin. Over diagonal covariances that is

    a = (1 - m) / (v + r)          g = 1 / r

The margin is a soft constraint, so one noisy sequence does less harm than with CW, and variances
fall at the same pace whatever the margin. Instance weights divide r.

The best r differs by a factor of a thousand between corpora. If none is given, a few are tried on a sample.
"""

from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport memset
from crfkit.data.dataset cimport Dataset
from crfkit.data.ordered cimport sentence_at
from crfkit.decode.nbest cimport search_best
from crfkit.lattice.lattice cimport IMPOSSIBLE, lattice_load_scores
from crfkit.loops.numbers cimport INFINITY, sqrt
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport SentenceC, weight_t
from crfkit.threads cimport PyErr_CheckSignals
from crfkit.trainers.base cimport differing
from crfkit.weights.layout cimport Layout
from .confidence cimport ConfidenceTrainer

from crfkit.errors import ImpossibleError, TrainingError

cdef enum:
    SAMPLES = 2000          # sequences on which candidates are tried
    ROUNDS = 6              # passes over one half; the other half is held out

cdef double USUAL = 30


cdef class Arow(ConfidenceTrainer):
    """Options: regularization, average (crfkit.options.Arow). The loss is the sum of the hinge losses."""
    cdef public double r

    numbers = ConfidenceTrainer.numbers + ("r",)

    def __init__(self, Dataset data, Layout layout, options, initial=None, **unused):
        self.r = options.regularization or self.best_r(initial)

    cdef double lacking(self, double margin, double variance) noexcept nogil:
        return 1 - margin

    cdef void solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil:
        by[0] = (1 - margin) / (variance + self.r / weight)
        gain[0] = weight / self.r

    def chosen(self):
        return {} if self.options.regularization else {"regularization": self.r}

    # ------------------------------------------------------------------------------------------ trials

    cdef double best_r(self, initial) except -1:
        """The r with the fewest wrong labels on held-out halves of a sample, or the usual one if it is not clearly worse."""
        cdef:
            int64_t n = min(self.data.c.n_seq, SAMPLES)
            int32_t[2 * SAMPLES] sample
            double best = USUAL, wrong, usual, fewest
        self.draw_sample(sample, n)
        usual = fewest = self.wrong_labels(USUAL, initial, sample, n)
        for r in (3.0, 300.0, 3000.0):
            wrong = self.wrong_labels(r, initial, sample, n)
            if wrong < fewest and wrong + sqrt(wrong) / 2 < usual:
                best, fewest = r, wrong
        self.begin_anew(initial)
        return best

    cdef double wrong_labels(self, double r, initial, const int32_t* sample, int64_t n) except -1:
        """Wrong labels on one half of a sample after training on the other, both ways."""
        cdef:
            int64_t half, first, last, wrong = 0
            double loss = 0
            const float[::1] learned
        self.r = r
        for half in range(2):
            first, last = n * half // 2, n * (half + 1) // 2
            self.begin_anew(initial)
            try:
                for _ in range(ROUNDS):
                    PyErr_CheckSignals()
                    with nogil:
                        self.learn_from(sample + last, n - last + first, &loss)
                learned = self.weights()
                wrong += self.wrong_with(&learned[0], sample + first, last - first)
            except TrainingError:
                return INFINITY         # training diverges
        return wrong

    cdef int begin_anew(self, start) except -1:
        ConfidenceTrainer.begin_anew(self, start)
        if self.u != NULL:
            memset(self.u, 0, self.layout.c.n_cells * sizeof(double))
        self.forget()
        return 0

    cdef int64_t wrong_with(self, const weight_t* w, const int32_t* which, int64_t n) except -1:
        """How many labels of some sequences are wrong with these weights."""
        cdef:
            int64_t k, wrong = 0
            SentenceC sent
        lattice_load_scores(&self.lattice.c, &self.layout.c, w)
        with nogil:
            for k in range(n):
                sent = sentence_at(self.ordered, self.data, which + k)
                self.lattice.reserve(&self.layout.c, &sent)
                K.score(&self.layout.c, w, 1.0, &sent, &self.lattice.c)
                if search_best(self.search, &self.lattice.c) == 0:
                    raise ImpossibleError(IMPOSSIBLE)
                wrong += differing(self.search.labels, &sent)
        return wrong
