from crfkit.loops.structs cimport SentenceC
from .calibrated cimport CalibratedTrainer


cdef class ScaledTrainer(CalibratedTrainer):
    cdef public double scale    # s
    cdef double log_scale       # of the sequence whose values are loaded
    cdef readonly double rate   # of the last update
    cdef public double age      # steps since rate0, for the rate that falls with each step
    cdef public double decay    # per pass, or 0: the rate falls with each step

    cdef void shrink(self) noexcept nogil
    cdef double gain(self, double weight) noexcept nogil
    cdef const SentenceC* valued(self, const SentenceC* sent, bint gains, SentenceC* own) except NULL nogil
    cdef void fold_scale(self) noexcept nogil
    cdef void settle(self) noexcept nogil
