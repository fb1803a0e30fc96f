"""The parts of a model that decoding needs, read only: any number of threads share them, each with its own Scratch (scratch.pyx)."""

from libc.stdint cimport uintptr_t

from crfkit.memory cimport arena_zeros, memcpy
from crfkit.features.hashing cimport strings_get

from crfkit.errors import DataError
from crfkit.values import as_bytes, shown

cdef enum:
    ALIGNMENT = 64  # of weights, for the compiled loops


cdef class Decoder:
    """The parts of a model that tagging needs.

    verified=False: the features of each sentence are checked before they are scored.
    `constraints`: the bytes transitions[L*L], starts[L] and ends[L], 1 for what is allowed (constraints.py).
    `depth`, `backward`: of a model with history (lookahead.pyx); depth -1: the labels are found together.
    `recursions`: "sparse" or "dense" forces one kind of loops (lattice.pyx). Paths are the same, marginals except for rounding.
    `rest`: what single precision left over of weights that were doubles.
    `bias`: what is added to the score of each label (bias.py)."""

    def __cinit__(self, Features index not None, Layout layout not None, const float[::1] weights not None, labels, *,
                  bint verified=True, constraints=None, int32_t depth=-1, bint backward=False, str recursions="auto",
                  const float[::1] rest=None, const double[::1] bias=None):
        cdef int32_t j, L = layout.c.L
        cdef weight_t* copy
        self.labels = list(labels)
        if weights.shape[0] != layout.c.n_cells or len(self.labels) != L:
            raise ValueError("weights or labels of another layout")
        if index.n_attributes != layout.n_attributes:
            raise ValueError("an index of another layout")
        if layout.c.b_prev2 != NULL and depth < 0:
            raise ValueError("features with history, but no search for them")
        self.layout, self.owners, self.verified = layout, (weights, rest, bias), verified
        self.depth, self.backward = depth, backward
        self.recursions = recursions if depth < 0 and rest is None else "dense"
        if rest is not None and rest.shape[0]:
            if rest.shape[0] != weights.shape[0]:
                raise ValueError("rounding errors of other weights")
            self.rest = &rest[0]
        if bias is not None:
            if bias.shape[0] != L:
                raise ValueError("a bias of other labels")
            self.bias = &bias[0]
        if weights.shape[0]:
            self.w = &weights[0]
            if <uintptr_t>self.w % ALIGNMENT:  # weights of a file are always aligned
                copy = <weight_t*>arena_zeros(self, weights.shape[0], sizeof(weight_t))
                memcpy(copy, self.w, weights.shape[0] * sizeof(weight_t))
                self.w = copy
        self.label_table = StringTable()
        for j in range(L):
            if self.label_table.intern_bytes(as_bytes(self.labels[j])) != j:
                raise ValueError(f"the label {self.labels[j]!r} comes twice")
        self.name, self.name_len = <const char**>arena_zeros(self, L, sizeof(char*)), <int32_t*>arena_zeros(self, L, sizeof(int32_t))
        for j in range(L):
            self.name_len[j] = <int32_t>strings_get(&self.label_table.c, j, &self.name[j])
        if constraints is not None:
            self.constrain(constraints, L)
        self.index = index

    cdef int constrain(self, constraints, int32_t L) except -1:
        """Take the constraints on L labels, reversed as sentences are."""
        cdef int32_t j
        self.follow, self.starts, self.ends = constraints.transitions, constraints.starts, constraints.ends
        if [len(self.follow), len(self.starts), len(self.ends)] != [L * L, L, L]:
            raise ValueError("constraints on other labels")
        if self.backward:
            self.follow = b"".join([self.follow[j::L] for j in range(L)])
            self.starts, self.ends = self.ends, self.starts
        self.may_follow = <const uint8_t*><const char*>self.follow
        self.may_start = <const uint8_t*><const char*>self.starts
        self.may_end = <const uint8_t*><const char*>self.ends
        self.constrained = True

    def label_ids(self, labels, str place="token"):
        """The numbers of these labels; DataError, which says the number of the place, for one that the model does not have."""
        cdef int32_t j
        ids = []
        for t, label in enumerate(labels):
            if not isinstance(label, str):
                raise DataError(f"{place} {t + 1}: found {type(label).__name__} {shown(label)}, expected a label (str)")
            try:
                j = self.label_table.find(as_bytes(label))
            except UnicodeEncodeError:  # a text that no bytes become
                j = -1
            if j < 0:
                raise DataError(f"{place} {t + 1}: the model has no label {shown(label)}")
            ids.append(j)
        return ids
