"""Which features exist, and where their weights stand."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from .dataset cimport Dataset
from .memory cimport BufferC
from .structs cimport DatasetC, LayoutC, SentenceC

cdef int64_t layout_cell(const LayoutC* layout, int32_t a, int32_t label) noexcept nogil
cdef int64_t layout_rich_cell(const LayoutC* layout, int32_t b, int32_t prev, int32_t label) noexcept nogil
cdef void layout_clear_absent(const LayoutC* layout, double* cells) noexcept nogil
cdef bint rich_row_fits(const LayoutC* layout, int32_t b) noexcept nogil
cdef bint layout_fits(const LayoutC* layout, const SentenceC* sent) noexcept nogil


cdef class Layout:
    cdef LayoutC c
    cdef readonly int64_t n_features        # weights that may differ from zero
    cdef BufferC u_ptr, u_label, u_mask, b_ptr, b_prev, b_label, tau_mask, b_prev2
    cdef bint unverified                    # from a file, and only its ends were checked
    cdef object sections                    # buffers of a model file that the arrays lie in, or None
    cdef build_rich(self, Dataset data, const uint8_t[::1] b_all, const int32_t[::1] b_min, b_reach)
    cdef int place(self) except -1
    cdef int place_parts(self) noexcept
    cdef int verify(self) except -1
