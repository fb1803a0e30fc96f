"""What all trainers share."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from crfkit.core.dataset cimport Dataset
from crfkit.core.lattice cimport Lattice
from crfkit.core.layout cimport Layout
from crfkit.core.memory cimport BufferC
from crfkit.core.rng cimport RngC
from crfkit.core.structs cimport SentenceC, weight_t


cdef class Vector:
    cdef object owner
    cdef void* data
    cdef Py_ssize_t n, size
    cdef bytes form


cdef object vector(object owner, str form, const void* data, int64_t n)
cdef int take(dict state, str name, str form, void* data, int64_t n) except -1


cdef class Trainer:
    cdef readonly Dataset data
    cdef readonly Layout layout
    cdef readonly object options
    cdef readonly object converged
    cdef readonly bint interrupted
    cdef BufferC cells
    cdef weight_t* w


cdef class OnlineTrainer(Trainer):
    cdef Lattice lattice
    cdef RngC rng
    cdef BufferC order
    cdef readonly int64_t passes
    cdef readonly int64_t steps
    cdef int64_t sequence       # the one that a step is about

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil
    cdef int begin_pass(self) except -1
    cdef int end_pass(self) except -1
    cdef int run_steps(self, int64_t first, int64_t last, double* loss) except -1 nogil
