"""The history of L-BFGS, and the direction that follows from it.

The direction is a linear combination of the m last steps s, the m last changes y of the gradient, and the gradient
g. So the two loops of Nocedal & Wright (algorithm 7.4) run on coefficients, given the inner products of these
2m + 1 vectors (as Chen, Wang & Zhou, 2014, do for clusters): one pass over memory computes the new products and another
one the direction, instead of 4m passes.

These vectors are as long as the model, so they limit its size. Points are in single precision, as models store
them. So is the history, which steers the search and does not enter the result: s is the exact difference of two points,
and y belongs to it. The direction overwrites the s of the oldest pair, which is not needed any more, and the gradient at the start of the
step its y, until the new pair overwrites both.

The history can be kept for weights times `scale`, roots of the curvature, which may differ by a factor of thousands; the direction is
then divided by it. This is a diagonal preconditioner. Only marginals tell the curvature, and only near the optimum: after a warm-up, the
scales follow from them (scale_by_curvature), which saves half of the iterations or more if the penalty is small. Before, and without
a warm-up, values are all that is known (scale_by_values). The scales take the place of a pair.
"""

from crfkit.loops.numbers cimport fmax, fmin, sqrt
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport LayoutC
from crfkit.memory cimport arena_zeros, memset, restore_vectors, vector
from crfkit.weights.cells cimport layout_row
from .objective cimport PARTS

cdef enum:
    ROOMS = 2               # threads that have room for a part of a scaled gradient

cdef double CURVATURE = 0.1     # of a score, p (1 - p), about


cdef class History:
    """The last m pairs s, y in single precision, and their inner products with the gradient and among them. Those of two s, and of a y with
    a later s, are not needed: the coefficient of an s is set when none of them is asked for any more."""

    def __cinit__(self, int64_t n, int32_t m, Threads pool):
        cdef float* pairs
        cdef int32_t k
        if not 1 <= m <= 65:
            raise ValueError("the history holds 1 to 64 pairs, and scales")
        self.n, self.m, self.newest, self.pool = n, m, -1, pool
        self.stride = (n + 15) // 16 * 16
        pairs = <float*>arena_zeros(self, 2 * m * self.stride, sizeof(float))
        for k in range(2 * m):
            self.row[k] = pairs + k * self.stride

    cdef void scale_by_values(self, Layout layout, double l2, tuple extent) except *:
        """Scale the history by the size of values, in place of a pair: `scale` is the root of the curvature along an attribute's weights,
        l2 + CURVATURE x the sum of its squared values, relative to what it would be if all values were 1. It is estimated from the
        largest value and the weighted sum of values (Objective.extent)."""
        cdef:
            const LayoutC* c = &layout.c
            int64_t k, f, n = <int64_t>c.A + c.B, first, size
            double value, more
            const double[::1] largest = extent[0], sums = extent[1]
        self.zero_scales()
        for k in range(c.n_cells):
            self.scale[k] = 1
        for k in range(n):
            value, more = largest[1 + k], CURVATURE * sums[1 + k]
            if more > 0:
                size = layout_row(c, k, &first)
                for f in range(first, first + size):
                    self.scale[f] = <float>sqrt((l2 + more * value) / (l2 + more / value))

    cdef bint zero_scales(self) noexcept nogil:
        """Make all scales zero; at first they take the place of the last pair. False if it is the only one. The history must be empty."""
        if self.scale == NULL and self.m > 1:
            self.m -= 1
            self.scale, self.scaled = <float*>self.row[2 * self.m], <double*>self.row[2 * self.m + 1]
        if self.scale != NULL:
            memset(self.scale, 0, self.n * sizeof(float))
        return self.scale != NULL

    cdef void scale_by_curvature(self, const float* curvature, double l2) noexcept nogil:
        """Scale the history by the curvature along each weight: that of the likelihood, and of the penalty. No scales if there is no room."""
        cdef int64_t k
        for k in range(self.n if self.zero_scales() else 0):
            self.scale[k] = <float>sqrt(l2 + fmax(curvature[k], 0))

    cdef void forget(self) noexcept nogil:
        self.used, self.newest = 0, -1
        memset(self.gram, 0, sizeof(self.gram))     # products that are not needed are multiplied by 0: none may be infinite

    cdef void add(self, const weight_t* w, const weight_t* w_old, const double* g, const double* gradient) except *:
        """Add the step from w_old, where `direction` was called, to w, and update the products. `direction` is next called for `gradient`."""
        cdef int32_t slot = next_slot(self), k, part
        self.w, self.w_old, self.g, self.gradient = w, w_old, g, gradient
        self.newest = slot
        self.used = min(self.used + 1, self.m)
        self.pool.in_shares(self, do_parts, ADD, PARTS, ROOMS)
        for k in range(2 * self.used):
            self.gram[k][2 * slot + 1] = self.by_g[k] = 0
        for part in range(PARTS):
            for k in range(2 * self.used):
                self.gram[k][2 * slot + 1] += self.sums[part][2 * k]
                self.by_g[k] += self.sums[part][2 * k + 1]
        for k in range(2 * self.used):
            self.gram[2 * slot + 1][k] = self.gram[k][2 * slot + 1]
        if self.gram[2 * slot][2 * slot + 1] <= 1e-12 * self.gram[2 * slot + 1][2 * slot + 1]:
            self.forget()       # no positive curvature: the quadratic model is invalid here

    cdef float* direction(self, const double* gradient, const double* g) except *:
        """-H gradient. It occupies the slot of the next pair, with the gradient g, until `add` or `forget`."""
        cdef:
            double* c = self.c
            double alpha[64]
            double c_g = -1, scale
            int32_t k, slot
        memset(c, 0, sizeof(self.c))
        for k in range(self.used):
            slot = (self.newest - k + self.m) % self.m
            alpha[slot] = product(self, c, c_g, 2 * slot) / self.gram[2 * slot][2 * slot + 1]
            c[2 * slot + 1] -= alpha[slot]
        if self.used:
            slot = self.newest
            scale = self.gram[2 * slot][2 * slot + 1] / self.gram[2 * slot + 1][2 * slot + 1]
            c_g *= scale
            for k in range(2 * self.used):
                c[k] *= scale
        for k in range(self.used - 1, -1, -1):
            slot = (self.newest - k + self.m) % self.m
            c[2 * slot] += alpha[slot] - product(self, c, c_g, 2 * slot + 1) / self.gram[2 * slot][2 * slot + 1]
        self.c_g, self.gradient, self.g = c_g, gradient, g
        self.pool.in_shares(self, do_parts, COMBINE, PARTS, ROOMS)
        return <float*>self.row[2 * next_slot(self)]

    cdef double first_step(self) noexcept nogil:
        """The first step along the direction of steepest descent: scores change by about 1."""
        cdef double squares = 0
        cdef int64_t i
        if self.scale == NULL:
            squares = K.dot_doubles(self.n, self.gradient, self.gradient)
        else:
            for i in range(self.n):
                squares += (self.gradient[i] / self.scale[i]) ** 2
        return fmin(1.0, 1 / sqrt(squares))

    cdef dict vectors(self):
        return {
            "pairs": vector(self, "f", self.row[0], 2 * self.used * self.stride),
            "gram": vector(self, "d", &self.gram[0][0], 128 * 128),
            "by_g": vector(self, "d", &self.by_g[0], 128),
            "scale": vector(self, "f", self.scale, self.n if self.scale != NULL else 0),
        }

    def state(self):
        return {**self.vectors(), "used": self.used, "newest": self.newest}

    def restore(self, dict state):
        if len(state["scale"]):
            self.zero_scales()
        cdef int32_t used = state["used"], newest = state["newest"]
        if not 0 <= used <= self.m or not -(used == 0) <= newest < max(used, 1):
            raise ValueError("used, newest: more pairs than there is room for")
        self.used, self.newest = used, newest
        restore_vectors(state, self.vectors())


