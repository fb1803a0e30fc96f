from libc.stdint cimport int64_t


cdef struct NameC:                      # a name in a text, and the place of its weights
    int64_t place, order                # the order is that of names with the same place
    int64_t begin, length


cdef tuple by_place(NameC* name, int64_t n, const char* text)
