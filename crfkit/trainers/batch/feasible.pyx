"""A bound on the objective with an L1 penalty, from the dual variables of an ascent (proximal.pyx).

Each sequence i has a distribution mu_i over its paths, of entropy at least e_i. Let D_f be the weighted sum over all sequences of the
expected value of feature f under mu_i minus the observed one, and e = sum_i weight_i e_i. Then for all weights (Fenchel, Young)

    objective(w) >= e - sum_f max(|D_f| - l1, 0) |w_f| + l2/2 |w|^2.

So e is a bound if no |D_f| exceeds l1, and with an L2 penalty e - sum_f max(|D_f| - l1, 0)^2 / (2 l2) is one in any case.

Where some |D_f| do exceed l1, other distributions are needed. A mixture of distributions has mixed expectations and, as entropy is
concave, at least the mixed entropies. Two mixtures are made. First, of the points that an ascent visits: its steps are random, so
that the D_f of frequent features vary from point to point, and much less in their mean. Then with the observed paths, which have
e = 0 and D = 0: the bound is

    scale e,   scale = min(1, l1 / max_f |D_f|).
"""

from libc.stdint cimport int32_t, int64_t

from crfkit.loops.numbers cimport fabs, fmax
from crfkit.loops.structs cimport DualC, LayoutC, SentenceC, dataset_sentence
from crfkit.memory cimport Arena, arena_zeros, memset, restore_vectors, vector
from crfkit.weights.cells cimport feature_cell
from .proximal cimport Proximal
from .quasinewton cimport dual_objective

cdef enum:
    PARTS = 16              # shares of a new point in the mixture that are tried


cdef class Feasible(Arena):
    cdef:
        Proximal ascent
        double l1, l2           # penalties
        double* sum             # by feature: expected minus observed values over all sequences
        double* mean            # the same for a mixture of the points seen so far, and
        double mixed            # a lower bound of its entropy

    def __cinit__(self, Proximal ascent not None):
        cdef int64_t n = ascent.layout.c.n_cells
        self.ascent = ascent
        self.sum, self.mean = <double*>arena_zeros(self, n, sizeof(double)), <double*>arena_zeros(self, n, sizeof(double))

    def forget(self) -> None:
        """The penalty, and so the dual variables, have changed."""
        self.mixed = 0
        memset(self.mean, 0, self.ascent.layout.c.n_cells * sizeof(double))

    cdef dict vectors(self):
        """As of `Trainer`."""
        return {"mean": vector(self, "d", self.mean, self.ascent.layout.c.n_cells)}

    def state(self) -> dict:
        """As of `Trainer`."""
        return {**self.vectors(), "mixed": self.mixed}

    def restore(self, dict state) -> None:
        """As of `Trainer`."""
        restore_vectors(state, self.vectors())
        self.mixed = state["mixed"]

    def bound(self, double l1, double l2) -> float:
        """A lower bound of the objective with these penalties."""
        cdef:
            int64_t k
            int i
            double entropy, best = 0, part = 0, found
        self.l1, self.l2 = l1, l2
        with nogil:
            entropy = self.add_up()
            self.ascent.correct(self.sum)
            for i in range(PARTS + 1):
                found = self.mixture(<double>i / PARTS, entropy)
                if found > best:
                    best, part = found, <double>i / PARTS
            for k in range(self.ascent.layout.c.n_cells):
                self.mean[k] += part * (self.sum[k] - self.mean[k])
            self.mixed += part * (entropy - self.mixed)
        self.ascent.screen()
        return best

    cdef double mixture(self, double part, double entropy) noexcept nogil:
        """The bound, with this share of the new point."""
        cdef:
            int64_t k
            double most = 0, excess = 0, size
        for k in range(self.ascent.layout.c.n_cells):
            size = fabs(self.mean[k] + part * (self.sum[k] - self.mean[k]))
            if size > self.l1:
                most = fmax(most, size)
                excess += (size - self.l1) ** 2
        return dual_objective(self.mixed + part * (entropy - self.mixed), self.l1, self.l2, most, excess)

    cdef double add_up(self) noexcept nogil:
        """The sums of all features; the entropy."""
        cdef:
            const LayoutC* c = &self.ascent.layout.c
            SentenceC sent
            DualC dual
            int64_t s, u, f, k
            int32_t t, a
            double x, entropy = 0
            const float* node
            const float* rich
        memset(self.sum, 0, c.n_cells * sizeof(double))
        for s in range(self.ascent.data.c.n_seq):
            sent, dual = dataset_sentence(&self.ascent.data.c, s), self.ascent.dual_of(s)
            rich = dual.rich
            entropy += sent.weight * self.ascent.entropy[s]
            for t in range(sent.T):
                node = dual.node + <int64_t>t * c.P
                for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
                    a = sent.u_id[u]
                    x = sent.weight * (sent.u_val[u] if sent.u_val != NULL else 1)
                    for f in range(c.u_ptr[a], c.u_ptr[a + 1]):
                        self.sum[feature_cell(c, a, f)] += x * node[c.u_label[f]]
                if t == 0 or sent.b_ptr == NULL:
                    continue
                for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                    for f in range(c.b_ptr[sent.b_id[u]], c.b_ptr[sent.b_id[u] + 1]):
                        self.sum[c.rich0 + f] += sent.weight * rich[0]
                        rich += 1
            for k in range(c.n_pairs):
                self.sum[c.tau0 + dual.pair_cell[k]] += sent.weight * dual.pair[k]
        return entropy
