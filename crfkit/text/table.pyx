"""The arrays behind rows: tokens, cells, sequences and attributes, as offsets into a text."""

from crfkit.memory cimport arena_reserve

FORMS = {"columns": FORM_COLUMNS, "conllu": FORM_CONLLU, "crfsuite": FORM_CRFSUITE}


cdef class Table:
    """The rows of one text; the next text replaces them and reuses the memory.

    form: "columns", "conllu" or "crfsuite". label: the column of labels, which must not be empty; -1: the last one, None: none.
    """

    def __cinit__(self, form="columns", label=None):
        if form not in FORMS:
            raise ValueError(f"unknown form of input '{form}'; expected one of {', '.join(FORMS)}")
        self.c.form = FORMS[form]
        self.label = LABEL_NONE if label is None else label
        self.reset()

    cdef int reset(self) except -1 nogil:
        """Discard the previous block."""
        if self.cap_tok == 0:
            self.grow_tokens()
        self.reserve_sequences(0)
        self.c.n_text = self.c.n_tok = self.c.n_seq = self.c.n_attr = self.n_arena = 0
        self.c.seq_ptr[0] = self.c.attr_ptr[0] = 0
        self.c.n_cols = self.c.label_col = 0
        self.c.head_end = 0
        self.lead = -1
        self.last_end = 0
        self.weight = 1
        self.weighted = False

    cdef int grow_tokens(self, int64_t more=1) except -1 nogil:
        """Make room for more tokens, each of n_cols cells."""
        cdef int64_t n = max(self.cap_tok, <int64_t> 16)
        if self.c.n_tok + more > self.cap_tok:
            n = max(2 * n, self.c.n_tok + more)
            self.c.line_start = <int64_t*>arena_reserve(self, &self.owned[0], n, sizeof(int64_t))
            self.c.line_end = <int64_t*>arena_reserve(self, &self.owned[1], n, sizeof(int64_t))
            self.c.attr_ptr = <int64_t*>arena_reserve(self, &self.owned[2], n + 1, sizeof(int64_t))
        if n * self.c.n_cols > self.cap_cell:
            self.c.cell_start = <int64_t*>arena_reserve(self, &self.owned[3], n * self.c.n_cols, sizeof(int64_t))
            self.c.cell_len = <int32_t*>arena_reserve(self, &self.owned[4], n * self.c.n_cols, sizeof(int32_t))
            self.cap_cell = n * self.c.n_cols
        self.cap_tok = n

    cdef int reserve_sequences(self, int64_t n) except -1 nogil:
        self.c.seq_ptr = <int64_t*>arena_reserve(self, &self.owned[5], n + 1, sizeof(int64_t))
        self.c.seq_start = <int64_t*>arena_reserve(self, &self.owned[6], n, sizeof(int64_t))
        self.c.seq_end = <int64_t*>arena_reserve(self, &self.owned[7], n, sizeof(int64_t))
        self.c.seq_weight = <float*>arena_reserve(self, &self.owned[8], n, sizeof(float))

    cdef int grow_attributes(self) except -1 nogil:
        cdef int64_t n = max(2 * self.cap_attr, <int64_t> 128)
        self.c.attr_start = <int64_t*>arena_reserve(self, &self.owned[9], n, sizeof(int64_t))
        self.c.attr_len = <int32_t*>arena_reserve(self, &self.owned[10], n, sizeof(int32_t))
        self.c.attr_value = <float*>arena_reserve(self, &self.owned[11], n, sizeof(float))
        self.cap_attr = n

    cdef int grow_arena(self, int64_t extra) except -1 nogil:
        cdef int64_t n = max(2 * self.cap_arena, self.n_arena + extra)
        if self.cap_arena - self.n_arena < extra:
            self.c.arena = <char*>arena_reserve(self, &self.owned[12], n, 1)
            self.cap_arena = n

    cdef int end_sequence(self) except -1 nogil:
        cdef int64_t s = self.c.n_seq
        self.reserve_sequences(s + 1)
        self.c.seq_start[s] = self.lead
        self.c.seq_end[s] = self.last_end
        self.c.seq_weight[s] = self.weight
        self.c.seq_ptr[s + 1] = self.c.n_tok
        self.c.n_seq += 1
        self.lead = -1
        self.weight = 1
        self.weighted = False

    def __len__(self):
        """The number of sequences."""
        return self.c.n_seq

    @property
    def n_tokens(self):
        return self.c.n_tok

    def lengths(self):
        return [self.c.seq_ptr[s + 1] - self.c.seq_ptr[s] for s in range(self.c.n_seq)]

    def pieces(self, int64_t tokens):
        """All sequences in pieces (first, behind the last), each of as few as have so many tokens; the last one has the rest."""
        cdef int64_t s, first = 0
        cdef list found = []
        for s in range(1, self.c.n_seq + 1):
            if s == self.c.n_seq or self.c.seq_ptr[s] - self.c.seq_ptr[first] >= tokens:
                found.append((first, s))
                first = s
        return found

    @property
    def n_attributes(self):
        """The number of attributes of all tokens, in the form of CRFsuite."""
        return self.c.n_attr

    @property
    def n_columns(self):
        """The number of cells of a token; in the form of CRFsuite 1, the label."""
        return self.c.n_cols

    def sentences(self):
        """The cells of the sequences' tokens, as bytes; in the form of CRFsuite the labels."""
        cdef int64_t s, t, k, n = self.c.n_cols
        return [[[rows_bytes(&self.c, self.c.cell_start[k])[:self.c.cell_len[k]] for k in range(t * n, (t + 1) * n)]
                 for t in range(self.c.seq_ptr[s], self.c.seq_ptr[s + 1])] for s in range(self.c.n_seq)]

    def attributes(self):
        """In the form of CRFsuite, the tokens' (name, value) pairs, sequence by sequence."""
        cdef int64_t s, t, a
        if self.c.form != FORM_CRFSUITE:
            raise ValueError("only the form of CRFsuite has attributes")
        return [[[(rows_bytes(&self.c, self.c.attr_start[a])[:self.c.attr_len[a]], self.c.attr_value[a])
                  for a in range(self.c.attr_ptr[t], self.c.attr_ptr[t + 1])]
                 for t in range(self.c.seq_ptr[s], self.c.seq_ptr[s + 1])] for s in range(self.c.n_seq)]

    def weigh(self, weights):
        cdef int64_t s
        for s, weight in zip(range(self.c.n_seq), weights, strict=True):
            self.c.seq_weight[s] = weight
