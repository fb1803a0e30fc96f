"""The table of loops that fits this processor. Everybody calls the loops through `K`."""

from .structs cimport KernelsC

cdef const KernelsC* K
