"""The parts of CRFsuite's model files: tables of strings (CQDB) and lists of features. Nothing in a file is trusted.

    CQDB    header, 256 references to hash tables, records (id, length, key), hash tables, records by id
    FEAT    features: type, source, target (32 bits each), weight (a double)
    LFRF    for each label the offset of the list of its features, and these lists; AFRF: the same for attributes

All numbers are little-endian and have 32 bits. Offsets inside a table of strings count from its start.
"""

import array

from cpython.array cimport array as array_t, clone

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from crfkit.memory cimport memchr, memcpy, memset
from crfkit.features.strings cimport StringTable
from crfkit.features.hashing cimport string_hash as name_hash, strings_find_hashed, strings_get
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.text.writing cimport OutC, Output, PIECE, out_bytes, out_char, out_decimal, out_integer
from .little cimport number, put

from crfkit.errors import ModelFileError

cdef enum:
    TABLES = 256
    CQDB_HEADER = 24
    RECORDS = 24 + 8 * 256      # offset of the first record in a table of strings
    BYTE_ORDER = 0x62445371
    FEATURE = 20
    AT_ONCE = 64                # names whose entries are prefetched together

cdef array_t OFFSETS = array.array("q"), LABELS = array.array("H"), WEIGHTS = array.array("d")


cdef inline double weight_at(const uint8_t* at) noexcept nogil:
    cdef double weight
    memcpy(&weight, at, 8)
    return weight


cdef const uint8_t* chunk(const uint8_t[::1] data, int64_t offset, bytes magic, int64_t header, int64_t* size) except NULL:
    """The start of a chunk, and its size; ModelFileError unless its header is right and it lies within the file."""
    name = magic.decode()
    if offset < 0 or offset > data.shape[0] - header:
        raise ModelFileError(f"damaged: the chunk {name} should begin at byte {offset}, but the file has only {data.shape[0]}")
    cdef const uint8_t* start = &data[0] + offset
    if (<const char*>start)[:4] != magic:
        raise ModelFileError(f"damaged: no chunk {name} at byte {offset}")
    size[0] = number(start + 4)
    if size[0] < header or size[0] > data.shape[0] - offset:
        raise ModelFileError(f"damaged: the chunk {name} has {size[0]} bytes, from {header} to {data.shape[0] - offset} are possible")
    return start


