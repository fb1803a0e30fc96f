from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport BufferC
from crfkit.loops.structs cimport DualC, SentenceC
from crfkit.trainers.stepwise cimport OnlineTrainer


cdef class DualAscent(OnlineTrainer):
    cdef:
        double l2
        public double usual                 # moving average of curvatures
        double typical                      # a sequence is left out if its squared distance is below this many times the mean
        public double ways                  # sum of the squared distances met in this pass
        double enough                       # the smallest one that is not left out
        public int64_t visited
        BufferC way
        float* left                         # by sequence: its squared distance at its last visit,
        float* told                         # its negative log-likelihood then,
        int32_t* wrong                      # and its wrong labels, where these are counted, else NULL
        DualC first                         # the dual variables of sequence 0,
        DualC observed                      # and those of what is observed, where not all labels are given
        float* curvature                    # by sequence; 0: not yet known
        float* overlap                      # by sequence: the mean inner product of two positions
        int64_t* rich_start
        double* entropy                     # lower bound of each sequence's entropy; NULL: not wanted

    cdef float* zeros(self, int64_t n) except NULL
    cdef DualC dual_of(self, int64_t s, bint observed=*) noexcept nogil
    cdef int find_overlaps(self, const int64_t* u_ptr, const int32_t* u_id, const float* u_val) except -1
    cdef void advance(self, const SentenceC* sent, const DualC* dual, double part) noexcept nogil
    cdef double remaining(self) noexcept nogil
    cdef int add_curvature(self, float* curvature) except -1
