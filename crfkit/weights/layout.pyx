"""Which features exist, and where their weights are stored (there is a picture in loops/simd/crf.h).

A layout consists of arrays: either checked ones of a model file, or those that `build` makes from a data set, in which
every attribute gets the labels it was seen with, or all of them, or none. `build` renumbers attributes: those with
many labels first, in dense rows; within both kinds the frequent ones first, so that the rows in constant use
share the cache.
"""

from libc.stdint cimport uint16_t

from crfkit.loops.kernels cimport K
from crfkit.features.reach cimport RULE_ALL, RULE_DROPPED, RULE_OBSERVED
from crfkit.memory cimport arena_zeros, memset
from .cells cimport ANY, MOST_HISTORY_LABELS, feature_cell, history_key, layout_cell, layout_history_cell, least_hot, padded, pairs_begin
from crfkit.errors import ModelFileError

from .observed import MAX_LABELS, Observed


cdef void layout_clear_absent(const LayoutC* layout, double* cells, int64_t first, int64_t last) noexcept nogil:
    """Clear those of the cells first .. last - 1 that are in dense rows or in the label-pair matrix and belong to no
    feature."""
    cdef:
        int64_t k, end_of_lists = layout.cold0 + layout.u_ptr[layout.A] - layout.u_ptr[layout.H]
        int64_t end_of_pairs = layout.tau0 + <int64_t>layout.L * layout.P if layout.has_tau else layout.tau0
    K.keep(first, min(last, <int64_t>layout.H * layout.P), layout.u_exists, cells)
    for k in range(max(first, end_of_lists), min(last, layout.tau0)):
        cells[k] = 0
    for k in range(max(first, layout.tau0), min(last, end_of_pairs)):
        cells[k] = cells[k] if layout.tau_mask[k - layout.tau0] else 0


cdef bint row_fits(const LayoutC* layout, int32_t a) noexcept nogil:
    """Whether row a of a mapped layout lies in its table and has ascending labels below L."""
    cdef int64_t f, first = layout.u_ptr[a], last = layout.u_ptr[a + 1]
    cdef int32_t label, before = -1
    if first < 0 or last < first or last > layout.u_ptr[layout.A]:
        return False
    if a >= layout.H and first < layout.u_ptr[layout.H]:
        return False
    for f in range(first, last):
        label = layout.u_label[f]
        if label <= before:
            return False
        before = label
    return before < layout.L


cdef bint rich_row_fits(const LayoutC* layout, int32_t b) noexcept nogil:
    """Whether a row of rich features lies in its table, and has ascending keys of labels that exist."""
    cdef:
        int64_t f, first = layout.b_ptr[b], last = layout.b_ptr[b + 1]
        bint history = layout.b_prev2 != NULL
    if first < 0 or last < first or last > layout.b_ptr[layout.B]:
        return False
    for f in range(first, last):
        if layout.b_label[f] >= layout.L or (layout.b_prev[f] >= layout.L + history and not (history and layout.b_prev[f] == ANY)):
            return False
        if history and layout.b_prev2[f] >= layout.L + 2 and layout.b_prev2[f] != ANY:
            return False
        if f > first and history_key(layout, f) <= history_key(layout, f - 1):
            return False
    return True


cdef bint layout_fits(const LayoutC* layout, const SentenceC* sent) noexcept nogil:
    """Whether all that scoring this sentence touches is sound: for layouts that were not verified as a whole."""
    cdef int64_t u
    for u in range(sent.u_ptr[0], sent.u_ptr[sent.T]):
        if sent.u_id[u] < 0 or sent.u_id[u] >= layout.A or not row_fits(layout, sent.u_id[u]):
            return False
    if sent.b_ptr != NULL:
        for u in range(sent.b_ptr[0], sent.b_ptr[sent.T]):
            if sent.b_id[u] < 0 or sent.b_id[u] >= layout.B or not rich_row_fits(layout, sent.b_id[u]):
                return False
    return True


