"""What the template macros make of a cell, on UTF-8 bytes.

All take the cell s[0..n) and write to `out`, which has room for text_bound(n) bytes and is not `s`; they
return the number of bytes written, or -1 where the cell gives no value and thereby no feature.

None of them knows paddings: a cell for which text_is_padding holds must be handled before (x, lower, shape:
the padding itself; prefix, suffix: no value; regex: false or empty).
"""

from libc.stdint cimport int64_t, uint32_t


# The most bytes any transform makes of n: lower-casing lengthens a few letters from 2 to 3 bytes.
cdef inline int64_t text_bound(int64_t n) noexcept nogil:
    return n + (n >> 1) + 1

cdef int text_is_padding(const char* s, int64_t n) noexcept nogil      # _B-1, _B+12: what lies beyond the sentence
cdef int64_t text_lower(const char* s, int64_t n, uint32_t digit, char* out) noexcept nogil    # and all digits become this one, unless it is 0
cdef int64_t text_prefix(const char* s, int64_t n, int64_t length, char* out) noexcept nogil
cdef int64_t text_suffix(const char* s, int64_t n, int64_t length, char* out) noexcept nogil
cdef int64_t text_shape(const char* s, int64_t n, int collapse, char* out) noexcept nogil

# The character that starts at s[i]: its code point, and in *size its length in bytes (never beyond n).
cdef uint32_t text_char(const char* s, int64_t n, int64_t i, int* size) noexcept nogil