def read_strings(const uint8_t[::1] data not None, int64_t offset, int64_t n, str what not None):
    """The n strings of a CQDB table, in the order of their ids."""
    cdef int64_t size, i, k, by_id, at, length, block, begin
    cdef const uint8_t* start = chunk(data, offset, b"CQDB", RECORDS, &size)
    cdef StringTable table = StringTable()
    cdef const char* string
    cdef int64_t[AT_ONCE] place, length_of
    cdef uint64_t[AT_ONCE] hash
    if number(start + 12) != BYTE_ORDER:
        raise ModelFileError("damaged: a table of strings in another byte order")
    k, by_id = number(start + 16), number(start + 20)
    if k < n or n > (size - CQDB_HEADER) // 4 or by_id > size - 4 * n:
        raise ModelFileError(f"damaged: a table of {k} strings, expected {n} {what}s")
    table.reserve(n, size)  # more than enough: the strings are shorter than the table
    with nogil:
        for block in range((n + AT_ONCE - 1) // AT_ONCE):
            begin = block * AT_ONCE
            for i in range(begin, min(begin + AT_ONCE, n)):
                at = number(start + by_id + 4 * i)
                if at < RECORDS or at > size - 8:
                    raise ModelFileError(f"damaged: {what} {i} has no name")
                length = number(start + at + 4)
                if number(start + at) != i or length < 1 or length > size - 8 - at or start[at + 8 + length - 1] != 0:
                    raise ModelFileError(f"damaged: the name of {what} {i} is not where it should be")
                k = i - begin
                place[k], length_of[k] = at + 8, length - 1
                hash[k] = name_hash(<const char*>start + place[k], length_of[k])
                crfkit_prefetch(&table.c.slot[hash[k] & table.c.mask])
            for k in range(min(AT_ONCE, n - begin)):
                string = <const char*>start + place[k]
                if strings_find_hashed(&table.c, string, length_of[k], hash[k]) >= 0:
                    raise ModelFileError(f"damaged: a second {what} {string[:length_of[k]]!r}")
                table.add(string, length_of[k], hash[k])
    return table


def read_rows(const uint8_t[::1] data not None, int64_t features, int64_t references, bytes magic not None, int64_t n, int64_t n_labels):
    """The features of n labels or attributes: (start of each row, labels, weights). Labels ascend within a row. If a row has
    a label twice, the weights are added."""
    cdef:
        int64_t size, list_size, n_features, i, k, f, at, begin, length, total = 0
        uint32_t label
        bint ascending
        const uint8_t* table = chunk(data, features, b"FEAT", 12, &size)
        const uint8_t* lists = chunk(data, references, magic, 12, &list_size)
        const uint8_t* file = &data[0]
    n_features = number(table + 8)
    if n_features > (size - 12) // FEATURE:
        raise ModelFileError(f"damaged: {n_features} features do not fit into {size} bytes")
    if number(lists + 8) < n or n > (list_size - 12) // 4:
        raise ModelFileError(f"damaged: the chunk {magic.decode()} has {number(lists + 8)} lists, expected {n}")
    cdef array_t starts = clone(OFFSETS, n + 1, zero=False)
    cdef int64_t* start = <int64_t*>starts.data.as_longlongs
    start[0] = 0
    for i in range(n):
        at = number(lists + 12 + 4 * i)
        if at < references or at > references + list_size - 4:
            raise ModelFileError(f"damaged: list {i} of the chunk {magic.decode()} lies outside it")
        length = number(file + at)
        if length > (references + list_size - at - 4) // 4:
            raise ModelFileError(f"damaged: list {i} of the chunk {magic.decode()} is longer than the chunk")
        total += length
        start[i + 1] = total
        if total > list_size // 4:  # lists that share bytes could add up to more than the memory
            raise ModelFileError(f"damaged: the lists of the chunk {magic.decode()} overlap")
    cdef array_t labels = clone(LABELS, total, zero=False), weights = clone(WEIGHTS, total, zero=False)
    cdef uint16_t* label_of = labels.data.as_ushorts
    cdef double* weight_of = weights.data.as_doubles
    total = begin = 0
    for i in range(n):
        at = number(lists + 12 + 4 * i)
        length, begin = start[i + 1] - begin, start[i + 1]
        start[i] = total
        ascending = True
        for k in range(length):
            f = number(file + at + 4 + 4 * k)
            if f >= n_features:
                raise ModelFileError(f"damaged: a list names feature {f}, but there are {n_features}")
            label = number(table + 12 + f * FEATURE + 8)
            if label >= n_labels:
                raise ModelFileError(f"damaged: feature {f} names label {label}, but there are {n_labels}")
            ascending = ascending and (k == 0 or label_of[total - 1] < label)
            label_of[total], weight_of[total] = <uint16_t>label, weight_at(table + 12 + f * FEATURE + 12)
            total += 1
        if not ascending:
            total = start[i] + put_in_order(label_of + start[i], weight_of + start[i], length)
    start[n] = total
    if total < len(labels):
        labels, weights = labels[:total], weights[:total]
    return starts, labels, weights


cdef int64_t put_in_order(uint16_t* label, double* weight, int64_t n) except -1:
    """Sort the features of a row by their labels, and add the weights of those of one label; how many are left."""
    cdef int64_t k
    sums = {}
    for k in range(n):
        sums[label[k]] = sums[label[k]] + weight[k] if label[k] in sums else weight[k]
    for k, found in enumerate(sorted(sums)):
        label[k], weight[k] = found, sums[found]
    return len(sums)


cdef inline uint32_t rotated(uint32_t x, int k) noexcept nogil:
    return x << k | x >> (32 - k)


cdef int[6] MIXED = [4, 6, 8, 16, 19, 4]
cdef int[7] LAST = [14, 11, 25, 16, 4, 14, 24]


cdef uint32_t string_hash(const uint8_t* key, int64_t n) noexcept nogil:
    """The hash of CQDB: B. Jenkins, lookup3 (little-endian), with initial value 0, of at least one byte."""
    cdef uint32_t a = <uint32_t>0xDEADBEEF + <uint32_t>n, b, c
    cdef uint8_t[12] rest
    cdef int k
    b = c = a
    while n > 12:
        a, b, c = a + number(key), b + number(key + 4), c + number(key + 8)
        for k in MIXED:     # each step is about the next of the three
            a, b, c = b, c + b, (a - c) ^ rotated(c, k)
        key += 12
        n -= 12
    memset(rest, 0, 12)
    memcpy(rest, key, <size_t>n)
    a, b, c = a + number(rest), b + number(rest + 4), c + number(rest + 8)
    for k in LAST:
        a, b, c = b, (c ^ b) - rotated(b, k), a
    return b


def write_strings(StringTable strings not None):
    """A CQDB table of strings, as a bytearray. They end with a zero byte, so none may contain one."""
    cdef:
        int64_t i, k, n = strings.c.n, length, at = RECORDS, records = 9 * n
        uint32_t h
        const char* s
        int64_t count[TABLES]
        int64_t begin[TABLES]
        uint8_t* slot
    for i in range(n):
        records += strings_get(&strings.c, <int32_t>i, &s)
    if records > 0x7FFFFFFF:
        raise ModelFileError("the names take more than the 2 GB that CRFsuite's format has room for")
    whole = bytearray(RECORDS + records + 20 * n)   # behind the records two slots of 8 bytes for each string, and 4 for its place
    cdef uint8_t[::1] out = whole
    cdef uint8_t* file = &out[0]
    cdef int64_t by_id = RECORDS + records + 16 * n
    hashes = array.array("I", bytes(4 * n))
    cdef uint32_t[::1] hash_of = hashes if n else None
    for k in range(TABLES):
        count[k] = 0
    for i in range(n):
        length = strings_get(&strings.c, <int32_t>i, &s)
        if memchr(s, 0, <size_t>length) != NULL:
            raise ModelFileError(f"{s[:length]!r} contains a zero byte, which ends a string in CRFsuite's format")
        put(file + at, <uint32_t>i)
        put(file + at + 4, <uint32_t>(length + 1))
        memcpy(file + at + 8, s, <size_t>length)    # behind it there is a zero byte
        put(file + by_id + 4 * i, <uint32_t>at)
        hash_of[i] = h = string_hash(file + at + 8, length + 1)
        count[h % TABLES] += 2
        at += 9 + length
    memcpy(file, b"CQDB", 4)
    put(file + 4, <uint32_t>out.shape[0])
    put(file + 12, BYTE_ORDER)
    put(file + 16, <uint32_t>n)
    put(file + 20, <uint32_t>by_id if n else 0)
    for k in range(TABLES):
        begin[k] = at
        put(file + CQDB_HEADER + 8 * k, <uint32_t>at if count[k] else 0)
        put(file + CQDB_HEADER + 8 * k + 4, <uint32_t>count[k])
        at += 8 * count[k]
    for i in range(n):
        k = hash_of[i] % TABLES
        length = (hash_of[i] >> 8) % count[k]
        slot = file + begin[k] + 8 * length
        while number(slot + 4):
            length = (length + 1) % count[k]
            slot = file + begin[k] + 8 * length
        put(slot, hash_of[i])
        memcpy(slot + 4, file + by_id + 4 * i, 4)
    return whole


def name_lines(StringTable names not None):
    """Names with their numbers, as CRFsuite's dump has them, in pieces."""
    cdef Output text = Output()
    cdef const char* name
    cdef int64_t i, n, width
    for i in range(names.c.n):
        n, width = strings_get(&names.c, <int32_t>i, &name), 10000
        out_bytes(&text.c, b"  ", 2)
        while i < width and width > 1:
            out_char(&text.c, b" ")
            width //= 10
        out_integer(&text.c, i)
        out_bytes(&text.c, b": ", 2)
        out_bytes(&text.c, name, n)
        out_char(&text.c, b"\n")
        if text.c.n > PIECE:
            yield text.taken()
    yield text.taken()


def state_lines(StringTable names not None, const int64_t[::1] ptr not None, const uint16_t[::1] label not None, const double[::1] weight not None, list labels not None):
    """The features of attributes, as CRFsuite's dump has them: a line for each, in pieces. `labels` are bytes."""
    cdef Output text = Output()
    cdef OutC* out = &text.c
    cdef const char* name
    cdef bytes of_label
    cdef int64_t i, k, n
    if names.c.n >= ptr.shape[0] or label.shape[0] != weight.shape[0]:
        raise IndexError(f"{names.c.n} attributes, {ptr.shape[0]} rows")
    for i in range(names.c.n):
        n = strings_get(&names.c, <int32_t>i, &name)
        if not 0 <= ptr[i] <= ptr[i + 1] <= label.shape[0]:
            raise IndexError(f"features {ptr[i]} to {ptr[i + 1]} of {label.shape[0]}")
        for k in range(ptr[i], ptr[i + 1]):
            out_bytes(out, b"  (0) ", 6)
            out_bytes(out, name, n)
            out_bytes(out, b" --> ", 5)
            of_label = labels[label[k]]
            out_bytes(out, of_label, len(of_label))
            out_bytes(out, b": ", 2)
            out_decimal(out, weight[k])
            out_char(out, b"\n")
        if out.n > PIECE:
            yield text.taken()
    yield text.taken()
