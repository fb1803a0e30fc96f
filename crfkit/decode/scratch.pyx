"""Decodes sentences of parsed rows to labels, on one thread.

    rows ── Extractor ── attributes ── K.score ── lattice ─┬─ K.viterbi ── labels
                                                           └─ K.forward_backward ── marginals ── labels
"""

from crfkit.text.table cimport FORM_CONLLU, rows_label
from crfkit.loops.numbers cimport INFINITY, fabs, isfinite
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport forbid_labels, lattice_add, lattice_forbid, lattice_of, lattice_path_score
from crfkit.weights.layout cimport layout_fits
from crfkit.memory cimport arena_reserve, arena_zeros, memchr, memcpy, memset
from crfkit.features.hashing cimport strings_find
from crfkit.features.structs cimport StringTableC
from crfkit.loops.structs cimport EdgeC, LatticeC, SentenceC

from crfkit.errors import DataError, ModelFileError
from crfkit.values import as_text, shown


cdef enum:
    LARGE = 1000000000      # beside it a score is off by up to a ten-millionth


cdef class Scratch:
    """What one thread needs to decode. It grows with the longest sentence and the largest block. `places`: where rows have the columns of
    the index; None: as in training."""

    def __cinit__(self, Decoder decoder not None, places=None, *_, **__):
        cdef bint matrix = decoder.constrained or decoder.rest != NULL or decoder.depth >= 0
        self.extractor, self.search = Extractor(decoder.index, places), NBest()
        self.lattice = lattice_of(&decoder.layout.c, decoder.w, decoder.recursions, matrix)
        if not self.lattice.c.counted and not all_numbers(self.lattice.c.shared.score, decoder.layout.c.L, &self.lattice.c):
            raise ModelFileError("the model is damaged: the weight of a pair of labels is not a finite number")
        if decoder.rest != NULL:
            self.rest = lattice_of(&decoder.layout.c, decoder.rest, decoder.recursions, matrix)
            add_weights(&self.lattice.c, &self.rest.c)
            self.lattice.changeable = self.rest.changeable = False
        if decoder.constrained:
            lattice_forbid(&self.lattice.c, decoder.may_follow)
            self.voting = Lattice(decoder.layout.c.L)       # steps have the score zero
            lattice_forbid(&self.voting.c, decoder.may_follow)
        if decoder.depth < 0:
            self.step_level = level_step(&self.lattice.c.shared)
        else:
            self.history = LookaheadSearch(decoder.layout, self.lattice, decoder.depth, decoder.index.shared())
            self.history.w = decoder.w
        self.flags = <uint8_t*>arena_zeros(self, decoder.layout.c.L, 1)
        self.lattice.list_pairs(&decoder.layout.c, decoder.recursions)
        self.decoder = decoder

    cdef int score(self, Rows rows, int64_t s) except -1 nogil:
        """Compute node and edge scores of sentence s; with history only nodes', in the order in which labels are chosen."""
        cdef const SentenceC* sent = &self.extractor.sentence
        cdef SentenceC nodes
        if rows.c.seq_ptr[s + 1] == rows.c.seq_ptr[s]:
            raise ValueError("an empty sentence has no scores")
        self.extractor.extract(&rows.c, rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1])
        if not self.decoder.verified and not layout_fits(&self.decoder.layout.c, sent):
            raise ModelFileError("the model is damaged: its tables of features contradict each other")
        if self.decoder.depth >= 0:
            nodes = sent[0]
            nodes.b_ptr = NULL
            sent = &nodes
        self.lattice.reserve(&self.decoder.layout.c, sent)
        K.score(&self.decoder.layout.c, self.decoder.w, 1.0, sent, &self.lattice.c)
        if self.rest is not None:
            self.rest.reserve(&self.decoder.layout.c, sent)
            K.score(&self.decoder.layout.c, self.decoder.rest, 1.0, sent, &self.rest.c)
            add_scores(&self.lattice.c, &self.rest.c)
        if not self.decoder.verified:
            check_scores(self)
        if self.decoder.bias != NULL:
            lattice_add(&self.lattice.c, self.decoder.bias, 0)
        if self.decoder.constrained:
            forbid_labels(self.lattice.c.score, self.decoder.may_start, self.lattice.c.L)
            forbid_labels(self.lattice.c.score + <int64_t>(self.lattice.c.T - 1) * self.lattice.c.P, self.decoder.may_end, self.lattice.c.L)
        self.level = self.step_level * (self.lattice.c.T - 1)
        self.level_scores()

    cdef void level_scores(self) noexcept nogil:
        """Subtract large scores common to all labels, once it is known which labels are possible."""
        if self.decoder.depth < 0:
            self.level += level_rows(&self.lattice.c)

    cdef int allow(self, Rows rows, int64_t s) except -1 nogil:
        """Forbid labels that are not in the rows: label|label|..., or ? for all of them. In CoNLL-U an empty cell (_) allows all,
        too."""
        cdef LatticeC* lat = &self.lattice.c
        cdef const StringTableC* names = &self.decoder.label_table.c
        cdef uint8_t* allowed = self.flags
        cdef const char* cell
        cdef const char* bar
        cdef int64_t t, size
        cdef int32_t n, label
        for t in range(lat.T):
            cell = rows_label(&rows.c, rows.c.seq_ptr[s] + t, &n)
            if n == 1 and cell[0] == b"?":
                continue
            label = strings_find(names, cell, n)
            if label < 0 and rows.c.form == FORM_CONLLU and n == 1 and cell[0] == b"_":
                continue
            memset(allowed, 0, lat.L)
            if label >= 0:  # first: a label may hold a bar itself
                allowed[label] = 1
                n = -1
            while n >= 0:
                bar = <const char*>memchr(cell, b"|", n)
                size = bar - cell if bar != NULL else n
                label = strings_find(names, cell, size)
                if label < 0:
                    unknown_label(self, rows, rows.c.seq_ptr[s] + t, cell, size)
                allowed[label] = 1
                cell += size + 1
                n -= <int32_t>size + 1
            forbid_labels(lat.score + (lat.T - 1 - t if self.decoder.backward else t) * lat.P, allowed, lat.L)
        self.level_scores()

    cdef int best(self, Rows rows, int64_t s, HowC how, uint16_t* labels) except -1 nogil:
        """Find the labels of sentence s, which must not be empty, and set path_score to their score."""
        self.score(rows, s)
        if how.partial:
            self.allow(rows, s)
        if how.posterior:
            self.expect(rows, s)
            self.vote(labels)
        else:
            self.find_path(rows, s, labels)

    cdef int find_path(self, Rows rows, int64_t s, uint16_t* labels) except -1 nogil:
        """The best path of the scored sentence; with history its labels, one after the other, each given those before it."""
        if self.decoder.depth < 0:
            self.path_score = K.viterbi(&self.lattice.c, labels)
            if self.path_score == -INFINITY:
                self.impossible(rows, s)
            return 0
        close_dead_ends(&self.lattice.c)
        self.history.watch(&self.extractor.sentence, self.lattice.c.T)
        if self.history.tag(labels) != 0:
            self.impossible(rows, s)
        if self.decoder.backward:
            reverse(labels, self.lattice.c.T)

    cdef int expect(self, Rows rows, int64_t s) except -1 nogil:
        """Node marginals of the scored sentence."""
        if K.forward_backward(&self.lattice.c) != 0:
            self.impossible(rows, s)
        K.node_marginals(&self.lattice.c)

    cdef int vote(self, uint16_t* labels) except -1 nogil:
        """After expect: the labels with the greatest sum of marginals, so that most tokens are expected to be
        right. Without constraints on transitions, that is the most probable label of each token."""
        cdef LatticeC* lat = &self.lattice.c
        cdef LatticeC* votes
        cdef int64_t t, j, best
        cdef const double* node
        if self.decoder.constrained:
            votes = &self.voting.c
            self.voting.reserve_shared(lat.T)
            memcpy(votes.score, lat.node, <size_t>lat.T * lat.P * sizeof(double))
            for t in range(lat.T):
                for j in range(lat.P):
                    if j >= lat.L or lat.score[t * lat.P + j] == -INFINITY:
                        votes.score[t * lat.P + j] = -INFINITY
            K.viterbi(votes, labels)        # there is a path: expect found it
        else:
            for t in range(lat.T):
                node = lat.node + t * lat.P
                best = 0
                for j in range(1, lat.L):
                    if node[j] > node[best]:
                        best = j
                labels[t] = <uint16_t>best
        self.path_score = lattice_path_score(lat, labels)

    cdef int decode(self, Rows rows, int64_t first, int64_t last, HowC how, uint16_t* labels) except -1 nogil:
        """The labels of sentences first .. last-1, one after the other."""
        cdef int64_t s, base = rows.c.seq_ptr[first]
        for s in range(first, last):
            if rows.c.seq_ptr[s + 1] > rows.c.seq_ptr[s]:
                self.best(rows, s, how, labels + (rows.c.seq_ptr[s] - base))

    cdef int impossible(self, Rows rows, int64_t s) except -1 with gil:
        path, line = rows.where(rows.c.seq_ptr[s])
        culprit = "the constraints leave no labels" if self.decoder.constrained else "the scores of the model allow no labels"
        place = "the sentence that begins here" if path is not None else "a sentence"
        raise DataError(f"{culprit} for {place}", path, line)

    cdef uint16_t* room(self, int64_t n) except NULL nogil:
        """Reserve room for the labels of n tokens."""
        return <uint16_t*>arena_reserve(self, &self.labels, n + 1, sizeof(uint16_t))

    cdef list as_text(self, const uint16_t* labels, int64_t n):
        """The names of the labels, of which a copy is made first: garbage that is collected for the list might use this scratch."""
        cdef bytes kept = (<const char*>labels)[: n * <int64_t>sizeof(uint16_t)]
        return names_of(self.decoder.labels, <const uint16_t*><const char*>kept, n)

    def labels_of(self, Rows rows not None, int64_t first, int64_t last, bint posterior=False):
        """The best labels of sentences first .. last-1 of parsed rows, which other threads may read too."""
        cdef int64_t s
        cdef uint16_t* labels
        if not 0 <= first <= last <= rows.c.n_seq:
            raise IndexError(f"sentences {first} to {last} of {rows.c.n_seq}")
        labels = self.room(rows.c.seq_ptr[last] - rows.c.seq_ptr[first])
        with nogil:
            self.decode(rows, first, last, HowC(posterior, False), labels)
        return [self.as_text(labels + (rows.c.seq_ptr[s] - rows.c.seq_ptr[first]),
                             rows.c.seq_ptr[s + 1] - rows.c.seq_ptr[s]) for s in range(first, last)]


