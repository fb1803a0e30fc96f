"""A sentence of attributes in one block of memory of its size. Rows, which are filled again and again, have room for more and take
kilobytes: too much for a program that keeps many sentences."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t

from crfkit.memory cimport memcpy
from .rows cimport Rows
from .scanning cimport copy_bytes
from .table cimport rows_attr


cdef class Packed:
    """A sentence that `read_sentence` has read. It may stand where a sentence from Python may."""

    def __len__(self):
        """The number of tokens."""
        return self.n_tok

    def __repr__(self):
        return f"<ItemSequence of size {self.n_tok}>"   # as users know it

    cdef int add_to(self, Rows rows) except -1:
        """Append the tokens, without labels, to rows in the form of CRFsuite."""
        cdef int64_t t, a = 0, b = rows.c.n_attr, end
        if min(rows.cap_tok, rows.cap_cell) - rows.c.n_tok < self.n_tok:
            rows.grow_tokens(self.n_tok)
        while rows.cap_attr - b < self.n_attr:
            rows.grow_attributes()
        rows.grow_arena(self.n_bytes + 1)
        rows.c.arena[rows.n_arena] = b"?"       # the label of all
        end = rows.n_arena + 1
        copy_bytes(rows.c.arena + end, self.names, self.n_bytes)
        for t in range(self.n_tok):
            rows.c.line_start[rows.c.n_tok] = end
            rows.c.cell_start[rows.c.n_tok], rows.c.cell_len[rows.c.n_tok] = rows.n_arena, 1
            while a < self.ends[t]:
                rows.c.attr_start[b], rows.c.attr_len[b], rows.c.attr_value[b] = end, self.lengths[a], <float>self.values[a]
                end += self.lengths[a]
                a += 1
                b += 1
            rows.c.line_end[rows.c.n_tok] = end
            rows.c.n_tok += 1
            rows.c.attr_ptr[rows.c.n_tok] = b
        rows.c.n_attr, rows.n_arena = b, end

    def attributes(self, bint named=False):
        """The names and values of each token: pairs, or `named` a mapping, where bytes come as from crfkit.values.as_text."""
        cdef int64_t t, a = 0
        cdef const char* name = self.names
        found = []
        for t in range(self.n_tok):
            token = {} if named else []
            while a < self.ends[t]:
                if named:
                    (<dict>token)[PyUnicode_DecodeUTF8(name, self.lengths[a], "surrogateescape")] = self.values[a]
                else:
                    (<list>token).append((name[:self.lengths[a]], self.values[a]))
                name += self.lengths[a]
                a += 1
            found.append(token)
        return found


cdef Packed packed(Rows rows, dict exact):
    """All tokens of the rows, which have the form of CRFsuite; `exact`: the values that they round."""
    cdef Packed made = Packed()
    cdef int64_t a, size
    cdef char* to
    cdef const char* name
    made.n_tok, made.n_attr = rows.c.n_tok, rows.c.n_attr
    for a in range(made.n_attr):
        made.n_bytes += rows.c.attr_len[a]
    size = made.n_tok * <int64_t>sizeof(int64_t) + made.n_attr * <int64_t>(sizeof(double) + sizeof(int32_t)) + made.n_bytes
    made.data = PyBytes_FromStringAndSize(NULL, size)
    made.ends = <int64_t*>PyBytes_AS_STRING(made.data)
    made.values = <double*>(made.ends + made.n_tok)
    made.lengths = <int32_t*>(made.values + made.n_attr)
    made.names = to = <char*>(made.lengths + made.n_attr)
    memcpy(made.ends, rows.c.attr_ptr + 1, <size_t>made.n_tok * sizeof(int64_t))
    for a in range(made.n_attr):
        made.values[a] = rows.c.attr_value[a]
        name = rows_attr(&rows.c, a, &made.lengths[a])
        copy_bytes(to, name, made.lengths[a])
        to += made.lengths[a]
    for a, value in exact.items():
        made.values[a] = value
    return made
