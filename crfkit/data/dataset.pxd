from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport DatasetC
from .possible cimport Possible


cdef int32_t largest(const int32_t* id, int64_t n) noexcept nogil


cdef class Dataset(Arena):
    cdef DatasetC c                 # what loops read; valid after `settle`
    cdef BufferC seq_ptr, seq_weight, label
    cdef BufferC u_ptr, u_id, u_val
    cdef BufferC b_ptr, b_id
    cdef readonly int32_t n_u, n_b  # attributes: u_id < n_u, b_id < n_b
    cdef public list labels         # names, where they are known
    cdef readonly Possible possible # labels of tokens, where not all are given, or None
    cdef public object nesting      # which unigram attributes bring others along, or None: IndexBuilder.nesting

    cdef void settle(self) noexcept nogil
    cdef void point(self) noexcept nogil
    cdef bint is_given(self, int64_t t) noexcept nogil
    cdef dict views(self)
    cdef int need_labels(self, int64_t tokens) except -1
