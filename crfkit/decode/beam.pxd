from crfkit.loops.structs cimport LatticeC
from .nbest cimport NBest

cdef int search_beam(NBest s, LatticeC* lat, int n, int width, double ratio, double unit) except -1 nogil
