"""Whether an attribute is seen with one label or with more."""

from libc.stdint cimport int32_t

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
