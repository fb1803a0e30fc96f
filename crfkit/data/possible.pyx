"""Which labels tokens may have, where the data do not tell the one (--partial).

A token has the number of a set of labels. Few sets occur, so tokens share them: `B-PER|I-PER`, or all labels. The data have
a label for every token as always: the first of its set.
"""

from libc.stdint cimport int32_t

from crfkit.loops.numbers cimport INFINITY
from crfkit.memory cimport arena_zeros, data_zeros, vector

cdef enum:
    GIVEN               # number of the set of a token whose label is given


cdef class Possible(Arena):
    """`numbers`: for each token that of its set, in the list of sets; 0: its label is given. None stands for any label. A set
    has its labels in ascending order. With a `folder` the numbers lie in a file there."""

    def __cinit__(self, const uint16_t[::1] numbers not None, sets, folder=None):
        cdef:
            uint16_t* set
            uint16_t* member
            int64_t* ptr
            int64_t k, n
        self.keep_data_in(folder)
        self.n_tok, self.n_sets = numbers.shape[0], len(sets)
        self.set = set = <uint16_t*>data_zeros(self, self.n_tok, sizeof(uint16_t))
        self.member = member = <uint16_t*>arena_zeros(self, sum(map(len, filter(None, sets))), sizeof(uint16_t))
        self.ptr = ptr = <int64_t*>arena_zeros(self, self.n_sets + 1, sizeof(int64_t))
        for k, labels in enumerate(sets):
            n = ptr[k]
            for label in labels or ():
                member[n] = label
                n += 1
            ptr[k + 1] = n
        for k in range(self.n_tok):
            if numbers[k] >= self.n_sets:
                raise ValueError(f"set {numbers[k]} of {self.n_sets}")
            set[k] = numbers[k]

    cdef list views(self):
        """All arrays; nothing is copied."""
        return [vector(self, "H", self.set, self.n_tok), vector(self, "q", self.ptr, self.n_sets + 1),
                vector(self, "H", self.member, self.ptr[self.n_sets])]

    cdef bint given(self, int64_t t) noexcept nogil:
        """Whether the label of a token is given."""
        return self.set[t] == GIVEN

    cdef int64_t seen(self, int64_t t, const uint16_t** labels) noexcept nogil:
        """The labels that a token is an example of: that in `labels` if it is given; all of its set, which `labels` then points to, unless these
        are too many to tell anything. Returns how many."""
        cdef int64_t first, n
        if self.set[t] == GIVEN:
            return 1
        first, n = self.ptr[self.set[t]], self.ptr[self.set[t] + 1] - self.ptr[self.set[t]]
        labels[0] = self.member + first
        return n if n <= MOST_SEEN else 0

    cdef bint restrict(self, LatticeC* lat, const uint16_t* given, int64_t first) noexcept nogil:
        """After score: forbid the labels that the tokens of a sequence cannot have. `given`: their labels where these are given; `first`: the
        first token. Returns whether any label is not given: if all are, nothing is done."""
        cdef:
            int64_t t = 0, k, end
            int32_t j
            double* node
            const uint16_t* label
        while t < lat.T and self.set[first + t] == GIVEN:
            t += 1
        if t == lat.T:
            return False
        for t in range(lat.T):
            node, label, end = lat.score + t * lat.P, given + t, 1
            if self.set[first + t] != GIVEN:
                label = self.member + self.ptr[self.set[first + t]]
                end = self.ptr[self.set[first + t] + 1] - self.ptr[self.set[first + t]]
            k = 0
            for j in range(lat.L if end else 0):
                if k < end and label[k] == j:
                    k += 1
                else:
                    node[j] = -INFINITY
        return True
