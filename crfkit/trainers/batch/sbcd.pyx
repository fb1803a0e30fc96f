"""Sparse block coordinate descent (Lavergne, Cappe and Yvon 2010) for

    F(w) = NLL(w) + l1 |w|_1 + l2/2 |w|^2.

A block is all weights of one attribute: those of a unigram attribute with its labels, of a rich bigram attribute with
its label pairs, or the weights of plain label pairs. No visit to a block raises F (blocks.pyx).

A pass visits the active weights, which are not zero or have |g| > l1, and only blocks that contain any. Between passes a
full sweep, one forward-backward over all sequences, finds these. It also shows when F is at its minimum.

Weights of correlated attributes, such as a word and a pair of words, change slowly, in the same direction pass after pass.
So after its blocks a pass extrapolates along the line from the end of the previous pass's blocks to the end of its own,
doubling the step as long as F falls.
"""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport arena_zeros, memcpy, memset, vector
from crfkit.loops.numbers cimport fabs, fmax, isfinite, sqrt
from crfkit.loops.structs cimport weight_of, weight_t
from crfkit.trainers.base cimport Trainer, not_finite
from .blocks cimport Blocks, soft
from .chains cimport Chains
from .edges cimport Edges
from .quasinewton cimport dual_objective

from collections import deque

MANY = 200_000      # attributes of all tokens: training takes ten seconds or more

cdef enum:
    WORK_BETWEEN_SIGNALS = 100_000
    # Plain label pairs occur everywhere and interact with everything: visiting them more often halves the number of passes.
    VISITS_OF_PAIRS = 4

# How far a pass extrapolates, relative to that line. It first tries what the last pass did, or half.
cdef double LEAST_STRIDE = 0.5, MOST_STRIDE = 64


