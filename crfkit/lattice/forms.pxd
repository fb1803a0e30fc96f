"""Which form each step of a lattice has."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.loops.structs cimport EdgeC, LayoutC

cdef int64_t LARGEST_CELL
cdef int64_t labels_to_change, cells_a_change

# Which form steps have: the faster one, or always the same.
cdef enum Recursions:
    AUTO
    SPARSE
    DENSE

cdef Recursions recursions_of(str name) except *
cdef int64_t most_pairs(int64_t L, Recursions recursions, bint summed=*) noexcept nogil
cdef int64_t most_changes(int64_t L, int64_t P, int64_t pairs, int64_t steps, bint summed) noexcept nogil
cdef bint pairs_known(const LayoutC* layout) noexcept nogil
cdef int64_t mark_scored(const EdgeC* shared, uint8_t* mask) noexcept nogil
cdef int64_t mark_rich(const LayoutC* layout, uint8_t* mask, int64_t most) noexcept nogil
cdef bint places_fit(const LayoutC* layout) noexcept nogil
cdef bint is_listed(const LayoutC* layout, Recursions form, bint summed) noexcept nogil
