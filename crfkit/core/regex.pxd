from libc.stdint cimport int64_t


cdef class Regex:
    # The leftmost match in s[0..n): 1 and its byte range, or 0. Linear in n; safe from many threads at once.
    cdef int search(self, const char* s, int64_t n, int64_t* start, int64_t* end) noexcept nogil
