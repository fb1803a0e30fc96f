"""How many labels of a data set the weights of a running training get wrong."""

from libc.stdint cimport int64_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.lattice.lattice cimport Lattice, lattice_load_weights, recursions_of
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport SentenceC, dataset_sentence, weight_t
from crfkit.memory cimport Arena, BufferC, arena_reserve
from crfkit.weights.layout cimport Layout

from crfkit.parallel import in_order

cdef enum:
    AT_ONCE = 256  # sequences


cdef class _Counter(Arena):
    """The scratch of one thread."""

    cdef Lattice lattice
    cdef BufferC labels

    cdef int count(self, Dataset data, Layout layout, const weight_t* w, int64_t first, int64_t last, int64_t* wrong) except -1 nogil:
        """Add the wrong labels and the sequences with one to the two counts."""
        cdef SentenceC sent
        cdef int64_t s, t, missed
        cdef uint16_t* found
        for s in range(first, last):
            sent = dataset_sentence(&data.c, s)
            if sent.T == 0:
                continue
            arena_reserve(self, &self.labels, sent.T, sizeof(uint16_t))
            found = <uint16_t*>self.labels.data
            self.lattice.reserve(&layout.c, &sent)
            K.score(&layout.c, w, 1.0, &sent, &self.lattice.c)
            K.viterbi(&self.lattice.c, found)
            missed = 0
            for t in range(sent.T):
                missed += found[t] != sent.label[t]
            wrong[0] += missed
            wrong[1] += missed > 0
        return 0


def mistakes(Dataset data not None, Layout layout not None, const float[::1] weights not None, int threads=1):
    """(tokens, sequences) whose labels the weights get wrong."""
    if weights.shape[0] != layout.c.n_cells or not layout.c.n_cells:
        raise ValueError("weights of another layout")
    found = list(in_order(lambda first: _some(data, layout, weights, first), range(0, data.c.n_seq, AT_ONCE), threads))
    return sum(tokens for tokens, _ in found), sum(sequences for _, sequences in found)


cdef _some(Dataset data, Layout layout, const float[::1] weights, int64_t first):
    """Those of some sequences."""
    cdef const weight_t* w = &weights[0]
    cdef int64_t[2] wrong
    cdef _Counter counter = _Counter()
    wrong[0] = wrong[1] = 0
    counter.lattice = Lattice(layout.c.L)
    lattice_load_weights(&counter.lattice.c, &layout.c, w, 1.0)
    counter.lattice.list_pairs(recursions_of("auto"))
    with nogil:
        counter.count(data, layout, w, first, min(first + AT_ONCE, data.c.n_seq), wrong)
    return wrong[0], wrong[1]
