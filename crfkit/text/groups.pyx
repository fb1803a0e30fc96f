"""Sequences of attributes with their groups, appended one by one.

Items, labels and group may run Python code. All of it runs before anything is changed, and all memory is allocated before
anything is copied. So neither an error nor Ctrl-C leaves half a sequence, or a sequence without its group.
"""

from cpython cimport array
from libc.stdint cimport INT32_MAX, int32_t, int64_t

from crfkit.memory cimport arena_zeros, memchr
from .items cimport PlaceC, fill_rows, label_of, plain_text
from .rows cimport Rows
from .table cimport FORM_CRFSUITE, RowsC, TextC, rows_attr, rows_label
from .scanning cimport copy_bytes, same_bytes, string_hash

import array
import threading

from crfkit.errors import DataError
from crfkit.values import shown


cdef enum:
    SEEN = 1 << 14          # texts that are remembered


cdef struct PlacedC:        # a text in the arena
    int64_t start, n


cdef class Groups:
    """Sequences in the order of their arrival, and the group of each."""

    cdef readonly Rows rows
    cdef readonly object lock           # held while both grow, and while they are read, where a thread itself may append more:
                                        # in a handler of a signal, or as garbage is collected
    cdef public array.array groups
    cdef Rows spare                     # rows into which a sequence is read, reused
    cdef PlacedC* seen                  # [SEEN] by hash, the last text in the arena; attributes of the same name share its bytes

    def __cinit__(self):
        self.rows, self.groups, self.lock = Rows("crfsuite"), array.array("i"), threading.RLock()
        self.seen = <PlacedC*>arena_zeros(self.rows, SEEN, sizeof(PlacedC))

    def add(self, sentence, labels, int group):
        """Append a list of items and their labels."""
        cdef Rows rows = self.spare
        self.spare = None               # the sentence may be a generator that adds another sequence
        if rows is None:
            rows = Rows("crfsuite")
            rows.loose = rows.spelled = True
        fill_rows(rows, (sentence,), False, self.rows.c.n_seq)
        self.append(rows, 0, labels, group)
        self.spare = rows

    cpdef append(self, Rows source, int64_t s, labels, int group):
        """Append a copy of a sequence of other rows, unless it is empty, with these labels; None: with its own."""
        cdef Py_ssize_t n
        labels = checked(self.rows, source, s, labels)
        if source.c.seq_ptr[s] == source.c.seq_ptr[s + 1]:
            return
        with self.lock:
            n = len(self.groups)
            array.resize_smart(self.groups, n + 1)
            self.groups.data.as_ints[n] = group
            try:
                copy_sequence(self.rows, source, s, labels, self.seen)
            except MemoryError:
                array.resize_smart(self.groups, n)
                raise


def append_sequence(Rows rows not None, Rows source not None, int64_t s, labels=None):
    """Append a copy of sequence s of other rows, with these labels, a str or bytes for each token; None: with its own."""
    copy_sequence(rows, source, s, checked(rows, source, s, labels), NULL)


cdef list checked(Rows rows, Rows source, int64_t s, labels):
    """The labels as ASCII str or bytes, or None if none are given; raises an error if the sequence cannot be appended with them."""
    if source is None:
        raise TypeError("expected Rows, found None")
    cdef const RowsC* c = &source.c
    cdef int64_t first, last
    cdef PlaceC place
    cdef TextC text
    cdef list taken = None
    if rows.c.form != FORM_CRFSUITE or c.form != FORM_CRFSUITE or rows is source:
        raise ValueError("only the form of CRFsuite has attributes")
    if not 0 <= s < c.n_seq:
        raise IndexError(f"sequence {s} of {c.n_seq}")
    if labels is not None:
        place.sentence, place.token = rows.c.n_seq + 1, 0
        try:
            labels = iter(labels)
        except TypeError:
            raise DataError(f"sentence {place.sentence}: found {shown(labels)}, expected a list of labels") from None
        taken = list(labels)
        for label in taken:
            place.token += 1
            if not plain_text(label, &text) or text.n > INT32_MAX or memchr(text.s, 0, text.n) != NULL:
                taken[place.token - 1] = label_of(label, &place, True)
        if len(taken) != c.seq_ptr[s + 1] - c.seq_ptr[s]:
            raise DataError(f"The numbers of items and labels differ: |x| = {c.seq_ptr[s + 1] - c.seq_ptr[s]}, |y| = {len(taken)}")
    first, last = c.seq_ptr[s], c.seq_ptr[s + 1]
    if last > first and memchr(c.text + c.line_start[first], 0, c.line_end[last - 1] - c.line_start[first]) != NULL:
        raise DataError(f"sequence {rows.c.n_seq + 1}: an attribute has a zero byte, which ends names in CRFsuite's models")
    return taken


