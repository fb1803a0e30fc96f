"""One sentence at a time, for Python."""

import os

from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from crfkit.memory cimport memcpy
from crfkit.text.items cimport fill_rows
from crfkit.text.rows cimport Rows
from crfkit.loops.atomic cimport crfkit_give, crfkit_look, crfkit_nap, crfkit_take
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_add, lattice_allow, lattice_path_score
from .decoder cimport Decoder
from .nbest cimport search_nbest
from .rivals cimport Rivals
from .scratch cimport Scratch, names_of, reverse
from crfkit.loops.structs cimport LatticeC
from crfkit.threads cimport PyErr_CheckSignals

cdef enum:
    SHORT = 256     # tokens times labels

cdef int64_t forks = 0      # between the first process and this one
cdef int64_t survivor = 0   # the one thread that exists after the last of them


def _forked():
    global forks, survivor
    forks, survivor = forks + 1, <int64_t>PyThread_get_thread_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


cdef class OneSentence(Scratch):
    """A sentence, given by `score_sentence` from parsed rows or by `read` from Python, and its labels, scores and probabilities. Forward-backward
    runs once.

    `form`: the format of the model's data. `columns`: how many a row needs at least; `refuse` is called with their number if there are
    too few. `loose`: text need not be UTF-8. `spelled`: as in Rows. Threads that share an object hold it (`with`), like an RLock, for
    as long as they need its sentence."""

    cdef str form                       # of sentences from Python
    cdef int32_t columns                # that their rows have at least, and
    cdef object refuse                  # raises the error if they have fewer
    cdef bint loose                     # text may be any bytes
    cdef bint spelled                   # a str is a list of its characters
    cdef Rows own                       # the rows of the sentence that was read, or None
    cdef Rows source                    # the rows that the sentence is from, and
    cdef int64_t taken                  # its number among them
    cdef bint expected                  # its marginals are known
    cdef int64_t holder                 # the thread that holds it, or 0
    cdef int64_t holds                  # how often
    cdef int64_t forks                  # the value of `forks` when it was taken

    def __cinit__(self, Decoder decoder not None, places=None, str form="columns", int32_t columns=0, refuse=None, bint loose=False, bint spelled=False):
        self.form, self.columns, self.refuse, self.loose, self.spelled = form, columns, refuse, loose, spelled

    def __enter__(self):
        cdef int64_t me = <int64_t>PyThread_get_thread_ident()
        if crfkit_look(&self.holder) != me:
            while not crfkit_take(&self.holder, me):
                with nogil:
                    crfkit_nap()
                PyErr_CheckSignals()
        self.holds += 1
        self.forks = forks
        return self

    def __exit__(self, *error):
        self.let_go()

    cdef void let_go(self) noexcept:
        self.holds -= 1
        if self.holds == 0:
            crfkit_give(&self.holder)

    @property
    def deserted(self):
        """Whether another thread held this when the process was forked: the child does not have that thread, so it would never be
        released."""
        return self.forks != forks and self.holder != 0 and self.holder != survivor

    # What is asked most often, in one call without `with`: for short sentences that is faster. None, and nothing is done, while another
    # call holds this.

    cdef bint hold_at_once(self) noexcept:
        if not crfkit_take(&self.holder, <int64_t>PyThread_get_thread_ident()):
            return False
        self.holds, self.forks = 1, forks
        return True

    def take(self, sentence):
        """Read a sentence; True."""
        if not self.hold_at_once():
            return None
        try:
            self.read(sentence)
            return True
        finally:
            self.let_go()

    def label(self, sentence):
        """Read a sentence and return its best labels."""
        if not self.hold_at_once():
            return None
        try:
            self.read(sentence)
            return self.best_labels()
        finally:
            self.let_go()

    def probability_of(self, int64_t t, int64_t j):
        """The probability of label j at position t; None, too, if there is no such label or position."""
        if not self.hold_at_once():
            return None
        try:
            return self.marginal(t, j) if 0 <= t < self.lattice.c.T and 0 <= j < self.lattice.c.L else None
        finally:
            self.let_go()

    def log_probability_of(self, list labels):
        """The logarithm of the probability of these labels (numbers); None, too, if one does not exist (-1), or if there are more or fewer than
        tokens, or none."""
        if not self.hold_at_once():
            return None
        try:
            if not labels or len(labels) != self.lattice.c.T or -1 in labels:
                return None
            return self.score_of(labels) - self.log_z()
        finally:
            self.let_go()

    cpdef read(self, sentence):
        """Score a sentence given as a list of rows or of items, or a packed one."""
        cdef Rows rows = self.own
        self.own = None  # a generator may ask for another sentence meanwhile
        if rows is None:
            rows = Rows(self.form)
            rows.loose, rows.spelled = self.loose, self.spelled
        self.source, self.lattice.c.T, self.expected = None, 0, False
        fill_rows(rows, (sentence,))
        self.own = rows
        if rows.c.n_tok and rows.c.n_cols < self.columns:
            self.refuse(rows.c.n_cols)
        self.look_at(rows, 0)

    def score_sentence(self, Rows rows not None, int64_t sentence):
        """Score a sentence of the rows, which may be empty."""
        self.look_at(rows, sentence)

    cdef int look_at(self, Rows rows, int64_t sentence) except -1:
        if not 0 <= sentence < rows.c.n_seq:
            raise IndexError(f"sentence {sentence} of {rows.c.n_seq}")
        self.source, self.taken, self.expected = None, sentence, False
        self.lattice.c.T, self.level = 0, 0
        try:
            if self.is_short(rows.c.seq_ptr[sentence + 1] - rows.c.seq_ptr[sentence]):
                self.score_one(rows, sentence)
            else:
                with nogil:
                    self.score_one(rows, sentence)
            self.source = rows
        finally:
            if self.source is None:     # half done: there may be no room for its labels
                self.lattice.c.T = 0

    cdef bint is_short(self, int64_t length) noexcept:
        """Whether a sentence takes less time than releasing the GIL."""
        return length * self.lattice.c.L <= SHORT and self.decoder.depth < 0

    cdef int score_one(self, Rows rows, int64_t sentence) except -1 nogil:
        if rows.c.seq_ptr[sentence + 1] > rows.c.seq_ptr[sentence]:
            self.score(rows, sentence)
            self.room(self.lattice.c.T)

    def restrict(self, allowed):
        """Forbid labels of the sentence whose flags [T*L] are not set."""
        cdef int64_t t, L = self.lattice.c.L
        cdef const uint8_t[::1] mask = allowed
        if mask.shape[0] != self.lattice.c.T * L:
            raise ValueError("flags of another sentence")
        if self.decoder.backward:
            mask = b"".join([allowed[t * L : (t + 1) * L] for t in range(self.lattice.c.T - 1, -1, -1)])
        if self.lattice.c.T:
            lattice_allow(&self.lattice.c, &mask[0])
            self.level_scores()
        self.expected = False

    def shift(self, const double[:, ::1] more not None):
        """Add to the scores [T][L] of labels."""
        cdef LatticeC* lat = &self.lattice.c
        if self.decoder.depth >= 0 or more.shape[0] != lat.T or more.shape[1] != lat.L:
            raise ValueError("scores of another sentence, or of a model whose labels depend on earlier ones")
        if lat.T:
            lattice_add(lat, &more[0, 0], lat.L)
        self.expected = False

    def fill_scores(self, double[:, ::1] labels not None, double[:, :, ::1] steps not None):
        """The scores [T][L] of labels, and those [T-1][L][L] of steps from one label to the next: without `level`."""
        cdef LatticeC* lat = &self.lattice.c
        cdef const double* score
        cdef int32_t t, i
        if self.decoder.depth >= 0 or labels.shape[0] != lat.T or labels.shape[1] != lat.L:
            raise ValueError("an array of another shape, or a model whose labels depend on earlier ones")
        if steps.shape[0] != max(lat.T - 1, 0) or steps.shape[1] != lat.L or steps.shape[2] != lat.L:
            raise ValueError("an array of another shape")
        for t in range(lat.T):
            memcpy(&labels[t, 0], lat.score + <int64_t>t * lat.P, lat.L * sizeof(double))
        for t in range(1, lat.T):
            score = K.unfold(lat.edge[t], False, lat.unfolded)
            for i in range(lat.L):
                memcpy(&steps[t - 1, i, 0], score + <int64_t>i * lat.P, lat.L * sizeof(double))

    @property
    def length(self):
        """Tokens of the sentence."""
        return self.lattice.c.T

    cpdef list best_labels(self, bint posterior=False):
        """The labels of the sentence, by the best path or by marginals."""
        cdef uint16_t* labels = <uint16_t*>self.labels.data
        if self.lattice.c.T == 0:
            return []
        if posterior:
            self.expect_once()
            with nogil:
                self.vote(labels)
        elif self.is_short(self.lattice.c.T):
            self.find_path(self.source, self.taken, labels)
        else:
            with nogil:
                self.find_path(self.source, self.taken, labels)
        self.expected = posterior
        return self.as_text(labels, self.lattice.c.T)

    def best_paths(self, int n):
        """The n best paths of the sentence: (score, labels)."""
        cdef int64_t k, T = self.lattice.c.T, n_found
        cdef bytes kept_scores, kept_labels     # copies, see as_text
        cdef const double* score
        cdef const uint16_t* labels
        if self.lattice.c.T == 0:
            return [(0.0, [])]
        self.expected = False
        with nogil:
            if search_nbest(self.search, &self.lattice.c, n, 0.0, 1.0) == 0:
                self.impossible(self.source, self.taken)
        n_found = self.search.found
        kept_scores = (<const char*>self.search.scores)[: n_found * <int64_t>sizeof(double)]
        kept_labels = (<const char*>self.search.labels)[: n_found * T * <int64_t>sizeof(uint16_t)]
        score, labels = <const double*><const char*>kept_scores, <const uint16_t*><const char*>kept_labels
        return [(score[k], names_of(self.decoder.labels, labels + k * T, T)) for k in range(n_found)]

    def explain(self, int top):
        """Why each token has its label, by at most so many reasons, as Rivals.token says it."""
        cdef int64_t t
        cdef Rivals rivals = Rivals()
        if top < 1 or self.decoder.depth >= 0:
            raise ValueError("no reasons, or a model that finds no best paths")
        if self.lattice.c.T == 0:
            return []
        self.expected = False
        with nogil:
            self.find_path(self.source, self.taken, <uint16_t*>self.labels.data)
            rivals.search(self, <uint16_t*>self.labels.data, top)
        return [rivals.token(t) for t in range(self.lattice.c.T)]

    cpdef double score_of(self, labels) except? -1:
        """The score of the labels (numbers) of the sentence."""
        cdef int64_t t
        cdef uint16_t* path
        labels = tuple(labels)
        path = <uint16_t*>self.labels.data      # not sooner: garbage that is collected here may have a longer sentence read
        if len(labels) != self.lattice.c.T:
            raise ValueError("labels of another sentence")
        for t in range(self.lattice.c.T):
            if not 0 <= labels[t] < self.lattice.c.L:
                raise ValueError(f"label {labels[t]}")
            path[t] = labels[t]
        if self.lattice.c.T == 0:
            return 0.0
        if self.decoder.depth >= 0:
            if self.decoder.backward:
                reverse(path, self.lattice.c.T)
            self.history.watch(&self.extractor.sentence, self.lattice.c.T)
            return self.history.path_score(path)
        return lattice_path_score(&self.lattice.c, path)

    cpdef double log_z(self) except? -1:
        """The logarithm of the sum over all paths of the sentence; like scores, without `level`."""
        self.expect_once()
        return self.lattice.c.logz

    cdef int expect_once(self) except -1:
        """Run forward-backward, unless that has been done. An empty sentence has one labelling, whose score is 0."""
        if not self.expected:
            if self.is_short(self.lattice.c.T):
                self.expect(self.source, self.taken)
            else:
                with nogil:
                    self.expect(self.source, self.taken)
            self.expected = True

    cpdef double marginal(self, int64_t t, int64_t j) except? -1:
        """The probability of label j at position t."""
        if not (0 <= t < self.lattice.c.T and 0 <= j < self.lattice.c.L):
            raise IndexError(f"label {j} at position {t}")
        self.expect_once()
        return self.lattice.c.node[t * self.lattice.c.P + j]

    def marginals(self):
        """The probability of each label at each position, as dicts."""
        cdef list names = self.decoder.labels, found = []
        cdef dict row, blank = dict.fromkeys(names)  # copies of it have their final size
        cdef int64_t t, j, T = self.lattice.c.T, P = self.lattice.c.P
        cdef bytes kept                 # a copy, see as_text
        cdef const double* node
        self.expect_once()
        kept = (<const char*>self.lattice.c.node)[: T * P * <int64_t>sizeof(double)]
        node = <const double*><const char*>kept
        for t in range(T):
            row = blank.copy()
            for j in range(self.lattice.c.L):
                row[names[j]] = node[t * P + j]
            found.append(row)
        return found

    def fill_nodes(self, double[:, ::1] out not None):
        """Marginals [T][L] of labels."""
        cdef LatticeC* lat = &self.lattice.c
        cdef int64_t t
        if out.shape[0] != lat.T or out.shape[1] != lat.L:
            raise ValueError("an array of another shape")
        self.expect_once()
        for t in range(lat.T):
            memcpy(&out[t, 0], lat.node + t * lat.P, lat.L * sizeof(double))

    def fill_edges(self, double[:, :, ::1] out not None):
        """Marginals [T-1][L][L] of neighbouring labels."""
        cdef LatticeC* lat = &self.lattice.c
        cdef const double* step
        cdef const double* right
        cdef double before
        cdef int32_t t, i, j
        if out.shape[0] != max(lat.T - 1, 0) or out.shape[1] != lat.L or out.shape[2] != lat.L:
            raise ValueError("an array of another shape")
        if lat.T < 2:
            return
        cdef double* cell = &out[0, 0, 0]
        self.expect_once()
        with nogil:
            for t in range(1, lat.T):
                step, right = K.unfold(lat.edge[t], not lat.log_domain, lat.unfolded), lat.right + <int64_t>t * lat.P
                for i in range(lat.L):
                    before = lat.alpha[<int64_t>(t - 1) * lat.P + i]
                    for j in range(lat.L):
                        cell[0] = K.exp(before + step[j] + right[j] - lat.logz) if lat.log_domain else before * step[j] * right[j]
                        cell += 1
                    step += lat.P