cdef class Sbcd(Trainer):
    """Options: l1, l2, max_iter, kappa, epsilon, delta, period, recursions (crfkit.options.Sbcd)."""
    cdef:
        readonly Chains chains
        Blocks blocks
        weight_t* end                   # [n_cells] the weights after the blocks of a pass
        weight_t* before                # [n_cells] and after those of the pass before
        double* count                   # [n_cells] observed values of the features
        public double stride            # how far the last pass extrapolated
        double f
        public double bound             # a lower bound of F
        double norm_g, norm_w           # of the pseudo-gradient and of the weights
        public bint started
        object recent
        int32_t* active                 # blocks to be visited
        int64_t n_active
        object should_stop              # asks whether to end the pass early, or None
        int64_t due                     # the work done after which it is next asked

    numbers = Trainer.numbers + ("stride", "started", "bound")

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        # Besides the weights: recursions of all tokens, matrices of edges, occurrences of attributes.
        cdef int64_t in_u, in_b, matrix = <int64_t>layout.c.L * layout.c.P, kinds = 1, values = 1 if data.c.u_val == NULL else 2
        in_u, in_b = data.n_incidences
        # With one rich attribute a step there are as many kinds as attributes; with more, nearly as many as steps.
        if in_b <= data.c.n_tok and (layout.c.B + 1) * <int64_t>layout.c.L <= data.c.n_tok:
            kinds = layout.c.B + 1
        return (layout.c.n_cells * cls.bytes_per_cell(options, threads) + data.c.n_tok * (3 * 8 * <int64_t>layout.c.P + 28)
                + 3 * 8 * kinds * matrix + 4 * values * (in_u + in_b) + 16 * (<int64_t>layout.c.A + layout.c.B) + 9 * 8 * matrix)

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return 3 * 4 + 8 + 1 + 4      # now, before and after the blocks of a pass; counts; a copy for the model

    @classmethod
    def slowness(cls, data, options, bint every):
        # docs/trainers.md, "When sbcd pays"
        labels, attributes = len(data.labels), sum(data.n_incidences)
        few = attributes <= 5 * data.n_tokens
        if attributes < MANY or (labels >= 50 and every) or (labels >= 100 and few):
            return None
        return ("sbcd takes several times as long here as owlqn, which has the same optimum; "
                "it is the faster one with 50 labels or more and --features all")

    def __init__(self, Dataset data, Layout layout, options, initial=None, **unused):
        self.chains = Chains(Edges(data, layout, options.recursions))
        self.blocks = Blocks(self.chains, options.kappa)
        self.chains.edges.w = self.blocks.w = self.w
        self.blocks.l1, self.blocks.l2 = options.l1, options.l2
        self.active = <int32_t*>arena_zeros(self, self.blocks.n, sizeof(int32_t))
        self.count = <double*>arena_zeros(self, layout.c.n_cells, sizeof(double))
        self.end = <weight_t*>arena_zeros(self, layout.c.n_cells, sizeof(weight_t))
        self.before = <weight_t*>arena_zeros(self, layout.c.n_cells, sizeof(weight_t))
        self.stride = 1
        self.recent = deque(maxlen=options.period + 1)
        self.started = False

    def set_l1(self, double l1) -> None:
        """Change the L1 penalty; the next pass goes on from the current weights."""
        if not (l1 >= 0 and isfinite(l1)):
            raise ValueError(f"l1: expected a finite number of at least 0, found {l1}")
        self.blocks.l1, self.started, self.converged, self.stride, self.bound = l1, False, None, 1, 0
        self.recent.clear()

    cdef dict vectors(self):
        kappas, before = vector(self, "f", self.blocks.kappa, self.blocks.n), vector(self, "f", self.before, self.layout.c.n_cells)
        return {**Trainer.vectors(self), "kappas": kappas, "before": before}

    def state(self):
        return {**Trainer.state(self), "recent": list(self.recent)}

    def restore(self, dict state):
        Trainer.restore(self, state)
        self.recent = deque(map(float, state["recent"]), self.recent.maxlen)
        self.full_sweep()       # recomputes all else from the weights

    cdef bint stopped(self) except -1 nogil:
        """Whether the pass is to end early, which is asked after so much work: steps, and tokens that were looked at."""
        cdef int64_t done = self.chains.steps + self.blocks.looked
        if done >= self.due and not self.interrupted:
            self.due = done + WORK_BETWEEN_SIGNALS
            with gil:
                self.interrupted = self.should_stop is not None and self.should_stop()
        return self.interrupted

    cdef int full_sweep(self) except -1:
        """Compute F, the norm of its gradient and the blocks to visit at the current weights. If it is `interrupted`, F is as before."""
        cdef:
            Blocks blocks = self.blocks
            int64_t k
            int32_t block = blocks.n - 1
            double f, g, w, l1 = blocks.l1, l2 = blocks.l2, squares = 0, weights = 0, entropy, most = 0, excess = 0
            bint is_active
        self.n_active = 0
        memset(blocks.awake, 1, self.layout.c.n_cells)
        entropy = f = self.sum_of_log_z(True)
        blocks.sweeps = True
        with nogil:
            while block >= 0 and not self.stopped():
                blocks.gather(block)
                is_active = False
                for k in range(blocks.size):
                    g, w = blocks.expected[k] - blocks.observed[k], blocks.old[k]
                    f += l1 * fabs(w) + 0.5 * l2 * w * w - w * blocks.observed[k]
                    self.count[blocks.cell[k]] = blocks.observed[k]
                    weights += w * w
                    entropy -= w * blocks.expected[k]
                    most = fmax(most, fabs(g))
                    excess += soft(g, l1) ** 2
                    g += l2 * w
                    g = soft(g, l1) if w == 0 else g + l1 if w > 0 else g - l1
                    squares += g * g
                    blocks.awake[blocks.cell[k]] = w != 0 or g != 0
                    is_active |= blocks.awake[blocks.cell[k]]
                if is_active:
                    self.active[self.n_active] = block
                    self.n_active += 1
                block -= 1
        blocks.sweeps = False
        if self.interrupted:
            return 0
        self.f, self.norm_g, self.norm_w = f, sqrt(squares), sqrt(weights)
        self.bound = fmax(self.bound, dual_objective(entropy, l1, l2, most, excess))
        if not isfinite(f) or not isfinite(squares):
            raise not_finite("--l1 or --l2")

    def run_pass(self, should_stop=None) -> dict:
        """Visit every active block once; then a full sweep, unless it is interrupted. The next pass begins with one then."""
        cdef int64_t k = 0
        cdef int visits = 0     # to block k
        self.interrupted, self.should_stop = False, None
        if not self.started:
            self.full_sweep()
            memcpy(self.before, self.w, self.layout.c.n_cells * sizeof(weight_t))
            self.recent.append(self.f)
            self.started = True
        self.should_stop, visited = should_stop, self.n_active
        with nogil:
            while k < self.n_active and not self.stopped():
                self.f += self.blocks.update(self.active[k], self.f)
                visits += 1
                if visits == (VISITS_OF_PAIRS if self.active[k] == self.layout.c.A + self.layout.c.B else 1):
                    k, visits = k + 1, 0
        if not self.interrupted:
            self.go_on()
        if not self.interrupted:
            self.full_sweep()
        record = {"objective": self.f, "gradient": self.norm_g, "blocks": visited}
        if self.interrupted:
            self.started = False
            del record["gradient"]
        else:
            self.check_convergence()
        if self.bound > 0:
            record["gap"] = fmax(self.f - self.bound, 0.0)
        return record

    cdef int go_on(self) except -1:
        """Extrapolate along the line from the end of the last pass's blocks to the end of this one's, as long as F falls."""
        cdef double best = 0, step = self.stride, f
        cdef int64_t n = self.layout.c.n_cells
        memcpy(self.end, self.w, n * sizeof(weight_t))
        while step <= MOST_STRIDE:
            self.place(step)
            f = self.value()
            if self.interrupted or not f < self.f:
                break
            self.f, best = f, step
            step *= 2
        self.place(best)
        memcpy(self.before, self.end, n * sizeof(weight_t))
        self.stride = fmax(LEAST_STRIDE, best if best > 0 else 0.5 * self.stride)

    cdef void place(self, double step) noexcept nogil:
        """Set the weights this far along that line. Zero weights stay zero, and none changes its sign."""
        cdef int64_t k
        cdef double x
        for k in range(self.layout.c.n_cells):
            x = self.end[k] + step * (<double>self.end[k] - self.before[k])
            self.w[k] = <weight_t>x if x * self.end[k] > 0 else 0

    cdef double value(self) except? -1:
        """F at the current weights, unless it is interrupted."""
        cdef:
            double f = self.sum_of_log_z(False), w
            int64_t k
        with nogil:
            for k in range(self.layout.c.n_cells):
                w = self.w[k]
                f += self.blocks.l1 * fabs(w) + 0.5 * self.blocks.l2 * w * w - w * self.count[k]
        return f

    cdef double sum_of_log_z(self, bint both) except? -1:
        """Log Z of all sequences at the current weights, unless it is interrupted; computes alpha, or `both` recursions, for all."""
        cdef double sum = 0
        cdef int64_t s = 0
        with nogil:
            self.chains.load_edges()
            while s < self.data.c.n_seq and not self.stopped():
                self.chains.refresh(s)
                sum += weight_of(&self.data.c, s) * self.chains.full_log_z(s, both)
                s += 1
        return sum

    cdef int check_convergence(self) except -1:
        self.recent.append(self.f)
        if self.norm_g <= self.options.epsilon * fmax(1.0, self.norm_w):
            self.converged = "the gradient is small (--epsilon)"
        elif len(self.recent) > self.options.period:
            if self.recent[0] - self.f < self.options.delta * fmax(fabs(self.f), 1e-300):
                self.converged = "the objective hardly falls any more (--delta)"
