from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport DatasetC
from .possible cimport Possible


cdef inline bint all_ones(const float* values, int64_t first, int64_t last) noexcept nogil:
    """Whether these values are all 1, or there are none (NULL)."""
    cdef int64_t k
    for k in range(first, last if values != NULL else first):
        if values[k] != 1:
            return False
    return True


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

    cpdef int fill_in(self, bint values, bint weights) except -1
    cdef void drop_ones(self) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef void point(self) noexcept nogil
    cdef bint is_given(self, int64_t t) noexcept nogil
    cdef dict views(self)
    cdef int need_labels(self, int64_t tokens) except -1
    cdef int need_labels_below(self, int64_t n) except -1


cdef void renumber_rows(int64_t n_tok, int64_t* ptr, int32_t* id, float* value, const int32_t* new_id) noexcept nogil
cdef int append_sequences(Dataset data, Dataset more, int64_t first, int64_t last) except -1
