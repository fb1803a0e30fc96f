"""Sequences of attributes with their groups, appended one by one as numbers.

Items, labels and group may run Python code. All of it runs before anything is changed, and where there is no memory for all of a
sequence, what was appended is taken back. So neither an error nor Ctrl-C leaves half a sequence, or a sequence without its group.

Training orders the attributes of each token by numbers of its own. It does so in place, with the data lent to it: a copy would take as much
memory again. What comes meanwhile is appended to a copy. Where a group is held out, the data are taken apart, and put together when they are
wanted next.

Threads may append while another one trains. Critical sections keep them apart where the interpreter has no lock.
"""

cimport cython
from cpython cimport array
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint16_t, uint64_t

from crfkit.data.dataset cimport Dataset, all_ones, append_sequences, largest, renumber_rows
from crfkit.features.hashing cimport string_hash, strings_find_hashed
from crfkit.features.strings cimport StringTable
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.memory cimport data_reserve, memchr, memcpy
from crfkit.text.items cimport PlaceC, fill_rows, label_of, plain_text
from crfkit.text.rows cimport Rows
from crfkit.text.table cimport FORM_CRFSUITE, RowsC, TextC, rows_attr, rows_label

import array

from crfkit.errors import DataError
from crfkit.values import as_text, shown

cdef enum:
    AT_ONCE = 64            # names whose entries are prefetched together


