"""Trainers that know how sure they are of each weight."""

from libc.stdint cimport int32_t, int64_t

from crfkit.core.memory cimport BufferC
from crfkit.core.search cimport Search
from crfkit.core.structs cimport SentenceC, weight_t
from crfkit.trainers.averaged cimport AveragedTrainer
from crfkit.trainers.differences cimport Differences


cdef class ConfidenceTrainer(AveragedTrainer):
    cdef Search search
    cdef Differences differences
    cdef BufferC variance_buffer
    cdef weight_t* s            # the variance of each weight

    cdef void narrow(self, int64_t row, const int32_t* id, const float* value, int64_t n) noexcept nogil
    cdef double lacking(self, double margin, double variance) noexcept nogil
    cdef void solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil
