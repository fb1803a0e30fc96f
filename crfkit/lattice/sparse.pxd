"""Label-pair matrices that are mostly zero, as lists."""

from libc.stdint cimport int64_t, uint8_t

from .lattice cimport Lattice
from crfkit.memory cimport BufferC
from crfkit.loops.structs cimport LatticeC, LayoutC, PairsC, weight_t


# Which loops to take: the faster ones, or one kind whatever it costs.
cdef enum Recursions:
    AUTO
    SPARSE
    DENSE


cdef Recursions recursions_of(str name) except *


cdef class SparseEdges:
    cdef PairsC c
    cdef BufferC index, pairs, counted
    cdef bint find(self, const LatticeC* lat, const uint8_t* features, Recursions recursions) except -1 nogil
    cdef int choose(self, LatticeC* lat, Recursions recursions) except -1 nogil
    cdef bint count(self, LatticeC* lat, const LayoutC* layout, Recursions recursions) except -1
    cdef bint follow(self, LatticeC* lat, const LayoutC* layout, Recursions recursions) except -1
    cdef int check(self, Lattice lattice) except -1
