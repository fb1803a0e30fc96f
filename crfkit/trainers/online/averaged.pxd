"""Trainers that can average their weights over all steps."""

from libc.stdint cimport int64_t

from crfkit.memory cimport BufferC
from crfkit.trainers.stepwise cimport OnlineTrainer


cdef class AveragedTrainer(OnlineTrainer):
    cdef BufferC late
    cdef double* u          # the sum of changes times the numbers of their steps; NULL without averaging

    cdef int64_t instants(self) noexcept nogil
