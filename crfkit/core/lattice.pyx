"""The scratch of one thread: owns the arrays of a LatticeC and lets them grow, never shrink.

The loops themselves stand in simd/*.inc and are called through the table K; here is what may fail (memory, a
sequence without any possible path) and what needs no speed.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from .kernels cimport K
from .memory cimport buffer_free, buffer_reserve
from ..errors import TrainingError


cdef void lattice_load_weights(LatticeC* lat, const LayoutC* layout, const weight_t* w, double scale) noexcept nogil:
    """Shared edge scores and their exponentials. Again whenever label-pair weights have changed."""
    K.load_tau(layout, w, scale, lat)
    K.exp_tau(lat)


cdef int lattice_expect(LatticeC* lat) except -1 nogil:
    """Forward, backward and node marginals of a scored sequence."""
    if K.forward_backward(lat) != 0:
        raise TrainingError("no sequence of labels is possible under the constraints, or a weight is not finite")
    K.node_marginals(lat)
    return 0


cdef double lattice_path_score(const LatticeC* lat, const uint16_t* labels) noexcept nogil:
    """Score of one path of a scored sequence."""
    cdef:
        int64_t matrix = <int64_t>lat.L * lat.P
        double total = lat.score[labels[0]]
        const double* edge
        int32_t t
    for t in range(1, lat.T):
        edge = lat.tau if lat.slot[t] < 0 else lat.edge + lat.slot[t] * matrix
        total += edge[<int64_t>labels[t - 1] * lat.P + labels[t]] + lat.score[<int64_t>t * lat.P + labels[t]]
    return total


cdef void lattice_allow(LatticeC* lat, const uint8_t* allowed) noexcept nogil:
    """After score: labels whose flag in allowed[T][L] is 0 cannot be taken."""
    cdef int64_t t, j
    for t in range(lat.T):
        for j in range(lat.L):
            if not allowed[t * lat.L + j]:
                lat.score[t * lat.P + j] = -INFINITY


cdef void lattice_forbid(LatticeC* lat, const uint8_t* transitions) noexcept nogil:
    """After load_weights: transitions whose flag in transitions[L][L] is 0 cannot be taken.

    Positions with rich edges copy the shared scores, so they inherit this.
    """
    cdef int64_t i, j
    for i in range(lat.L):
        for j in range(lat.L):
            if not transitions[i * lat.L + j]:
                lat.tau[i * lat.P + j] = -INFINITY
                lat.forbidden = 1
    K.exp_tau(lat)


cdef class Lattice:
    """Owner of the arrays of one LatticeC."""

    def __cinit__(self, int32_t labels):
        cdef int64_t matrix
        if not 1 <= labels <= 65535:
            raise ValueError(f"a lattice needs 1 to 65,535 labels, not {labels}")
        self.c.L = labels
        self.c.P = (labels + 7) // 8 * 8
        matrix = <int64_t>self.c.L * self.c.P
        buffer_reserve(&self.matrices, 5 * matrix, sizeof(double))
        self.c.tau = <double*>self.matrices.data
        self.c.etau = self.c.tau + matrix
        self.c.etauT = self.c.etau + matrix
        self.c.outer = self.c.etauT + matrix
        self.c.pair = self.c.outer + matrix
        memset(self.c.outer, 0, 2 * matrix * sizeof(double))

    def __dealloc__(self):
        buffer_free(&self.matrices)
        buffer_free(&self.rows)
        buffer_free(&self.slots)

    cdef int reserve(self, const SentenceC* sent) except -1 nogil:
        """Room for the sequence. Call before score; keeps nothing of the sequence before."""
        cdef:
            LatticeC* lat = &self.c
            int64_t matrix = <int64_t>lat.L * lat.P
            int64_t slots = 0
            int64_t rows = sent.T
            int64_t cells
            int32_t t
        if rows > lat.cap_T:
            rows = max(rows, lat.cap_T + <int64_t>lat.cap_T // 2, 64)
            lat.cap_T = 0
            # six matrices and two vectors of doubles, then the smaller types: every part starts aligned
            rows = (rows + 15) // 16 * 16
            buffer_reserve(&self.rows, rows * (6 * lat.P * 8 + 2 * 8 + 4 + lat.P * 2), 1)
            cells = rows * lat.P
            lat.score = <double*>self.rows.data
            lat.pot = lat.score + cells
            lat.alpha = lat.pot + cells
            lat.beta = lat.alpha + cells
            lat.right = lat.beta + cells
            lat.node = lat.right + cells
            lat.rowmax = lat.node + cells
            lat.inv = lat.rowmax + rows
            lat.slot = <int32_t*>(lat.inv + rows)
            lat.back = <uint16_t*>(lat.slot + rows)
            lat.cap_T = <int32_t>rows
        if sent.b_ptr != NULL:
            for t in range(1, sent.T):
                slots += sent.b_ptr[t + 1] > sent.b_ptr[t]
        if slots > lat.cap_slots:
            slots = max(slots, lat.cap_slots + <int64_t>lat.cap_slots // 2, 16)
            lat.cap_slots = 0
            buffer_reserve(&self.slots, slots * (2 * matrix + 1), sizeof(double))
            lat.edge = <double*>self.slots.data
            lat.eedge = lat.edge + slots * matrix
            lat.edgemax = lat.eedge + slots * matrix
            lat.cap_slots = <int32_t>slots
        return 0
