"""Label-pair matrices that are mostly zero, as lists, and when the recursions had better work on these.

The loops stand in loops/simd/sparse.inc. A lattice with a list of the active pairs among its shared edge scores uses it at all
positions that share these, and makes lists for positions with edge scores of their own where those are short. All that the
recursions leave there means what it means after the loops over all pairs; paths are the same to the last bit.
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.string cimport memset

from crfkit.loops.kernels cimport K
from .lattice cimport EXPECTED, IMPOSSIBLE, SCORED, Lattice, lattice_load_weights
from crfkit.memory cimport BufferC, buffer_free, buffer_reserve
from crfkit.loops.structs cimport PairC
from crfkit.errors import ImpossibleError


cdef Recursions recursions_of(str name) except *:
    return {"auto": AUTO, "sparse": SPARSE, "dense": DENSE}[name]


cdef int64_t most_pairs(int64_t L, Recursions recursions) noexcept nogil:
    """Up to how many active pairs lists are faster than matrices; -1: they never are.

    Measured by benchmarks/sparse_threshold.py. Up to some eighty labels a matrix fits into the first-level cache, and only
    very short lists are faster. Beyond that forward-backward and Viterbi both are with up to 9 % of all pairs.
    """
    if recursions == SPARSE:
        return L * L
    if recursions == DENSE or L < 48:
        return -1
    return L * L // (32 if L < 88 else 11)


cdef class SparseEdges:
    """The pairs with a weight of one matrix of edge scores."""

    def __dealloc__(self):
        buffer_free(&self.index)
        buffer_free(&self.pairs)
        buffer_free(&self.counted)

    cdef bint find(self, const LatticeC* lat, const uint8_t* features, Recursions recursions) except -1 nogil:
        """List the active pairs among a lattice's shared edge scores, whose exponentials are there, or, where these are given,
        the pairs that are features; False if a list is not worth it. Again whenever the scores have changed."""
        cdef int64_t most = most_pairs(lat.L, recursions)
        if most < 0:
            return False
        buffer_reserve(&self.pairs, most + 1, sizeof(PairC))
        buffer_reserve(&self.index, 2 * (<int64_t>lat.L + 1) + most, sizeof(int32_t))
        self.c.most = most
        return K.find_pairs(lat, features, &self.c, <PairC*>self.pairs.data, <int32_t*>self.index.data) <= most

    cdef int choose(self, LatticeC* lat, Recursions recursions) except -1 nogil:
        """After the weights have been loaded: whether the lattice works on lists."""
        lat.sparse = &self.c if self.find(lat, NULL, recursions) else NULL
        return 0

    cdef bint count(self, LatticeC* lat, const LayoutC* layout, Recursions recursions) except -1:
        """Let a lattice count the label pairs of the layout's features only, where that is faster than all pairs."""
        cdef int64_t P = layout.P, k, n = 0
        cdef uint16_t* counted
        lat.counted = NULL
        for k in range(layout.L * P):
            n += layout.has_tau and layout.tau_mask[k]
        if n > most_pairs(layout.L, recursions):
            return False
        buffer_reserve(&self.counted, 2 * n + 1, sizeof(uint16_t))
        counted = <uint16_t*>self.counted.data
        lat.counted, lat.n_counted, n = counted, n, 0
        for k in range(layout.L * P):
            if layout.has_tau and layout.tau_mask[k]:
                counted[n], counted[n + 1] = <uint16_t>(k // P), <uint16_t>(k % P)
                n += 2
        return True

    cdef bint follow(self, LatticeC* lat, const LayoutC* layout, Recursions recursions) except -1:
        """For weights that change all the time: let a lattice look at the layout's label pairs only, whatever they weigh, if
        they are few. `K.load_pairs` then takes the place of lattice_load_weights. Without plain label pairs there is nothing
        to load: False, and none are counted."""
        cdef BufferC zeros
        if not self.count(lat, layout, recursions) or not layout.has_tau:
            return False
        memset(&zeros, 0, sizeof(BufferC))
        buffer_reserve(&zeros, layout.n_cells, sizeof(weight_t))
        memset(<weight_t*>zeros.data + layout.tau0, 0, <int64_t>layout.L * layout.P * sizeof(weight_t))
        try:
            lattice_load_weights(lat, layout, <const weight_t*>zeros.data, 1.0)
        finally:
            buffer_free(&zeros)
        self.find(lat, layout.tau_mask, recursions)
        lat.sparse = &self.c
        return True

    def load(self, Lattice lattice not None):
        """Find the active pairs among a lattice's shared edge scores. Again whenever those have changed."""
        lattice.need(SCORED)
        self.find(&lattice.c, NULL, SPARSE)

    @property
    def active(self):
        """Number of label pairs with a weight."""
        return self.c.n

    @property
    def worthwhile(self):
        """Whether the recursions are expected to be faster than those over all pairs."""
        return self.c.n <= most_pairs(self.c.L, AUTO)

    def expect(self, Lattice lattice not None):
        """Lattice.expect by the sparse loops; nodes() and pair(t) of the lattice work as after that."""
        cdef int status
        self.check(lattice)
        lattice.c.sparse = &self.c
        with nogil:
            status = K.forward_backward(&lattice.c)
            if status == 0:
                K.node_marginals(&lattice.c)
        lattice.c.sparse = NULL
        lattice.stage = SCORED if status else EXPECTED
        if status:
            raise ImpossibleError(IMPOSSIBLE)
        return lattice.c.logz

    def viterbi(self, Lattice lattice not None):
        """Lattice.viterbi by the sparse loops."""
        cdef double score
        self.check(lattice)
        labels = lattice.path_buffer()
        lattice.c.sparse = &self.c
        with nogil:
            score = K.viterbi(&lattice.c, labels)
        lattice.c.sparse = NULL
        return lattice.take_path(score)

    cdef int check(self, Lattice lattice) except -1:
        lattice.need(SCORED)
        if self.c.pair == NULL or self.c.L != lattice.c.L:
            raise RuntimeError("call load() with this lattice first")
        return 0
