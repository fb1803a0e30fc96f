"""One sentence, and what Python asks of it."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.text.rows cimport Rows
from .decoder cimport Decoder
from .scratch cimport Scratch


cdef class OneSentence(Scratch):
    cdef str form                       # of sentences from Python
    cdef int32_t columns                # that their rows have at least, and
    cdef object refuse                  # who says so where they have fewer
    cdef bint loose                     # text may be any bytes
    cdef Rows own                       # the one that was read, or None
    cdef Rows source                    # the rows of the sentence looked at, and
    cdef int64_t taken                  # which of them it is
    cdef bint expected                  # its marginals are known
    cdef int64_t holder                 # the thread that holds it, or 0
    cdef int64_t holds                  # how often
    cdef int64_t forks                  # that there had been when it was taken

    cdef void let_go(self) noexcept
    cdef int read_rows(self, sentence) except -1
    cdef list labels_of(self, bint posterior)
    cdef bint is_short(self, int64_t length) noexcept
    cdef int score_one(self, Rows rows, int64_t sentence) except -1 nogil
    cdef int look_at(self, Rows rows, int64_t sentence) except -1
    cdef int expect_once(self) except -1
