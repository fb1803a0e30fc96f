"""Features that appear while a stream is read, with their weights and the rates of their attributes.

An attribute has a list of features; one is appended when the attribute is first seen with a label, or with a pair of
labels. There are three families of attributes: unigram attributes, whose features are keyed by the label; rich bigram
attributes, keyed by previous * 65536 + label; and the plain label pairs, which are the features of a single attribute.

For each window of the stream, `borrow` makes a layout of the attributes that occur in it, with all their features so
far, and `give_back` stores the weights and rates that a trainer (trainers/online/adf.pyx) has learned.
All others are updated lazily, when they are borrowed again: a window of n sequences multiplies their weights by
(1 - rate l2 / seen)^n, with `seen` sequences read up to its end, and then their rates by alpha. So the cost of a window
does not depend on the size of the model, except for scanning a list of all attributes' numbers.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.stdlib cimport qsort

from crfkit.data.dataset cimport Dataset
from crfkit.features.tuples cimport grams_intern, grams_reserve
from crfkit.features.structs cimport GramTableC
from .cells cimport least_hot, padded, row_cell
from .layout cimport Layout
from crfkit.memory cimport Arena, BufferC, arena_reserve, arena_zeros, memcpy
from crfkit.loops.powers cimport shrunk
from crfkit.loops.structs cimport DatasetC

cdef struct GrownFeatureC:
    uint32_t key
    int32_t next            # feature of the same attribute, or -1
    float weight

cdef struct GrownAttributeC:
    double rate
    int32_t first           # feature, or -1
    int32_t n               # how many there are
    int32_t window          # rate and weights are up to date as of this window
    int32_t place           # in the borrowed layout, or -1

cdef struct WindowC:
    double penalty          # l2 / sequences seen
    int64_t n               # its sequences


cdef int by_key(const void* a, const void* b) noexcept nogil:
    cdef uint32_t x = (<const uint32_t*>a)[0], y = (<const uint32_t*>b)[0]
    return (x > y) - (x < y)


cdef class Family(Arena):
    """Attributes of one kind."""

    cdef GramTableC known       # (attribute, key) -> feature
    cdef BufferC feature_buffer, attribute_buffer, borrowed_buffer
    cdef GrownFeatureC* feature
    cdef GrownAttributeC* attribute
    cdef int32_t* borrowed      # attributes by their places
    cdef int64_t n, n_borrowed

    cdef int extend(self, int64_t n, double rate, int32_t window) except -1 nogil:
        """Add the attributes that are new, up to number n."""
        self.attribute = <GrownAttributeC*>arena_reserve(self, &self.attribute_buffer, n, sizeof(GrownAttributeC))
        while self.n < n:
            self.attribute[self.n].rate, self.attribute[self.n].window = rate, window
            self.attribute[self.n].first = self.attribute[self.n].place = -1
            self.attribute[self.n].n = 0
            self.n += 1

    cdef int meet(self, int32_t a) except -1 nogil:
        """Attribute a occurs in the window."""
        if self.attribute[a].place < 0:
            self.borrowed = <int32_t*>arena_reserve(self, &self.borrowed_buffer, self.n_borrowed + 1, sizeof(int32_t))
            self.attribute[a].place = 0
            self.borrowed[self.n_borrowed] = a
            self.n_borrowed += 1

    cdef int observe(self, int32_t a, uint32_t key) except -1 nogil:
        """Attribute a occurs with this label, or pair of labels."""
        cdef int64_t n = self.known.n
        cdef int32_t f
        grams_reserve(self, &self.known, 1)
        f = grams_intern(&self.known, <uint32_t>a, key)
        if f == n:
            self.feature = <GrownFeatureC*>arena_reserve(self, &self.feature_buffer, n + 1, sizeof(GrownFeatureC))
            self.feature[f].key, self.feature[f].weight = key, 0
            self.feature[f].next = self.attribute[a].first
            self.attribute[a].first = f
            self.attribute[a].n += 1

    cdef void catch_up(self, int32_t a, const WindowC* windows, int32_t until, double alpha) noexcept nogil:
        """Apply the windows in which the attribute did not occur, up to number `until`."""
        cdef:
            GrownAttributeC* own = &self.attribute[a]
            double scale = 1
            int32_t f = own.first
        while own.window < until:
            scale *= shrunk(own.rate * windows[own.window].penalty, windows[own.window].n)
            own.rate *= alpha
            own.window += 1
        while scale != 1 and f >= 0:
            self.feature[f].weight = <float>(self.feature[f].weight * scale)
            f = self.feature[f].next

    cdef tuple lists(self, const int32_t[::1] rank):
        """The features of the borrowed attributes, in order, with labels renumbered: where each attribute's begin, and the keys in
        ascending order."""
        cdef:
            int64_t k, n = 0
            int32_t f
            uint32_t key
            int64_t[::1] ptr
            uint32_t[::1] out
        ptr = array.array("q", bytes(8 * (self.n_borrowed + 1)))
        for k in range(self.n_borrowed):
            ptr[k + 1] = ptr[k] + self.attribute[self.borrowed[k]].n
        out = array.array("I", bytes(4 * ptr[self.n_borrowed]))
        for k in range(self.n_borrowed):
            f = self.attribute[self.borrowed[k]].first
            n = ptr[k]
            while f >= 0:
                key = self.feature[f].key
                out[n] = <uint32_t>rank[key >> 16] << 16 | <uint32_t>rank[key & 0xFFFF]     # of unigrams only the latter means something
                f = self.feature[f].next
                n += 1
            if n - ptr[k] > 1:
                qsort(&out[ptr[k]], <size_t>(n - ptr[k]), sizeof(uint32_t), by_key)
        return ptr.base, out.base


cdef class Growing(Arena):
    """All features of a stream so far. `options` are those of adf: l2, rate, alpha."""

    cdef Family u, b, tau
    cdef tuple families             # in the order of the rows of a layout
    cdef BufferC window_buffer
    cdef double l2, alpha
    cdef public double rate     # of attributes that occur for the first time
    cdef int32_t window             # finished windows
    cdef readonly int64_t sequences
    cdef bint has_tau
    cdef int64_t size               # sequences of the window that was borrowed for

    def __cinit__(self, options, bint has_tau):
        self.families = self.u, self.b, self.tau = Family(), Family(), Family()
        self.l2, self.rate, self.alpha = options.l2, options.rate or 0, options.alpha
        self.has_tau = has_tau
        self.tau.extend(1, self.rate, 0)

    def borrow(self, Dataset data not None):
        """The layout of a window, whose data are renumbered for it, and the weights and rates of all its rows."""
        cdef:
            const DatasetC* c = &data.c
            int64_t labels = len(data.labels), k
            Family family
        data.label_counts()         # ValueError if there are none, or some without a name
        with nogil:
            self.u.extend(data.n_u, self.rate, self.window)
            self.b.extend(data.n_b, self.rate, self.window)
            self.observe(c)
        self.size = c.n_seq
        self.sequences += c.n_seq
        self.bring_up_to_date()
        layout, weights = self.layout_of(array.array("i", range(labels)), True)
        data.renumber(places(self.u), places(self.b))
        rates = array.array("d", [family.attribute[family.borrowed[k]].rate for family in self.families for k in range(family.n_borrowed)])
        return layout, weights, rates

    cdef int observe(self, const DatasetC* c) except -1 nogil:
        """Record what occurs in a window."""
        cdef int64_t s, t, u
        cdef uint32_t pair = 0
        self.tau.meet(0)
        for s in range(c.n_seq):
            for t in range(c.seq_ptr[s], c.seq_ptr[s + 1]):
                for u in range(c.u_ptr[t], c.u_ptr[t + 1]):
                    self.u.meet(c.u_id[u])
                    self.u.observe(c.u_id[u], c.label[t])
                if t == c.seq_ptr[s]:
                    continue
                pair = (<uint32_t>c.label[t - 1] << 16) | c.label[t]
                if self.has_tau:
                    self.tau.observe(0, pair)
                if c.b_ptr != NULL:
                    for u in range(c.b_ptr[t], c.b_ptr[t + 1]):
                        self.b.meet(c.b_id[u])
                        self.b.observe(c.b_id[u], pair)

    cdef int bring_up_to_date(self) except -1:
        """Apply earlier windows to what is borrowed."""
        cdef:
            const WindowC* windows = <const WindowC*>self.window_buffer.data
            Family family
            int64_t k
        for family in self.families:
            for k in range(family.n_borrowed):
                family.catch_up(family.borrowed[k], windows, self.window, self.alpha)

    cdef int32_t dense_first(self, int32_t P) except -1:
        """Move the attributes with dense rows to the front; how many they are."""
        cdef int64_t k, at = 0, n
        cdef int32_t hot = 0
        cdef bint dense
        cdef Arena room = Arena()
        cdef int32_t* order = <int32_t*>arena_zeros(room, self.u.n_borrowed, sizeof(int32_t))
        for dense in range(1, -1, -1):
            for k in range(self.u.n_borrowed):
                n = self.u.attribute[self.u.borrowed[k]].n
                if dense == (n >= least_hot(P)):
                    order[at] = self.u.borrowed[k]
                    hot += dense
                    at += 1
        memcpy(self.u.borrowed, order, <size_t>at * sizeof(int32_t))
        return hot

    cdef tuple layout_of(self, const int32_t[::1] rank, bint dense):
        """Layout and weights of what is borrowed, with dense rows or without."""
        cdef:
            Layout layout
            int64_t k
            int32_t hot = 0, labels = <int32_t>rank.shape[0]
            Family family
            uint32_t key
        if dense and self.u.n_borrowed:
            hot = self.dense_first(padded(labels))
        for family in self.families:
            for k in range(family.n_borrowed):
                family.attribute[family.borrowed[k]].place = <int32_t>k
        (u_ptr, u_key), (b_ptr, b_key), (_, plain) = [family.lists(rank) for family in self.families]
        layout = Layout(labels, self.has_tau, hot, u_ptr, labels_of(u_key, 0), b_ptr, labels_of(b_key, 16), labels_of(b_key, 0))
        pairs = bytearray(layout.c.rich0 - layout.c.tau0)
        for key in plain:
            pairs[<int64_t>(key >> 16) * layout.c.P + (key & 0xFFFF)] = 1
        layout.tell_absent(pairs)
        weights = array.array("f", bytes(4 * layout.c.n_cells))
        self.exchange(layout, weights, rank, True)
        return layout, weights

    cdef int exchange(self, Layout layout, float[::1] w, const int32_t[::1] rank, bint out) except -1:
        """Copy the borrowed weights into the cells of their layout, or back."""
        cdef:
            Family family
            GrownFeatureC* feature
            int64_t k, cell, r = 0
            int32_t f
        for family in self.families:
            for k in range(family.n_borrowed):
                f = family.attribute[family.borrowed[k]].first
                while f >= 0:
                    feature = &family.feature[f]
                    cell = row_cell(&layout.c, r, rank[feature.key >> 16], rank[feature.key & 0xFFFF])
                    if out:
                        w[cell] = feature.weight
                    else:
                        feature.weight = w[cell]
                    f = feature.next
                r += 1

    def give_back(self, Layout layout not None, float[::1] weights, const double[::1] rates not None):
        """End the window. `rates` are all rows' rates after it."""
        cdef:
            const int32_t[::1] rank = array.array("i", range(layout.c.L))
            GrownAttributeC* own
            WindowC* window
            Family family
            int64_t k, r = 0
        if weights.shape[0] != layout.c.n_cells or rates.shape[0] != self.u.n_borrowed + self.b.n_borrowed + 1:
            raise ValueError("weights of another layout")
        window = <WindowC*>arena_reserve(self, &self.window_buffer, <int64_t>self.window + 1, sizeof(WindowC)) + self.window
        window.penalty, window.n = self.l2 / self.sequences, self.size
        self.window += 1
        self.exchange(layout, weights, rank, False)
        for family in self.families:
            for k in range(family.n_borrowed):
                own = &family.attribute[family.borrowed[k]]
                own.rate, own.window, own.place = rates[r], self.window, -1
                r += 1
            family.n_borrowed = 0

    def finish(self, labels, order):
        """Layout and weights of all features; `labels` has the labels' first numbers in the wanted order. Attributes keep the
        order of their first occurrence."""
        cdef Family family
        cdef int32_t a
        position = {label: number for number, label in enumerate(order)}
        rank = array.array("i", [position[label] for label in labels])
        for family in self.families:
            for a in range(family.n):
                family.meet(a)
        self.bring_up_to_date()
        return self.layout_of(rank, False)


cdef labels_of(const uint32_t[::1] keys, int shift):
    """The label in sixteen bits of each key."""
    cdef int64_t k
    cdef uint16_t[::1] label = array.array("H", bytes(2 * keys.shape[0]))
    for k in range(keys.shape[0]):
        label[k] = <uint16_t>(keys[k] >> shift)
    return label.base


cdef places(Family family):
    """The place of each attribute, or -1."""
    cdef int64_t a
    cdef int32_t[::1] place = array.array("i", bytes(4 * family.n))
    for a in range(family.n):
        place[a] = family.attribute[a].place
    return place.base
