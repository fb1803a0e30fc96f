"""Loops over names and weights for CRF++ and Wapiti, whose model files number the weights; and the rows of any model in another order.

A feature of CRF++, or an observation of Wapiti, has a place: the number of its first weight. It has one weight for each
label, or one for each pair of labels, ordered by (previous label, label).
"""

import array

from cpython.array cimport array as array_t, clone

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.loops.numbers cimport isfinite, ldexp
from crfkit.features.hashing cimport strings_get
from crfkit.features.strings cimport StringTable
from crfkit.memory cimport memchr, memcpy
from crfkit.text.scanning cimport find, is_blank, is_digit, is_exact, parse_double, skip_sign
from crfkit.text.writing cimport Output, PIECE, out_bytes, out_char, out_decimal, out_integer
from .names cimport NameC, by_place

from crfkit.errors import ModelFileError
from crfkit.values import legible, shown

cdef enum:
    MOST_DIGITS = 14                    # hexadecimal digits: 53 bits, wherever the point is
    MOST_POWER = 5                      # digits of an exponent
    MOST_NUMBER = 18                    # digits of a number
    MOST_PLACE = 15                     # of a place in CRF++'s text models

cdef array_t NUMBERS = array.array("q"), LABELS = array.array("H"), WEIGHTS = array.array("d")
NOT_FINITE = frozenset((b"inf", b"+inf", b"-inf", b"nan", b"+nan", b"-nan"))


def doubles(const uint8_t[::1] data not None):
    """Numbers in single precision, as bytes of a file, not necessarily aligned, as an array of doubles."""
    cdef int64_t k, n = data.shape[0] // <int64_t>sizeof(float)
    cdef array_t found = clone(WEIGHTS, n, zero=False)
    cdef float x
    for k in range(n):
        memcpy(&x, &data[k * <int64_t>sizeof(float)], sizeof(float))
        found.data.as_doubles[k] = x
    return found


def initials(StringTable names not None):
    """The first byte of each name; a zero byte for an empty one."""
    cdef const char* s
    cdef int64_t i
    found = bytearray(names.c.n)
    cdef uint8_t[::1] first = found if found else None
    for i in range(names.c.n):
        if strings_get(&names.c, <int32_t>i, &s):
            first[i] = <uint8_t>s[0]
    return bytes(found)