cdef class Groups:
    """Sequences in the order of their arrival, and the group of each. Labels and attributes have numbers in the order in which they were first seen."""

    cdef readonly StringTable labels, names     # a frozen table of names is in use elsewhere
    cdef Dataset kept                   # the sequences, but for those apart
    cdef bint lent                      # a training is at work with them
    cdef Dataset apart                  # those of a group that was held out, or None
    cdef bytes where                    # of each sequence, whether it is one of these
    cdef array.array names_of           # the name of each attribute, where those of the data have other numbers than names; else None
    cdef public array.array groups
    cdef Rows spare                     # rows into which a sequence is read, reused

    def __cinit__(self):
        self.labels, self.names, self.kept, self.groups = StringTable(), StringTable(), Dataset(), array.array("i")

    @property
    def data(self):
        """The sequences. After a training, the attributes of a token are in the order of their numbers."""
        return self.own()

    @cython.critical_section
    cdef Dataset own(self):
        """The data, to be changed: what is lent stays with the training, and a copy takes its place."""
        cdef Dataset data, copy
        while self.lent or self.names_of is not None or self.apart is not None:
            data = self.kept
            if self.lent:
                copy = copy_of(data)
                if self.kept is data:   # else it was done meanwhile, as garbage was collected
                    self.kept, self.lent = copy, False
            elif self.names_of is not None:
                renumber_all(data, <const int32_t*>self.names_of.data.as_ints)
                self.names_of = None
            else:
                copy = together(data, self.apart, self.where)
                if self.kept is data:
                    self.kept, self.apart = copy, None
        return self.kept

    def add(self, sentence, labels, int group):
        """Append a list of items and their labels."""
        cdef Rows rows
        with cython.critical_section(self):
            rows, self.spare = self.spare, None     # the sentence may be a generator that adds another sequence
        if rows is None:
            rows = Rows("crfsuite")
            rows.loose = rows.spelled = True
        fill_rows(rows, (sentence,), False, len(self.groups))
        self.append(rows, 0, labels, group)
        with cython.critical_section(self):
            self.spare = rows

    @cython.critical_section
    cpdef append(self, Rows rows, int64_t s, labels, int group):
        """Append a sequence of rows, unless it is empty, with these labels, a str or bytes for each token; None: with its own."""
        cdef list given = checked(rows, s, labels, len(self.groups) + 1)
        cdef StringTable names, copy
        cdef int64_t n, n_labels, n_names
        if rows.c.seq_ptr[s] == rows.c.seq_ptr[s + 1]:
            return
        while self.names.mapped is not None or self.lent or self.names_of is not None or self.apart is not None:
            names = self.names
            copy = names.copy() if names.mapped is not None else names
            if self.names is names:     # else a sequence was appended meanwhile, as garbage was collected
                self.names = copy
            self.own()
        n, n_labels, n_names = len(self.groups), self.labels.c.n, self.names.c.n
        array.resize_smart(self.groups, n + 1)
        self.groups.data.as_ints[n] = group
        try:
            append_numbers(self, rows, s, given)
        except (MemoryError, OverflowError):
            array.resize_smart(self.groups, n)
            self.labels.shrink(n_labels)
            self.names.shrink(n_names)
            self.kept.point()
            raise

    @cython.critical_section
    def divided(self, int holdout):
        """The sequences of the other groups and of this one, the names of all attributes, and the group of each sequence. Sequences that are
        appended while this is at work, as garbage is collected, are not among them. Those of the other groups are lent, until `give_back`, and
        to be changed by `renumber` and by nothing else."""
        cdef Dataset learned = Dataset(), held = Dataset(), apart = Dataset(), data = self.own(), to
        cdef int64_t n_labels = self.labels.c.n, n = data.c.n_seq, s
        cdef StringTable names = self.names
        names.freeze()
        self.lent = True                # from here on nobody else changes the data
        groups = self.groups[:n]
        if holdout >= 0 and holdout in groups:
            where = bytes([group == holdout for group in groups])
            for to in (learned, held, apart):
                to.fill_in(data.c.u_val != NULL, data.c.seq_weight != NULL)
            for s in range(n):
                append_sequences(held if where[s] else learned, data, s, s + 1)
                if where[s]:            # training may leave out attributes of those that it is given
                    append_sequences(apart, data, s, s + 1)
            if self.kept is data:       # else a copy took their place, as garbage was collected
                self.kept, self.apart, self.where = learned, apart, where
        else:
            learned = data
        learned.n_u = held.n_u = <int32_t>names.c.n
        learned.drop_ones()
        held.drop_ones()
        learned.labels = held.labels = [as_text(self.labels[label]) for label in range(n_labels)]
        return learned, held, names, groups

    @cython.critical_section
    def renumber(self, Dataset data not None, const int32_t[::1] new not None):
        """Give the attributes of data that `divided` made other numbers, all that occur in those that are lent. It is done once."""
        cdef const int32_t* number = &new[0] if new.shape[0] else NULL
        cdef int64_t a
        cdef array.array old = array.clone(self.groups, largest(number, new.shape[0]) + 1, zero=False)
        for a in range(new.shape[0]):
            if number[a] >= 0:
                old.data.as_ints[number[a]] = <int32_t>a
        if self.lent and data is self.kept:
            self.names_of = old
        renumber_all(data, number)      # at once, whatever other threads would do
        data.n_u = <int32_t>len(old)

    def copied(self, Dataset data not None):
        """Data that `divided` made, to be changed in any way: a copy if they are lent, and they are given back."""
        cdef Dataset copy
        if data is not self.kept:
            return data
        copy = copy_of(data)
        self.give_back(data)
        return copy

    @cython.critical_section
    def give_back(self, Dataset data not None):
        """Nobody works any more with data that `divided` made."""
        if data is self.kept:           # else they are a copy, or one has taken their place
            self.lent = False


cdef Dataset copy_of(Dataset data):
    """A copy of data that another thread may be reading: nothing is written to them."""
    cdef Dataset copy = Dataset()
    copy.fill_in(data.c.u_val != NULL, data.c.seq_weight != NULL)
    append_sequences(copy, data, 0, data.c.n_seq)
    copy.settle()
    copy.n_u, copy.labels = data.n_u, data.labels
    return copy


cdef Dataset together(Dataset kept, Dataset apart, bytes where):
    """The data that were taken apart."""
    cdef Dataset whole = Dataset(), one
    cdef int64_t[2] taken = [0, 0]
    cdef int64_t s
    cdef bint is_apart
    for one in (kept, apart, whole):
        one.fill_in(kept.c.u_val != NULL or apart.c.u_val != NULL, kept.c.seq_weight != NULL or apart.c.seq_weight != NULL)
    for s in range(len(where)):
        is_apart = where[s]
        append_sequences(whole, apart if is_apart else kept, taken[is_apart], taken[is_apart] + 1)
        taken[is_apart] += 1
    whole.settle()
    return whole


cdef void renumber_all(Dataset data, const int32_t* new) noexcept:
    renumber_rows(data.c.n_tok, <int64_t*>data.u_ptr.data, <int32_t*>data.u_id.data, <float*>data.u_val.data, new)


