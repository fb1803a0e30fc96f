"""CRF++'s double array, a trie of the names of features: reading all names, and building one.

A unit is (base, check), 32 bits each. From a node with base b, the byte c leads to unit b + c + 1 if the check of that unit
is b. If the check of unit b itself is b, a name ends at the node, and the base of unit b is -1 - value.
"""

import array

from cpython.array cimport array as array_t
from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.features.hashing cimport strings_get
from crfkit.features.strings cimport StringTable
from .little cimport number
from .names cimport NameC, by_place

from crfkit.errors import ModelFileError

cdef enum:
    UNIT = 8
    FIRST_UNITS = 1 << 13
    LAST_PLACE = 0x7FFFFE00


def read_names(const uint8_t[::1] data not None):
    """All names in a double array, and their values, sorted by value."""
    cdef:
        int64_t n = data.shape[0] // UNIT, p, q, b, root, length, k, room = 0, ends = 0, i, begin
        int32_t[::1] owner
        const uint8_t* unit = &data[0] if n else NULL
        uint8_t* s
        NameC* end                              # of a name: its place is the value, its number the unit
    if data.shape[0] % UNIT or n < 1 or n > 0x7FFFFFFF:
        raise ModelFileError(f"damaged: the table of names has {data.shape[0]} bytes, expected a multiple of {UNIT}")
    root, owner = <int32_t>number(unit), owners(unit, n)
    for p in range(1, n):
        ends += is_end(unit, p)
    cdef uint8_t[::1] room_of_ends = bytearray((ends + 1) * sizeof(NameC))
    end, ends = <NameC*>&room_of_ends[0], 0
    for p in range(1, n):
        if is_end(unit, p):
            end[ends].place, end[ends].number = -1 - <int64_t><int32_t>number(unit + p * UNIT), p
            ends += 1
    cdef uint8_t[::1] buffer = bytearray(4096)
    s = &buffer[0]
    for i in range(ends):  # in the order of units: similar names are close together
        begin, length, b = room, 0, end[i].number
        while b != root:
            q = owner[b]
            if q == 0 or length >= n:    # a longer one is a cycle
                break
            b = number(unit + q * UNIT + 4)
            k = q - b - 1
            if k < 0 or k > 255:
                break
            if begin + length == buffer.shape[0]:
                buffer = bytearray(buffer) + bytes(begin + length)
                s = &buffer[0]
            s[begin + length] = <uint8_t>k
            length += 1
        if b != root:
            raise ModelFileError(f"damaged: name {i} does not lead back to the first node")
        reverse(s + begin, length)
        end[i].length = length
        room += length
        if room > 64 * data.shape[0]:
            raise ModelFileError("damaged: the names are much longer than their table")
    for i in range(ends):
        end[i].s = <const char*>s
        s += end[i].length
    return by_place(end, ends)      # whose names differ: from the first node, the bytes of a name lead to one unit


cdef owners(const uint8_t* unit, int64_t n):
    """For each base the unit that has it."""
    cdef int64_t q, b
    cdef int32_t[::1] owner = array.array("i", [0]) * n
    for q in range(1, n):
        b = <int32_t>number(unit + q * UNIT)
        if b > 0 and number(unit + q * UNIT + 4) and b < n:
            if owner[b]:
                raise ModelFileError("damaged: two nodes of the table of names have the same children")
            owner[b] = <int32_t>q
    return owner.base


cdef inline bint is_end(const uint8_t* unit, int64_t p) noexcept nogil:
    """Whether a name ends at unit p."""
    return number(unit + p * UNIT + 4) == p and <int32_t>number(unit + p * UNIT) < 0


cdef void reverse(uint8_t* s, int64_t n) noexcept nogil:
    cdef int64_t k
    for k in range(n // 2):
        s[k], s[n - 1 - k] = s[n - 1 - k], s[k]


cdef class DoubleArray:
    """Units, while nodes get their children one after the other.

    The children of a node go to the first place with room for all of them. Darts, the library that CRF++ uses, does the same,
    so the tables are byte for byte those of CRF++. The search starts at `dense`: nearly all units before it are in use.
    """
    cdef array_t units                  # (base, check)
    cdef bytearray taken                # whether a node has this base
    cdef int32_t* unit
    cdef char* taken_at
    cdef int64_t size, dense, used

    def __cinit__(self):
        self.units, self.taken, self.used = array.array("i"), bytearray(), 1
        self.grow(FIRST_UNITS)

    cdef int grow(self, int64_t more) except -1:
        self.units.extend(array.array("i", [0]) * (2 * more))
        self.taken += bytes(more)
        self.unit, self.taken_at, self.size = <int32_t*>self.units.data.as_ints, self.taken, self.size + more

    cdef int64_t add(self, int64_t node, const int32_t* byte, int64_t n) except -1:
        """Give a node n children, which these bytes lead to (0: the end of a name, else 1 + the byte, ascending); its base."""
        cdef int64_t place = max(byte[0] + 1, self.dense) - 1, full = 0, first_free = 0, begin = 0, k
        while True:
            place += 1
            if place + 258 > self.size:
                self.grow(self.size)
                if place > LAST_PLACE:
                    raise ModelFileError("the names of the features take more than CRF++'s format has room for")
            if self.unit[2 * place + 1]:
                full += 1
                continue
            first_free = first_free or place
            begin = place - byte[0]
            if self.taken_at[begin]:
                continue
            for k in range(1, n):
                if self.unit[2 * (begin + byte[k]) + 1]:
                    break
            else:
                break
        self.dense = place if full >= 0.95 * (place - first_free + 1) else first_free
        self.taken_at[begin] = 1
        self.unit[2 * node] = <int32_t>begin
        self.used = max(self.used, begin + byte[n - 1] + 1)
        for k in range(n):
            self.unit[2 * (begin + byte[k]) + 1] = <int32_t>begin
        return begin


def write_names(StringTable names not None, const int64_t[::1] values not None):
    """The double array of names and their values. The names are in ascending order and without zero bytes."""
    cdef:
        int64_t node, depth, first, last, at, begin, k, n, length
        list todo = [(0, 0, names.c.n, 0)]      # unit of a node, first and last of its names, length of their common prefix
        const char* name
        int32_t c, before
        int32_t[257] byte                       # of each child; see DoubleArray.add
        int64_t[258] start                      # of each child: its first name
        DoubleArray table = DoubleArray()
    while todo:
        node, first, last, depth = todo.pop()
        n, before = 0, -1
        for at in range(first, last):
            length = strings_get(&names.c, <int32_t>at, &name)
            c = 0 if length == depth else <uint8_t>name[depth] + 1
            if c != before:
                byte[n], start[n], before = c, at, c
                n += 1
        start[n] = last
        if not n:
            break
        begin = table.add(node, byte, n)
        for k in range(n - 1, -1, -1):
            at = begin + byte[k]
            if byte[k] == 0:
                if values[start[k]] > 0x7FFFFFFE:
                    raise ModelFileError("more weights than CRF++'s format has room for")
                table.unit[2 * at] = -1 - <int32_t>values[start[k]]
            else:
                todo.append((at, start[k], start[k + 1], depth + 1))
    # CRF++ reads a unit for any byte behind any base without checking where the table ends.
    return (table.units[: 2 * table.used] + array.array("i", bytes(2 * 4 * 257))).tobytes()
