"""Which features exist, and where their weights stand (the picture is in loops/simd/crf.h).

`build` looks at a data set: every attribute gets the labels it was seen with, or all of them. Attributes are
renumbered: those with many labels first, in dense rows; within both kinds the frequent ones first, so that the
rows in constant use share the cache. `from_sections` takes the same arrays from a model file, after checking them.
"""

from libc.string cimport memcpy, memset

from crfkit.data.dataset cimport Dataset
from .history cimport (
    ANY, MOST_HISTORY_LABELS, SeenHistory, all_history, history_exists, history_key, layout_history_cell, n_all_history,
)
from crfkit.memory cimport buffer_free, buffer_reserve
from .observed cimport SeenPairs
from crfkit.errors import DataError, ModelFileError

import array as arrays

MAX_LABELS = 65535


cdef void layout_clear_absent(const LayoutC* layout, double* cells) noexcept nogil:
    """Zeros in the cells of dense rows and of the label-pair matrix that stand for no feature."""
    cdef int64_t k
    for k in range(<int64_t>layout.H * layout.P):
        cells[k] = cells[k] if dense_cell_exists(layout, k) else 0
    for k in range(layout.cold0 + layout.u_ptr[layout.A] - layout.u_ptr[layout.H], layout.tau0):
        cells[k] = 0
    if layout.has_tau:
        for k in range(<int64_t>layout.L * layout.P):
            cells[layout.tau0 + k] = cells[layout.tau0 + k] if layout.tau_mask[k] else 0


cdef bint row_fits(const LayoutC* layout, int32_t a) noexcept nogil:
    """Row a of a mapped layout lies in its table and has ascending labels below L."""
    cdef int64_t f, first = layout.u_ptr[a], last = layout.u_ptr[a + 1]
    if first < 0 or last < first or last > layout.u_ptr[layout.A]:
        return False
    if a >= layout.H and first < layout.u_ptr[layout.H]:
        return False
    for f in range(first, last):
        if layout.u_label[f] >= layout.L or (f > first and layout.u_label[f] <= layout.u_label[f - 1]):
            return False
    return True


cdef bint rich_row_fits(const LayoutC* layout, int32_t b) noexcept nogil:
    cdef int64_t f, first = layout.b_ptr[b], last = layout.b_ptr[b + 1]
    if first < 0 or last < first or last > layout.b_ptr[layout.B]:
        return False
    for f in range(first, last):
        if not history_exists(layout, f):
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


cdef int copy_into(BufferC* buffer, const void* source, int64_t n, int64_t size) except -1:
    buffer_reserve(buffer, n + 1, size)
    if n:
        memcpy(buffer.data, source, <size_t>(n * size))
    return 0


cdef inline bint is_hot(int64_t labels, int32_t P) noexcept nogil:
    """Dense rows pay from about a sixth of the labels on: fewer would be mostly zeros to read."""
    return labels > 1 and 6 * labels >= P


