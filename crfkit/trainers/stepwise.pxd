from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from crfkit.data.ordered cimport Ordered
from crfkit.lattice.lattice cimport Lattice
from crfkit.loops.structs cimport SentenceC, weight_t
from crfkit.threads cimport Threads
from .base cimport Trainer
from .dropout cimport Dropout


cdef class OnlineTrainer(Trainer):
    cdef Lattice lattice
    cdef uint64_t[4] rng            # rng.pxd
    cdef Ordered ordered            # the sequences in the order of this pass
    cdef int32_t* sequences         # in that order
    cdef public int64_t passes
    cdef public int64_t steps       # updates made so far
    cdef readonly int threads
    cdef int64_t batch              # sequences an update is made from
    cdef int64_t between            # sequences between two checks for signals
    cdef uint16_t* path             # room for that of a sequence
    cdef weight_t* out              # where changes go: w, or a buffer that is added to w at the end of a batch
    cdef bint pairs_known           # the lattice holds the current weights of label pairs
    cdef Dropout dropout            # what leaves out attributes, or None
    cdef list workers
    cdef Threads pool               # for them, once they are wanted
    cdef double loss                # of a worker
    cdef int64_t claimed, piece     # sequences of the pass: those that workers have claimed, and the end of this piece
    cdef int64_t sequence           # the one that the current step is about

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil
    cdef int begin_pass(self) except -1
    cdef int end_pass(self) except -1
    cdef int begin_update(self) except -1 nogil
    cdef void close_batch(self) noexcept nogil
    cdef double row_factor(self, int64_t r) noexcept nogil
    cdef int update(self, const int32_t* which, int64_t n, double* loss) except -1 nogil
    cdef int learn_from(self, const int32_t* which, int64_t n, double* loss) except -1 nogil
    cdef void fetch(self, const int32_t* which, int64_t n) noexcept nogil
    cdef int begin_anew(self, object start) except -1
    cdef int draw_sample(self, int32_t* sample, int64_t n) except -1
    cdef double expect(self, const weight_t* w, double scale, const SentenceC* scored) except? -1 nogil
    cdef bint may_be(self, const SentenceC* scored) noexcept nogil
    cdef bint restrict(self, const SentenceC* scored, double* loss) except -1 nogil
    cdef int64_t updates_of(self, int64_t n) noexcept nogil
    cdef double nll(self, const weight_t* w, double scale, const int32_t* which, int64_t n) except? -1
    cdef int64_t skip(self, int64_t n) noexcept nogil
    cdef int64_t undisturbed(self, int64_t n) noexcept nogil
    cdef void follow(self, OnlineTrainer leader) noexcept
    cdef void absorb(self, OnlineTrainer worker) noexcept
