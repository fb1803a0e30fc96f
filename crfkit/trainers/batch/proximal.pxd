from libc.stdint cimport int32_t, int64_t, uint8_t

from .dual cimport DualAscent


cdef class Proximal(DualAscent):
    cdef:
        double l1, penalty_l2
        float* sum              # by feature: observed minus expected values under the dual variables
        float* pull             # stiffness x centre
        float* inverse          # 1 / (stiffness + l2)
        float* moved            # the stiffness before it is raised to LEAST, with the sign of the centre's last move
        float* unit             # by row: the stiffness of a feature with values of 1 is this many times as large
        double* exact           # by feature: minus `sum`, computed anew
        double* mean            # the same for a mixture of the points that `bound` has seen, and
        public double mixed     # a lower bound of its entropy

        public bint screened    # steps see only unigram attributes that have, or may soon have, a weight:
        int64_t* kept_ptr       # their numbers and values, as in DatasetC
        int32_t* kept_id
        float* kept_val
        uint8_t* kept           # of each attribute: whether it is one of them

    cdef void stiffen(self) noexcept nogil
    cdef double entropy_of_all(self) noexcept nogil
