"""The structured perceptron (Collins, 2002), naive and averaged.

Where the best path differs from the true one, features of the true path gain 1 and those of the other lose 1.

The average over all steps costs nothing at steps that do not touch a weight: with c the number of the step,
u += c * change is kept beside w += change, and the average after n steps is w - u / n.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from crfkit.core.dataset cimport Dataset
from crfkit.core.kernels cimport K
from crfkit.core.layout cimport Layout, layout_cell, layout_rich_cell
from crfkit.core.memory cimport BufferC, buffer_free, buffer_reserve
from crfkit.core.structs cimport LatticeC, SentenceC
from crfkit.trainers.base cimport OnlineTrainer


cdef class Perceptron(OnlineTrainer):
    """Options: average (crfkit.options.Perceptron). The loss is the number of wrong labels."""
    cdef BufferC best, late
    cdef double* u
    cdef bint average

    def __init__(self, Dataset data, Layout layout, options, **unused):
        buffer_reserve(&self.best, data.c.longest + 1, sizeof(uint16_t))
        self.average = options.average
        if self.average:
            buffer_reserve(&self.late, layout.c.n_cells + 1, sizeof(double))
            self.u = <double*>self.late.data
            memset(self.u, 0, layout.c.n_cells * sizeof(double))

    def __dealloc__(self):
        buffer_free(&self.best)
        buffer_free(&self.late)

    cdef void change(self, int64_t cell, double by) noexcept nogil:
        if cell >= 0:
            self.w[cell] += <float>by
            if self.average:
                self.u[cell] += by * self.steps

    cdef void change_path(self, const SentenceC* sent, const uint16_t* other, const uint16_t* labels,
                          double by) noexcept nogil:
        """The features of a path, where it differs from the other one."""
        cdef:
            int32_t t
            int64_t u
        for t in range(sent.T):
            if labels[t] != other[t]:
                for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
                    self.change(layout_cell(&self.layout.c, sent.u_id[u], labels[t]),
                                by * (sent.u_val[u] if sent.u_val != NULL else 1.0))
            if t > 0 and (labels[t] != other[t] or labels[t - 1] != other[t - 1]):
                if self.layout.c.has_tau:
                    self.change(self.layout.c.tau0 + <int64_t>labels[t - 1] * self.layout.c.P + labels[t]
                                if self.layout.c.tau_mask[labels[t - 1] * self.layout.c.P + labels[t]] else -1, by)
                if sent.b_ptr != NULL:
                    for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                        self.change(layout_rich_cell(&self.layout.c, sent.b_id[u], labels[t - 1], labels[t]),
                                    by * (sent.b_val[u] if sent.b_val != NULL else 1.0))

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            uint16_t* best = <uint16_t*>self.best.data
            int32_t t, wrong = 0
        K.score(&self.layout.c, self.w, 1.0, sent, lat)
        K.viterbi(lat, best)
        for t in range(sent.T):
            wrong += best[t] != sent.label[t]
        if wrong:
            self.change_path(sent, best, sent.label, sent.weight)
            self.change_path(sent, sent.label, best, -sent.weight)
            K.load_tau(&self.layout.c, self.w, 1.0, lat)
        loss[0] += wrong
        return 0

    cdef int begin_pass(self) except -1:
        K.load_tau(&self.layout.c, self.w, 1.0, &self.lattice.c)
        return 0

    def weights(self):
        cells = OnlineTrainer.weights(self)
        cdef float[::1] view = cells if len(cells) else None
        cdef int64_t k
        if self.average and self.steps:
            for k in range(self.layout.c.n_cells):
                view[k] = <float>(self.w[k] - self.u[k] / self.steps)
        return cells
