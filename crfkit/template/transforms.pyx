"""The transforms of a cell by the template macros %X %p %s %S %C %N, on UTF-8 bytes and without the interpreter.

Characters are classified and lower-cased by the tables of the running Python, one character to one character, so
that the result does not depend on the locale. Ill-formed UTF-8 gives some result, never an access out of bounds:
bytes that no table has are copied unchanged.
"""

from libc.stdint cimport int64_t, uint32_t

from crfkit.memory cimport memcpy

cdef extern from "Python.h" nogil:
    uint32_t Py_UNICODE_TOLOWER(uint32_t c) noexcept
    bint Py_UNICODE_ISLOWER(uint32_t c) noexcept
    bint Py_UNICODE_ISUPPER(uint32_t c) noexcept
    bint Py_UNICODE_ISTITLE(uint32_t c) noexcept
    bint Py_UNICODE_ISALPHA(uint32_t c) noexcept
    bint Py_UNICODE_ISDECIMAL(uint32_t c) noexcept


cdef uint32_t text_char(const char* s, int64_t n, int64_t i, int* size) noexcept nogil:
    cdef const unsigned char* u = <const unsigned char*> s
    cdef uint32_t c = u[i]
    cdef int length, k
    if c < 0xC0:  # ASCII, or a stray continuation byte
        size[0] = 1
        return c
    if c < 0xE0:
        length, c = 2, c & 0x1F
    elif c < 0xF0:
        length, c = 3, c & 0x0F
    elif c < 0xF8:
        length, c = 4, c & 0x07
    else:
        size[0] = 1
        return 0xFFFD
    if length > n - i:
        length = <int> (n - i)
    for k in range(1, length):
        c = c << 6 | (u[i + k] & 0x3F)
    size[0] = length
    return c if c <= 0x10FFFF else 0xFFFD


cdef inline int put(uint32_t c, uint32_t was, const char* s, int size, char* out) noexcept nogil:
    """Write a character in the place of another one, the `size` bytes at s; returns its number of bytes."""
    if c == was:
        memcpy(out, s, size)
        return size
    if c < 0x80:
        out[0] = <char> c
        return 1
    if c < 0x800:
        out[0] = <char> (0xC0 | c >> 6)
        out[1] = <char> (0x80 | c & 0x3F)
        return 2
    if c < 0x10000:
        out[0] = <char> (0xE0 | c >> 12)
        out[1] = <char> (0x80 | c >> 6 & 0x3F)
        out[2] = <char> (0x80 | c & 0x3F)
        return 3
    out[0] = <char> (0xF0 | c >> 18)
    out[1] = <char> (0x80 | c >> 12 & 0x3F)
    out[2] = <char> (0x80 | c >> 6 & 0x3F)
    out[3] = <char> (0x80 | c & 0x3F)
    return 4


cdef int text_is_padding(const char* s, int64_t n) noexcept nogil:
    cdef int64_t i
    if n < 4 or s[0] != b"_" or s[1] != b"B" or (s[2] != b"-" and s[2] != b"+") or s[3] == b"0":
        return False
    for i in range(3, n):
        if s[i] < b"0" or s[i] > b"9":
            return False
    return True


cdef int64_t text_lower(const char* s, int64_t n, uint32_t digit, char* out) noexcept nogil:
    cdef int64_t i = 0, o = 0
    cdef int size
    cdef uint32_t c, mapped
    while i < n:
        c = text_char(s, n, i, &size)
        mapped = digit if digit and Py_UNICODE_ISDECIMAL(c) else Py_UNICODE_TOLOWER(c)
        o += put(mapped, c, s + i, size, out + o)
        i += size
    return o


cdef int64_t text_prefix(const char* s, int64_t n, int64_t length, char* out) noexcept nogil:
    cdef int64_t i = 0, seen
    cdef int size
    for seen in range(length):
        if i >= n:
            return -1
        text_char(s, n, i, &size)
        i += size
    memcpy(out, s, i)
    return i


cdef int64_t text_suffix(const char* s, int64_t n, int64_t length, char* out) noexcept nogil:
    cdef int64_t i = n, seen
    for seen in range(length):
        if i == 0:
            return -1
        i -= 1
        while i > 0 and (<unsigned char> s[i] & 0xC0) == 0x80:
            i -= 1
    memcpy(out, s + i, n - i)
    return n - i


cdef int64_t text_shape(const char* s, int64_t n, int collapse, char* out) noexcept nogil:
    cdef int64_t i = 0, o = 0
    cdef int size
    cdef uint32_t c, mapped, last = 0xFFFFFFFF
    while i < n:
        c = text_char(s, n, i, &size)
        if Py_UNICODE_ISUPPER(c) or Py_UNICODE_ISTITLE(c):
            mapped = c"X"
        elif Py_UNICODE_ISALPHA(c) or Py_UNICODE_ISLOWER(c):
            mapped = c"x"
        elif Py_UNICODE_ISDECIMAL(c):
            mapped = c"0"
        else:
            mapped = c
        if not (collapse and mapped == last):
            o += put(mapped, c, s + i, size, out + o)
        last = mapped
        i += size
    return o