cdef inline int64_t placed(char* arena, int64_t* end, const char* text, int64_t n, PlacedC* seen) noexcept:
    """Where a text is in the arena. It is appended, unless it is remembered."""
    cdef int64_t start = end[0]
    cdef PlacedC* last
    if seen != NULL:
        last = &seen[string_hash(text, n) % SEEN]
        if last.n == n and same_bytes(arena + last.start, text, n):
            return last.start
        last.start, last.n = start, n
    copy_bytes(arena + start, text, n)
    end[0] += n
    return start


cdef int copy_sequence(Rows rows, Rows source, int64_t s, list labels, PlacedC* seen) except -1:
    """Append the sequence. All memory is allocated first: MemoryError leaves the rows as they were."""
    cdef const RowsC* c = &source.c
    cdef int64_t first = c.seq_ptr[s], last = c.seq_ptr[s + 1], t, a, b = rows.c.n_attr, end = rows.n_arena, extra = 0
    cdef int32_t n
    cdef const char* text
    cdef TextC label
    for t in range(first, last):
        extra += label_at(c, t, labels, t - first).n
    for a in range(c.attr_ptr[first], c.attr_ptr[last]):
        extra += c.attr_len[a]
    rows.c.n_cols = 1
    if min(rows.cap_tok, rows.cap_cell) - rows.c.n_tok < last - first:
        rows.grow_tokens(last - first)
    while rows.cap_attr - b < c.attr_ptr[last] - c.attr_ptr[first]:
        rows.grow_attributes()
    if rows.cap_arena - end < extra:
        rows.grow_arena(extra)
    if rows.c.n_seq == rows.cap_seq:
        rows.grow_sequences()
    rows.lead = end
    for t in range(first, last):
        label = label_at(c, t, labels, t - first)
        rows.c.line_start[rows.c.n_tok] = end
        rows.c.cell_start[rows.c.n_tok] = placed(rows.c.arena, &end, label.s, label.n, seen)
        rows.c.cell_len[rows.c.n_tok] = <int32_t>label.n
        for a in range(c.attr_ptr[t], c.attr_ptr[t + 1]):
            text = rows_attr(c, a, &n)
            rows.c.attr_start[b] = placed(rows.c.arena, &end, text, n, seen)
            rows.c.attr_len[b], rows.c.attr_value[b] = n, c.attr_value[a]
            b += 1
        rows.c.line_end[rows.c.n_tok] = end
        rows.c.n_tok += 1
        rows.c.attr_ptr[rows.c.n_tok] = b
    rows.c.n_attr, rows.n_arena, rows.last_end, rows.weight = b, end, end, c.seq_weight[s]
    rows.end_sequence()
    rows.finish()


cdef inline TextC label_at(const RowsC* c, int64_t t, list labels, Py_ssize_t k) noexcept:
    """The k-th of the given labels, an ASCII str or bytes; without labels that of token t."""
    cdef TextC text
    cdef int32_t n
    if labels is None:
        text.s = rows_label(c, t, &n)
        text.n = n
    elif not plain_text(labels[k], &text):
        text.s, text.n = <bytes>labels[k], len(<bytes>labels[k])
    return text
