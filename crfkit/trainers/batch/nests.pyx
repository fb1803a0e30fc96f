"""Attributes that imply others, and sums of their weights.

Where a template has a line for two words and one for each of them, the attribute of the pair never occurs without
those of its words. Scores add up the weights of all three at each of its tokens, and each token adds its gradient to
all three. Here that is done once for all tokens of the pair: a *nest* is a row that holds the sum of the weights. In the data it
replaces the attributes that it adds up, as the number -1 - k for nest k, and its gradient is added to each of
them at the end. Nests may contain nests. That leaves about half of the rows to visit, and the same function.

Plan.containers tells from the template which lines imply others. Which attributes imply which is read from the data: different
cells may make the same string, and rare attributes are dropped.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.loops.kernels cimport K
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport arena_reserve, arena_zeros, array_of, buffer_free, data_reserve, memset

import array

cdef enum:
    ABSENT = -1
    UNCLEAR = -2                # two attributes of the same slot
    VISIT = 32                  # cost of reaching a row, in cells of a dense row added up
    SCATTERED = 8               # cost of one cell that is not in a dense row


cdef inline int64_t cost(const LayoutC* layout, int32_t a) noexcept nogil:
    """The cost of a visit to the row of attribute a, or of a nest."""
    return VISIT + (layout.P if a < layout.H else SCATTERED * (layout.u_ptr[a + 1] - layout.u_ptr[a]))


def inner_first(list within) -> list[int]:
    """The slots, each one before the one that it lies within, a number below 0 if there is none."""
    cdef int64_t outer, n
    depth = []
    for outer in within:
        n = 0
        while 0 <= outer < len(within) and n < len(within):
            n, outer = n + 1, within[outer]
        if outer >= 0:
            raise ValueError("a line that lies within itself, or within one that does not exist")
        depth.append(n)
    return sorted(range(len(within)), key=depth.__getitem__, reverse=True)


cdef class Survey:
    """Which attributes imply which others in all data seen, part by part; findings are added up in the order of the parts (`add`)."""

    def __cinit__(self, Layout layout not None, nesting not None):
        cdef:
            const int64_t[::1] made_by = nesting[0]
            int32_t slot, n = <int32_t>len(nesting[1])
            int64_t a
        if made_by.shape[0] != layout.c.A:
            raise ValueError("attributes whose lines are not known")
        self.n_slots, self.n = n, layout.c.A
        self.within = <int32_t*>arena_zeros(self, 5 * n, sizeof(int32_t))
        self.order, self.width, self.place, self.at = (
            self.within + n, self.within + 2 * n, self.within + 3 * n, self.within + 4 * n)
        for slot, a in enumerate(nesting[1]):
            self.within[slot] = <int32_t>a
        for slot, a in enumerate(inner_first(nesting[1])):
            self.order[slot] = <int32_t>a
        for slot in range(n):
            if self.within[slot] >= 0:
                self.place[slot] = self.width[self.within[slot]]
                self.width[self.within[slot]] += 1
        self.attribute = <AttributeC*>arena_zeros(self, self.n, sizeof(AttributeC))
        for a in range(self.n):
            self.attribute[a].slot = <int32_t>made_by[a] if 0 <= made_by[a] < n else -1
            self.attribute[a].member = self.n_members
            self.n_members += self.width[self.attribute[a].slot] if self.attribute[a].slot >= 0 else 0
        self.member = <int32_t*>arena_zeros(self, self.n_members, sizeof(int32_t))

    def of(self, Dataset data not None):
        """The findings of one part of the data, for `add`."""
        if data.n_u > self.n:
            raise ValueError("attributes that the layout does not have")
        look(self, &data.c)
        return self.found()

    def found(self):
        """How often each attribute occurs, which ones do not always imply the same, and what they imply."""
        cdef int64_t a
        counts, broken = array.array("q", [0]) * self.n, bytearray(self.n)
        cdef int64_t[::1] count = counts
        for a in range(self.n):
            count[a] = self.attribute[a].count
            broken[a] = self.attribute[a].broken
        return counts, broken, array_of("i", self.member, self.n_members)

    def add(self, const int64_t[::1] count not None, const uint8_t[::1] broken not None, const int32_t[::1] member not None):
        """Add the findings of the next part of the data."""
        cdef:
            AttributeC* own
            int64_t a, k, n
        if count.shape[0] != self.n or broken.shape[0] != self.n or member.shape[0] != self.n_members:
            raise ValueError("a survey of another layout")
        for k in range(self.n_members):
            if not UNCLEAR <= member[k] < self.n:
                raise ValueError("a survey with attributes that the layout does not have")
        for a in range(self.n):
            own = &self.attribute[a]
            own.broken |= broken[a] != 0
            n = self.width[own.slot] if own.slot >= 0 and count[a] else 0
            for k in range(own.member, own.member + n):
                if own.count == 0:
                    self.member[k] = member[k]
                own.broken |= self.member[k] != member[k] or member[k] == UNCLEAR
            own.count += count[a]


cdef class Nests:
    """The nests of a data set, and the data with nests in place of what they add up (`c`). There are none where attributes
    have values, or where it is unknown which lines made them. `survey` covers all data, of which these may be a part."""

    def __cinit__(self, Dataset data not None, Layout layout not None, Survey survey=None):
        layout.check(data, False)
        if survey is not None and survey.n != layout.c.A:
            raise ValueError("a survey of another layout")
        self.data, self.c = data, data.c
        self.keep_data_in(data.folder)
        if data.nesting is not None and data.c.u_val == NULL:
            if survey is None:
                survey = Survey(layout, data.nesting)
                with nogil:
                    look(survey, &data.c)
            choose(self, &layout.c, survey)
            if self.n:
                rewrite(self, &data.c, survey)
        self.sums = <double*>arena_zeros(self, <int64_t>self.n * layout.c.P, sizeof(double))

    cdef void release(self) noexcept:
        """Give back the rewritten data."""
        buffer_free(&self.u_ptr)
        buffer_free(&self.u_id)
        memset(&self.c, 0, sizeof(DatasetC))

    cdef void add_up(self, const LayoutC* layout, const weight_t* w, int64_t from_label, int64_t to_label) noexcept nogil:
        """Compute the sums of weights, for labels from .. to - 1."""
        cdef:
            int64_t k, i, f, P = layout.P, n = to_label - from_label
            double* row
            const weight_t* cold = w + layout.cold0 - layout.u_ptr[layout.H]
            int32_t a
        for k in range(self.n):
            row = self.sums + k * P
            memset(row + from_label, 0, n * sizeof(double))
            for i in range(self.start[k], self.start[k + 1]):
                a = self.part[i]
                if a < 0:
                    K.add(n, row + from_label, self.sums - (1 + a) * P + from_label)
                elif a < layout.H:
                    K.add_floats(n, row + from_label, 1, w + a * P + from_label)
                else:
                    for f in range(layout.u_ptr[a], layout.u_ptr[a + 1]):
                        if from_label <= layout.u_label[f] < to_label:
                            row[layout.u_label[f]] += cold[f]

    cdef void hand_down(self, const LayoutC* layout, double* of_sums, double* g, int64_t from_label, int64_t to_label) noexcept nogil:
        """Add the gradient of each sum to that of its parts, for labels from .. to - 1."""
        cdef:
            int64_t k, i, f, P = layout.P
            const double* row
            double* other
            double* cold = g + layout.cold0 - layout.u_ptr[layout.H]
            int32_t a
        for k in range(self.n - 1, -1, -1):
            row = of_sums + k * P
            for i in range(self.start[k], self.start[k + 1]):
                a = self.part[i]
                if a < layout.H:
                    other = g + a * P if a >= 0 else of_sums - (1 + a) * P
                    K.add(to_label - from_label, other + from_label, row + from_label)
                else:
                    for f in range(layout.u_ptr[a], layout.u_ptr[a + 1]):
                        if from_label <= layout.u_label[f] < to_label:
                            cold[f] += row[layout.u_label[f]]


cdef void place_attributes(Survey survey, const DatasetC* data, int64_t t) noexcept nogil:
    """survey.at[slot] = the token's attribute made by that slot."""
    cdef:
        AttributeC* attribute = survey.attribute
        int32_t* at = survey.at
        int32_t slot, a
        int64_t u
    for slot in range(survey.n_slots):
        at[slot] = ABSENT
    for u in range(data.u_ptr[t], data.u_ptr[t + 1]):
        a = data.u_id[u]
        slot = attribute[a].slot
        if slot < 0:
            continue
        if at[slot] == ABSENT:
            at[slot] = a
            continue
        attribute[a].broken = True
        if at[slot] >= 0:
            attribute[at[slot]].broken = True
        at[slot] = UNCLEAR


