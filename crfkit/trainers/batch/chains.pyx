"""Forward-backward of every sequence, kept up to date where weights change.

Block coordinate descent comes back to a sequence as often as it has blocks, and each visit needs marginals at a few
positions only. So alpha and beta of all sequences are kept. A change of the potentials at position t leaves alpha
before t and beta from t on as they are; the next visit, at position u, takes the |u - t| steps between, not twice the
length of the sequence. One exponential a weight serves all its positions: potentials are multiplied, not computed.

    refresh   potentials of a sequence from the weights; nothing else is known then
    need      alpha up to a position, beta down to one
    expect    by the lattice, for sequences whose scores lie too far apart for plain products (`wide`)
"""

from libc.math cimport fabs, fmax, isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport Lattice, lattice_expect, lattice_load_weights
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport arena_reserve
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.loops.structs cimport SentenceC, dataset_sentence, weight_t

from .edges cimport Edges
from crfkit.errors import TrainingError

# Logarithms of potentials of a sequence stay within this. Products of a node's and an edge's and what a visit may
# change are far from the ends of double precision then.
cdef double WIDEST = 250


cdef int64_t FETCHED = 192      # numbers of a row, at most
cdef int64_t STEPS_FETCHED = 3  # rows asked for ahead of the one at work


cdef class Chains:
    """For the weights at `w`."""

    def __cinit__(self, Dataset data not None, Layout layout not None, Edges edges not None):
        cdef int64_t n = data.c.n_tok, n_seq = data.c.n_seq, s, t
        self.data, self.layout, self.edges = data, layout, edges
        self.lattice = Lattice(layout.c.L)
        self.P = layout.c.P
        arena_reserve(self, &self.rows, (3 * n + 2) * self.P, sizeof(double))
        self.pot = <double*>self.rows.data
        self.row = 3 * self.P
        self.alpha, self.beta = self.pot + self.P, self.pot + 2 * self.P
        self.right = self.pot + n * self.row
        self.ones = self.right + self.P
        for t in range(self.P):
            self.ones[t] = t < layout.c.L
        arena_reserve(self, &self.tokens, n + 1, sizeof(double) + sizeof(int32_t))
        self.scale = <double*>self.tokens.data
        self.sequence = <int32_t*>(self.scale + n)
        arena_reserve(self, &self.sequences, n_seq + 1, 2 * sizeof(double) + 2 * sizeof(int32_t) + 1)
        self.offset = <double*>self.sequences.data
        self.width = self.offset + n_seq
        self.done_alpha = <int32_t*>(self.width + n_seq)
        self.done_beta = self.done_alpha + n_seq
        self.wide = <uint8_t*>(self.done_beta + n_seq)
        for s in range(n_seq):
            for t in range(data.c.seq_ptr[s], data.c.seq_ptr[s + 1]):
                self.sequence[t] = <int32_t>s
        arena_reserve(self, &self.sizes, <int64_t>layout.c.B + 1, sizeof(double))
        self.edge_size = <double*>self.sizes.data

    cdef int load_edges(self) except -1 nogil:
        """All edge potentials from the weights."""
        cdef int32_t b
        self.edges.w = self.w
        self.edges.load_all()
        for b in range(self.layout.c.B):
            self.measure_rich(b)
        self.edge_width = self.edges.largest
        return 0

    cdef int load_users(self, int32_t b) except -1 nogil:
        """The edge potentials that one rich attribute is part of."""
        self.measure_rich(b)
        self.edges.load_users(b)
        return 0

    cdef void measure_rich(self, int32_t b) noexcept nogil:
        cdef int64_t f
        cdef double most = 0
        for f in range(self.layout.c.b_ptr[b], self.layout.c.b_ptr[b + 1]):
            most = fmax(most, fabs(self.w[self.layout.c.rich0 + f]))
        self.edge_size[b] = most

    cdef int refresh(self, int64_t s) except -1 nogil:
        """Node potentials from the weights."""
        cdef:
            SentenceC sent = dataset_sentence(&self.data.c, s)
            int64_t first = self.data.c.seq_ptr[s], t, u
            double here, most = 0
            double* beta
        self.lattice.c.shared.range = 0
        sent.b_ptr = NULL
        self.lattice.reserve(&self.layout.c, &sent)
        K.score(&self.layout.c, self.w, 1.0, &sent, &self.lattice.c)
        self.width[s] = K.potentials(&self.lattice.c)
        self.offset[s] = 0
        for t in range(sent.T):
            self.offset[s] += self.lattice.c.rowmax[t]
        if self.data.c.b_ptr != NULL and not self.edges.shared:
            for t in range(first + 1, first + sent.T):
                here = 0
                for u in range(self.data.c.b_ptr[t], self.data.c.b_ptr[t + 1]):
                    here += self.edge_size[self.data.c.b_id[u]] * (
                        fabs(self.data.c.b_val[u]) if self.data.c.b_val != NULL else 1)
                most = fmax(most, here)
            self.width[s] += most
        for t in range(sent.T):
            memcpy(self.pot + (first + t) * self.row, self.lattice.c.pot + t * self.P, self.P * sizeof(double))
        self.done_alpha[s] = -1
        self.done_beta[s] = sent.T - 1
        beta = self.beta + (first + sent.T - 1) * self.row
        for t in range(self.P):
            beta[t] = self.ones[t] / self.layout.c.L
        self.wide[s] = not self.width[s] + self.edge_width <= WIDEST
        return 0

    cdef inline void fetch_row(self, int64_t token) noexcept nogil:
        cdef int64_t k
        for k in range(0, min(self.row, FETCHED), 8):
            crfkit_prefetch(self.pot + token * self.row + k)

    cdef void fetch(self, int64_t token) noexcept nogil:
        """Ask for the rows that a visit to this token begins with: sequences of a block lie anywhere in memory."""
        cdef:
            int64_t s = self.sequence[token], begin = self.data.c.seq_ptr[s], at = token - begin, k
        crfkit_prefetch(self.scale + token)
        if at > self.done_alpha[s]:
            for k in range(max(self.done_alpha[s], 0), min(at, self.done_alpha[s] + STEPS_FETCHED) + 1):
                self.fetch_row(begin + k)
        elif at < self.done_beta[s]:
            for k in range(self.done_beta[s], max(at, self.done_beta[s] - STEPS_FETCHED) - 1, -1):
                self.fetch_row(begin + k)
        else:
            self.fetch_row(token)

    cdef int prepare(self, int64_t s) except -1 nogil:
        """Before a visit: potentials of a sequence that have come too near to the ends of the range, from the weights."""
        if not self.wide[s] and not self.width[s] + self.edge_width <= WIDEST:
            self.refresh(s)
        return 0

    cdef int need(self, int64_t s, int32_t first, int32_t last) except -1 nogil:
        """alpha up to position `last`, beta from `first` on."""
        cdef int32_t t
        if self.wide[s]:
            if self.done_alpha[s] < 0:
                self.expect(s)
            return 0
        for t in range(self.done_alpha[s] + 1, last + 1):
            if t + STEPS_FETCHED <= last:
                self.fetch_row(self.data.c.seq_ptr[s] + t + STEPS_FETCHED)
            self.forward(s, t)
        self.done_alpha[s] = max(self.done_alpha[s], last)
        for t in range(self.done_beta[s] - 1, first - 1, -1):
            if t - STEPS_FETCHED >= first:
                self.fetch_row(self.data.c.seq_ptr[s] + t - STEPS_FETCHED)
            self.backward(s, t)
        self.done_beta[s] = min(self.done_beta[s], first)
        return 0

    cdef void forward(self, int64_t s, int32_t t) noexcept nogil:
        """alpha of position t, from that of t - 1."""
        cdef:
            int64_t k = self.data.c.seq_ptr[s] + t
            double* alpha = self.alpha + k * self.row
        self.steps += 1
        self.scale[k] = K.forward_step(<int32_t>self.P, self.edges.of(k) if t > 0 else NULL, alpha - self.row if t > 0 else NULL,
                                       self.pot + k * self.row, alpha)

    cdef void backward(self, int64_t s, int32_t t) noexcept nogil:
        """beta of position t, from that of t + 1."""
        cdef:
            int64_t k = self.data.c.seq_ptr[s] + t + 1
            double* beta = self.beta + k * self.row
        self.steps += 1
        K.backward_step(self.edges.of(k), self.pot + k * self.row, beta, self.right, beta - self.row)

    cdef double log_scales(self, int64_t first, int64_t last) noexcept nogil:
        """Sum of the logarithms of scale over tokens first .. last."""
        cdef double product = 1, total = 0
        cdef int64_t k
        for k in range(first, last + 1):
            if product < 1e-140 or product > 1e140:
                total += K.log(product)
                product = 1
            product *= self.scale[k]
        return total + K.log(product)

    cdef int expect(self, int64_t s) except -1 nogil:
        """A wide sequence in the lattice; its node marginals go to alpha, log Z to offset."""
        cdef:
            SentenceC sent = dataset_sentence(&self.data.c, s)
            int64_t first = self.data.c.seq_ptr[s], t
        lattice_load_weights(&self.lattice.c, &self.layout.c, self.w, 1.0)
        self.lattice.reserve(&self.layout.c, &sent)
        K.score(&self.layout.c, self.w, 1.0, &sent, &self.lattice.c)
        lattice_expect(&self.lattice.c)
        if not isfinite(self.lattice.c.logz):
            with gil:
                raise TrainingError(
                    "the objective is not finite; scale down the values of the features, or raise --l1 or --l2"
                )
        for t in range(sent.T):
            memcpy(self.alpha + (first + t) * self.row, self.lattice.c.node + t * self.P, self.P * sizeof(double))
            memcpy(self.beta + (first + t) * self.row, self.ones, self.P * sizeof(double))
        self.offset[s] = self.lattice.c.logz
        self.done_alpha[s], self.done_beta[s] = sent.T - 1, 0
        self.steps += 2 * sent.T
        return 0

    cdef double log_z(self, int64_t s, int32_t first, int32_t last) noexcept nogil:
        """log Z after `need`, up to what does not depend on the potentials of nodes and steps first .. last."""
        cdef int64_t begin = self.data.c.seq_ptr[s], k = begin + last
        if self.wide[s]:
            return self.offset[s]
        return self.log_scales(begin + first, k) + K.log(K.dot_row(<int32_t>self.P, self.alpha + k * self.row, self.beta + k * self.row))

    cdef int changed(self, int64_t s, int32_t first, int32_t last) except -1 nogil:
        """After a change of potentials of nodes and steps first .. last: alpha up to there again."""
        cdef int32_t t
        if self.wide[s]:
            return self.expect(s)
        for t in range(self.done_alpha[s] + 1, last + 1):
            self.forward(s, t)
        self.done_alpha[s] = self.done_beta[s] = last
        return 0

    cdef double full_log_z(self, int64_t s, bint both) except? -1 nogil:
        """log Z after `refresh`; alpha of all positions, and beta too if `both` are asked for."""
        cdef int64_t begin = self.data.c.seq_ptr[s], end = self.data.c.seq_ptr[s + 1]
        self.need(s, 0 if both else <int32_t>(end - begin - 1), <int32_t>(end - begin - 1))
        return self.offset[s] + (0 if self.wide[s] else self.log_scales(begin, end - 1))
