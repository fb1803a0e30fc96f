"""CRFsuite's stochastic gradient descent: `sgd` with a rate that falls at each step, and CRFsuite's way to its first rate.

It differs from `sgd` in little: weights shrink before a sequence is scored, not afterwards, and sequences come in the order of
CRFsuite, where rand() is that of glibc.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_expect, lattice_load_weights, lattice_path_score
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport BufferC, arena_reserve
from crfkit.loops.structs cimport LatticeC, SentenceC, weight_t
from .glibc cimport GlibcC, glibc_seed, glibc_shuffle
from .scaled cimport ScaledTrainer

from crfkit.errors import TrainingError


cdef class CrfsuiteSgd(ScaledTrainer):
    """Options: those of sgd, with a rate, and a decay of 0. The loss is the negative log-likelihood met on the way."""
    cdef BufferC drawn          # the order of the last pass, as far as rand() is concerned
    cdef GlibcC dice

    def __init__(self, Dataset data, Layout layout, options, **unused):
        cdef int64_t k
        ScaledTrainer.__init__(self, data, layout, options)
        arena_reserve(self, &self.drawn, data.c.n_seq + 1, sizeof(int32_t))
        for k in range(data.c.n_seq):
            (<int32_t*>self.drawn.data)[k] = <int32_t>k
        glibc_seed(&self.dice)

    def calibrate(self, double factor, int64_t samples, int64_t candidates, int64_t most):
        """Find the first rate: go up by this factor from the rate of the options as long as a pass over a sample helps, then down
        from there, until so many candidates have helped or so many trials are made. Yields each rate with its loss, and whether that
        is less than at first; before all others the first loss, with a rate of 0."""
        cdef:
            int64_t n = min(self.data.c.n_seq, max(samples, 0)), left = candidates, trials = 1
            double rate = self.rate0, best = self.rate0, first, loss, best_loss = float("inf")
            bint down = False
        glibc_shuffle(&self.dice, <int32_t*>self.drawn.data, self.data.c.n_seq)
        first = self.nll(self.w, 1.0, <const int32_t*>self.drawn.data, n)
        yield 0.0, first, True
        while left > 0 or not down:
            loss = self.trial(rate, n)
            yield rate, loss, loss < first
            if loss < best_loss:
                best, best_loss = rate, loss
            left -= loss < first
            if down:
                rate /= factor
            elif loss < first and left > 0:
                rate *= factor
            else:
                down, left, rate = True, candidates, <double>self.options.rate / factor
            trials += 1
            if trials >= most:
                break
        self.begin_anew(best)

    cdef int begin_anew(self, double rate) except -1:
        memset(self.w, 0, self.layout.c.n_cells * sizeof(weight_t))
        self.steps, self.pairs_known = 0, False
        return self.begin_trial(rate, 0)

    cdef double trial(self, double rate, int64_t n) except? -1:
        """The loss with its penalty, on the way through the sample."""
        cdef double loss = 0, norm
        cdef int64_t k
        self.begin_anew(rate)
        try:
            with nogil:
                for k in range(n):
                    self.update(<const int32_t*>self.drawn.data + k, 1, &loss)
        except TrainingError:
            return float("inf")         # weights without bounds
        self.fold_scale()
        norm = K.dot_floats(self.layout.c.n_cells, self.w, self.w)
        return loss + 0.5 * self.penalty * n * norm

    cdef int begin_pass(self) except -1:
        cdef int64_t n = self.data.c.n_seq
        glibc_shuffle(&self.dice, <int32_t*>self.drawn.data, n)
        memcpy(self.order.data, self.drawn.data, n * sizeof(int32_t))
        return 0

    cdef int begin_update(self) except -1 nogil:
        ScaledTrainer.begin_update(self)
        self.shrink()
        return 0

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef LatticeC* lat = &self.lattice.c
        lattice_load_weights(lat, &self.layout.c, self.w, self.scale)
        K.score(&self.layout.c, self.w, self.scale, sent, lat)
        lattice_expect(lat)
        loss[0] += sent.weight * (lat.logz - lattice_path_score(lat, sent.label))
        self.learn(sent, sent.weight * self.rate / self.scale)
        return 0