cdef list names_of(list names, const uint16_t* labels, int64_t n):
    cdef int64_t t
    return [names[labels[t]] for t in range(n)]


cdef int unknown_label(Scratch scratch, Rows rows, int64_t token, const char* s, int64_t n) except -1 with gil:
    path, line = rows.where(token)
    raise DataError(f"the model has no label {shown(as_text(s[:n]))}: expected ? alone for any label, or labels with | "
                    f"between them, such as {shown('|'.join(scratch.decoder.labels[:2]))}", path, line)


cdef int check_scores(Scratch scratch) except -1 nogil:
    """ModelFileError unless the scores of an unverified model are numbers."""
    cdef LatticeC* lat = &scratch.lattice.c
    cdef bint good = all_numbers(lat.score, lat.T, lat)
    cdef const EdgeC* edge
    cdef int32_t k, n
    for k in range(lat.n_own):
        edge = lat.own + k
        if edge.score != NULL:
            good = good and all_numbers(edge.score, lat.L, lat)
        for n in range(edge.n if edge.score == NULL else 0):
            good = good and is_number(edge.changed[n].score if edge.plain != NULL else edge.pair[n].score, lat)
    if not good:
        raise ModelFileError("the model is damaged: a weight is not a finite number")


cdef void reverse(uint16_t* labels, int64_t n) noexcept nogil:
    cdef int64_t t
    for t in range(n // 2):
        labels[t], labels[n - 1 - t] = labels[n - 1 - t], labels[t]


cdef void add_weights(LatticeC* lat, const LatticeC* rest) noexcept nogil:
    """After lattice_load_weights: add the shared scores of a second weight vector. Steps must be matrices."""
    cdef int64_t k
    for k in range(<int64_t>lat.L * lat.P):
        lat.shared.score[k] += rest.shared.score[k]     # padding stays -inf
    K.exp_tau(lat)


cdef void add_scores(LatticeC* lat, const LatticeC* rest) noexcept nogil:
    """After score: add the scores of a second, very small weight vector for the same sentence. Steps must be matrices; they have
    the shared scores of both already."""
    cdef int64_t k, t
    lattice_add(lat, rest.score, lat.P)
    for t in range(lat.n_own):
        for k in range(<int64_t>lat.L * lat.P):
            if k % lat.P < lat.L:
                lat.own[t].score[k] += rest.own[t].score[k] - rest.shared.score[k]


# A large constant that all labels of a position, or all pairs of the shared step, have in common does not affect which labels are best,
# and summing it up would cost the digits that do.

cdef double level_step(EdgeC* edge) noexcept nogil:
    """Subtract the largest score of a matrix step from all of its scores, if it is large; what was subtracted. Potentials do not change."""
    cdef double most = edge.max
    cdef int64_t k
    if edge.score == NULL or not fabs(most) > LARGE:
        return 0
    for k in range(<int64_t>edge.L * edge.P):
        edge.score[k] -= most
    edge.max = 0
    return most


cdef double level_rows(LatticeC* lat) noexcept nogil:
    """After score: subtract the largest score of each position from all of its scores, if it is large; the sum of what was subtracted."""
    cdef double* row
    cdef double most, taken = 0
    cdef int64_t t, j
    for t in range(lat.T):
        row = lat.score + t * lat.P
        most = row[0]
        for j in range(1, lat.L):
            if row[j] > most:  # fmax would be a call for each label
                most = row[j]
        if LARGE < fabs(most) < INFINITY:
            taken += most
            for j in range(lat.L):
                row[j] -= most
    return taken


cdef void close_dead_ends(LatticeC* lat) noexcept nogil:
    """Forbid labels from which no allowed path leads to the end, too: a greedy search would notice too late."""
    cdef int64_t t, i, j, P = lat.P
    cdef bint open
    cdef double* node
    for t in range(lat.T - 2, -1, -1):
        node = lat.score + t * P
        for i in range(lat.L):
            open = False
            for j in range(lat.L):
                if lat.shared.score[i * P + j] > -INFINITY and node[P + j] > -INFINITY:
                    open = True
                    break
            if not open:
                node[i] = -INFINITY


cdef inline bint is_number(double score, const LatticeC* lat) noexcept nogil:
    """Whether a score is finite, or -inf in a lattice that forbids steps."""
    return isfinite(score) or (lat.forbidden and score == -INFINITY)


cdef bint all_numbers(const double* rows, int64_t n, const LatticeC* lat) noexcept nogil:
    """Whether all scores of n rows of L cells are numbers (is_number)."""
    cdef int64_t r, j
    for r in range(n):
        for j in range(lat.L):
            if not is_number(rows[r * lat.P + j], lat):
                return False
    return True


def gold_labels(Rows rows not None):
    """The labels given in the rows themselves, sentence by sentence."""
    cdef int64_t s, t
    cdef int32_t n
    cdef const char* cell
    cdef dict known = {}
    sentences = []
    for s in range(rows.c.n_seq):
        labels = []
        for t in range(rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1]):
            cell = rows_label(&rows.c, t, &n)
            name = cell[:n]
            label = known.get(name)
            if label is None:
                label = known[name] = as_text(name)
            labels.append(label)
        sentences.append(labels)
    return sentences
