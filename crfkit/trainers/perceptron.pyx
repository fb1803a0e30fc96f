"""The structured perceptron (Collins, 2002), naive and averaged.

Where the best path differs from the true one, features of the true path gain 1 and those of the other lose 1.

The average over all steps costs nothing at steps that do not touch a weight: with c the number of the step,
u += c * change is kept beside w += change, and the average after n steps is w - u / n.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from crfkit.core.dataset cimport Dataset
from crfkit.core.kernels cimport K
from crfkit.core.layout cimport Layout
from crfkit.core.memory cimport BufferC, buffer_free, buffer_reserve
from crfkit.core.structs cimport LatticeC, SentenceC
from crfkit.trainers.base cimport OnlineTrainer, take, vector
from crfkit.trainers.paths cimport PathsC, follow_paths, paths_free, paths_reserve


cdef class Perceptron(OnlineTrainer):
    """Options: average (crfkit.options.Perceptron). The loss is the number of wrong labels."""
    cdef BufferC best, late
    cdef PathsC paths
    cdef double* u          # NULL when there is no averaging
    cdef bint average

    def __init__(self, Dataset data, Layout layout, options, **unused):
        buffer_reserve(&self.best, data.c.longest + 1, sizeof(uint16_t))
        paths_reserve(&self.paths, &layout.c, 1)
        self.average = options.average
        if self.average:
            buffer_reserve(&self.late, layout.c.n_cells + 1, sizeof(double))
            self.u = <double*>self.late.data
            memset(self.u, 0, layout.c.n_cells * sizeof(double))

    def __dealloc__(self):
        buffer_free(&self.best)
        paths_free(&self.paths)
        buffer_free(&self.late)

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            uint16_t* best = <uint16_t*>self.best.data
            int32_t t, wrong = 0
            double certain = 1
        K.score(&self.layout.c, self.w, 1.0, sent, lat)
        K.viterbi(lat, best)
        for t in range(sent.T):
            wrong += best[t] != sent.label[t]
        if wrong:
            follow_paths(&self.paths, &self.layout.c, sent, best, &certain, 1, sent.weight, self.w, self.u, self.steps)
            K.load_tau(&self.layout.c, self.w, 1.0, lat)
        loss[0] += wrong
        return 0

    cdef int begin_pass(self) except -1:
        K.load_tau(&self.layout.c, self.w, 1.0, &self.lattice.c)
        return 0

    def state(self):
        state = OnlineTrainer.state(self)
        if self.average:
            state["late"] = vector(self, "d", self.u, self.layout.c.n_cells)
        return state

    def restore(self, dict state):
        OnlineTrainer.restore(self, state)
        if self.average:
            take(state, "late", "d", self.u, self.layout.c.n_cells)

    def weights(self):
        cells = OnlineTrainer.weights(self)
        cdef float[::1] view = cells if len(cells) else None
        cdef int64_t k
        if self.average and self.steps:
            for k in range(self.layout.c.n_cells):
                view[k] = <float>(self.w[k] - self.u[k] / self.steps)
        return cells
