from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from crfkit.memory cimport Arena

cdef extern from "Python.h" nogil:
    uint32_t Py_UNICODE_TOLOWER(uint32_t c) noexcept
    bint Py_UNICODE_ISDECIMAL(uint32_t c) noexcept
    bint Py_UNICODE_ISALPHA(uint32_t c) noexcept
    bint Py_UNICODE_ISALNUM(uint32_t c) noexcept
    bint Py_UNICODE_ISLOWER(uint32_t c) noexcept
    bint Py_UNICODE_ISUPPER(uint32_t c) noexcept
    bint Py_UNICODE_ISTITLE(uint32_t c) noexcept
    bint Py_UNICODE_ISSPACE(uint32_t c) noexcept


# The character that starts at s[i]: its code point, and in *size its length in bytes (never beyond n).
cdef uint32_t text_char(const char* s, int64_t n, int64_t i, int* size) noexcept nogil


cdef struct InstructionC:
    int32_t op
    int32_t x        # CHARACTER: code point; SET: which; JUMP, SPLIT: where to go on, first choice
    int32_t y        # SPLIT: second choice

cdef struct SetC:
    uint64_t ascii[2]    # the answer for the first 128 characters
    uint32_t kinds       # the others are in it if they are of one of these kinds
    int32_t first        # or within one of the ranges ranges[first:last]
    int32_t last
    int32_t negated      # or, if set, the other way round

cdef struct RangeC:
    uint32_t low
    uint32_t high        # inclusive


cdef class Regex(Arena):
    cdef InstructionC* program
    cdef SetC* sets
    cdef RangeC* ranges
    cdef int32_t size

    # The leftmost match in s[0..n): 1 and its byte range, or 0. Linear in n; safe from many threads at once.
    cdef int search(self, const char* s, int64_t n, int64_t* start, int64_t* end) noexcept nogil