cdef void look(Survey survey, const DatasetC* data) noexcept nogil:
    """Read it from the data."""
    cdef:
        AttributeC* attribute = survey.attribute
        int32_t* at = survey.at
        int32_t* member
        int32_t a, slot
        int64_t t
    for t in range(data.n_tok):
        place_attributes(survey, data, t)
        for slot in range(survey.n_slots):
            a = survey.within[slot]
            if a >= 0 and at[a] >= 0:
                a = at[a]
                member = &survey.member[attribute[a].member + survey.place[slot]]
                if attribute[a].count == 0:
                    member[0] = at[slot]
                attribute[a].broken |= at[slot] == UNCLEAR or member[0] != at[slot]
        for slot in range(survey.n_slots):
            if at[slot] >= 0:
                attribute[at[slot]].count += 1


cdef int choose(Nests nests, const LayoutC* layout, Survey survey) except -1:
    """Number the nests that save work, inner ones first, and list what they add up."""
    cdef:
        AttributeC* attribute = survey.attribute
        const int32_t* member = survey.member
        const int32_t* width = survey.width
        int32_t a, m, slot, n
        int64_t n_parts = 0, first, k, whole
    for a in range(layout.A):
        attribute[a].nest = 0
    nests.start = <int64_t*>arena_reserve(nests, &nests.starts, 1, sizeof(int64_t))
    nests.start[0] = 0
    for n in range(survey.n_slots):
        slot = survey.order[n]
        if not width[slot]:
            continue
        for a in range(layout.A):
            if attribute[a].slot != slot or attribute[a].broken or attribute[a].count == 0:
                continue
            nests.part = <int32_t*>arena_reserve(nests, &nests.parts, n_parts + 1 + width[slot], sizeof(int32_t))
            first = n_parts
            nests.part[n_parts] = a
            n_parts += 1
            whole = cost(layout, a)
            for k in range(attribute[a].member, attribute[a].member + width[slot]):
                if member[k] != ABSENT:
                    m = attribute[member[k]].nest if attribute[member[k]].nest else member[k]
                    nests.part[n_parts] = m
                    n_parts += 1
                    whole += cost(layout, m)
            if attribute[a].count * (whole - cost(layout, ABSENT)) <= 2 * whole:
                n_parts = first
                continue
            nests.n += 1
            attribute[a].nest = -nests.n
            nests.start = <int64_t*>arena_reserve(nests, &nests.starts, nests.n + 1, sizeof(int64_t))
            nests.start[nests.n] = n_parts


