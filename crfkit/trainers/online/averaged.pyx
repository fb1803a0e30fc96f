"""Trainers that can average their weights over all steps.

The average costs nothing at steps that do not touch a weight: with c the number of the step, u += c * change is kept
beside w += change, and the average after n steps is w - u / n.
"""

from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.lattice.lattice cimport recursions_of
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport arena_reserve, memset, take, vector
from crfkit.trainers.stepwise cimport OnlineTrainer


cdef class AveragedTrainer(OnlineTrainer):
    """Options: average. A subclass has a `step` that adds to `u`, if there is one, whatever it adds to `w`, times
    what `instants` says."""

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return OnlineTrainer.bytes_per_cell(options, threads) + 8 * options.average      # the average

    def __cinit__(self, Dataset data, Layout layout, options, str recursions="auto", **unused):
        self.lattice.list_features(&layout.c, recursions_of(recursions))
        if options.average:
            arena_reserve(self, &self.late, layout.c.n_cells + 1, sizeof(double))
            self.u = <double*>self.late.data
            memset(self.u, 0, layout.c.n_cells * sizeof(double))

    cdef int64_t instants(self) noexcept nogil:
        """How many weights the average is of: those after each step, unless a subclass counts otherwise."""
        return self.steps

    def state(self):
        state = OnlineTrainer.state(self)
        if self.u != NULL:
            state["late"] = vector(self, "d", self.u, self.layout.c.n_cells)
        return state

    def restore(self, dict state):
        OnlineTrainer.restore(self, state)
        if self.u != NULL:
            take(state, "late", "d", self.u, self.layout.c.n_cells)

    def weights(self):
        """A copy of the weights as they would be stored: the average, or the last ones."""
        cells = OnlineTrainer.weights(self)
        cdef float[::1] view = cells if len(cells) else None
        cdef int64_t k, n = self.instants()
        if self.u != NULL and n:
            for k in range(self.layout.c.n_cells):
                view[k] = <float>(self.w[k] - self.u[k] / n)
        return cells
