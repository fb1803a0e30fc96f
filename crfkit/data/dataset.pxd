"""The sequences of a corpus as attribute numbers; see dataset.pyx."""

from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport DatasetC


cdef enum:
    NO_LABEL = -1
    MORE_LABELS = -2


cdef inline int labels_seen(int32_t* seen, int32_t label) noexcept nogil:
    """1 or 2 if this is the first or the second label that an attribute is seen with, else 0. `seen`: its only label so far,
    NO_LABEL or MORE_LABELS."""
    if seen[0] == NO_LABEL:
        seen[0] = label
        return 1
    if seen[0] == MORE_LABELS or seen[0] == label:
        return 0
    seen[0] = MORE_LABELS
    return 2


cdef inline int check_rows(const int64_t* ptr, int64_t n, const int32_t* id, int64_t n_id, int32_t most) except -1:
    """ValueError unless these are n rows of n_id numbers below `most`; without numbers, of anything."""
    cdef int64_t k
    cdef bint sound = ptr[0] == 0 and ptr[n] == n_id
    for k in range(n):
        sound &= ptr[k] <= ptr[k + 1]
    for k in range(n_id if id != NULL else 0):
        sound &= 0 <= id[k] < most
    if not sound:
        raise ValueError(f"offsets or numbers of something else than {n} rows with {n_id} numbers below {most}")
    return 0


cdef int32_t largest(const int32_t[::1] ids) noexcept


cdef class Dataset(Arena):
    cdef DatasetC c                 # what loops read; valid after `settle`
    cdef BufferC seq_ptr, seq_weight, label
    cdef BufferC u_ptr, u_id, u_val
    cdef BufferC b_ptr, b_id
    cdef public int32_t n_u, n_b    # attributes: u_id < n_u, b_id < n_b
    cdef public list labels         # names, where they are known
    cdef public object nesting      # which unigram attributes bring others along, or None: IndexBuilder.nesting

    cdef void settle(self) noexcept nogil
    cdef dict views(self)


cdef inline int need_labels(Dataset data, int64_t tokens=0) except -1:
    """ValueError if tokens have no labels, or if there are fewer tokens."""
    if data.c.n_tok < tokens or (data.c.label == NULL and data.c.n_tok):
        raise ValueError("a data set without labels")
    return 0
