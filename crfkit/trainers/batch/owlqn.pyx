"""OWL-QN (Andrew & Gao, 2007): L-BFGS for a likelihood with an L1 penalty, which has kinks where weights are zero.

    F(x) = f(x) + l1 |x|_1,   f: negative log-likelihood + l2/2 |x|^2

Within an orthant, where no weight changes its sign, F is smooth. So each iteration chooses the orthant that steepest
descent enters and stays in it: the direction keeps only those of its components that descend, and weights that would
leave the orthant are set to zero exactly. The pseudo-gradient replaces the gradient: at zero it is the slope of F on the
side where F falls, or zero where F falls on neither side. The history is that of f alone, since the penalty has no
curvature.

The line search halves the step until F satisfies Armijo's condition along the projected path. Early directions may be
hundreds of times too long, so a trial is given up as soon as the loss of the sequences seen exceeds the old F.
Without an L1 penalty there are no orthants, and this is L-BFGS with that line search.

On all but small data a proximal dual ascent finds the optimum many times as fast (proximal.pyx), and its dual variables
bound the objective from below. Then an iteration is a few passes of the ascent and an evaluation of its
weights, of which the best are kept. OWL-QN takes over if the gap is still too large after --warm-up passes, if the ascent gets stuck,
or if after two such iterations zero weights are still the best: in a few long sequences with few attributes a step changes far too much.
"""

from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.loops.numbers cimport INFINITY, fabs, fmax, isfinite, sqrt
from crfkit.loops.kernels cimport K
from crfkit.memory cimport arena_zeros, memcpy
from crfkit.loops.structs cimport weight_t
from .objective cimport PARTS, Objective
from .proximal cimport Proximal
from .quasinewton cimport DUAL, KEEP_DESCENT, PROJECT, PSEUDO_GRADIENT, SIZES, STEP, QuasiNewton, Walk, dual_objective, may_take

from dataclasses import replace

from crfkit.errors import TrainingError
from .dual import dual_bytes

cdef enum:
    MAX_TRIALS = 60
    MANY = 30000            # tokens: with fewer, OWL-QN alone is fast
    PASSES = 5              # of the ascent in an iteration

cdef double NEAR = 0.02     # of the objective: the bound is not computed before the entropy is this near to it
cdef double WORSE = 0.005   # of the best objective: passes that lead to so much more have led away from the optimum
cdef double FAR = 0.1       # of the objective: an ascent that ends with such a gap has got stuck, as with one long sequence

# Rounding error of F, relative to F.
cdef double ROUNDING = 1e-12


def ascent_bytes(Dataset data not None, Layout layout not None, options) -> int:
    """Memory for the dual ascent; 0 where there is none: not wanted, not possible, on small data, or if it took several times that of OWL-QN."""
    if not options.warm_up or not (options.l1 or options.path) or data.c.n_tok < MANY or data.possible is not None:
        return 0
    needed = dual_bytes(data, layout)
    kept = 8 * data.c.n_tok + (8 if data.has_values else 4) * <int64_t>data.c.u_ptr[data.c.n_tok]
    return needed + kept + 36 * layout.c.n_cells if may_take(needed, layout, options) else 0


