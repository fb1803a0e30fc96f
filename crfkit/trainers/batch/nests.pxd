from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.memory cimport Arena, BufferC
from crfkit.loops.structs cimport DatasetC, LayoutC, weight_t


cdef struct AttributeC:
    int32_t slot                # that made it, or -1
    int32_t nest                # -1 - k, or 0
    int64_t count
    int64_t member              # where the list of what it implies begins
    bint broken                 # it does not always imply the same


cdef class Survey(Arena):
    cdef int32_t n_slots
    cdef int64_t n, n_members           # attributes, and what they may imply
    cdef AttributeC* attribute          # [n]
    cdef int32_t* member                # [n_members] what each implies, slot by slot
    cdef int32_t* within                # [n_slots] the slot whose attributes always have one of this slot's beside them, or -1
    cdef int32_t* order                 # slots, each before the one that it lies within
    cdef int32_t* width                 # slots within each slot
    cdef int32_t* place                 # of a slot among those within the same one
    cdef int32_t* at                    # the attribute of each slot at a token


cdef class Nests(Arena):
    cdef readonly int32_t n             # rows of sums
    cdef Dataset data                   # which `c` is a view of
    cdef DatasetC c                     # the data with the sums in place of what they add up
    cdef BufferC u_ptr, u_id, starts, parts
    cdef double* sums                   # [n][P]
    cdef int64_t* start                 # [n+1] nest k adds up part[start[k]] .. part[start[k+1]]
    cdef int32_t* part                  # attributes; -1-k: nest k

    cdef void release(self) noexcept
    cdef void add_up(self, const LayoutC* layout, const weight_t* w, int64_t from_label, int64_t to_label) noexcept nogil
    cdef void hand_down(self, const LayoutC* layout, double* of_sums, double* g, int64_t from_label, int64_t to_label) noexcept nogil
