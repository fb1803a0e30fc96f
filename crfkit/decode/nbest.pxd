from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport EdgeC, LatticeC


cdef class NBest(Arena):
    """Scratch of one thread, and the paths that the last search found: path k has score `scores[k]` and the labels
    `labels[k * T]` to `labels[k * T + T - 1]`. Both stay valid until the next search."""
    cdef int32_t found
    cdef int32_t length                 # T of the sequence searched
    cdef double* scores
    cdef uint16_t* labels
    cdef BufferC score_buffer, label_buffer, links, states, ways, paths, trail, which, rows, heads, alone, least, orders, n_ordered
    cdef int64_t n_states, n_ways, n_paths, cells
    cdef double slack                   # how much a path may lose against the best one
    cdef bint bounded                   # whether rows hold the highest score of a shared step to each label
    cdef int32_t wanted                 # so many paths


cdef double most_into(NBest s, const LatticeC* lat, const EdgeC* edge, int64_t j) noexcept nogil
cdef int search_best(NBest s, LatticeC* lat) except -1 nogil
cdef int search_nbest(NBest s, LatticeC* lat, int n, double ratio, double unit) except -1 nogil
cdef int search_further(NBest s, LatticeC* lat, int n, double ratio, double unit) except -1 nogil
cdef int add_path(NBest s, const LatticeC* lat, double score) except -1 nogil
cdef bint is_too_bad(NBest s, double score, double ratio, double unit) noexcept nogil
