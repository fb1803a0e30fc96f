from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport LayoutC, SentenceC, weight_t
from crfkit.trainers.stepwise cimport OnlineTrainer


cdef class AveragedTrainer(OnlineTrainer):
    cdef double* u          # the sum of change * step of all changes; NULL without averaging

    cdef int64_t instants(self) noexcept nogil


cdef class Paths(Arena):
    """Scratch of a trainer that moves away from the paths it has found."""
    cdef int64_t P
    cdef double* amounts    # [L][P] of labels or label pairs, [P] where no pairs are features; zeros between uses
    cdef BufferC shares     # the labels or pairs that have one
    cdef int32_t n          # how many

    cdef int follow(self, OnlineTrainer trainer, const SentenceC* sent, const uint16_t* paths, const double* probability, int64_t n,
                    double gain, double* late) except -1 nogil


cdef inline void change(weight_t* w, double* late, double when, int64_t cell, double by) noexcept nogil:
    if cell >= 0:
        w[cell] += <weight_t>by
        if late != NULL:
            late[cell] += by * when


cdef struct FeatureC:
    int64_t cell        # of its weight
    int64_t slot        # its slot in the table


cdef struct SideC:     # a label of some paths at a position, or a pair of labels
    int32_t prev, label
    int64_t feature     # of an attribute with it, or -1


cdef class Differences(Arena):
    """Scratch of one thread. After `compare`, the weight of feature f < size is features[f].cell, and
    values[f * n + k] is its value on the true path minus its value on path k."""
    cdef int64_t n, size
    cdef FeatureC* features
    cdef double* values
    cdef int64_t room                   # for so many features
    cdef BufferC feature_buffer, value_buffer, table
    cdef bint direct                    # the slot of a cell in the table is its number, else a hash
    cdef int64_t mask                   # slots of the table - 1
    cdef BufferC sides, side_of         # of a position: the true one and the others; and of each path
    cdef int32_t n_sides

    cdef int compare(self, const LayoutC* layout, const SentenceC* sent, const uint16_t* paths, int64_t n) except -1 nogil
    cdef void products(self, double* out) noexcept nogil
