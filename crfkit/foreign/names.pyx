"""Tables of names: sorted by their bytes or places, put together, and renamed for the template of another program."""

import array

from cpython.array cimport array as array_t, clone

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort

from crfkit.features.hashing cimport strings_find, strings_get
from crfkit.memory cimport memcmp

cdef extern from "<string.h>" nogil:
    void* memmem(const void* s, size_t n, const void* part, size_t size)

cdef array_t NUMBERS = array.array("i"), PLACES = array.array("q")


cpdef numbers_in(StringTable table, StringTable names):
    """The number of each name in the table, -1 if it is not there."""
    cdef array_t found = clone(NUMBERS, names.c.n, zero=False)
    cdef const char* s
    cdef int64_t i, n
    for i in range(names.c.n):
        n = strings_get(&names.c, <int32_t>i, &s)
        found.data.as_ints[i] = strings_find(&table.c, s, n)
    return found


def joined(StringTable first not None, *tables) -> StringTable:
    """The names in `first`, and behind them those that only the other tables have, as first seen."""
    cdef StringTable table, names = first.copy()
    cdef const char* s
    cdef int64_t i, n
    for table in tables:
        for i in range(table.c.n):
            n = strings_get(&table.c, <int32_t>i, &s)
            names.intern(s, n)
    return names


def in_order(StringTable first not None, *tables) -> StringTable:
    """The names in `first`, in that order, and those that only the tables have, ascending."""
    cdef StringTable names = joined(first, *tables)
    if names.c.n == first.c.n:
        return first
    return names.select(array.array("i", range(first.c.n)) + ascending(names, first.c.n))


def ascending(StringTable names not None, int64_t begin=0) -> array.array:
    """The numbers of the names from number `begin` on, in the order of their bytes."""
    cdef int64_t i, n = max(names.c.n - begin, 0)
    cdef array_t found = clone(NUMBERS, n, zero=False)
    cdef unsigned char[::1] room = bytearray((n + 1) * sizeof(NameC))
    cdef NameC* name = <NameC*>&room[0]
    for i in range(n):
        name[i].length, name[i].number = strings_get(&names.c, <int32_t>(begin + i), &name[i].s), begin + i
    qsort(name, <size_t>n, sizeof(NameC), compare_bytes)
    for i in range(n):
        found.data.as_ints[i] = <int32_t>name[i].number
    return found


cdef int compare_bytes(const void* a, const void* b) noexcept nogil:
    cdef const NameC* x = <const NameC*>a
    cdef const NameC* y = <const NameC*>b
    cdef int found = memcmp(x.s, y.s, <size_t>min(x.length, y.length))
    return found if found else (x.length > y.length) - (x.length < y.length)


cdef tuple by_place(NameC* name, int64_t n):
    """Sort names by their places, then by their numbers: (names, places). One that is there twice is one of the names."""
    cdef array_t places = clone(PLACES, n, zero=False)
    cdef StringTable names = StringTable()
    cdef int64_t i, room = 0
    qsort(name, <size_t>n, sizeof(NameC), compare_places)
    for i in range(n):
        places.data.as_longlongs[i] = name[i].place
        room += name[i].length
    names.reserve(n, room)
    for i in range(n):
        names.intern(name[i].s, name[i].length)
    return names, places


cdef int compare_places(const void* a, const void* b) noexcept nogil:
    cdef const NameC* x = <const NameC*>a
    cdef const NameC* y = <const NameC*>b
    if x.place != y.place:
        return 1 if x.place > y.place else -1
    return 1 if x.number > y.number else -1


cdef bint any_within(const char* s, int64_t n, tuple parts):
    """Whether one of the parts occurs in a text."""
    cdef bytes part
    for part in parts:
        if memmem(s, <size_t>n, <const char*>part, <size_t>len(part)) != NULL:
            return True
    return False


