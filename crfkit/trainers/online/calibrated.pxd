from libc.stdint cimport int32_t, int64_t

from crfkit.loops.structs cimport SentenceC
from crfkit.memory cimport BufferC
from crfkit.trainers.stepwise cimport OnlineTrainer


cdef class CalibratedTrainer(OnlineTrainer):
    cdef public double rate0    # the first learning rate: given, or chosen
    cdef double penalty         # l2 / updates a pass
    cdef readonly double covered # `share` in the trial of the best rate; 1 without such a trial
    cdef double covered_now     # in the trial that was made last
    cdef bint penalised         # there are penalties, and the initial weights are zero
    cdef double* shares         # factors of the rate, by row; NULL where all are 1
    cdef double square          # of the unit of small values; 1: they are not all small
    cdef const char* known_rows # a subclass's data by row, which is prefetched, and
    cdef int row_size           # its bytes a row
    cdef BufferC u_values, b_values

    cdef int begin_trial(self, int64_t updates) except -1
    cdef void fall_to(self, double rate) noexcept nogil
    cdef double end_trial(self) noexcept
    cdef double penalties(self, double scale) noexcept nogil
    cdef double scale_of(self, int64_t r) noexcept nogil
    cdef double gain_of(self, int64_t r) noexcept nogil
    cdef double share(self, const int32_t* which, int64_t n, double scale) except? -1
    cdef int measure(self) except -1
    cdef int load_values(self, const SentenceC* sent, bint gains, SentenceC* out) except -1 nogil
    cdef int learn(self, const SentenceC* sent, double gain, double of_pairs, double* loss) except -1 nogil
    cdef int find_rate(self) except -1
    cdef int start_trial(self, object start, double rate, int64_t n) except -1
