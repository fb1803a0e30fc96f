"""The table of loops for this processor. All loops are called through `K`."""

from .structs cimport KernelsC

cdef const KernelsC* K
