from libc.stdint cimport int64_t, uint32_t, uint64_t

from crfkit.memory cimport memchr, memcpy


cdef inline int64_t find(const char* text, char c, int64_t start, int64_t stop) noexcept nogil:
    """The offset of the first c, or `stop`."""
    cdef const char* at = <const char*> memchr(text + start, c, <size_t> (stop - start))
    return at - text if at != NULL else stop


cdef enum:
    BLANKS = -1         # in the place of the byte between cells: any number of blanks and tabs


cdef inline bint is_space(char c) noexcept nogil:
    """A blank or a tab: most characters take one comparison."""
    return <unsigned char>c <= b" " and (c == b" " or c == b"\t")


cdef inline bint is_blank(char c) noexcept nogil:
    """The same, or the carriage return of a line end."""
    return c == b" " or c == b"\t" or c == b"\r"


cdef inline int64_t cell_end(const char* text, int64_t* start, int64_t stop, int separator) noexcept nogil:
    """Where the next cell of a line ends: at the separator, a byte, or at BLANKS, where it begins behind those before it."""
    cdef int64_t end = start[0]
    if separator != BLANKS:
        while end < stop and <unsigned char>text[end] != separator:
            end += 1
        return end
    while end < stop and is_space(text[end]):
        end += 1
    start[0] = end
    while end < stop and not is_space(text[end]):
        end += 1
    return end


cdef inline bint is_digit(char c) noexcept nogil:
    return b"0" <= c <= b"9"


cdef inline bint skip_sign(const char* s, int64_t n, int64_t* at) noexcept nogil:
    """Go behind the sign that stands there, if one does; whether it is a minus."""
    cdef bint minus = at[0] < n and s[at[0]] == b"-"
    if minus or (at[0] < n and s[at[0]] == b"+"):
        at[0] += 1
    return minus


cdef inline bint is_exact(int64_t n) noexcept nogil:
    """Whether doubles represent every integer up to this one."""
    return n <= <int64_t>1 << 53


cdef inline bint blank_line(const char* text, int64_t start, int64_t n, int64_t* stop, int64_t* after) noexcept nogil:
    """Whether the line at `start` has only blanks, tabs and carriage returns; where it stops, and where the next one starts."""
    cdef int64_t end = find(text, b"\n", start, n)
    after[0] = end + 1 if end < n else n
    while end > start and text[end - 1] == b"\r":
        end -= 1
    stop[0] = end
    while start < end and is_blank(text[start]):
        start += 1
    return start == end


cdef inline int64_t mark_at(const char* text, int64_t start, int64_t stop) noexcept nogil:
    """The length of a byte order mark at the start of a line, where files were joined; 0 if it is the whole first cell, too."""
    if stop - start <= 3 or text[start] != <char> 0xEF or text[start + 1] != <char> 0xBB or text[start + 2] != <char> 0xBF:
        return 0
    return 0 if is_blank(text[start + 3]) else 3


cdef inline void copy_bytes(char* to, const char* s, int64_t n) noexcept nogil:
    """Copy n bytes. A short text takes no call of a function: two words that may overlap cover it."""
    cdef uint64_t first, last
    cdef uint32_t head, tail
    if n > 16:
        memcpy(to, s, <size_t>n)
    elif n >= 8:
        memcpy(&first, s, 8)
        memcpy(&last, s + n - 8, 8)
        memcpy(to, &first, 8)
        memcpy(to + n - 8, &last, 8)
    elif n >= 4:
        memcpy(&head, s, 4)
        memcpy(&tail, s + n - 4, 4)
        memcpy(to, &head, 4)
        memcpy(to + n - 4, &tail, 4)
    elif n > 0:
        to[0] = s[0]
        to[n >> 1] = s[n >> 1]
        to[n - 1] = s[n - 1]


cdef int64_t utf8_fault(const unsigned char* s, int64_t n) noexcept nogil
cdef int64_t last_blank_line(const char* text, int64_t start, int64_t n) noexcept nogil
cdef int parse_double(const char* s, int64_t n, double* value) except -1 nogil
cdef int parse_number(const char* s, int64_t n, float* value) except -1 nogil
cdef int conllu_id(const char* s, int64_t n) noexcept nogil


cdef inline uint64_t string_hash(const char* s, int64_t n) noexcept nogil:
    """64 mixed bits of n bytes: the same on every run, since tables are stored in model files."""
    cdef uint64_t h = <uint64_t>n * <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t word
    cdef uint32_t low, high
    while n > 8:
        memcpy(&word, s, 8)
        h = (h ^ word) * <uint64_t>0xD6E8FEB86659FD93
        h ^= h >> 32
        s += 8
        n -= 8
    if n >= 4:  # two words that may overlap read any length from 4 to 8
        memcpy(&low, s, 4)
        memcpy(&high, s + n - 4, 4)
        word = (<uint64_t>high << 32) | low
    elif n > 0:
        word = <unsigned char>s[0] | (<uint64_t><unsigned char>s[n >> 1] << 8) | (<uint64_t><unsigned char>s[n - 1] << 16)
    else:
        word = 0
    h = (h ^ word) * <uint64_t>0xD6E8FEB86659FD93
    h ^= h >> 32
    h *= <uint64_t>0xBF58476D1CE4E5B9
    return h ^ (h >> 29)


cdef inline bint same_bytes(const char* a, const char* b, int64_t n) noexcept nogil:
    """memcmp, of short strings without a call."""
    cdef uint64_t x, y
    cdef uint32_t p, q
    if n >= 8:
        while n > 8:
            memcpy(&x, a, 8)
            memcpy(&y, b, 8)
            if x != y:
                return False
            a += 8
            b += 8
            n -= 8
        memcpy(&x, a + n - 8, 8)
        memcpy(&y, b + n - 8, 8)
        return x == y
    if n >= 4:
        memcpy(&p, a, 4)
        memcpy(&q, b, 4)
        if p != q:
            return False
        memcpy(&p, a + n - 4, 4)
        memcpy(&q, b + n - 4, 4)
        return p == q
    while n > 0 and a[0] == b[0]:
        a += 1
        b += 1
        n -= 1
    return n <= 0