cdef int32_t next_slot(History history) noexcept nogil:
    return (history.newest + 1) % history.m


cdef double product(History history, const double* c, double c_g, int32_t k) noexcept nogil:
    cdef double sum = c_g * history.by_g[k]
    cdef int32_t j
    for j in range(2 * history.used):
        sum += c[j] * history.gram[j][k]
    return sum


cdef int do_parts(owner, int what, int64_t first_part, int64_t last_part) except -1:
    """Do this work on parts first_part .. last_part - 1."""
    cdef:
        History self = owner
        int64_t first, last, i
        int32_t slot = self.newest if what == ADD else next_slot(self)
        int part
        float* s = <float*>self.row[2 * slot]
        float* y = <float*>self.row[2 * slot + 1]
        const double* gradient = self.gradient
        double* scaled
        const float** points = [self.w, self.w_old]
        double* one_minus_one = [1, -1]
    with nogil:
        for part in range(first_part, last_part):
            first, last = self.n * part // PARTS, self.n * (part + 1) // PARTS
            if self.scale != NULL:
                scaled = self.scaled + (self.n // PARTS + 1 if first_part else 0) - first
                for i in range(first, last):
                    scaled[i] = self.gradient[i] / self.scale[i]
                gradient = scaled
            if what == ADD:
                K.combine(first, last, 2, points, one_minus_one, 0, NULL, s)
                K.combine(first, last, 1, &self.row[2 * slot + 1], one_minus_one + 1, 1, self.g, y)
                if self.scale != NULL:
                    for i in range(first, last):
                        s[i], y[i] = s[i] * self.scale[i], y[i] / self.scale[i]
                K.dots(first, last, 2 * self.used, self.row, y, gradient, self.sums[part])
            else:
                K.combine(first, last, 2 * self.used, self.row, self.c, self.c_g, gradient, s)
                K.combine(first, last, 0, NULL, NULL, 1, self.g, y)
                if self.scale != NULL:
                    for i in range(first, last):
                        s[i] = s[i] / self.scale[i]