cdef list checked(Rows rows, int64_t s, labels, int64_t number):
    """The labels as ASCII str or bytes, or None if none are given; raises an error if the sequence cannot be appended with them, as that number."""
    if rows is None:
        raise TypeError("expected Rows, found None")
    cdef const RowsC* c = &rows.c
    cdef int64_t first, last
    cdef PlaceC place
    cdef TextC text
    cdef list taken = None
    if c.form != FORM_CRFSUITE:
        raise ValueError("only the form of CRFsuite has attributes")
    if not 0 <= s < c.n_seq:
        raise IndexError(f"sequence {s} of {c.n_seq}")
    if labels is not None:
        place.sentence, place.token = number, 0
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
        raise DataError(f"sequence {number}: an attribute has a zero byte, which ends names in CRFsuite's models")
    return taken


cdef int append_numbers(Groups to, Rows rows, int64_t s, list labels) except -1:
    """Append the sequence to the data. An error leaves new names in the tables, and no more."""
    cdef const RowsC* c = &rows.c
    cdef Dataset data = to.kept
    cdef int64_t first = c.seq_ptr[s], T = c.seq_ptr[s + 1] - first, n = data.c.n_tok, begin = c.attr_ptr[first], t
    cdef int64_t more = c.attr_ptr[first + T] - begin
    cdef const float* given = c.attr_value + begin
    cdef int64_t* u_ptr = <int64_t*>data_reserve(data, &data.u_ptr, n + T + 1, sizeof(int64_t)) + n
    cdef uint16_t* label = <uint16_t*>data_reserve(data, &data.label, n + T, sizeof(uint16_t)) + n
    cdef int64_t* seq_ptr = <int64_t*>data_reserve(data, &data.seq_ptr, data.c.n_seq + 2, sizeof(int64_t)) + data.c.n_seq
    cdef int32_t* id = <int32_t*>data_reserve(data, &data.u_id, u_ptr[0] + more, sizeof(int32_t)) + u_ptr[0]
    cdef float* value
    cdef TextC text
    data.point()        # as the buffers may have moved
    if data.u_val.data == NULL and not all_ones(given, 0, more):
        data.fill_in(True, False)       # passes over all data, but once
    if data.seq_weight.data == NULL and c.seq_weight[s] != 1:
        data.fill_in(False, True)
    if more and data.u_val.data != NULL:
        value = <float*>data_reserve(data, &data.u_val, u_ptr[0] + more, sizeof(float)) + u_ptr[0]
        memcpy(value, given, more * sizeof(float))
    if data.seq_weight.data != NULL:
        (<float*>data_reserve(data, &data.seq_weight, data.c.n_seq + 1, sizeof(float)))[data.c.n_seq] = c.seq_weight[s]
    for t in range(T):
        text = label_at(c, first + t, labels, t)
        label[t] = <uint16_t>to.labels.intern(text.s, text.n)   # where there are too many, no training begins
        u_ptr[t + 1] = u_ptr[0] + c.attr_ptr[first + t + 1] - begin
    number_names(to.names, c, begin, more, id)
    seq_ptr[1] = n + T
    data.c.n_tok, data.c.n_seq = n + T, data.c.n_seq + 1
    data.point()


cdef int number_names(StringTable names, const RowsC* rows, int64_t first, int64_t n, int32_t* id) except -1:
    """The numbers of the n attributes from `first` on. The table is large, so its entries are prefetched many names ahead."""
    cdef uint64_t[AT_ONCE] hash
    cdef int64_t begin, k
    cdef int32_t size
    cdef const char* name
    for begin in range(0, n, AT_ONCE):
        for k in range(begin, min(begin + AT_ONCE, n)):
            name = rows_attr(rows, first + k, &size)
            hash[k - begin] = string_hash(name, size)
            crfkit_prefetch(&names.c.slot[hash[k - begin] & names.c.mask])
        for k in range(begin, min(begin + AT_ONCE, n)):
            name = rows_attr(rows, first + k, &size)
            id[k] = strings_find_hashed(&names.c, name, size, hash[k - begin])
            if id[k] < 0:
                id[k] = names.add(name, size, hash[k - begin])


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
