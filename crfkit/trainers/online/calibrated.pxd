"""Trainers that find their first rate by trying some on a sample."""

from libc.stdint cimport int32_t, int64_t

from crfkit.trainers.stepwise cimport OnlineTrainer


cdef class CalibratedTrainer(OnlineTrainer):
    cdef readonly double rate0  # the first rate: given, or chosen

    cdef int begin_trial(self, double rate, int64_t updates) except -1
    cdef void fall_to(self, double rate) noexcept
    cdef double end_trial(self) noexcept
    cdef int find_rate(self, options, leader) except -1
    cdef double search(self, start, double highest, bint foreseen) except -1
    cdef int try_from(self, start, double rate, int64_t n) except -1
    cdef double sample_loss(self, start, double rate, bint foreseen) except? -1
    cdef int round_over(self, const int32_t* which, int64_t n, double rate, bint falling) except -1


cdef void draw_sample(int64_t total, int32_t* sample, int64_t n) noexcept
