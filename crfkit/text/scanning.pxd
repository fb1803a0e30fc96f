from libc.stdint cimport int64_t, uint32_t, uint64_t

from crfkit.memory cimport memchr, memcpy


cdef inline int64_t find(const char* text, char c, int64_t start, int64_t stop) noexcept nogil:
    """The offset of the first c, or `stop`."""
    cdef const char* at = <const char*> memchr(text + start, c, <size_t> (stop - start))
    return at - text if at != NULL else stop


cdef inline bint is_blank(char c) noexcept nogil:
    return c == b" " or c == b"\t" or c == b"\r"


cdef inline bint is_digit(char c) noexcept nogil:
    return b"0" <= c <= b"9"


cdef inline bint is_exact(int64_t n) noexcept nogil:
    """Whether doubles represent every integer up to this one."""
    return n <= <int64_t>1 << 53


cdef inline bint blank_line(const char* text, int64_t start, int64_t n, int64_t* stop, int64_t* after) noexcept nogil:
    """Whether the line at `start` has only blanks, tabs and carriage returns. Also sets its end, without the line end, and the
    start of the next line."""
    cdef int64_t end = find(text, b"\n", start, n)
    after[0] = end + 1 if end < n else n
    while end > start and text[end - 1] == b"\r":
        end -= 1
    stop[0] = end
    while start < end and is_blank(text[start]):
        start += 1
    return start == end


cdef inline int64_t mark_at(const char* text, int64_t start, int64_t stop) noexcept nogil:
    """The length of the byte order mark at the start of a line, where files were joined: 3, or 0 if there is none, or if it is
    the whole first cell."""
    if stop - start <= 3 or text[start] != <char> 0xEF or text[start + 1] != <char> 0xBB or text[start + 2] != <char> 0xBF:
        return 0
    return 0 if is_blank(text[start + 3]) else 3


cdef inline void copy_bytes(char* to, const char* s, int64_t n) noexcept nogil:
    """Copy n bytes. A short text takes no call of a function: two words, or pairs of words, that may overlap cover it."""
    cdef uint64_t first, last
    cdef uint64_t[2] front, back
    cdef uint32_t head, tail
    if n > 32:
        memcpy(to, s, <size_t>n)
    elif n >= 16:
        memcpy(front, s, 16)
        memcpy(back, s + n - 16, 16)
        memcpy(to, front, 16)
        memcpy(to + n - 16, back, 16)
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
cdef int parse_number(const char* s, int64_t n, float* value) except -1 nogil
cdef int conllu_id(const char* s, int64_t n) noexcept nogil
