"""The iteration that L-BFGS and OWL-QN share (the direction comes from steps.pyx).

Every point gives a duality gap: the marginals at w, taken as dual variables, have the dual objective
f - |g|^2 / (2 l2), a lower bound of the objective everywhere (Fenchel, Young). The best bound so far is `bound`.
"""

from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport fabs, fmax, isfinite, sqrt
from crfkit.loops.kernels cimport K
from crfkit.memory cimport arena_zeros, vector
from crfkit.trainers.base cimport accuracies, not_finite
from .objective cimport PARTS

from collections import deque

from crfkit.trainers.base import summarise
from .visits import bytes_of_visits

cdef enum:
    LITTLE = 1 << 29    # bytes that dual variables may always take


cdef bint may_take(int64_t needed, Layout layout, object options) except -1:
    """Whether dual variables may take this many bytes: not several times what the iteration needs."""
    return needed <= max(8 * layout.c.n_cells * QuasiNewton.bytes_per_cell(options, 1), LITTLE)


cdef int64_t bytes_of_scales(Dataset data, Layout layout) except -1:
    """Memory that the history takes for scales by values, in place of one more pair."""
    return 2 * 4 * layout.c.n_cells if data.has_values else 0


cdef class QuasiNewton(Trainer):
    """A subclass defines the line search (`search`) and, if it minimises more than the smooth objective, `evaluate`, `find_gradient`
    and `restrict_direction`."""

    threaded = True
    numbers = Trainer.numbers + ("bound",)

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        return (layout.c.n_cells * cls.bytes_per_cell(options, threads) + bytes_of_scales(data, layout)
                + bytes_of_visits(data, layout, threads))

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return 2 * 4 + 2 * options.memory * 4 + threads * 8      # before and after a step, the history, gradients

    def __init__(self, Dataset data, Layout layout, options, initial=None, int threads=1, Objective objective=None, **unused):
        """`objective` is given if the data lie elsewhere (sharded.pyx)."""
        if objective is not None and objective.layout is not layout:
            raise ValueError("an objective of another layout")
        self.n = layout.c.n_cells
        self.objective = Objective(data, layout, options.l2, threads) if objective is None else objective
        self.objective.counts = options.train_accuracy
        scaled = self.objective.extent is not None
        self.history = History(self.n, options.memory + scaled, self.objective.pool)
        if scaled:
            self.history.scale_by_values(layout, options.l2, self.objective.extent)
        self.w_old = <weight_t*>arena_zeros(self, self.n, sizeof(weight_t))
        self.g = <double*>arena_zeros(self, self.n, sizeof(double))
        self.recent = deque(maxlen=options.period + 1)
        self.started, self.bound = False, 0

    def prepare(self, should_stop=None):
        """With train_accuracy, yields a record of the starting point."""
        if not self.options.train_accuracy or self.started:
            return ()
        self.evaluate()
        self.start()
        return (self.report(),)

    cdef int need_history(self) except -1:
        if self.history is None:
            raise TypeError("a pass after the end")

    cdef int start(self) except -1:
        """Begin at a point that was evaluated."""
        self.find_gradient()
        self.check()
        self.started = True
        return self.check_convergence()

    cdef int in_parts(self, Walk what) except -1:
        return self.objective.pool.in_shares(self, walk_parts, what, PARTS)

    cdef double sum_of_parts(self, Walk what) except? -1:
        """Do an operation on all parts; the sum of their results."""
        cdef:
            double sum = 0
            int part
        self.in_parts(what)
        for part in range(PARTS):
            sum += self.found[part]
        return sum

    cdef void walk_part(self, Walk what, int part) noexcept nogil:
        cdef:
            int64_t first = self.n * part // PARTS, last = self.n * (part + 1) // PARTS
            const float** along = [self.w_old, self.d]
            double* by = [1, self.step]
        if what == SLOPE:
            self.found[part] = K.dot(last - first, self.gradient + first, self.d + first)
        else:
            K.combine(first, last, 2, along, by, 0, NULL, self.w)

    cdef int evaluate(self) except -1:
        """Compute f and g at w."""
        self.f = self.objective.evaluate(self.w, self.g)

    cdef double dual_value(self) except? -1:
        """A lower bound of the objective: the dual objective of the marginals at w, or 0."""
        return self.f - self.objective.squared_norm / (2 * self.objective.l2) if self.objective.l2 > 0 else 0

    cdef int period(self) noexcept:
        """How many iterations --delta looks back."""
        return self.options.period

    cdef int find_gradient(self) except -1:
        """Set `gradient`, of what is minimised at w, and its norm."""
        self.gradient, self.gradient_norm = self.g, sqrt(self.objective.squared_norm)

    cdef int restrict_direction(self) except -1:
        """Set components of d to zero that must not be followed."""

    cdef bint search(self, double step, double slope0) except -1:
        """Look for a lower point from w_old along d, trying this step first; whether there is one. slope0 is the slope of f at w_old."""
        raise TypeError("a quasi-Newton trainer without a line search")

    def run_pass(self, should_stop=None) -> dict:
        """One iteration: a direction, and a step along it."""
        cdef:
            double before, slope, step
            bint fresh
        self.need_history()
        if not self.started:
            self.evaluate()
            self.start()
        if self.converged is not None:
            return self.report()
        self.trials, self.step = 0, 0
        while True:
            fresh = self.history.used == 0
            self.d = self.history.direction(self.gradient, self.g)
            self.restrict_direction()
            slope = self.sum_of_parts(SLOPE)
            if fresh and not isfinite(slope):   # the direction is in single precision
                raise not_finite("--l2")
            if slope == 0 and fresh:
                self.converged = "the gradient is zero"
                return self.report()
            step = self.history.first_step() if fresh else 1.0
            self.exchange()
            before = self.f
            if slope < 0 and self.search(step, slope) and self.f < before:  # an equal one would be found for ever
                break
            self.exchange()
            self.history.forget()
            self.evaluate()
            self.find_gradient()
            if fresh:
                # Steepest descent finds no lower point: the limit of the arithmetic is reached.
                self.converged = "no step lowers the objective any more"
                return self.report()
        self.find_gradient()
        self.history.add(self.w, self.w_old, self.g, self.gradient)
        self.check_convergence()
        return self.report()

    def finish(self):
        self.history = None

    cdef void exchange(self) noexcept nogil:
        """Swap the point and the old point."""
        cdef weight_t* w = self.w
        self.w, self.w_old = self.w_old, w

    cdef dict vectors(self):
        return {**Trainer.vectors(self), "gradient": vector(self, "d", self.g, self.n)}

    def state(self):
        """After a pass: there is no checkpoint before the first."""
        return {**Trainer.state(self), **self.history.state(), "objective": self.f, "recent": list(self.recent)}

    def restore(self, dict state):
        Trainer.restore(self, state)
        self.history.restore(state)
        self.started, self.f = True, state["objective"]
        self.recent = deque(map(float, state["recent"]), self.recent.maxlen)
        self.objective.squared_norm = K.dot_doubles(self.n, self.g, self.g)
        self.find_gradient()

    cdef report(self):
        cdef Objective objective = self.objective
        record = {"objective": self.f, "gradient": self.gradient_norm}
        if self.bound > 0:
            record["gap"] = fmax(self.f - self.bound, 0.0)
        if objective.counts:
            record.update(accuracies(objective.wrong, objective.tokens, objective.flawed, objective.sequences))
            record["active"], _ = summarise(vector(self, "f", self.w, self.n))
        return record

    cdef int check(self) except -1:
        if not isfinite(self.f) or not isfinite(self.objective.squared_norm):
            raise not_finite("--l2")

    cdef int check_convergence(self) except -1:
        cdef double improvement
        if self.data.possible is None:      # else the objective is not convex: it has no dual
            self.bound = fmax(self.bound, self.dual_value())
        self.recent.append(self.f)
        if self.gradient_norm == 0:
            self.converged = "the gradient is zero"
        elif self.f - self.bound <= self.options.epsilon * self.bound:
            self.converged = "the optimum is near enough (--epsilon)"
        elif len(self.recent) > self.period():
            improvement = (self.recent[len(self.recent) - 1 - self.period()] - self.f) / fmax(fabs(self.f), 1e-300)
            if improvement < self.options.delta * self.period() / self.options.period:
                self.converged = "the objective hardly falls any more (--delta)"


cdef int walk_parts(owner, int what, int64_t first, int64_t last) except -1:
    """Do an operation on parts first .. last - 1 of the vectors."""
    cdef:
        QuasiNewton self = owner
        int part
    with nogil:
        for part in range(first, last):
            self.walk_part(<Walk>what, part)
