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
from .layout cimport Layout
from crfkit.memory cimport Arena, BufferC, arena_reserve
from crfkit.loops.powers cimport shrunk
from crfkit.loops.structs cimport DatasetC, LayoutC

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
    cdef uint32_t x = (<const GrownFeatureC**>a)[0].key, y = (<const GrownFeatureC**>b)[0].key
    return (x > y) - (x < y)


cdef class Family(Arena):
    """Attributes of one kind."""

    cdef GramTableC known       # (attribute, key) -> feature
    cdef BufferC feature_buffer, attribute_buffer, borrowed_buffer, listed_buffer
    cdef GrownFeatureC* feature
    cdef GrownFeatureC** listed # those of borrowed attributes, in order
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
            self.attribute[a].place = <int32_t>self.n_borrowed
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

    cdef tuple lists(self):
        """The features of the borrowed attributes, in order and with ascending keys: where each attribute's begin, and both halves of the keys."""
        cdef:
            int64_t k, n = 0
            int32_t f
            int64_t[::1] ptr = array.array("q", [0]) * (self.n_borrowed + 1)
            uint16_t[::1] high, low
        for k in range(self.n_borrowed):
            ptr[k + 1] = ptr[k] + self.attribute[self.borrowed[k]].n
        high, low = [array.array("H", [0]) * ptr[self.n_borrowed] for _ in range(2)]
        self.listed = <GrownFeatureC**>arena_reserve(self, &self.listed_buffer, high.shape[0], sizeof(GrownFeatureC*))
        for k in range(self.n_borrowed):
            f = self.attribute[self.borrowed[k]].first
            while f >= 0:
                self.listed[n] = &self.feature[f]
                f = self.feature[f].next
                n += 1
            if n - ptr[k] > 1:
                qsort(self.listed + ptr[k], <size_t>(n - ptr[k]), sizeof(GrownFeatureC*), by_key)
        for n in range(high.shape[0]):
            high[n], low[n] = <uint16_t>(self.listed[n].key >> 16), <uint16_t>self.listed[n].key
        return ptr.base, high.base, low.base


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
    cdef Layout layout              # of what is borrowed

    def __cinit__(self, options, bint has_tau):
        self.families = self.u, self.b, self.tau = Family(), Family(), Family()
        self.l2, self.rate, self.alpha = options.l2, options.rate or 0, options.alpha
        self.has_tau = has_tau
        self.tau.extend(1, self.rate, 0)

    def borrow(self, Dataset data not None):
        """The layout of a window, whose data are renumbered for it, and the weights and rates of all its rows."""
        cdef:
            const DatasetC* c = &data.c
            int64_t k
            int32_t labels = <int32_t>len(data.labels)
            Family family
        data.label_counts()         # ValueError if there are none, or some without a name
        with nogil:
            self.u.extend(data.n_u, self.rate, self.window)
            self.b.extend(data.n_b, self.rate, self.window)
            self.observe(c)
        self.size = c.n_seq
        self.sequences += c.n_seq
        self.bring_up_to_date()
        self.layout, weights = self.layout_of(labels)
        data.renumber(places(self.u), places(self.b))
        rates = array.array("d", [family.attribute[family.borrowed[k]].rate for family in self.families for k in range(family.n_borrowed)])
        return self.layout, weights, rates

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
        """Apply the windows in which what is borrowed did not occur."""
        cdef:
            const WindowC* windows = <const WindowC*>self.window_buffer.data
            GrownAttributeC* own
            Family family
            int64_t k
            int32_t f
            double scale
        for family in self.families:
            for k in range(family.n_borrowed):
                own, scale = &family.attribute[family.borrowed[k]], 1
                while own.window < self.window:
                    scale *= shrunk(own.rate * windows[own.window].penalty, windows[own.window].n)
                    own.rate *= self.alpha
                    own.window += 1
                f = own.first
                while scale != 1 and f >= 0:
                    family.feature[f].weight = <float>(family.feature[f].weight * scale)
                    f = family.feature[f].next

    cdef tuple layout_of(self, int32_t labels):
        """Layout and weights of what is borrowed."""
        cdef:
            Layout layout
            Family family
        (u_ptr, _, u_label), (b_ptr, b_prev, b_label), (_, *plain) = [family.lists() for family in self.families]
        layout = Layout(labels, self.has_tau, 0, u_ptr, u_label, b_ptr, b_prev, b_label)
        pairs = bytearray(layout.c.rich0 - layout.c.tau0)
        for previous, label in zip(*plain):
            pairs[previous * layout.c.P + label] = 1
        layout.tell_absent(pairs)
        weights = array.array("f", bytes(4 * layout.c.n_cells))
        self.exchange(layout, weights, True)
        return layout, weights

    cdef int exchange(self, Layout layout, float[::1] w, bint out) except -1:
        """Copy the borrowed weights into the cells of their layout, or back."""
        cdef:
            const LayoutC* c = &layout.c
            int64_t f
            uint32_t key
        for f in range(c.u_ptr[c.A]):       # there are no dense rows
            carry(self.u.listed[f], &w[c.cold0 + f], out)
        for f in range(c.b_ptr[c.B]):
            carry(self.b.listed[f], &w[c.rich0 + f], out)
        for f in range(self.tau.known.n):
            key = self.tau.listed[f].key
            carry(self.tau.listed[f], &w[c.tau0 + <int64_t>(key >> 16) * c.P + (key & 0xFFFF)], out)

    def give_back(self, float[::1] weights not None, const double[::1] rates not None):
        """End the window. `rates` are all rows' rates after it."""
        cdef:
            GrownAttributeC* own
            WindowC* window
            Family family
            int64_t k, r = 0
        if self.layout is None or weights.shape[0] != self.layout.c.n_cells or rates.shape[0] != self.u.n_borrowed + self.b.n_borrowed + 1:
            raise ValueError("weights of another layout")
        window = <WindowC*>arena_reserve(self, &self.window_buffer, <int64_t>self.window + 1, sizeof(WindowC)) + self.window
        window.penalty, window.n = self.l2 / self.sequences, self.size
        self.window += 1
        self.exchange(self.layout, weights, False)
        self.layout = None
        for family in self.families:
            for k in range(family.n_borrowed):
                own = &family.attribute[family.borrowed[k]]
                own.rate, own.window, own.place = rates[r], self.window, -1
                r += 1
            family.n_borrowed = 0

    def finish(self, labels, order):
        """Layout and weights of all features; `labels` has the labels' first numbers in the wanted order. Attributes keep the
        order of their first occurrence."""
        cdef:
            Family family
            GrownFeatureC* feature
            int32_t f
        position = {label: number for number, label in enumerate(order)}
        cdef const int32_t[::1] rank = array.array("i", [position[label] for label in labels])
        for family in self.families:
            for f in range(<int32_t>family.n):
                family.meet(f)
            for f in range(<int32_t>family.known.n):
                feature = &family.feature[f]
                feature.key = <uint32_t>rank[feature.key >> 16] << 16 | <uint32_t>rank[feature.key & 0xFFFF]    # of unigrams only the latter means something
        self.bring_up_to_date()
        return self.layout_of(rank.shape[0])


cdef inline void carry(GrownFeatureC* feature, float* cell, bint out) noexcept nogil:
    """Copy a weight into its cell, or back."""
    if out:
        cell[0] = feature.weight
    else:
        feature.weight = cell[0]


cdef places(Family family):
    """The place of each attribute, or -1."""
    cdef int64_t a
    cdef int32_t[::1] place = array.array("i", bytes(4 * family.n))
    for a in range(family.n):
        place[a] = family.attribute[a].place
    return place.base