cdef int rewrite(Nests nests, const DatasetC* data, Survey survey) except -1:
    """The data with nests for what they add up; nests first, as the loops want dense rows first."""
    cdef:
        AttributeC* attribute = survey.attribute
        int32_t* at = survey.at
        const int32_t* within = survey.within
        int64_t t, u, end = 0
        int64_t* ptr
        int32_t* id
        int32_t a, holder
        int nested
    ptr = <int64_t*>data_reserve(nests, &nests.u_ptr, data.n_tok + 1, sizeof(int64_t))
    id = <int32_t*>data_reserve(nests, &nests.u_id, data.u_ptr[data.n_tok] + 1, sizeof(int32_t))
    ptr[0] = 0
    with nogil:
        for t in range(data.n_tok):
            place_attributes(survey, data, t)
            for nested in range(1, -1, -1):
                for u in range(data.u_ptr[t], data.u_ptr[t + 1]):
                    a = data.u_id[u]
                    if (attribute[a].nest != 0) != nested:
                        continue
                    if attribute[a].slot >= 0 and within[attribute[a].slot] >= 0:
                        holder = at[within[attribute[a].slot]]
                        if holder >= 0 and attribute[holder].nest:
                            continue
                    id[end] = attribute[a].nest if nested else a
                    end += 1
            ptr[t + 1] = end
    nests.c.u_ptr, nests.c.u_id = ptr, id
