"""The objective over data in shards that workers hold: the driver adds up their results.

Gradients are sums of multiples of a quantum (objective.pyx), so they are exact in any order. Losses are reported chunk
by chunk, and added in the order of the chunks. So the sums equal those of one machine to the last bit.
"""

import array

from libc.stdint cimport int64_t, uint8_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.loops.numbers cimport INFINITY
from crfkit.loops.structs cimport DatasetC, LayoutC, weight_t
from crfkit.memory cimport Arena, BufferC, arena_reserve, arena_zeros, array_of, memcpy, memset, vector
from crfkit.threads cimport Threads
from crfkit.weights.cells cimport layout_row, pairs_row
from crfkit.weights.layout cimport Layout
from .objective cimport Objective


cdef class Share(Arena):
    """The data that one worker has, group by group, and their part of the objective."""
    cdef Layout layout
    cdef list groups                # of Objective
    cdef int threads
    cdef bint counts
    cdef BufferC more
    cdef double* g
    cdef weight_t* w

    def __cinit__(self, Layout layout not None, int threads, bint counts):
        cdef int64_t n = layout.c.n_cells
        self.layout, self.threads, self.counts, self.groups = layout, threads, counts, []
        self.w, self.g = <weight_t*>arena_zeros(self, n, sizeof(weight_t)), <double*>arena_zeros(self, n, sizeof(double))

    def add(self, Dataset data not None, **known):
        """Add a group; `known`: what Objective has to know about all data."""
        cdef Objective objective = Objective(data, self.layout, 0.0, self.threads, **known)
        objective.counts = self.counts
        self.groups.append(objective)

    def touched(self, which) -> bytearray:
        """For each cell, whether these groups use its weight. The gradient of all others is zero."""
        cdef:
            const LayoutC* c = &self.layout.c
            const DatasetC* data
            int64_t r, u, first, n
            Objective objective
        cdef uint8_t[::1] used = bytearray(c.n_cells + 1), met = bytearray(pairs_row(c) + 1)
        met[pairs_row(c)] = True
        for number in which:
            objective = self.groups[number]
            data = &objective.data.c
            for u in range(data.u_ptr[data.n_tok]):
                met[data.u_id[u]] = True
            for u in range(data.b_ptr[data.n_tok] if data.b_ptr != NULL else 0):
                met[<int64_t>c.A + data.b_id[u]] = True
        for r in range(met.shape[0]):
            if met[r]:
                n = layout_row(c, r, &first)
                memset(&used[0] + first, 1, n)
        return used.base

    def evaluate(self, const float[::1] weights not None, which, double bound=INFINITY):
        """Evaluate the groups with these numbers at these weights: the losses of the chunks, the gradient, and wrong labels
        and flawed sequences, where these are counted; None if the loss is above the bound, or not finite."""
        cdef:
            Objective objective
            int64_t n = self.layout.c.n_cells, wrong = 0, flawed = 0
            double* g
        if weights.shape[0] != n:
            raise ValueError("weights of another layout")
        if n:
            memcpy(self.w, &weights[0], n * sizeof(weight_t))
        memset(self.g, 0, n * sizeof(double))
        losses = array.array("d")
        for number in which:
            objective = self.groups[number]
            g = self.g
            if len(losses):
                g = <double*>arena_reserve(self, &self.more, n + 1, sizeof(double))
            objective.w, objective.g, objective.bound = self.w, g, bound
            objective.sum_up()
            if objective.given_up:
                return None
            losses.extend(array_of("d", objective.nll, objective.n_chunks))
            wrong += objective.wrong
            flawed += objective.flawed
            if g != self.g:
                K.add(n, self.g, g)
        return losses, vector(self, "d", self.g, n), wrong, flawed


cdef class Sharded(Objective):
    """The objective in the driver. `extent` is as in Objective."""

    def __init__(self, Layout layout not None, double l2, int threads, int64_t tokens, int64_t sequences, extent=None):
        self.only_once()
        self.tokens, self.sequences = tokens, sequences
        self.layout, self.l2, self.bound, self.workers, self.extent = layout, l2, INFINITY, [], extent
        self.pool = Threads(max(threads, 1) - 1)

    def collect(self, weights, double bound):
        """Send out the weights, and pass each gradient that comes back to `add`. The losses of all chunks in their order, wrong labels and flawed
        sequences; None above the bound."""
        raise TypeError(f"{type(self).__name__} does not define who has the data")

    cdef double sum_up(self) except? -1:
        cdef:
            const double[::1] losses
            double total = 0
            int64_t k
        self.given_up = 0
        memset(self.g, 0, self.layout.c.n_cells * sizeof(double))
        found = self.collect(vector(self, "f", self.w, self.layout.c.n_cells), self.bound)
        if found is None:
            self.given_up = 1
            return INFINITY
        losses, self.wrong, self.flawed = found
        for k in range(losses.shape[0]):
            total += losses[k]
        return total

    def add(self, const double[::1] gradient not None, const int64_t[::1] cells not None):
        """Add a gradient of some cells, which ascend (Share.touched), to the sum."""
        cdef int64_t k, last = -1
        for k in range(cells.shape[0]):
            if not last < cells[k] < self.layout.c.n_cells:
                raise ValueError("cells of another layout")
            last = cells[k]
        if gradient.shape[0] != cells.shape[0]:
            raise ValueError("a gradient of other cells")
        if self.g == NULL:
            raise TypeError("a gradient that nobody asked for")
        with nogil:
            for k in range(cells.shape[0]):
                self.g[cells[k]] += gradient[k]
