"""Interned strings: bytes <-> ids 0, 1, 2.. in order of first occurrence, compared byte by byte.

    slot   [power of two]   (tag, id + 1)      probed linearly from the low half of the hash
    offset [n+1]            where each string starts in the arena
    arena                   all strings, one after the other

A table grows while a corpus is read. Packed, it is just those three arrays, so that a model file
is searched in place.
"""

from libc.stdint cimport uint32_t

from crfkit.memory cimport arena_reserve, memcpy, memset, vector
from crfkit.text.scanning cimport copy_bytes
from .structs cimport StringSlotC
from .hashing cimport string_hash, strings_find, strings_find_hashed, strings_get

from crfkit.errors import ModelFileError

cdef enum:
    FEWEST_SLOTS = 16
    MOST_STRINGS = 0x7FFFFFFE


cdef inline void refer(StringSlotC* slot, uint64_t mask, uint64_t h, int64_t i) noexcept nogil:
    """Enter string i in the first free slot for its hash."""
    cdef uint64_t at = h & mask
    while slot[at].ref != 0:
        at = (at + 1) & mask
    slot[at].tag, slot[at].ref = <uint32_t>(h >> 32), <uint32_t>i + 1


cdef class StringTable(Arena):
    """A growable table of distinct byte strings, at first of those given, or a read-only one over the arrays of `pack`."""

    def __cinit__(self, strings=()):
        self.reserve(0, 1)
        (<int64_t*>self.offsets.data)[0] = 0
        for string in strings:
            self.intern_bytes(string)

    cdef int reserve(self, int64_t n, int64_t n_bytes) except -1 nogil:
        """Room for n strings of so many bytes in all."""
        reserve_slots(self, n)
        self.c.offset = <const int64_t*>arena_reserve(self, &self.offsets, n + 1, sizeof(int64_t))
        self.c.arena = <const char*>arena_reserve(self, &self.bytes, n_bytes, 1)

    cdef int32_t intern(self, const char* s, int64_t n) except -1 nogil:
        """The id of the string, a new one if it is new."""
        cdef uint64_t h = string_hash(s, n)
        cdef int32_t found = strings_find_hashed(&self.c, s, n, h)
        return found if found >= 0 else self.add(s, n, h)

    cdef int32_t add(self, const char* s, int64_t n, uint64_t h) except -1 nogil:
        """Append a string that is not in the table yet."""
        cdef int64_t i = self.c.n
        if self.mapped is not None:
            raise TypeError("a table mapped from a model cannot grow")
        if i >= MOST_STRINGS:
            raise OverflowError("more than two thousand million different strings")
        if (i + 1) * 3 > <int64_t>(self.c.mask + 1) * 2:
            reserve_slots(self, (i + 1) * 2)
        self.c.offset = <const int64_t*>arena_reserve(self, &self.offsets, i + 2, sizeof(int64_t))
        self.c.arena = <const char*>arena_reserve(self, &self.bytes, self.c.n_bytes + n, 1)
        copy_bytes(self.bytes.data + self.c.n_bytes, s, n)
        self.c.n_bytes += n
        (<int64_t*>self.offsets.data)[i + 1] = self.c.n_bytes
        refer(<StringSlotC*>self.slots.data, self.c.mask, h, i)
        self.c.n = i + 1
        return <int32_t>i

    cdef void freeze(self) noexcept:
        """From now on the table is read-only."""
        self.mapped = self.mapped or ()

    cpdef StringTable copy(self):
        """A table of the same strings that can grow."""
        cdef StringTable made = StringTable()
        made.reserve(self.c.n, self.c.n_bytes)
        memcpy(made.offsets.data, self.c.offset, (self.c.n + 1) * sizeof(int64_t))
        memcpy(made.bytes.data, self.c.arena, self.c.n_bytes)
        made.shrink(self.c.n)
        return made

    cdef void shrink(self, int64_t n) noexcept:
        """Keep the first n strings."""
        self.c.n, self.c.n_bytes = n, self.c.offset[n]
        fill_slots(self)

    def __len__(self):
        return self.c.n

    def __getitem__(self, int64_t i):
        cdef const char* s
        cdef int64_t n
        if i < 0 or i >= self.c.n:
            raise IndexError(f"string {i} of {self.c.n}")
        n = strings_get(&self.c, <int32_t>i, &s)
        return s[:n]

    def __iter__(self):
        return map(self.__getitem__, range(self.c.n))

    def find(self, bytes string not None):
        """The id of a string, or -1."""
        cdef const char* s = string
        return strings_find(&self.c, s, len(string))

    def intern_bytes(self, bytes string not None):
        """The id of a string, a new one if it was never seen."""
        return self.intern(string, len(string))

    def select(self, const int32_t[::1] keep not None):
        """A new table of the strings with these ids, numbered in this order."""
        cdef StringTable chosen = StringTable()
        cdef const char* s
        cdef int64_t n, i
        reserve_slots(chosen, keep.shape[0])
        for i in range(keep.shape[0]):
            n = strings_get(&self.c, keep[i], &s)
            chosen.intern(s, n)
        return chosen

    def pack(self):
        """(slots, offsets, arena); equal tables give equal bytes. Nothing is copied: the table becomes read-only."""
        self.freeze()
        return (vector(self, "I", self.c.slot, (self.c.mask + 1) * sizeof(StringSlotC) // sizeof(uint32_t)),
                vector(self, "q", self.c.offset, self.c.n + 1),
                vector(self, "B", self.c.arena, self.c.n_bytes))

    @staticmethod
    def from_buffers(slots, offsets, arena, bint verify=True):
        """A read-only table over packed buffers, which must stay unchanged. `verify` checks every slot and
        offset; without it a damaged table may give wrong answers, but no access is out of bounds."""
        cdef StringTable table = StringTable()
        cdef const unsigned char[::1] slot_bytes = memoryview(slots).cast("B")
        cdef const unsigned char[::1] offset_bytes = memoryview(offsets).cast("B")
        cdef const unsigned char[::1] arena_bytes = memoryview(arena).cast("B")
        cdef int64_t n_slots = slot_bytes.shape[0] // <int64_t>sizeof(StringSlotC)
        cdef int64_t n = offset_bytes.shape[0] // <int64_t>sizeof(int64_t) - 1
        if (slot_bytes.shape[0] % <int64_t>sizeof(StringSlotC) or n_slots < 1 or n_slots & (n_slots - 1)
                or n_slots > <int64_t>1 << 32):
            raise ModelFileError(f"string table: {slot_bytes.shape[0]} bytes are not a power of two of slots")
        if offset_bytes.shape[0] % <int64_t>sizeof(int64_t) or n < 0 or n > MOST_STRINGS or n >= n_slots:
            raise ModelFileError(f"string table: {offset_bytes.shape[0]} bytes of offsets for {n_slots} slots")
        table.mapped = (slot_bytes, offset_bytes, arena_bytes)
        table.c.n = n
        table.c.mask = <uint64_t>n_slots - 1
        table.c.n_bytes = arena_bytes.shape[0]
        table.c.slot = <const StringSlotC*>&slot_bytes[0]
        table.c.offset = <const int64_t*>&offset_bytes[0]
        if arena_bytes.shape[0]:
            table.c.arena = <const char*>&arena_bytes[0]
        if verify:
            check_strings(table)
        return table


cdef int reserve_slots(StringTable table, int64_t n) except -1 nogil:
    """Enlarge the slots until n strings fill at most two thirds of them, and insert all strings again."""
    cdef int64_t size = FEWEST_SLOTS
    while n * 3 > size * 2:
        size *= 2
    if table.c.slot != NULL and <uint64_t>size <= table.c.mask + 1:
        return 0
    table.c.slot = <StringSlotC*>arena_reserve(table, &table.slots, size, sizeof(StringSlotC))
    table.c.mask = <uint64_t>size - 1
    fill_slots(table)


cdef void fill_slots(StringTable table) noexcept nogil:
    """Enter all strings in the slots."""
    cdef int64_t i
    cdef uint64_t h
    cdef StringSlotC* slot = <StringSlotC*>table.slots.data
    memset(slot, 0, <size_t>(table.c.mask + 1) * sizeof(StringSlotC))
    for i in range(table.c.n):
        h = string_hash(table.c.arena + table.c.offset[i], table.c.offset[i + 1] - table.c.offset[i])
        refer(slot, table.c.mask, h, i)


cdef int check_strings(StringTable table) except -1:
    """Refuse a mapped table that is not exactly what `pack` writes for its strings."""
    cdef const StringTableC* t = &table.c
    cdef int64_t i, used = 0
    if t.offset[0] != 0 or t.offset[t.n] != t.n_bytes:
        raise ModelFileError("string table: the offsets do not cover the strings")
    for i in range(t.n):
        if t.offset[i + 1] < t.offset[i] or t.offset[i + 1] > t.n_bytes:
            raise ModelFileError(f"string table: offset {i + 1} is out of order")
    for i in range(<int64_t>t.mask + 1):
        used += t.slot[i].ref != 0
    if used != t.n:
        raise ModelFileError(f"string table: {used} slots in use for {t.n} strings")
    for i in range(t.n):
        if strings_find(t, t.arena + t.offset[i], t.offset[i + 1] - t.offset[i]) != i:
            raise ModelFileError(f"string table: string {i} is not found where its hash says")