cdef class Layout:
    """Owner of the arrays of one LayoutC."""

    def __dealloc__(self):
        buffer_free(&self.u_ptr)
        buffer_free(&self.u_label)
        buffer_free(&self.u_exists)
        buffer_free(&self.b_ptr)
        buffer_free(&self.b_prev2)
        buffer_free(&self.b_prev)
        buffer_free(&self.b_label)
        buffer_free(&self.tau_mask)

    @staticmethod
    def build(Dataset data, int32_t labels, bint has_tau, const uint8_t[::1] u_all, const int32_t[::1] u_min,
              const uint8_t[::1] b_all, const int32_t[::1] b_min, bint tau_all, b_reach=None):
        """The layout for a data set, and the new ids of its attributes: (layout, unigram ids, bigram ids).

        `u_all[a]`: attribute a goes with every label, not only those seen; `u_min[a]`: it is dropped when it
        occurs less often. `b_*` say the same of rich bigram attributes, `tau_all` of the plain label pairs. `b_reach[b]`
        says which labels before its own a bigram attribute looks at (history.pxd); None: all at the last one.
        """
        cdef:
            Layout self = Layout()
            SeenPairs seen = SeenPairs()
            LayoutC* c = &self.c
            int32_t a, k, n
            const int32_t[::1] new
            int64_t s, t
            const int64_t* count
            int32_t[::1] size
            uint8_t[::1] hot
            int64_t* ptr
            const uint32_t* value
            const int64_t* start
            uint8_t* mask
        if labels > MAX_LABELS:
            raise DataError(f"{labels} labels; at most {MAX_LABELS} are supported")
        if b_reach is not None and labels > MOST_HISTORY_LABELS:
            raise DataError(f"{labels} labels; at most {MOST_HISTORY_LABELS} are supported in features with history")
        c.L, c.P, c.has_tau = labels, (labels + 7) // 8 * 8, has_tau

        n = u_all.shape[0]
        with nogil:
            seen.collect(n, &data.c, labels, False)
        count, value, start = <int64_t*>seen.count.data, <uint32_t*>seen.value.data, <int64_t*>seen.start.data
        sizes, flags = arrays.array("i", bytes(4 * n)), bytearray(n)
        size, hot = sizes if n else None, flags if n else None
        for a in range(n):
            if count[a] and count[a] >= u_min[a]:
                size[a] = labels if u_all[a] else (<int32_t*>seen.n_seen.data)[a]
                hot[a] = is_hot(size[a], c.P)
                c.A += 1
                c.H += hot[a]
        u_new = seen.order(size, hot)
        new = u_new if n else None
        buffer_reserve(&self.u_ptr, c.A + 1, sizeof(int64_t))
        ptr = <int64_t*>self.u_ptr.data
        ptr[0] = 0
        for a in range(n):
            if new[a] >= 0:
                ptr[new[a] + 1] = size[a]
        for a in range(c.A):
            ptr[a + 1] += ptr[a]
        buffer_reserve(&self.u_label, ptr[c.A], sizeof(uint16_t))
        for a in range(n):
            if new[a] >= 0:
                for k in range(size[a]):
                    (<uint16_t*>self.u_label.data)[ptr[new[a]] + k] = k if u_all[a] else <uint16_t>value[start[a] + k]

        b_new = self.build_rich(data, b_all, b_min, b_reach)

        buffer_reserve(&self.tau_mask, <int64_t>labels * c.P, 1)
        mask = <uint8_t*>self.tau_mask.data
        memset(mask, 0, <size_t>labels * c.P)
        if has_tau and tau_all:
            for k in range(labels):
                memset(mask + <int64_t>k * c.P, 1, labels)
        elif has_tau:
            for s in range(data.c.n_seq):
                for t in range(data.c.seq_ptr[s] + 1, data.c.seq_ptr[s + 1]):
                    mask[<int64_t>data.c.label[t - 1] * c.P + data.c.label[t]] = 1
        self.place()
        return self, u_new, b_new

    @staticmethod
    def of_features(int32_t labels, bint has_tau, int32_t hot, const int64_t[::1] u_ptr, const uint16_t[::1] u_label,
                    const int64_t[::1] b_ptr, const uint16_t[::1] b_prev, const uint16_t[::1] b_label, pairs):
        """The layout to train with of features that are known: the labels of each unigram attribute and the pairs of
        each rich bigram attribute, ascending, and the plain `pairs` as previous * 65536 + label. The first `hot`
        unigram attributes get dense rows. The arrays are copied."""
        cdef:
            Layout self = Layout()
            LayoutC* c = &self.c
            int64_t pair
        if not 1 <= labels <= MAX_LABELS:
            raise DataError(f"{labels} labels; 1 to {MAX_LABELS} are supported")
        c.L, c.P, c.has_tau = labels, (labels + 7) // 8 * 8, has_tau
        c.A, c.H, c.B = <int32_t>(u_ptr.shape[0] - 1), hot, <int32_t>(b_ptr.shape[0] - 1)
        copy_into(&self.u_ptr, &u_ptr[0], u_ptr.shape[0], sizeof(int64_t))
        copy_into(&self.b_ptr, &b_ptr[0], b_ptr.shape[0], sizeof(int64_t))
        copy_into(&self.u_label, &u_label[0] if u_label.shape[0] else NULL, u_label.shape[0], sizeof(uint16_t))
        copy_into(&self.b_prev, &b_prev[0] if b_prev.shape[0] else NULL, b_prev.shape[0], sizeof(uint16_t))
        copy_into(&self.b_label, &b_label[0] if b_label.shape[0] else NULL, b_label.shape[0], sizeof(uint16_t))
        buffer_reserve(&self.tau_mask, <int64_t>labels * c.P, 1)
        memset(self.tau_mask.data, 0, <size_t>labels * c.P)
        for pair in pairs:
            if pair >> 16 >= labels or (pair & 0xFFFF) >= labels:
                raise ValueError(f"a pair of labels {pair >> 16}, {pair & 0xFFFF} of {labels}")
            self.tau_mask.data[(pair >> 16) * c.P + (pair & 0xFFFF)] = 1
        self.place()
        self.unverified = True
        self.verify()
        return self

    cdef build_rich(self, Dataset data, const uint8_t[::1] b_all, const int32_t[::1] b_min, b_reach):
        """The rows of the rich bigram attributes, those with history among them; the attributes' new ids."""
        cdef:
            LayoutC* c = &self.c
            int32_t n = <int32_t>b_all.shape[0], a, L = c.L
            int64_t k, v
            int64_t* ptr
            const int64_t* count
            int64_t[::1] size
            const int32_t[::1] new
            const uint8_t[::1] reach = None if b_reach is None else b_reach
            const uint8_t* first_reach = &reach[0] if b_reach is not None and n else NULL
            SeenPairs seen = SeenPairs() if b_reach is None else SeenHistory()
        with nogil:
            if reach is None:
                seen.collect(n, &data.c, L, True)
            else:
                (<SeenHistory>seen).collect_history(n, &data.c, L, first_reach)
        count = <int64_t*>seen.count.data
        sizes = arrays.array("q", bytes(8 * n))
        kept, flags = arrays.array("i", bytes(4 * n)), bytearray(n)
        size = sizes if n else None
        for a in range(n):
            if count[a] and count[a] >= b_min[a]:
                size[a] = (<int32_t*>seen.n_seen.data)[a]
                if b_all[a]:
                    size[a] = n_all_history(L, reach[a]) if reach is not None else <int64_t>L * L
                if size[a] > 0x7FFFFFFF:
                    raise DataError(f"{L} labels are too many for features with all of them and those before")
                kept[a] = size[a]
                c.B += size[a] > 0
        b_new = seen.order(kept if n else None, flags if n else None)
        new = b_new if n else None
        buffer_reserve(&self.b_ptr, c.B + 1, sizeof(int64_t))
        ptr = <int64_t*>self.b_ptr.data
        ptr[0] = 0
        for a in range(n):
            if new[a] >= 0:
                ptr[new[a] + 1] = size[a]
        for a in range(c.B):
            ptr[a + 1] += ptr[a]
        if reach is not None:
            buffer_reserve(&self.b_prev2, ptr[c.B] + 1, sizeof(uint16_t))
        buffer_reserve(&self.b_prev, ptr[c.B], sizeof(uint16_t))
        buffer_reserve(&self.b_label, ptr[c.B], sizeof(uint16_t))
        for a in range(n):
            if new[a] >= 0:
                for k in range(size[a]):
                    if b_all[a]:
                        v = all_history(L, reach[a], k) if reach is not None else ((k // L) << 16) | (k % L)
                    elif reach is not None:
                        v = (<int64_t*>(<SeenHistory>seen).keys.data)[(<int64_t*>seen.start.data)[a] + k]
                    else:
                        v = (<uint32_t*>seen.value.data)[(<int64_t*>seen.start.data)[a] + k]
                    if reach is not None:
                        (<uint16_t*>self.b_prev2.data)[ptr[new[a]] + k] = <uint16_t>(v >> 32)
                    (<uint16_t*>self.b_prev.data)[ptr[new[a]] + k] = <uint16_t>((v >> 16) & 0xFFFF)
                    (<uint16_t*>self.b_label.data)[ptr[new[a]] + k] = <uint16_t>(v & 0xFFFF)
        return b_new

    cdef int place(self) except -1:
        """Pointers, the mask of the dense rows, and where each part of the cells begins."""
        cdef:
            LayoutC* c = &self.c
            int64_t f, k
            int32_t a
        c.u_ptr, c.u_label = <const int64_t*>self.u_ptr.data, <const uint16_t*>self.u_label.data
        c.b_ptr = <const int64_t*>self.b_ptr.data
        c.b_prev2 = <const uint16_t*>self.b_prev2.data
        c.b_prev, c.b_label = <const uint16_t*>self.b_prev.data, <const uint16_t*>self.b_label.data
        c.tau_mask = <const uint8_t*>self.tau_mask.data
        self.place_parts()
        buffer_reserve(&self.u_exists, c.cold0 // 8 + 1, 1)
        c.u_exists = <const uint8_t*>self.u_exists.data
        memset(self.u_exists.data, 0, <size_t>(c.cold0 // 8))
        for a in range(c.H):
            for f in range(c.u_ptr[a], c.u_ptr[a + 1]):
                k = <int64_t>a * c.P + c.u_label[f]
                self.u_exists.data[k >> 3] |= 1 << (k & 7)
        self.n_features = c.u_ptr[c.A] + c.b_ptr[c.B]
        for k in range(<int64_t>c.L * c.P):
            self.n_features += c.tau_mask[k]
        return 0

    cdef int place_parts(self) noexcept:
        """Where each part of the cells begins."""
        cdef LayoutC* c = &self.c
        c.cold0 = <int64_t>c.H * c.P
        # dense parts start on the boundary of a vector
        c.tau0 = (c.cold0 + c.u_ptr[c.A] - c.u_ptr[c.H] + 15) // 16 * 16
        c.rich0 = c.tau0 + (<int64_t>c.L * c.P if c.has_tau else 0)
        c.n_cells = c.rich0 + c.b_ptr[c.B]
        return 0

    @property
    def labels(self) -> int:
        return self.c.L

    @property
    def n_cells(self) -> int:
        return self.c.n_cells

    @property
    def n_attributes(self) -> int:
        """Unigram attributes, rich bigram attributes."""
        return self.c.A, self.c.B

    @staticmethod
    def from_sections(int32_t labels, bint has_tau, int64_t hot, const int64_t[::1] u_ptr, const uint16_t[::1] u_label,
                      const int64_t[::1] b_ptr, const uint16_t[::1] b_prev, const uint16_t[::1] b_label,
                      const uint16_t[::1] b_prev2=None, *, bint verify=True):
        """The layout of a model file; the arrays stay where they are; `b_prev2` only where there are features with
        history. Without `verify` what depends on the size
        of the arrays is left to layout_fits, sentence by sentence."""
        cdef:
            Layout self = Layout()
            LayoutC* c = &self.c
        if not 1 <= labels <= MAX_LABELS:
            raise ModelFileError(f"layout: {labels} labels, expected 1 to {MAX_LABELS}")
        if not 1 <= u_ptr.shape[0] <= 0x7FFFFFFF or not 1 <= b_ptr.shape[0] <= 0x7FFFFFFF:
            raise ModelFileError("layout: an attribute table without an end, or too large")
        if b_prev2 is not None and labels > MOST_HISTORY_LABELS:
            raise ModelFileError(f"layout: {labels} labels, expected at most {MOST_HISTORY_LABELS}")
        if b_prev.shape[0] != b_label.shape[0] or (b_prev2 is not None and b_prev2.shape[0] != b_label.shape[0]):
            raise ModelFileError("layout: pairs of labels of different lengths")
        c.L, c.P, c.has_tau = labels, (labels + 7) // 8 * 8, has_tau
        c.A, c.B = <int32_t>u_ptr.shape[0] - 1, <int32_t>b_ptr.shape[0] - 1
        if not 0 <= hot <= c.A:
            raise ModelFileError(f"layout: {hot} dense rows for {c.A} attributes")
        c.H = <int32_t>hot
        c.u_ptr, c.b_ptr = &u_ptr[0], &b_ptr[0]
        c.u_label = &u_label[0] if u_label.shape[0] else NULL
        c.b_prev2 = &b_prev2[0] if b_prev2 is not None and b_prev2.shape[0] else NULL
        c.b_prev = &b_prev[0] if b_prev.shape[0] else NULL
        c.b_label = &b_label[0] if b_label.shape[0] else NULL
        self.sections = (u_ptr, u_label, b_ptr, b_prev2, b_prev, b_label)
        if c.u_ptr[0] != 0 or c.u_ptr[c.A] != u_label.shape[0] or c.b_ptr[0] != 0 or c.b_ptr[c.B] != b_label.shape[0]:
            raise ModelFileError("layout: the attribute tables do not cover their features")
        if not 0 <= c.u_ptr[c.H] <= u_label.shape[0]:
            raise ModelFileError("layout: the dense rows do not end within the features")
        self.place_parts()
        self.n_features = u_label.shape[0] + b_label.shape[0] + (<int64_t>labels * labels if has_tau else 0)
        self.unverified = True
        if verify:
            self.verify()
        return self

    cdef int verify(self) except -1:
        """Every row within its table, every label below L, labels ascending within a row."""
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
        return 0

    def arrays(self) -> dict:
        """Copies of the arrays that from_sections takes."""
        cdef LayoutC* c = &self.c
        cdef int64_t n_u = c.u_ptr[c.A], n_b = c.b_ptr[c.B]
        copies = {}
        for name, code, data in (
            ("u_ptr", "q", (<const char*>c.u_ptr)[: (c.A + 1) * 8]),
            ("u_label", "H", (<const char*>c.u_label)[: n_u * 2] if n_u else b""),
            ("b_ptr", "q", (<const char*>c.b_ptr)[: (c.B + 1) * 8]),
            ("b_prev", "H", (<const char*>c.b_prev)[: n_b * 2] if n_b else b""),
            ("b_label", "H", (<const char*>c.b_label)[: n_b * 2] if n_b else b""),
        ):
            copies[name] = arrays.array(code)
            copies[name].frombytes(data)
        if c.b_prev2 != NULL:
            copies["b_prev2"] = arrays.array("H")
            copies["b_prev2"].frombytes((<const char*>c.b_prev2)[: n_b * 2])
        return copies

    @property
    def hot(self) -> int:
        """Attributes with dense rows."""
        return self.c.H

    @property
    def has_tau(self) -> bool:
        return self.c.has_tau != 0

    def pruned(self, const float[::1] w):
        """Without the features of weight zero: (layout, weights, new ids of the attributes, of the bigram ones).

        Attributes keep their order; those without any feature left get the id -1.
        """
        cdef:
            Layout new = Layout()
            const LayoutC* old = &self.c
            LayoutC* c = &new.c
            int32_t a, k
            int64_t f, cell
            int64_t n_u = 0, n_b = 0
            int pass_number
            int64_t* ptr
            float[::1] v
        if w.shape[0] != old.n_cells:
            raise ValueError("weights of another layout")
        self.verify()
        c.L, c.P = old.L, old.P
        u_ids, b_ids = arrays.array("i", bytes(4 * old.A)), arrays.array("i", bytes(4 * old.B))
        cdef int32_t[::1] u_new = u_ids if old.A else None
        cdef int32_t[::1] b_new = b_ids if old.B else None
        left = arrays.array("i", bytes(4 * (old.A + 1)))
        cdef int32_t[::1] size = left
        for a in range(old.A):
            for f in range(old.u_ptr[a], old.u_ptr[a + 1]):
                size[a] += w[feature_cell(old, a, f)] != 0
            n_u += size[a]
        # dense rows stay in front
        for pass_number in range(2):
            for a in range(old.A):
                if size[a] == 0:
                    u_new[a] = -1
                elif is_hot(size[a], c.P) == (pass_number == 0):
                    u_new[a] = c.A
                    c.A += 1
            if pass_number == 0:
                c.H = c.A
        buffer_reserve(&new.u_ptr, c.A + 1, sizeof(int64_t))
        buffer_reserve(&new.u_label, n_u + 1, sizeof(uint16_t))
        ptr = <int64_t*>new.u_ptr.data
        ptr[0] = 0
        for a in range(old.A):
            if size[a]:
                ptr[u_new[a] + 1] = size[a]
        for a in range(c.A):
            ptr[a + 1] += ptr[a]
        for a in range(old.A):
            k = 0
            for f in range(old.u_ptr[a], old.u_ptr[a + 1]):
                if w[feature_cell(old, a, f)] != 0:
                    (<uint16_t*>new.u_label.data)[ptr[u_new[a]] + k] = old.u_label[f]
                    k += 1
        left = arrays.array("i", bytes(4 * (old.B + 1)))
        size = left
        for a in range(old.B):
            for f in range(old.b_ptr[a], old.b_ptr[a + 1]):
                size[a] += w[old.rich0 + f] != 0
            n_b += size[a]
            b_new[a] = c.B if size[a] else -1
            c.B += size[a] > 0
        buffer_reserve(&new.b_ptr, c.B + 1, sizeof(int64_t))
        if old.b_prev2 != NULL:
            buffer_reserve(&new.b_prev2, n_b + 1, sizeof(uint16_t))
        buffer_reserve(&new.b_prev, n_b + 1, sizeof(uint16_t))
        buffer_reserve(&new.b_label, n_b + 1, sizeof(uint16_t))
        n_b = 0
        (<int64_t*>new.b_ptr.data)[0] = 0
        for a in range(old.B):
            for f in range(old.b_ptr[a], old.b_ptr[a + 1]):
                if w[old.rich0 + f] != 0:
                    if old.b_prev2 != NULL:
                        (<uint16_t*>new.b_prev2.data)[n_b] = old.b_prev2[f]
                    (<uint16_t*>new.b_prev.data)[n_b] = old.b_prev[f]
                    (<uint16_t*>new.b_label.data)[n_b] = old.b_label[f]
                    n_b += 1
            if size[a]:
                (<int64_t*>new.b_ptr.data)[b_new[a] + 1] = n_b
        # a model whose label pairs all weigh nothing can do without their matrix
        buffer_reserve(&new.tau_mask, <int64_t>c.L * c.P, 1)
        memset(new.tau_mask.data, 0, <size_t>c.L * c.P)
        if old.has_tau:
            for f in range(<int64_t>c.L * c.P):
                if w[old.tau0 + f] != 0:
                    new.tau_mask.data[f] = 1
                    c.has_tau = 1
        new.place()
        cells = arrays.array("f", bytes(4 * c.n_cells))
        v = cells if c.n_cells else None
        for a in range(old.A):
            for f in range(old.u_ptr[a], old.u_ptr[a + 1]):
                cell = feature_cell(old, a, f)
                if w[cell] != 0:
                    v[layout_cell(c, u_new[a], old.u_label[f])] = w[cell]
        if c.has_tau:
            for f in range(<int64_t>c.L * c.P):
                v[c.tau0 + f] = w[old.tau0 + f]
        n_b = 0
        for f in range(old.b_ptr[old.B]):
            if w[old.rich0 + f] != 0:
                v[c.rich0 + n_b] = w[old.rich0 + f]
                n_b += 1
        return new, cells, u_ids, b_ids

    def cell(self, int32_t attribute, int32_t label) -> int:
        """Where the weight of a unigram feature stands, or -1."""
        self.verify()
        return layout_cell(&self.c, attribute, label) if 0 <= attribute < self.c.A and 0 <= label < self.c.L else -1

    def rich_cell(self, int32_t attribute, int32_t previous, int32_t label) -> int:
        """The same of a rich bigram feature."""
        self.verify()
        return layout_history_cell(&self.c, attribute, ANY, previous, label) if 0 <= attribute < self.c.B else -1

    def history_cell(self, int32_t attribute, int32_t before, int32_t previous, int32_t label) -> int:
        """The same of a feature that looks at the label `previous` and at the one `before` it: numbers of labels, L
        and L+1 for what lies before the sentence, -1 for any."""
        self.verify()
        if not 0 <= attribute < self.c.B:
            return -1
        return layout_history_cell(&self.c, attribute, before if before >= 0 else ANY, previous if previous >= 0 else ANY, label)

    def pair_cell(self, int32_t previous, int32_t label) -> int:
        """The same of a plain pair of labels."""
        cdef int64_t k = <int64_t>previous * self.c.P + label
        if not self.c.has_tau or not 0 <= previous < self.c.L or not 0 <= label < self.c.L:
            return -1
        return self.c.tau0 + k if self.c.tau_mask == NULL or self.c.tau_mask[k] else -1

    def features(self, const float[::1] w):
        """Every feature with a weight other than zero, as (kind, attribute, previous label, label, weight): kind
        "U" (previous label -1), "B" for rich bigram attributes, "T" for plain label pairs (attribute -1), "H" for
        those with history (for the previous label a pair, of what `history_cell` takes)."""
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