cdef bint is_made(const char* s, int64_t n, tuple literals):
    """Whether a text may be that of macros with these literals behind them."""
    cdef const char* end = s + n
    cdef bytes literal
    cdef int64_t k, last = len(literals) - 1
    if last < 0:
        return n == 0
    for k in range(last):
        literal = literals[k]
        if literal:     # nothing is nowhere to the memmem of some systems
            s = <const char*>memmem(s, <size_t>(end - s), <const char*>literal, <size_t>len(literal))
            if s == NULL:
                return False
            s += len(literal)
    literal = literals[last]
    return len(literal) <= end - s and memcmp(end - len(literal), <const char*>literal, <size_t>len(literal)) == 0


cdef class Lines:
    """The lines of a template by the text before their first macro, so that not every line has to be compared with every name. A line
    has a bit, which stands for the letter that its names begin with in another program."""
    cdef StringTable beginnings
    cdef list others                # of each beginning: (bit, the other literals)
    cdef list lengths               # of beginnings, ascending

    def __cinit__(self, lines):
        cdef int64_t number
        self.beginnings, self.others = StringTable(), []
        for bit, literals in lines:
            number = self.beginnings.intern_bytes(literals[0])
            if number == len(self.others):
                self.others.append([])
            self.others[number].append((bit, literals[1:]))
        self.lengths = sorted({len(name) for name in self.beginnings})

    cdef int letters(self, const char* s, int64_t n) except -1:
        """The bits of the lines that may make a name."""
        cdef int found = 0, bit
        cdef int64_t length
        cdef int32_t number
        cdef tuple literals
        for length in self.lengths:
            if length > n:
                break
            number = strings_find(&self.beginnings.c, s, length)
            if number >= 0:
                for bit, literals in <list>self.others[number]:
                    if not found & bit and is_made(s + length, n - length, literals):
                        found |= bit
        return found


def renamed(StringTable names not None, lines not None, bytes letters not None, bytes starts not None, tuple paddings not None, special not None):
    """Names of features in another program: (the new names, the number of the old name of each, clashes).

    `lines` are (bit, literals): bit k stands for the k-th of `letters`, with which names of the line begin there. Here they begin with one of
    `starts`. For a name with one of the paddings inside, special(name) gives the new names. A clash is a pair of old names that get the same new
    one; or (None, number), if a name that is not in the table would get it, too.
    """
    cdef StringTable made = StringTable()
    cdef Lines of_template = Lines(lines)
    cdef array_t numbers = array.array("i")
    cdef bytearray renamed
    cdef const char* s
    cdef char* other
    cdef bytes name
    cdef int64_t i, k, n
    cdef int bits
    cdef char letter
    clashes = []
    made.reserve(names.c.n, names.c.n_bytes)
    for i in range(names.c.n):
        n = strings_get(&names.c, <int32_t>i, &s)
        if any_within(s, n, paddings):
            found, lonely = special(s[:n])
            for name in found:
                enter(made, name, len(name), i, numbers, clashes)
            if lonely:
                clashes.append((None, i))
            continue
        bits = of_template.letters(s, n)
        if not bits:
            continue
        renamed = bytearray(s[:n])
        other = renamed
        if len(starts) > 1:
            for letter in starts:
                other[0] = letter
                if letter != s[0] and of_template.letters(other, n) & bits and strings_find(&names.c, other, n) < 0:
                    clashes.append((None, i))
        for k in range(len(letters)):
            if bits >> k & 1:
                other[0] = letters[k]
                enter(made, other, n, i, numbers, clashes)
    return made, numbers, clashes


cdef int enter(StringTable made, const char* s, int64_t n, int64_t number, array_t numbers, list clashes) except -1:
    """Give a new name the features of the old name with this number."""
    cdef int32_t found = made.intern(s, n)
    if found == len(numbers):
        numbers.append(number)
    else:
        clashes.append((numbers.data.as_ints[found], number))
