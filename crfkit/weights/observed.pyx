"""Which features the attributes of a data set have: the labels each was seen with, with or without previous labels.

Tokens are sorted by the labels that a feature looks at, TOKENS_AT_ONCE at a time. In this order the features of each attribute are
ascending, so comparing with the last one tells whether a feature is new. Sorted lists of features are merged in the same way.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.data.dataset cimport Dataset
from crfkit.features.reach cimport REACH_BEFORE, REACH_EDGE, REACH_LAST, REACH_NONE, RULE_ALL, RULE_OBSERVED
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.loops.structs cimport DatasetC
from crfkit.memory cimport Arena, BufferC, arena_reserve, arena_zeros, buffer_free, buffer_swap, memcpy, memset
from .cells cimport ANY, MOST_HISTORY_LABELS, key_of

import array

from crfkit.errors import DataError

cdef enum:
    DIGITS = 1 << 16        # values of sixteen bits: tokens are sorted by these
    MOST_COUNT = 65535      # more frequent attributes keep their order
    NO_FEATURE = -1         # B lines have none at the first token

TOKENS_AT_ONCE = 1 << 18
MAX_LABELS = 65535

cdef struct SeenC:      # of an attribute
    int64_t last        # the key of its last feature met
    int32_t n           # its features; -1: observed ones are not needed
    int32_t count       # how often it occurs; exact only up to MOST_COUNT

cdef packed struct FoundC:      # a feature, in the order in which they are met
    int64_t key
    int32_t a           # its attribute

cdef struct TokenC:
    int64_t key         # of the feature that it is an example of, or NO_FEATURE
    int64_t t           # its place in the data; of evidence, the attribute


cdef int64_t n_all_history(int64_t L, int reach) noexcept nogil:
    """How many features an attribute has with the rule `all`: a label for each context."""
    cdef int64_t[5] contexts = [L, L + 1, L + 2, L * L + L + 1, 1]     # in the order of the reaches
    return contexts[reach] * L


cdef int64_t all_history(int64_t L, int reach, int64_t k) noexcept nogil:
    """The key of the k-th of them, in their order."""
    if reach == REACH_NONE:
        return key_of(ANY, ANY, k)
    cdef int64_t label = k % L, context = k // L
    if reach == REACH_EDGE or reach == REACH_LAST:
        return key_of(ANY, context, label)
    if reach == REACH_BEFORE:
        return key_of(context, ANY, label)
    # two labels; the padding and a label, at the second token; two paddings, at the first
    if context < L * L + L:
        return key_of(context // L, context % L, label)
    return key_of(L + 1, L, label)


cdef class Observed(Arena):
    """The observed features of the unigram attributes, or of the bigram ones, with a rule for each (features/reach.pxd). `reaches` tells
    which labels before its own a bigram attribute looks at; None: B lines. `source`: a data set, or the Evidence of both kinds, of data that were
    scanned elsewhere."""

    cdef Dataset data
    cdef bint bigram
    cdef int64_t labels, n, n_found, at_once
    cdef object rules, reaches      # bytes
    cdef const uint8_t* rule        # [n] of features/reach.pxd
    cdef const uint8_t* reach       # [n]; NULL: the same for all
    cdef SeenC* seen
    cdef BufferC found, merged, tokens, spare, begins

    def __cinit__(self, source, int64_t labels, bint bigram, rules, reaches=None):
        cdef const uint8_t[::1] given = rules
        cdef int64_t a, n
        cdef int reach
        evidence = None if isinstance(source, Dataset) else source[bigram]
        if labels > MAX_LABELS or (reaches is not None and labels > MOST_HISTORY_LABELS):
            most = f"{MAX_LABELS} are supported" if reaches is None else f"{MOST_HISTORY_LABELS} are supported in features with history"
            raise DataError(f"{labels} labels; at most {most}")
        self.labels, self.bigram, self.rules, self.reaches, self.at_once = labels, bigram, rules, reaches, TOKENS_AT_ONCE
        if evidence is None:
            self.data = source
            self.data.need_labels_below(labels)
            if self.data.possible is not None and reaches is not None:
                raise ValueError("features of labels given before need all labels")
        self.n = len(evidence.counts) if evidence is not None else self.data.n_b if bigram else self.data.n_u
        if given.shape[0] != self.n or (reaches is not None and len(reaches) != self.n):
            raise ValueError(f"rules for {given.shape[0]} attributes, expected {self.n}")
        self.seen = <SeenC*>arena_zeros(self, self.n, sizeof(SeenC))
        if self.n:
            self.rule = &given[0]
            if reaches is not None:
                given = reaches
                self.reach = &given[0]
        with nogil:
            for a in range(self.n):
                self.seen[a] = SeenC(NO_FEATURE, 0 if self.rule[a] == RULE_OBSERVED else -1, 0)
            for reach in range(REACH_NONE + 1 if evidence is None else 0):
                for a in range(self.n):
                    if reach_of(self, a) == reach:
                        self.collect(reach)
                        break
        if evidence is not None:
            collect_evidence(self, evidence)
        buffer_free(&self.tokens)
        buffer_free(&self.spare)
        buffer_free(&self.merged)
        for a in range(self.n):
            if self.seen[a].n < 0:
                n = n_all_history(labels, reach_of(self, a)) if self.rule[a] == RULE_ALL and self.seen[a].count else 0
                if n > 0x7FFFFFFF:
                    raise DataError(f"{labels} labels are too many for features with all of them and those before")
                self.seen[a].n = <int32_t>n

    cdef int collect(self, int reach) except -1 nogil:
        """Count the attributes with this reach, and list their observed features where these are needed."""
        cdef const int64_t* sequence = self.data.c.seq_ptr
        cdef int64_t base = self.n_found, middle, first = 0, last = 0, k
        if self.data.c.n_tok == 0 or (self.data.c.b_ptr if self.bigram else self.data.c.u_ptr) == NULL:
            return 0
        while first < self.data.c.n_seq:
            while last < self.data.c.n_seq and (last == first or sequence[last + 1] - sequence[first] <= self.at_once):
                last += 1
            middle = self.n_found
            collect_from(self, reach, first, last)
            if middle > base:
                self.merge(base, middle)
            first = last
        for k in range(base, self.n_found):
            self.seen[(<const FoundC*>self.found.data)[k].a].n += 1

    cdef int merge(self, int64_t first, int64_t middle) except -1 nogil:
        """Merge the sorted lists that begin at `first` and at `middle`."""
        cdef:
            FoundC* found = <FoundC*>self.found.data
            const FoundC* taken
            FoundC* out
            SeenC* seen
            int64_t i = first, j = middle, n = 0
        out = <FoundC*>arena_reserve(self, &self.merged, self.n_found - first, sizeof(FoundC))
        forget_last(self)
        while i < middle or j < self.n_found:
            if j == self.n_found or (i < middle and found[i].key <= found[j].key):
                taken = &found[i]
                i += 1
            else:
                taken = &found[j]
                j += 1
            seen = &self.seen[taken.a]
            if taken.key != seen.last:
                seen.last = taken.key
                out[n] = taken[0]
                n += 1
        memcpy(found + first, out, <size_t>n * sizeof(FoundC))
        self.n_found = first + n

    def numbered(self, int64_t dense):
        """New ids of the attributes: those with at least `dense` features first, then by falling count; -1 for those without features.
        Also how many come first, and the features by new ids."""
        cdef:
            int64_t* begin = <int64_t*>arena_reserve(self, &self.begins, 2 * DIGITS, sizeof(int64_t))
            int64_t a, place, size, n = 0, first = 0
            int32_t[::1] new = array.array("i", [-1]) * self.n
        memset(begin, 0, 2 * DIGITS * sizeof(int64_t))
        for a in range(self.n):
            if self.seen[a].n:
                begin[place_of(&self.seen[a], dense)] += 1
                first += self.seen[a].n >= dense
        for place in range(2 * DIGITS):
            size = begin[place]
            begin[place] = n
            n += size
        for a in range(self.n):
            if self.seen[a].n:
                place = place_of(&self.seen[a], dense)
                new[a] = <int32_t>begin[place]
                begin[place] += 1
        return new.base, first, *self.features(new, n)

    cdef tuple features(self, const int32_t[::1] new, int64_t kept):
        """The features by new ids, of which there are `kept`: where each attribute's begin, and for each the last label but one, the last one and its
        own; None where no feature of this kind looks at them."""
        cdef:
            const FoundC* found = <const FoundC*>self.found.data
            int64_t a, k
            uint16_t* before
            uint16_t* previous
            uint16_t* label
            int64_t[::1] ptr = array.array("q", [0]) * (kept + 1)
        for a in range(self.n):
            if new[a] >= 0:
                ptr[new[a] + 1] = self.seen[a].n
        for a in range(kept):
            ptr[a + 1] += ptr[a]
        labels = array.array("H", [0]) * ptr[kept]
        befores, previouses = labels[:] if self.reaches is not None else None, labels[:] if self.bigram else None
        label, previous, before = start_of(labels), start_of(previouses), start_of(befores)
        # from here on `last` is the place of the next feature
        for a in range(self.n):
            if new[a] >= 0:
                self.seen[a].last = ptr[new[a]]
                for k in range(self.seen[a].n if self.rule[a] == RULE_ALL else 0):
                    put(ptr[new[a]] + k, all_history(self.labels, reach_of(self, a), k), before, previous, label)
        for k in range(self.n_found):
            put(self.seen[found[k].a].last, found[k].key, before, previous, label)
            self.seen[found[k].a].last += 1
        return ptr.base, befores, previouses, labels


cdef inline int64_t place_of(const SeenC* seen, int64_t dense) noexcept nogil:
    """Where an attribute is in the order of new ids: those with `dense` features or more first, then by falling count."""
    return (seen.n < dense) * DIGITS + MOST_COUNT - seen.count


cdef int reach_of(Observed observed, int64_t a) noexcept nogil:
    if observed.reach != NULL:
        return observed.reach[a]
    return REACH_EDGE if observed.bigram else REACH_NONE


cdef inline int64_t seen_at(const DatasetC* data, int64_t first, int64_t t, int64_t L, int reach) noexcept nogil:
    """The key of the feature that a token of the sequence that begins at `first` is an example of."""
    if reach == REACH_NONE:
        return key_of(ANY, ANY, data.label[t])
    if reach == REACH_EDGE and t == first:
        return NO_FEATURE
    cdef int64_t previous = data.label[t - 1] if t > first else L
    cdef int64_t before = data.label[t - 2] if t > first + 1 else L + first + 1 - t
    return key_of(before if reach & REACH_BEFORE else ANY, ANY if reach == REACH_BEFORE else previous, data.label[t])


cdef int64_t list_tokens(Observed observed, int reach, int64_t first, int64_t last) except -1 nogil:
    """List the tokens of some sequences by the keys of features with this reach, with each label that they may have; how many."""
    cdef:
        const int64_t* sequence = observed.data.c.seq_ptr
        int64_t n = sequence[last] - sequence[first], s, t, k = 0
        TokenC* token
    token = <TokenC*>arena_reserve(observed, &observed.tokens, n, sizeof(TokenC))
    for s in range(first, last):
        for t in range(sequence[s], sequence[s + 1]):
            if observed.data.possible is not None:
                k = list_choices(observed, reach == REACH_EDGE, sequence[s], t, k)
                continue
            token[k] = TokenC(seen_at(&observed.data.c, sequence[s], t, observed.labels, reach), t)
            k += 1
    sort_tokens(observed, k)
    return k


cdef int64_t list_choices(Observed observed, bint pairs, int64_t first, int64_t t, int64_t k) except -1 nogil:
    """List a token behind k others with each label that it may have, or each pair with those of the token before; the end of the list."""
    cdef:
        const uint16_t* before = observed.data.c.label + t - 1
        const uint16_t* own = observed.data.c.label + t
        int64_t n = observed.data.possible.seen(t, &own), n_before = 1, i, j
        TokenC* token
    if pairs:
        n_before = observed.data.possible.seen(t - 1, &before) if t > first else 0
    token = <TokenC*>arena_reserve(observed, &observed.tokens, k + max(n_before * n, 1), sizeof(TokenC))
    for i in range(n_before):
        for j in range(n):
            token[k].key, token[k].t = key_of(ANY, before[i] if pairs else ANY, own[j]), t
            k += 1
    if n_before * n == 0:       # it counts, but has no feature
        token[k].key, token[k].t = NO_FEATURE, t
        k += 1
    return k


cdef int sort_tokens(Observed observed, int64_t n) except -1 nogil:
    """Sort the n tokens listed by their keys; equal ones keep their order."""
    cdef:
        int64_t k, at, size
        int64_t* begin
        TokenC* token
        TokenC* sorted
        int shift, digit
    if n == 0:
        return 0
    arena_reserve(observed, &observed.spare, n, sizeof(TokenC))
    begin = <int64_t*>arena_reserve(observed, &observed.begins, DIGITS, sizeof(int64_t))
    for shift in range(0, 48, 16):
        token, sorted = <TokenC*>observed.tokens.data, <TokenC*>observed.spare.data
        memset(begin, 0, DIGITS * sizeof(int64_t))
        for k in range(n):
            begin[token[k].key >> shift & (DIGITS - 1)] += 1
        if begin[token[0].key >> shift & (DIGITS - 1)] == n:
            continue        # they are all the same here
        at = 0
        for digit in range(DIGITS):
            size = begin[digit]
            begin[digit] = at
            at += size
        for k in range(n):
            digit = token[k].key >> shift & (DIGITS - 1)
            sorted[begin[digit]] = token[k]
            begin[digit] += 1
        buffer_swap(&observed.tokens, &observed.spare)


cdef int collect_evidence(Observed observed, evidence) except -1:
    """Count and list the features of the evidence, which contains each at least once."""
    cdef:
        const int64_t[::1] counts = evidence.counts, keys
        const int32_t[::1] attributes
        int64_t a, k, n = sum([len(keys) for _, keys in evidence.parts])
        TokenC* token = <TokenC*>arena_reserve(observed, &observed.tokens, n, sizeof(TokenC))
        FoundC* found = <FoundC*>arena_reserve(observed, &observed.found, n, sizeof(FoundC))
        SeenC* seen
    n = 0
    for attributes, keys in evidence.parts:
        for k in range(keys.shape[0]):
            if not 0 <= attributes[k] < observed.n or not 0 <= keys[k] < <int64_t>1 << 48:
                raise ValueError("evidence of other attributes, or with labels that do not exist")
            token[n] = TokenC(keys[k], attributes[k])
            n += 1
    sort_tokens(observed, n)
    token = <TokenC*>observed.tokens.data
    for a in range(observed.n):
        observed.seen[a].count = <int32_t>min(counts[a], MOST_COUNT)
    for k in range(n):
        seen = &observed.seen[token[k].t]
        if token[k].key != seen.last and seen.n >= 0:
            seen.last = token[k].key
            seen.n += 1
            found[observed.n_found] = FoundC(token[k].key, <int32_t>token[k].t)
            observed.n_found += 1


cdef void forget_last(Observed observed) noexcept nogil:
    """Begin anew: no feature of any attribute has been met."""
    cdef int64_t a
    for a in range(observed.n):
        observed.seen[a].last = NO_FEATURE


cdef int collect_from(Observed observed, int reach, int64_t first, int64_t last) except -1 nogil:
    """Count the attributes of some sequences with this reach, and list their observed features."""
    cdef:
        const int64_t* row = observed.data.c.b_ptr if observed.bigram else observed.data.c.u_ptr
        const int32_t* id = observed.data.c.b_id if observed.bigram else observed.data.c.u_id
        const TokenC* token
        FoundC* found
        SeenC* seen
        int64_t k, t, u, key, n = observed.n_found, listed = list_tokens(observed, reach, first, last)
    forget_last(observed)
    token = <const TokenC*>observed.tokens.data
    for k in range(listed):
        key, t = token[k].key, token[k].t
        found = <FoundC*>arena_reserve(observed, &observed.found, n + row[t + 1] - row[t], sizeof(FoundC))
        for u in range(row[t], row[t + 1]):
            crfkit_prefetch(&observed.seen[id[u]])
        for u in range(row[t], row[t + 1]):
            if observed.reach != NULL and observed.reach[id[u]] != reach:
                continue
            seen = &observed.seen[id[u]]
            seen.count += seen.count < MOST_COUNT
            if key != seen.last and seen.n >= 0 and key != NO_FEATURE:
                seen.last = key
                found[n] = FoundC(key, id[u])
                n += 1
    observed.n_found = n


def seen_in(Dataset data not None, int64_t labels, bint bigram, reaches=None):
    """How often each unigram attribute of some data, or each bigram one, occurs, and its features as `Observed.numbered` gives them."""
    cdef int64_t n = data.n_b if bigram else data.n_u
    cdef Observed seen = Observed(data, labels, bigram, bytearray([RULE_OBSERVED]) * n, reaches)
    return data.counts(bigram), *seen.features(array.array("i", range(n)), n)


cdef inline void put(int64_t at, int64_t key, uint16_t* before, uint16_t* previous, uint16_t* label) noexcept nogil:
    """Write the labels of a feature to their places."""
    label[at] = <uint16_t>(key & 0xFFFF)
    if previous != NULL:
        previous[at] = <uint16_t>(key >> 16 & 0xFFFF)
    if before != NULL:
        before[at] = <uint16_t>(key >> 32)


cdef uint16_t* start_of(values) except? NULL:
    """The address of an array, which must not grow; NULL for None."""
    cdef uint16_t[::1] items = values
    return &items[0] if items is not None and items.shape[0] else NULL
