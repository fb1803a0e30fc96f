from libc.stdint cimport int64_t

from crfkit.features.strings cimport StringTable


cdef struct NameC:
    const char* s
    int64_t length, place, number


cpdef numbers_in(StringTable table, StringTable names)
cdef tuple by_place(NameC* name, int64_t n)