def pairs_in(Dataset data not None, int32_t labels) -> list[tuple[int, int]]:
    """The plain label pairs of some data."""
    cdef:
        int64_t s, t, i, j, n_before = 1, n = 1
        const uint16_t* before
        const uint16_t* own
        uint8_t[::1] seen
    data.need_labels_below(labels)
    seen = bytearray(<int64_t>labels * labels)
    for s in range(data.c.n_seq):
        for t in range(data.c.seq_ptr[s] + 1, data.c.seq_ptr[s + 1]):
            before, own = data.c.label + t - 1, data.c.label + t
            if data.possible is not None:
                n_before, n = data.possible.seen(t - 1, &before), data.possible.seen(t, &own)
            for i in range(n_before):
                for j in range(n):
                    seen[<int64_t>before[i] * labels + own[j]] = 1
    return [divmod(t, labels) for t in range(seen.shape[0]) if seen[t]]


cdef class Layout:
    """The cells of all features: the labels of each unigram attribute, and the label pairs (with history: label triples)
    of each rich bigram attribute, all ascending. `has_tau`: plain label pairs are features, too;
    `hot`: how many unigram attributes have dense rows. The arrays are not copied; `b_prev2` is given only if there
    are features with history. Without `verify`, checks that depend on the size of the arrays are left to layout_fits,
    sentence by sentence."""

    def __cinit__(self, int32_t labels, bint has_tau, int64_t hot, const int64_t[::1] u_ptr, const uint16_t[::1] u_label,
                  const int64_t[::1] b_ptr, const uint16_t[::1] b_prev, const uint16_t[::1] b_label,
                  const uint16_t[::1] b_prev2=None, *, bint verify=True):
        cdef LayoutC* c = &self.c
        if not 1 <= labels <= MAX_LABELS:
            raise ModelFileError(f"layout: {labels} labels, expected 1 to {MAX_LABELS}")
        if not 1 <= u_ptr.shape[0] <= 0x7FFFFFFF or not 1 <= b_ptr.shape[0] <= 0x7FFFFFFF:
            raise ModelFileError("layout: an attribute table without an end, or too large")
        if b_prev2 is not None and labels > MOST_HISTORY_LABELS:
            raise ModelFileError(f"layout: {labels} labels, expected at most {MOST_HISTORY_LABELS}")
        if b_prev.shape[0] != b_label.shape[0] or (b_prev2 is not None and b_prev2.shape[0] != b_label.shape[0]):
            raise ModelFileError("layout: pairs of labels of different lengths")
        c.L, c.P, c.has_tau, c.n_pairs = labels, padded(labels), has_tau, <int64_t>labels * labels if has_tau else 0
        c.A, c.B = <int32_t>u_ptr.shape[0] - 1, <int32_t>b_ptr.shape[0] - 1
        if not 0 <= hot <= c.A:
            raise ModelFileError(f"layout: {hot} dense rows for {c.A} attributes")
        c.H = <int32_t>hot
        c.u_ptr, c.b_ptr = &u_ptr[0], &b_ptr[0]
        c.u_label = &u_label[0] if u_label.shape[0] else NULL
        c.b_prev2 = &b_prev2[0] if b_prev2 is not None and b_prev2.shape[0] else NULL
        c.b_prev = &b_prev[0] if b_prev.shape[0] else NULL
        c.b_label = &b_label[0] if b_label.shape[0] else NULL
        self.sections = {"u_ptr": u_ptr, "u_label": u_label, "b_ptr": b_ptr, "b_prev": b_prev, "b_label": b_label}
        if b_prev2 is not None:
            self.sections["b_prev2"] = b_prev2
        if c.u_ptr[0] != 0 or c.u_ptr[c.A] != u_label.shape[0] or c.b_ptr[0] != 0 or c.b_ptr[c.B] != b_label.shape[0]:
            raise ModelFileError("layout: the attribute tables do not cover their features")
        if not 0 <= c.u_ptr[c.H] <= u_label.shape[0]:
            raise ModelFileError("layout: the dense rows do not end within the features")
        c.cold0 = <int64_t>c.H * c.P
        c.tau0 = pairs_begin(c.cold0 + c.u_ptr[c.A] - c.u_ptr[c.H])
        c.rich0 = c.tau0 + (<int64_t>c.L * c.P if c.has_tau else 0)
        c.n_cells = c.rich0 + c.b_ptr[c.B]
        self.unverified = True
        if verify:
            self.verify()

    @staticmethod
    def build(source, int32_t labels, int plain, u_rules, b_rules, b_reach=None, pairs=None):
        """The layout to train with, and the new ids of its attributes: (layout, unigram ids, bigram ids). `source`: a data set, or what was observed
        in data in several parts: the Evidence of unigrams and of bigrams, and then `pairs`, the plain label pairs that were seen.

        The rules of unigram attributes, of rich bigram attributes and, in `plain`, of plain label pairs define their
        features: 0 none, 1 the labels they were seen with, 2 all labels. `b_reach[b]` tells which labels before its own a
        bigram attribute looks at (features/reach.pxd); None: all look at the last one."""
        cdef Layout self
        cdef int64_t P = padded(labels), i, j
        u, b = Observed(source, labels, False, u_rules), Observed(source, labels, True, b_rules, b_reach)
        if plain == RULE_OBSERVED and pairs is None:
            pairs = pairs_in(source, labels)
        u_new, hot, u_ptr, _, _, u_label = u.numbered(least_hot(P))
        b_new, _, b_ptr, b_prev2, b_prev, b_label = b.numbered(1)
        self = Layout(labels, plain != RULE_DROPPED, hot, u_ptr, u_label, b_ptr, b_prev, b_label, b_prev2, verify=False)
        self.unverified = False     # it was just made
        cdef uint8_t[::1] cell = bytearray(self.c.rich0 - self.c.tau0)
        for i in range(labels if plain == RULE_ALL else 0):
            memset(&cell[i * P], 1, labels)
        for i, j in pairs if plain == RULE_OBSERVED else ():
            if not (0 <= i < labels and 0 <= j < labels):
                raise ValueError("a pair of labels that do not exist")
            cell[i * P + j] = 1
        self.tell_absent(cell.base)
        return self, u_new, b_new

    cdef int check(self, Dataset data, bint learning=True) except -1:
        """ValueError unless all labels and attributes of these data are among those of the layout, and for learning, which cells are features is
        known (tell_absent)."""
        data.need_labels_below(self.c.L)
        if data.n_u > self.c.A or data.n_b > self.c.B:
            raise ValueError("data of another layout")
        if learning and self.pairs is None:
            raise ValueError("a layout that is not made for learning")

    cpdef int tell_absent(self, pairs) except -1:
        """Record for training which cells of dense rows, and which of the matrix of label pairs (`pairs`, L rows of P
        bytes, or nothing where these are no features), belong to features. A layout of a model file needs no such record: all other cells
        are zero."""
        cdef:
            LayoutC* c = &self.c
            const uint8_t[::1] mask = pairs
            int64_t f, k, n = c.rich0 - c.tau0
            int32_t a
        if mask.shape[0] != n:
            raise ValueError(f"{mask.shape[0]} cells of label pairs, expected {n}")
        self.verify()
        self.pairs, c.tau_mask = pairs, &mask[0] if n else NULL
        c.u_exists = self.u_exists = <uint8_t*>arena_zeros(self, c.cold0 // 8, 1)
        for a in range(c.H):
            for f in range(c.u_ptr[a], c.u_ptr[a + 1]):
                k = <int64_t>a * c.P + c.u_label[f]
                self.u_exists[k >> 3] |= 1 << (k & 7)
        c.n_pairs = 0
        for k in range(n):
            c.n_pairs += c.tau_mask[k]

    @property
    def labels(self) -> int:
        return self.c.L

    @property
    def plain_pairs(self):
        """Which cells of the matrix of label pairs belong to features, as given to `tell_absent`; bytes."""
        return bytes(self.pairs)

    @property
    def n_cells(self) -> int:
        return self.c.n_cells

    @property
    def n_features(self) -> int:
        """How many weights may differ from zero."""
        return self.c.u_ptr[self.c.A] + self.c.b_ptr[self.c.B] + self.c.n_pairs

    @property
    def n_attributes(self) -> tuple[int, int]:
        """How many unigram attributes and rich bigram attributes there are."""
        return self.c.A, self.c.B

    @property
    def hot(self) -> int:
        """How many attributes have dense rows."""
        return self.c.H

    @property
    def has_tau(self) -> bool:
        return self.c.has_tau != 0

    cdef int verify(self) except -1:
        """Check that every row lies within its table, and that its labels are ascending and below L."""
        cdef:
            const LayoutC* c = &self.c
            bint good = True
            int32_t a
        if not self.unverified:
            return 0
        with nogil:
            for a in range(c.A):
                good = good and row_fits(c, a)
            for a in range(c.B):
                good = good and rich_row_fits(c, a)
        if not good:
            raise ModelFileError("layout: a row lies outside its table, or its labels are not in order")
        self.unverified = False

    def arrays(self) -> dict:
        """The arrays by name, not copied."""
        return {name: memoryview(section.base).toreadonly() for name, section in self.sections.items()}

    def cell(self, int32_t attribute, int32_t label) -> int:
        """The cell of a unigram feature, or -1."""
        self.verify()
        return layout_cell(&self.c, attribute, label) if 0 <= attribute < self.c.A and 0 <= label < self.c.L else -1

    def rich_cell(self, int32_t attribute, int32_t before, int32_t previous, int32_t label) -> int:
        """The cell of a rich bigram feature, which looks at the label `previous` and at the one `before` it, or -1. Both are numbers
        of labels, L and L+1 for positions before the sentence, -1 for any, as `before` always is without history."""
        self.verify()
        if not 0 <= attribute < self.c.B:
            return -1
        return layout_history_cell(&self.c, attribute, before if before >= 0 else ANY, previous if previous >= 0 else ANY, label)

    def pair_cell(self, int32_t previous, int32_t label) -> int:
        """The cell of a plain pair of labels, or -1."""
        cdef int64_t k = <int64_t>previous * self.c.P + label
        if not self.c.has_tau or not 0 <= previous < self.c.L or not 0 <= label < self.c.L:
            return -1
        return self.c.tau0 + k if self.c.tau_mask == NULL or self.c.tau_mask[k] else -1

    def features(self, const float[::1] w):
        """Every feature with a weight other than zero, as (kind, attribute, previous label, label, weight): kind
        "U" (previous label -1), "B" for rich bigram attributes, "T" for plain label pairs (attribute -1), "H" for
        those with history (for the previous label a pair, of what `rich_cell` takes)."""
        cdef:
            const LayoutC* c = &self.c
            int32_t a, i, j
            int64_t f
            float x
        if w.shape[0] != c.n_cells:
            raise ValueError("weights of another layout")
        self.verify()
        if c.has_tau:
            for i in range(c.L):
                for j in range(c.L):
                    x = w[c.tau0 + <int64_t>i * c.P + j]
                    if x != 0:
                        yield "T", -1, i, j, x
        for a in range(c.A):
            for f in range(c.u_ptr[a], c.u_ptr[a + 1]):
                x = w[feature_cell(c, a, f)]
                if x != 0:
                    yield "U", a, -1, c.u_label[f], x
        for a in range(c.B):
            for f in range(c.b_ptr[a], c.b_ptr[a + 1]):
                x = w[c.rich0 + f]
                if x != 0 and (c.b_prev2 == NULL or (c.b_prev2[f] == ANY and c.b_prev[f] < c.L)):
                    yield "B", a, c.b_prev[f], c.b_label[f], x
                elif x != 0:
                    before = -1 if c.b_prev2[f] == ANY else c.b_prev2[f]
                    yield "H", a, (before, -1 if c.b_prev[f] == ANY else c.b_prev[f]), c.b_label[f], x