def rows_at(StringTable names not None, const int64_t[::1] places not None, const int32_t[::1] chosen not None, const int64_t[::1] numbers,
            const double[::1] weights not None, int64_t labels, bint bigram):
    """The rows of the chosen names, in this order: (names, start of each row, labels, weights, previous labels). See FeatureRows.placed."""
    cdef:
        int64_t size = labels * labels if bigram else labels, n = chosen.shape[0], i, k, total = 0, place
        array_t ptr = clone(NUMBERS, n + 1, zero=False)
        array_t label, weight, previous
        int64_t number, at
    if not 1 <= labels <= 0xFFFF or places.shape[0] != names.c.n or (numbers is not None and numbers.shape[0] != weights.shape[0]):
        raise ValueError("names, places and weights that do not belong together")
    ptr.data.as_longlongs[0] = 0
    for i in range(n):
        if not 0 <= chosen[i] < names.c.n:
            raise IndexError(f"name {chosen[i]} of {names.c.n}")
        place = places[chosen[i]]
        if numbers is not None:
            total += first_from(numbers, place + size) - first_from(numbers, place)
        elif 0 <= place <= weights.shape[0] - size:
            total += size
        else:
            raise ModelFileError(f"damaged: the feature {shown(legible(names[chosen[i]]))} has its weights at {place} of {weights.shape[0]}")
        if total > weights.shape[0]:
            raise ModelFileError("damaged: features share weights")
        ptr.data.as_longlongs[i + 1] = total
    label, weight = clone(LABELS, total, zero=False), clone(WEIGHTS, total, zero=False)
    previous = clone(LABELS, total if bigram else 0, zero=False)
    for i in range(n):
        place = places[chosen[i]]
        k = place if numbers is None else first_from(numbers, place)
        for at in range(ptr.data.as_longlongs[i], ptr.data.as_longlongs[i + 1]):
            number = (k if numbers is None else numbers[k]) - place
            if bigram:
                previous.data.as_ushorts[at], number = <uint16_t>(number // labels), number % labels
            label.data.as_ushorts[at], weight.data.as_doubles[at] = <uint16_t>number, weights[k]
            k += 1
    return names.select(chosen), ptr, label, weight, previous


def rows_of(const int32_t[::1] numbers not None, const int64_t[::1] ptr not None, const uint16_t[::1] label not None, const double[::1] weight not None,
            const uint16_t[::1] previous not None):
    """The rows of these numbers, empty ones for -1, without weights of zero: (start of each row, labels, weights, previous labels, if there are any)."""
    cdef:
        int64_t i, at, n = numbers.shape[0], total = 0
        bint pairs = previous.shape[0] == weight.shape[0]
        array_t begins = clone(NUMBERS, n + 1, zero=True), labels, weights, before
    for i in range(n):
        if numbers[i] >= 0:
            for at in range(ptr[numbers[i]], ptr[numbers[i] + 1]):
                total += weight[at] != 0
        begins.data.as_longlongs[i + 1] = total
    labels, weights, before = clone(LABELS, total, zero=False), clone(WEIGHTS, total, zero=False), clone(LABELS, total if pairs else 0, zero=False)
    total = 0
    for i in range(n):
        if numbers[i] < 0:
            continue
        for at in range(ptr[numbers[i]], ptr[numbers[i] + 1]):
            if weight[at] != 0:
                labels.data.as_ushorts[total], weights.data.as_doubles[total] = label[at], weight[at]
                if pairs:
                    before.data.as_ushorts[total] = previous[at]
                total += 1
    return begins, labels, weights, before


cdef int64_t first_from(const int64_t[::1] numbers, int64_t least) noexcept nogil:
    """The index of the first number that is not less than `least`; numbers ascend."""
    cdef int64_t low = 0, high = numbers.shape[0], middle
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


def read_strings(const uint8_t[::1] text not None, int64_t at, int64_t n, StringTable names not None):
    """Read up to n of Wapiti's strings, `3:abc,` and a line end, from byte `at` on. Stops at one that is malformed, repeated, or
    contains a line end. Returns the byte behind the last good one."""
    cdef int64_t i, k, length, size = text.shape[0], known
    cdef const char* name
    if not 0 <= at <= size:
        raise ValueError(f"byte {at} of {size}")
    for i in range(n):
        k, length, known = at, 0, names.c.n
        while k < size and k - at < 10 and is_digit(text[k]):
            length = 10 * length + digit_of(text[k])
            k += 1
        if k == at or k >= size or text[k] != b":" or length > size - k - 3:
            return at
        name = <const char*>&text[k + 1]
        if name[length] != b"," or name[length + 1] != b"\n" or memchr(name, b"\n", <size_t>length) != NULL or names.intern(name, length) != known:
            return at
        at = k + length + 3
    return at


def read_weights(const uint8_t[::1] text not None, int64_t at, array_t numbers not None, array_t weights not None, int64_t begin):
    """Read Wapiti's weights, `12=-0x1.8p-3` and a line end, from byte `at` on, into the arrays from index `begin` on. Returns the
    byte where they end, and the next index. Stops at a line of another form, or with more digits than a double has, which the
    caller must read.
    """
    cdef:
        int64_t size = text.shape[0], room = min(len(numbers), len(weights)), used
        double weight
        int64_t number
    if numbers.typecode != "q" or weights.typecode != "d" or not 0 <= begin <= room or not 0 <= at <= size:
        raise ValueError("arrays of other numbers")
    if size == 0:
        return at, begin
    while begin < room:
        used = read_weight(<const char*>&text[0] + at, size - at, &number, &weight)
        if used == 0:
            break
        numbers.data.as_longlongs[begin], weights.data.as_doubles[begin] = number, weight
        at += used
        begin += 1
    return at, begin


cdef inline int64_t digit_of(char c) noexcept nogil:
    """The value of a hexadecimal digit, -1 of anything else."""
    if is_digit(c):
        return c - 48
    return c - 87 if b"a" <= c <= b"f" else -1


cdef int64_t read_weight(const char* s, int64_t n, int64_t* number, double* weight) noexcept nogil:
    """Read one line: its length in bytes, or 0 if it has another form."""
    cdef int64_t k = 0, digit, mantissa = 0, begin, point = -1, power = 0
    cdef bint negative, down
    number[0] = 0
    while k < n and k < MOST_NUMBER and is_digit(s[k]):
        number[0] = 10 * number[0] + digit_of(s[k])
        k += 1
    if k == 0 or k >= n or s[k] != b"=":
        return 0
    k += 1
    negative = skip_sign(s, n, &k)
    if k + 2 >= n or s[k] != b"0" or s[k + 1] != b"x":
        return 0
    k += 2
    begin = k
    while k < n and k - begin <= MOST_DIGITS:
        digit = digit_of(s[k])
        if digit >= 0:
            mantissa = 16 * mantissa + digit
        elif s[k] == b"." and point < 0 and k > begin:
            point = k + 1
        else:
            break
        k += 1
    if k == begin or not is_exact(mantissa):
        return 0
    if point >= 0:
        power = -4 * (k - point)
    if k < n and s[k] == b"p":
        k += 1
        down = skip_sign(s, n, &k)
        begin, digit = k, 0
        while k < n and k - begin < MOST_POWER and is_digit(s[k]):
            digit = 10 * digit + digit_of(s[k])
            k += 1
        if k == begin:
            return 0
        power += -digit if down else digit
    if k >= n or s[k] != b"\n":
        return 0
    weight[0] = ldexp(<double>(-mantissa if negative else mantissa), <int>power)
    if mantissa == 0 and negative:
        weight[0] = -0.0
    return k + 1 if isfinite(weight[0]) else 0


def read_places(const uint8_t[::1] text not None, int64_t at, int64_t n):
    """Read n lines of CRF++'s text models, `12 U:abc`, from byte `at` on: (the byte behind the last one, or where one of another
    form begins; the names by their places, each once; the places)."""
    cdef int64_t i, k, stop, size = text.shape[0]
    if not 0 <= at <= size or n < 0:
        raise ValueError(f"{n} lines from byte {at} of {size}")
    cdef uint8_t[::1] room = bytearray((n + 1) * sizeof(NameC))
    cdef NameC* name = <NameC*>&room[0]
    cdef const char* s = <const char*>&text[0]
    for i in range(n):
        k, stop = at, find(s, b"\n", at, size)
        while k < stop and k - at < MOST_PLACE and is_digit(s[k]):
            name[i].place = 10 * name[i].place + digit_of(s[k])
            k += 1
        if k == at or k + 1 >= stop or s[k] != b" " or (s[k + 1] != b"U" and s[k + 1] != b"B"):
            n = i
            break
        name[i].number, name[i].s, name[i].length = i, s + k + 1, stop - k - 1
        at = min(stop + 1, size)
    return at, *by_place(name, n)


def read_decimals(const uint8_t[::1] text not None, int64_t at, array_t weights not None):
    """Read a number, which may have blanks around it, from each line there from byte `at` on, to fill the array. Returns where they end, or a line of another form begins."""
    cdef const char* s = <const char*>&text[0]
    cdef int64_t i, begin, end, stop, size = text.shape[0]
    cdef double* weight = weights.data.as_doubles
    if weights.typecode != "d" or not 0 <= at <= size:
        raise ValueError("an array of other numbers")
    for i in range(len(weights)):
        stop = find(s, b"\n", at, size)
        begin, end = at, stop
        while begin < end and is_blank(s[begin]):
            begin += 1
        while end > begin and is_blank(s[end - 1]):
            end -= 1
        if not parse_double(s + begin, end - begin, &weight[i]):
            if s[begin:end] not in NOT_FINITE:
                break
            weight[i] = float(s[begin:end])
        at = min(stop + 1, size)
    return at


def place_lines(StringTable names not None, const int64_t[::1] places not None):
    """The lines of names and their places in CRF++'s text models, in pieces."""
    cdef Output text = Output()
    cdef const char* name
    cdef int64_t i, n
    for i in range(names.c.n):
        n = strings_get(&names.c, <int32_t>i, &name)
        out_integer(&text.c, places[i])
        out_char(&text.c, b" ")
        out_bytes(&text.c, name, n)
        out_char(&text.c, b"\n")
        if text.c.n > PIECE:
            yield text.taken()
    yield text.taken()


def weight_lines(const double[::1] weights not None):
    """The lines of weights there, in pieces. A zero has no sign."""
    cdef Output text = Output()
    cdef int64_t k
    for k in range(weights.shape[0]):
        out_decimal(&text.c, weights[k] if weights[k] != 0 else 0, 16)
        out_char(&text.c, b"\n")
        if text.c.n > PIECE:
            yield text.taken()
    yield text.taken()
