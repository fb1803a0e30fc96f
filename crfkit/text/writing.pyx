"""Output without the interpreter: a buffer of bytes that grows, and rows with their labels.

Every line of the input is written back byte for byte, with its own line end, and one empty line after each sequence.
"""

from libc.stdint cimport uint32_t
from libc.stdio cimport snprintf

from crfkit.loops.numbers cimport fabs, isfinite, signbit
from crfkit.memory cimport buffer_free, memmove

from .table cimport FORM_CRFSUITE, rows_cell
from .scanning cimport blank_line, is_digit

cdef enum:
    MOST_DECIMALS = 16
    SHORT = 32          # bytes of an integer, of a number below 10^9 with its decimals, and more
    LONGEST = 400       # of a number without its decimals

cdef uint64_t[20] POWER
cdef double[13] FIRST_DIGIT = [1e-4, 1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8]    # none is below that power of ten
cdef const char* HEXADECIMAL = b"0123456789abcdef"
cdef int64_t place
for place in range(20):
    POWER[place] = 10 * POWER[place - 1] if place else 1
cdef char[200] PAIR     # the digits of 00, 01 ... 99
for place in range(200):
    PAIR[place] = <char>(48 + (place // 2 % 10 if place % 2 else place // 20))


cdef int out_printed(OutC* out, const char* form, int precision, double x) except -1 nogil:
    """Write a number as printf does, but with a point, whatever the locale."""
    cdef int64_t n
    cdef char* at = out_reserve(out, LONGEST + precision)
    cdef char* end
    cdef char* stop
    n = snprintf(at, LONGEST + precision, form, precision, x)
    if isfinite(x):
        stop = at + n
        at += at[0] == b"-"
        while at < stop and is_digit(at[0]):
            at += 1
        end = at
        while end < stop and not is_digit(end[0]) and end[0] != b"e":
            end += 1
        if end > at:
            memmove(at + 1, end, stop - end)
            at[0] = b"."
            n -= end - at - 1
    out.n += n


cdef int64_t write_digits(char* s, uint64_t number, int64_t n) noexcept nogil:
    """Write the last n digits of a number; returns n."""
    cdef int64_t k = n
    while k > 1:
        k -= 2
        memcpy(s + k, &PAIR[2 * (number % 100)], 2)
        number //= 100
    if k:
        s[0] = <char>(48 + number % 10)
    return n


cdef int64_t write_integer(char* s, uint64_t number) noexcept nogil:
    """Write a number; returns how many digits it has."""
    cdef int64_t n = 1
    while n < 20 and number >= POWER[n]:
        n += 1
    return write_digits(s, number, n)


cdef int64_t write_decimal(char* s, double x, int64_t decimals) noexcept nogil:
    """Write a number with up to 16 decimals, rounded as by printf, and return its length, less than SHORT. 0: it is not below 10^9, or so close
    to the middle between two decimals that 64 bits do not tell which one is closer."""
    cdef double size = fabs(x), rest
    cdef uint64_t whole, part, error, low, high, digits = 0, half = <uint64_t>1 << 63
    cdef int64_t n = signbit(x) != 0, k, left = decimals
    if not size < POWER[9]:
        return 0
    whole = <uint64_t>size
    rest = (size - whole) * 18446744073709551616.0    # 2^64: exactly
    part = <uint64_t>rest           # what is left behind the digits, in units of 2^-64; there may be up to `error` units more
    error = <double>part != rest
    while left > 0:
        k = min(left, 8)
        low = <uint64_t><uint32_t>part * POWER[k]
        high = (part >> 32) * POWER[k] + (low >> 32)
        digits = digits * POWER[k] + (high >> 32)
        part = high << 32 | <uint32_t>low
        error *= POWER[k]
        left -= k
    if part == half or part < half < part + error:
        return 0
    digits += part > half
    if digits == POWER[decimals]:
        whole, digits = whole + 1, 0
    s[0] = b"-"
    n += write_integer(s + n, whole)
    if decimals:
        s[n] = b"."
        n += 1 + write_digits(s + n + 1, digits, decimals)
    return n


cdef int out_decimal(OutC* out, double x, int decimals=6) except -1 nogil:
    """Write a number with so many decimals."""
    cdef int64_t n = 0
    if 0 <= decimals <= MOST_DECIMALS:
        n = write_decimal(out_reserve(out, SHORT), x, decimals)
    if not n:
        return out_printed(out, b"%.*f", decimals, x)
    out.n += n


cdef int out_significant(OutC* out, double x) except -1 nogil:
    """Write nine digits, which tell a number in single precision from all others, without zeros at the end, as printf's %.9g."""
    cdef double size = fabs(x)
    cdef int64_t n = 0, k = 0
    cdef char* text = out_reserve(out, SHORT)
    if FIRST_DIGIT[0] <= size < FIRST_DIGIT[12]:    # printf writes others with an exponent, or without decimals
        while size >= FIRST_DIGIT[k + 1]:
            k += 1
        n = write_decimal(text, x, 12 - k)
    if not n:
        return out_printed(out, b"%.*g", 9, x)
    while text[n - 1] == b"0":
        n -= 1
    out.n += n - (text[n - 1] == b".")


cdef int out_hexadecimal(OutC* out, double x) except -1 nogil:
    """Write all bits of a number, as printf's %a."""
    cdef uint64_t bits, digits
    cdef int64_t power
    if not isfinite(x):
        return out_decimal(out, x)
    memcpy(&bits, &x, sizeof(double))
    digits, power = bits << 12, <int64_t>(bits >> 52 & 0x7FF)
    out_bytes(out, b"-0x", 3) if signbit(x) else out_bytes(out, b"0x", 2)
    out_char(out, b"1" if power else b"0")
    if digits:
        out_char(out, b".")
    while digits:
        out_char(out, HEXADECIMAL[digits >> 60])
        digits <<= 4
    out_char(out, b"p")
    power = power - 1023 if power else -1022 if x else 0
    out_char(out, b"-" if power < 0 else b"+")
    return out_integer(out, -power if power < 0 else power)


cdef int out_integer(OutC* out, uint64_t number) except -1 nogil:
    out.n += write_integer(out_reserve(out, SHORT), number)


cdef class Output:
    """Owner of the buffer, which keeps its memory when it is reset."""

    def __dealloc__(self):
        buffer_free(&self.c.room)

    def getvalue(self):
        return self.c.room.data[:self.c.n]

    def reset(self):
        self.c.n = 0

    cdef bytes taken(self):
        """What was written since the last time."""
        self.c.n, n = 0, self.c.n
        return self.c.room.data[:n]


cdef int out_token_cells(const RowsC* rows, int64_t token, OutC* out) except -1 nogil:
    """Write the cells of a token with tabs between them, as CRF++ does; in the form of CRFsuite the line as it is."""
    cdef int32_t column, n
    cdef const char* cell
    if rows.form == FORM_CRFSUITE:
        return out_bytes(out, rows.text + rows.line_start[token], rows.line_end[token] - rows.line_start[token])
    for column in range(rows.n_cols):
        if column:
            out_char(out, b"\t")
        cell = rows_cell(rows, token, column, &n)
        out_bytes(out, cell, n)
    return 0


cdef int out_line_end(const RowsC* rows, int64_t token, OutC* out) except -1 nogil:
    """End a line as that of a token ends."""
    if rows.text[rows.line_end[token]] == b"\r":
        out_char(out, b"\r")
    return out_char(out, b"\n")


cdef int out_lines(const RowsC* rows, int64_t start, int64_t stop, bint close, OutC* out) except -1 nogil:
    """Write lines that are not tokens. A run of blank lines becomes one empty line; with `close` one follows at the end."""
    cdef const char* text = rows.text
    cdef int64_t line_end, next_line
    cdef bint blank, after_blank = True
    while start < stop:
        blank = blank_line(text, start, stop, &line_end, &next_line)
        if not blank:
            out_bytes(out, text + start, next_line - start)
        elif not after_blank:
            out_empty_line(rows, start, out)
        after_blank = blank
        start = next_line
    if close and not after_blank:
        out_empty_line(rows, stop, out)


cdef int out_empty_line(const RowsC* rows, int64_t end, OutC* out) except -1 nogil:
    """Write an empty line after the line that ends at `end`, with the same line end."""
    if end > 1 and rows.text[end - 2] == b"\r":
        out_char(out, b"\r")
    return out_char(out, b"\n")


cdef int64_t begin_sentence(const RowsC* rows, int64_t s, OutC* out) except -1 nogil:
    """Write the lines before the first token."""
    cdef int64_t pos = rows.line_start[rows.seq_ptr[s]]
    out_lines(rows, rows.seq_start[s], pos, False, out)
    return pos


cdef int end_sentence(const RowsC* rows, int64_t s, int64_t pos, OutC* out) except -1 nogil:
    """Write what is left of the last line, and an empty line."""
    out_bytes(out, rows.text + pos, rows.seq_end[s] - pos)
    return out_empty_line(rows, rows.seq_end[s], out)
