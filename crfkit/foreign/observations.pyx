"""The observations of a Wapiti model in the order of its file, and their weights as text.

All weights have numbers. Those of an observation follow each other: one for each label, unless its name begins with b; then one for each
pair of labels, by (label before, label), unless its name begins with u.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.features.hashing cimport strings_get
from crfkit.features.strings cimport StringTable
from crfkit.text.writing cimport OutC, Output, PIECE, out_bytes, out_char, out_decimal, out_hexadecimal, out_integer
from .names cimport numbers_in

from crfkit.values import as_bytes

cdef inline bint has_room(StringTable names, int64_t i, bint bigram) noexcept:
    """Whether an observation has weights of this kind."""
    cdef const char* name
    cdef char of_others = b"u" if bigram else b"b"
    return not strings_get(&names.c, <int32_t>i, &name) or name[0] != of_others


def places_for(StringTable names not None, int64_t labels) -> int:
    """How many weights observations of these names have, zeros included."""
    cdef int64_t i, n = 0
    for i in range(names.c.n):
        n += has_room(names, i, False) * labels + has_room(names, i, True) * labels * labels
    return n


cdef class Kind:
    """The features of one kind, from FeatureRows, and the row of each observation, or -1."""
    cdef bint bigram
    cdef int64_t labels
    cdef StringTable names
    cdef int32_t[::1] row
    cdef const int64_t[::1] ptr
    cdef const uint16_t[::1] previous, label
    cdef const double[::1] weight

    def __cinit__(self, StringTable names not None, features not None, bint bigram, int64_t labels):
        cdef int64_t i, n = len(features.weight)
        self.bigram, self.labels, self.names, self.row = bigram, labels, names, numbers_in(features.names, names)
        self.ptr, self.label, self.weight = features.ptr, features.label, features.weight
        self.previous = features.previous if bigram else features.label
        if self.ptr.shape[0] <= len(features.names) or self.label.shape[0] != n or self.previous.shape[0] != n:
            raise ValueError("rows that do not belong together")
        for i in range(self.ptr.shape[0] - 1):
            if not 0 <= self.ptr[i] <= self.ptr[i + 1] <= n:
                raise ValueError(f"row {i} from {self.ptr[i]} to {self.ptr[i + 1]} of {n}")

    cdef int64_t size(self, int64_t i, int64_t* begin, int64_t* end) noexcept:
        """How many weights observation i has here, and which of the given features are its own."""
        cdef bint has = has_room(self.names, i, self.bigram)
        begin[0] = end[0] = 0
        if has and self.row[i] >= 0:
            begin[0], end[0] = self.ptr[self.row[i]], self.ptr[self.row[i] + 1]
        return has * (self.labels * self.labels if self.bigram else self.labels)

    cdef int64_t place(self, int64_t k) noexcept:
        """The number of feature k among the weights of its observation."""
        return self.label[k] + self.labels * self.previous[k] if self.bigram else self.label[k]


cdef class Observations:
    """The observations of these names, in this order, with those of the given features (FeatureRows) that they may have. The features of `plain` are
    the last row, even if there is another one of that name."""

    cdef readonly StringTable names
    cdef list labels
    cdef tuple kinds

    def __cinit__(self, StringTable names not None, labels not None, unigrams not None, bigrams not None, bytes plain):
        self.names, self.labels = names, [as_bytes(label) for label in labels]
        cdef Kind pairs = Kind(names, bigrams, True, len(labels))
        cdef int64_t number
        self.kinds = Kind(names, unigrams, False, len(labels)), pairs
        if plain is not None:
            number = names.find(plain)
            pairs.row[number] = <int32_t>pairs.ptr.shape[0] - 2

    def strings(self) -> bytes:
        """The names, as Wapiti writes strings."""
        cdef Output text = Output()
        cdef const char* name
        cdef int64_t i, n
        for i in range(self.names.c.n):
            n = strings_get(&self.names.c, <int32_t>i, &name)
            out_integer(&text.c, n)
            out_char(&text.c, b":")
            out_bytes(&text.c, name, n)
            out_bytes(&text.c, b",\n", 2)
        return text.getvalue()

    def weights(self) -> tuple[int, bytes]:
        """How many weights differ from zero, and their lines: number=weight."""
        cdef Output text = Output()
        cdef Kind kind
        cdef int64_t i, k, size, begin, end, first = 0, found = 0
        for i in range(self.names.c.n):
            for kind in self.kinds:
                size = kind.size(i, &begin, &end)
                for k in range(begin, end):
                    if kind.weight[k] != 0:
                        out_integer(&text.c, first + kind.place(k))
                        out_char(&text.c, b"=")
                        out_hexadecimal(&text.c, kind.weight[k])
                        out_char(&text.c, b"\n")
                        found += 1
                first += size
        return found, text.getvalue()

    def used(self) -> array.array:
        """The numbers of the observations that have a weight other than zero."""
        cdef Kind kind
        cdef int64_t i, k, end
        used = array.array("i")
        for i in range(self.names.c.n):
            for kind in self.kinds:
                kind.size(i, &k, &end)
                while k < end and kind.weight[k] == 0:
                    k += 1
                if k < end:
                    used.append(i)
                    break
        return used

    def lines(self, int decimals, bint every):
        """A dump in pieces: a line for each weight that differs from zero, or for `every` one, and a blank line after each observation that has lines."""
        cdef Output text = Output()
        cdef Kind kind
        cdef int64_t i, k, place, size, end, before
        cdef bint found
        for i in range(self.names.c.n):
            before = text.c.n
            for kind in self.kinds:
                size = kind.size(i, &k, &end)
                if every:
                    for place in range(size):
                        found = k < end and kind.place(k) == place
                        self.write(&text.c, i, kind, place, kind.weight[k] if found else 0, decimals)
                        k += found
                else:
                    for k in range(k, end):
                        if kind.weight[k] != 0:
                            self.write(&text.c, i, kind, kind.place(k), kind.weight[k], decimals)
            if text.c.n > before:
                out_char(&text.c, b"\n")
            if text.c.n > PIECE:
                yield text.taken()
        yield text.taken()

    cdef int write(self, OutC* out, int64_t i, Kind kind, int64_t place, double weight, int decimals) except -1:
        """One line of a dump."""
        cdef const char* name
        cdef int64_t n = strings_get(&self.names.c, <int32_t>i, &name), labels = kind.labels
        cdef bytes previous = self.labels[place // labels] if kind.bigram else b"#", label = self.labels[place % labels]
        out_bytes(out, name, n)
        out_char(out, b"\t")
        out_bytes(out, previous, len(previous))
        out_char(out, b"\t")
        out_bytes(out, label, len(label))
        out_char(out, b"\t")
        out_decimal(out, weight, decimals)
        return out_char(out, b"\n")
