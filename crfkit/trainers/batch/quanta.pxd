"""What the terms of gradients are rounded to."""

from crfkit.data.dataset cimport Dataset
from crfkit.memory cimport Arena, BufferC
from crfkit.weights.layout cimport Layout

cdef double find_quanta(Dataset data, Layout layout, object sums_of_all, Arena owner, BufferC* quanta) except -1
cdef int spread_quanta(Layout layout, const double* quanta, Arena owner, BufferC* cold) except -1
