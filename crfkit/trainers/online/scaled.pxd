"""Trainers whose weights are w = scale * v."""

from libc.stdint cimport int32_t, int64_t

from crfkit.trainers.base cimport OnlineTrainer


cdef class ScaledTrainer(OnlineTrainer):
    cdef double scale           # s
    cdef double penalty         # l2 / updates a pass
    cdef readonly double rate0  # the first rate: given, or chosen
    cdef double rate
    cdef double age             # steps since rate0, for the rate that falls with each step
    cdef double decay           # per pass, or 0: the rate falls with each step

    cdef void shrink(self) noexcept nogil
    cdef double gain(self, double weight) noexcept nogil
    cdef void fold_scale(self) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef double calibrate(self) except -1
    cdef double search(self, start, bint foreseen) except -1
    cdef int start_from(self, start) except -1
    cdef double sample_loss(self, start, double rate, bint foreseen) except? -1
    cdef void draw(self, int32_t* sample, int64_t n) noexcept
    cdef int round_over(self, const int32_t* which, int64_t n, double rate, bint falling) except -1
