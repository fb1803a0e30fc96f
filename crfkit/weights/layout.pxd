from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.data.dataset cimport Dataset
from crfkit.memory cimport Arena
from crfkit.loops.structs cimport LayoutC, SentenceC

cdef void layout_clear_absent(const LayoutC* layout, double* cells, int64_t first, int64_t last) noexcept nogil
cdef bint rich_row_fits(const LayoutC* layout, int32_t b) noexcept nogil
cdef bint layout_fits(const LayoutC* layout, const SentenceC* sent) noexcept nogil


cdef class Layout(Arena):
    cdef LayoutC c
    cdef dict sections                      # the arrays
    cdef object pairs                       # the mask of label pairs
    cdef uint8_t* u_exists
    cdef bint unverified                    # from a file, and only its ends were checked
    cpdef int tell_absent(self, pairs) except -1
    cdef int verify(self) except -1
    cdef int check(self, Dataset data, bint learning=*) except -1
