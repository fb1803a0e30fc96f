"""Trainers that keep a variance for each weight."""

from libc.stdint cimport int32_t, int64_t

from crfkit.decode.nbest cimport NBest
from crfkit.loops.structs cimport SentenceC, weight_t
from .paths cimport AveragedTrainer, Differences


cdef class ConfidenceTrainer(AveragedTrainer):
    cdef NBest search
    cdef Differences differences
    cdef weight_t* s            # the variance of each weight

    cdef void forget(self) noexcept nogil
    cdef double lacking(self, double margin, double variance) noexcept nogil
    cdef void solve(self, double margin, double variance, double weight, double* by, double* gain) noexcept nogil
