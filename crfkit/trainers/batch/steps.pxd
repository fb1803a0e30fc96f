from libc.stdint cimport int32_t, int64_t

from crfkit.loops.structs cimport weight_t
from crfkit.memory cimport Arena
from crfkit.threads cimport Threads
from crfkit.weights.layout cimport Layout


cdef enum Sweep:                # over the history
    ADD                         # add a pair, and the inner products with its y
    COMBINE                     # combine the pairs to a direction


cdef class History(Arena):
    cdef:
        int64_t n, stride                   # of a vector, and from one row to the next
        int32_t m, used, newest             # pairs kept, pairs in use, slot of the newest
        const float* row[130]               # s of slot k at 2k, y at 2k + 1; scales may take the place of the last pair
        double gram[128][128]               # inner products of each y with the other rows
        double by_g[128]
        Threads pool
        double sums[16][256]                # products with the newest y and with the gradient, by part
        const weight_t* w                   # the arguments of `add` and of `direction`, for their parts
        const weight_t* w_old
        const double* g
        const double* gradient
        double c[128]
        double c_g
        float* scale                        # by weight, or NULL: all 1
        double* scaled                      # gradient / scale, of the part in work: room for two (ROOMS)

    cdef void scale_by_values(self, Layout layout, double l2, tuple extent) except *
    cdef bint zero_scales(self) noexcept nogil
    cdef void scale_by_curvature(self, const float* curvature, double l2) noexcept nogil
    cdef double first_step(self) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef void add(self, const weight_t* w, const weight_t* w_old, const double* g, const double* gradient) except *
    cdef dict vectors(self)
    cdef float* direction(self, const double* gradient, const double* g) except *