cdef class Owlqn(QuasiNewton):
    """Options: l1, l2, memory, epsilon, delta, period, warm_up (crfkit.options.Owlqn)."""
    cdef:
        double l1
        object seed
        public bint ascends     # iterations are those of the ascent
        public int64_t ascended # passes
        public double reached   # the objective of the ascent's last weights, which may not be the best ones
        Proximal ascent
        double duals[16][3]     # sums of each part

    numbers = QuasiNewton.numbers + ("ascends", "ascended", "reached")

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        ascent = 36 * layout.c.n_cells if data.folder is not None else ascent_bytes(data, layout, options)
        return super().expected_bytes(data, layout, options, threads) + ascent

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return QuasiNewton.bytes_per_cell(options, threads) + 8      # the pseudo-gradient

    def __init__(self, Dataset data, Layout layout, options, initial=None, seed=0, Objective objective=None, **others):
        QuasiNewton.__init__(self, data, layout, options, initial, objective=objective, **others)
        self.seed, self.ascended, self.reached = seed, 0, 0
        self.ascends = initial is None and objective is None and ascent_bytes(data, layout, options) > 0
        self.gradient = <double*>arena_zeros(self, self.n, sizeof(double))
        self.l1 = options.l1

    def set_l1(self, double l1) -> None:
        """Go on with another penalty, from the weights as they are (warm start)."""
        if self.history is None:
            raise TypeError("another beginning after the end")
        self.history.forget()
        self.recent.clear()
        self.l1, self.converged, self.started, self.bound, self.ascended = l1, None, False, 0, 0
        if self.ascent is not None:
            self.ascent.set_l1(l1)

    def run_pass(self, should_stop=None) -> dict:
        return self.ascend(should_stop) if self.ascends and self.converged is None else QuasiNewton.run_pass(self, should_stop)

    cdef int make_ascent(self) except -1:
        self.ascent = Proximal(self.data, self.layout, replace(self.options, l1=self.l1, path=None, train_accuracy=False), seed=self.seed)

    cdef ascend(self, should_stop):
        """Some passes of the ascent. Keeps the best weights it finds."""
        cdef:
            double best
            bint away, returning
            int64_t wrong, flawed   # of the best weights
        if self.ascent is None:
            self.make_ascent()
        if not self.started:
            self.evaluate()
            self.find_gradient()
            self.started = True
        best, wrong, flawed = self.f, self.objective.wrong, self.objective.flawed
        self.interrupted = False
        for _ in range(min(PASSES, self.options.warm_up - self.ascended)):
            if should_stop is not None and should_stop():
                self.interrupted = True
                break
            try:
                self.ascent.run_pass(should_stop)
            except TrainingError:           # weights diverge
                return self.give_up(should_stop)
            self.interrupted = self.ascent.interrupted
            self.ascended += 1
        self.exchange()
        memcpy(self.w, self.ascent.w, self.n * sizeof(weight_t))
        self.evaluate()
        away = self.f > best * (1 + WORSE)
        returning, self.reached = away and self.f < self.reached, self.f
        if away:
            self.ascent.stiffen()
        if self.f < best:
            self.find_gradient()
        else:
            self.exchange()
            self.f, self.objective.wrong, self.objective.flawed = best, wrong, flawed
        self.check()
        if self.ascended > PASSES and self.sum_of_parts(SIZES) == 0:    # nothing is better than zero weights yet
            return self.give_up(should_stop)
        if self.ascent.screened or self.f - self.ascent.entropy_of_all() <= NEAR * self.f:
            self.bound = fmax(self.bound, self.ascent.bound())
        if not returning:
            self.check_convergence()
        if self.converged is not None and self.gradient_norm > 0 and self.f - self.bound > FAR * self.f:
            self.converged = None
            self.recent.clear()
            return self.give_up(should_stop)
        return self.report() if self.converged is not None or self.ascended < self.options.warm_up else self.give_up(should_stop)

    cdef give_up(self, should_stop):
        """End the ascent; OWL-QN goes on from here."""
        self.ascends, self.ascent = False, None
        if self.started:
            self.evaluate()
            self.find_gradient()
        return QuasiNewton.run_pass(self, should_stop)

    def finish(self):
        QuasiNewton.finish(self)
        self.ascent = None

    def state(self):
        state = QuasiNewton.state(self)
        if self.ascent is not None:
            state.update({f"ascent {name}": value for name, value in self.ascent.state().items()})
        return state

    def restore(self, dict state):
        QuasiNewton.restore(self, state)
        if "ascent weights" in state:
            self.make_ascent()
            self.evaluate()         # the state has the gradient at the last weights, which may not be the best ones
            self.find_gradient()
            self.ascent.restore({name.removeprefix("ascent "): value for name, value in state.items() if name.startswith("ascent ")})

    cdef void walk_part(self, Walk what, int part) noexcept nogil:
        cdef:
            int64_t first = self.n * part // PARTS, n = self.n * (part + 1) // PARTS - first
            weight_t* w = self.w + first
            const double* g = self.g + first
            double* gradient = self.gradient + first
        if what == PSEUDO_GRADIENT:
            K.pseudo_gradient(n, self.l1, w, g, gradient)
            self.found[part] = K.dot_doubles(n, gradient, gradient)
        elif what == KEEP_DESCENT:
            K.keep_descent(n, gradient, self.d + first)
        elif what == PROJECT:
            self.found[part] = K.project_step(n, self.w_old + first, self.step, self.d + first, gradient, w)
        elif what == SIZES:
            self.found[part] = K.sizes(n, w)
        elif what == DUAL:
            K.dual_sums(n, self.l1, self.objective.l2, w, g, self.duals[part])
        else:
            QuasiNewton.walk_part(self, what, part)

    cdef int evaluate(self) except -1:
        QuasiNewton.evaluate(self)
        self.f += self.l1 * self.sum_of_parts(SIZES)

    cdef double dual_value(self) except? -1:
        cdef:
            double entropy = self.f, most = 0, excess = 0
            int part
        if self.ascends:
            return 0        # the dual variables give a better one, and g may not be the gradient at w
        self.in_parts(DUAL)
        for part in range(PARTS):
            entropy -= self.duals[part][0]
            most = fmax(most, self.duals[part][1])
            excess += self.duals[part][2]
        return dual_objective(entropy, self.l1, self.objective.l2, most, excess)

    cdef int find_gradient(self) except -1:
        """Compute the pseudo-gradient and its norm."""
        self.gradient_norm = sqrt(self.sum_of_parts(PSEUDO_GRADIENT))

    cdef int restrict_direction(self) except -1:
        if self.l1 > 0:
            self.in_parts(KEEP_DESCENT)

    cdef double move(self, double step, double slope0) except? -1:
        """w = w_old + step d, projected onto the orthant. Returns the slope at w_old times w - w_old."""
        self.step = step
        if self.l1 > 0:
            return self.sum_of_parts(PROJECT)
        self.in_parts(STEP)
        return step * slope0

    cdef bint search(self, double step, double slope0) except -1:
        cdef:
            double f0 = self.f, slope
            int k
        for k in range(MAX_TRIALS):
            slope = self.move(step, slope0)
            if -slope <= 1e-16 * fabs(f0):
                break           # beyond what f resolves
            self.trials += 1
            self.objective.bound = f0 * (1 + ROUNDING)
            self.evaluate()
            self.objective.bound = INFINITY
            if isfinite(self.f) and self.f < f0 and self.f <= f0 + 1e-4 * slope:
                return True
            step /= 2
        return False
