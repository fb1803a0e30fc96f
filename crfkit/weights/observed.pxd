"""What each attribute was seen with; see observed.pyx."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.data.dataset cimport Dataset
from crfkit.memory cimport Arena, BufferC
from .evidence cimport Evidence, FoundC

cdef enum:
    TOKENS_AT_ONCE = 1 << 18
    NO_FEATURE = -1     # B lines have none at the first token

cdef struct SeenC:      # of an attribute
    int64_t last        # the key of its last feature met
    int32_t n           # its features; -1: observed ones are not needed
    int32_t count       # how often it occurs; exact only up to MOST_COUNT

cdef struct TokenC:
    int64_t key         # of the feature that it is an example of (history.pxd), or NO_FEATURE
    int64_t t


cdef class Observed(Arena):
    cdef Dataset data
    cdef bint bigram
    cdef int64_t labels, n, n_found, at_once
    cdef object rules, reaches      # bytes
    cdef const uint8_t* rule        # [n] of features/reach.pxd
    cdef const uint8_t* reach       # [n]; NULL: the same for all
    cdef SeenC* seen
    cdef BufferC found, merged, tokens, spare, begins

    cdef int collect(self, int reach) except -1 nogil
    cdef int merge(self, int64_t first, int64_t middle) except -1 nogil
    cdef tuple number(self, int64_t dense)
    cdef tuple features(self, new_ids, int64_t kept)
