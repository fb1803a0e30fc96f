"""Search for lines, characters and numbers in bytes."""

from libc.stdint cimport INT64_MAX

from crfkit.loops.numbers cimport isfinite


cdef int64_t utf8_fault(const unsigned char* s, int64_t n) noexcept nogil:
    """The offset of the first byte that does not begin a UTF-8 character, or -1. ASCII is skipped eight bytes at a time."""
    cdef int64_t i = 0
    cdef int k, more
    cdef unsigned char c, low, high
    cdef uint64_t word
    while i < n:
        c = s[i]
        if c < 0x80:
            i += 1
            while n - i >= 8:
                memcpy(&word, s + i, 8)
                if word & <uint64_t> 0x8080808080808080:
                    break
                i += 8
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= c <= 0xDF:
            more = 1
        elif 0xE0 <= c <= 0xEF:
            more = 2
            if c == 0xE0:           # overlong forms
                low = 0xA0
            elif c == 0xED:         # surrogates
                high = 0x9F
        elif 0xF0 <= c <= 0xF4:
            more = 3
            if c == 0xF0:
                low = 0x90
            elif c == 0xF4:         # beyond U+10FFFF
                high = 0x8F
        else:
            return i
        if n - i <= more or s[i + 1] < low or s[i + 1] > high:
            return i
        for k in range(2, more + 1):
            if s[i + k] & 0xC0 != 0x80:
                return i
        i += more + 1
    return -1


cdef int64_t last_blank_line(const char* text, int64_t start, int64_t n) noexcept nogil:
    """The offset behind the last complete blank line, or 0. The search goes backwards, to `start`, where a line begins."""
    cdef int64_t end = n, i
    while True:
        while end > start and text[end - 1] != b"\n":
            end -= 1
        if end == start:
            return 0
        i = end - 1
        while i > start and is_blank(text[i - 1]):
            i -= 1
        if i == start or text[i - 1] == b"\n":
            return end
        end = i


def last_cut(const unsigned char[::1] text, int64_t start):
    """The offset behind the last blank line at or after `start`, where a line begins; 0 if there is none."""
    if not 0 <= start < text.shape[0]:
        return 0
    return last_blank_line(<const char*> &text[0], start, text.shape[0])


def first_cut(const unsigned char[::1] text, int64_t start):
    """The offset behind the first complete blank line at or after `start`, where a line begins; 0 if there is none."""
    cdef int64_t n = text.shape[0], pos = start, stop, next_line
    while 0 <= pos < n:
        if blank_line(<const char*> &text[0], pos, n, &stop, &next_line) and text[next_line - 1] == c"\n":
            return next_line
        pos = next_line
    return 0


cdef double[23] POWERS = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
                          1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22]


cdef int parse_double(const char* s, int64_t n, double* value) except -1 nogil:
    """Return 1 and set the value if the bytes are a decimal number, else 0. One that is too large for a double is infinite.

    A product or quotient of two exact doubles is rounded only once, so it is correctly rounded. Numbers with more digits are
    left to the interpreter. strtod would depend on the locale."""
    cdef int64_t i = 0, mantissa = 0, exponent = 0, power = 0
    cdef int digits = 0
    cdef bint negative = skip_sign(s, n, &i), negative_power, point = False
    cdef double x
    while i < n and (is_digit(s[i]) or (s[i] == b"." and not point)):
        if s[i] == b".":
            point = True
        else:
            if is_exact(mantissa):
                mantissa = 10 * mantissa + (s[i] - <char> b"0")
            else:
                mantissa = INT64_MAX    # too many digits for exact arithmetic
            digits += 1
            exponent -= point
        i += 1
    if digits == 0:
        return 0
    if i < n and (s[i] == b"e" or s[i] == b"E"):
        i += 1
        negative_power = skip_sign(s, n, &i)
        if i == n:
            return 0
        while i < n and is_digit(s[i]):
            power = min(10 * power + (s[i] - <char> b"0"), <int64_t> 1 << 40)     # more than a text has digits
            i += 1
        exponent += -power if negative_power else power
    if i != n:
        return 0
    if is_exact(mantissa) and -22 <= exponent <= 22:
        x = mantissa
        x = x * POWERS[exponent] if exponent >= 0 else x / POWERS[-exponent]
        if negative:
            x = -x
    else:
        with gil:
            x = float(s[:n])
    value[0] = x
    return 1


cdef int parse_number(const char* s, int64_t n, float* value) except -1 nogil:
    """The same for numbers in the range of a float: 0 for others, too."""
    cdef double x
    if not parse_double(s, n, &x):
        return 0
    value[0] = <float> x
    return isfinite(value[0])


cdef int conllu_id(const char* s, int64_t n) noexcept nogil:
    """What an ID is: 1 the number of a word, 2 a range or an empty node, 0 neither."""
    cdef int64_t i = 0, begin
    cdef int parts = 0
    while True:
        begin = i
        while i < n and is_digit(s[i]):
            i += 1
        if i == begin:
            return 0
        parts += 1
        if i == n:
            return parts
        if parts == 2 or (s[i] != b"-" and s[i] != b"."):
            return 0
        i += 1
