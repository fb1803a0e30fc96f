"""Labelled sentences as `wapiti label` prints them: each line, a tab and its label; a blank line after each sentence.

    # 0 243.502096                              --score, --nbest: rank and score of the labels
    Rockwell NNP	B-NP	B-NP/5.051908      --score: of this label; with --post probabilities
"""

from libc.float cimport DBL_MIN
from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.decode.scratch cimport Scratch
from crfkit.decode.nbest cimport search_nbest
from crfkit.features.hashing cimport strings_find
from crfkit.lattice.lattice cimport Lattice
from crfkit.loops.numbers cimport INFINITY, exp, fmax, log
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport LatticeC, crfkit_edge_score
from crfkit.memory cimport memcpy
from crfkit.text.writing cimport Output, OutC, out_bytes, out_char, out_decimal, out_integer, out_line_end
from crfkit.text.rows cimport Rows
from crfkit.text.table cimport FORM_CRFSUITE, rows_label

import array

from crfkit.errors import DataError


cdef class LinePrinter:
    """Prints blocks with the options of `wapiti label`. Labels of the input, if needed, are in its last column."""

    cdef bint only, check, scores, posterior, force
    cdef int nbest

    def __cinit__(self, *, bint only=False, bint check=False, bint scores=False, bint posterior=False, bint force=False, int nbest=1):
        self.only, self.check, self.scores, self.posterior, self.force = only, check, scores, posterior, force
        if nbest < 1:
            raise ValueError(f"nbest: {nbest}")
        self.nbest = nbest

    def text(self, Scratch x not None, Rows rows not None):
        """(the labelled block, its number of sequences, with `check` the Labels of its tokens, else None)."""
        cdef Output out = Output()
        cdef Lattice votes = Lattice(x.lattice.c.L) if self.posterior else None
        cdef int64_t s, n = rows.c.n_tok if self.check else 0
        cdef int32_t[::1] found = array.array("i", bytes(4 * n)), wanted = array.array("i", bytes(4 * n))
        if rows.block is None and rows.c.form == FORM_CRFSUITE:
            raise ValueError("items from Python have no lines")
        if (self.check or self.force) and rows.c.n_tok and rows.c.label_col >= rows.c.n_cols:
            raise DataError(f"the labels should be in column {rows.c.label_col}, but the data have {rows.c.n_cols}")
        with nogil:
            for s in range(rows.c.n_seq):
                self.sentence(x, rows, s, votes, found, wanted, &out.c)
        labels = (found.base, wanted.base, [rows.c.seq_ptr[s] for s in range(rows.c.n_seq)]) if self.check else None
        return out.getvalue(), rows.c.n_seq, labels

    cdef int sentence(self, Scratch x, Rows rows, int64_t s, Lattice votes, int32_t[::1] found, int32_t[::1] wanted,
                      OutC* out) except -1 nogil:
        cdef uint16_t* labels = x.room(rows.c.n_tok)
        cdef LatticeC* lat = &x.lattice.c
        cdef int64_t k, first = rows.c.seq_ptr[s], T = rows.c.seq_ptr[s + 1] - first
        x.score(rows, s)
        if self.posterior:
            x.expect(rows, s)
            use_marginals(lat, votes)
            lat = &votes.c
        if self.force:
            force_labels(x, rows, s, lat)
        if self.nbest == 1:
            self.path(x, rows, s, 0, K.viterbi(lat, labels), lat, labels, out)
        else:
            search_nbest(x.search, lat, self.nbest, 0.0, 1.0)
            memcpy(labels, x.search.labels, <size_t>T * sizeof(uint16_t))
            for k in range(x.search.found):
                self.path(x, rows, s, k, x.search.scores[k], lat, x.search.labels + k * T, out)
        for k in range(T if self.check else 0):
            found[first + k], wanted[first + k] = labels[k], given_label(x, rows, first + k)

    cdef int path(self, Scratch x, Rows rows, int64_t s, int64_t rank, double score, const LatticeC* lat, const uint16_t* labels,
                  OutC* out) except -1 nogil:
        cdef int64_t t, token, first = rows.c.seq_ptr[s]
        cdef double own
        if self.scores:
            out_bytes(out, b"# ", 2)
            out_integer(out, rank)
            out_char(out, b" ")
            out_decimal(out, exp(score) if self.posterior else score)
            out_char(out, b"\n")
        for token in range(first, rows.c.seq_ptr[s + 1]):
            t = token - first
            if not self.only:
                out_bytes(out, rows.c.text + rows.c.line_start[token], rows.c.line_end[token] - rows.c.line_start[token])
                out_char(out, b"\t")
            out_bytes(out, x.decoder.name[labels[t]], x.decoder.name_len[labels[t]])
            if self.scores:
                own = lat.score[t * lat.P + labels[t]]
                if self.posterior:
                    own = exp(own)
                elif t:
                    own += crfkit_edge_score(lat.edge[t], labels[t - 1], labels[t])
                out_char(out, b"\t")
                out_bytes(out, x.decoder.name[labels[t]], x.decoder.name_len[labels[t]])
                out_char(out, b"/")
                out_decimal(out, own)
            out_line_end(&rows.c, token, out)
        return out_line_end(&rows.c, rows.c.seq_ptr[s + 1] - 1, out)


cdef int use_marginals(const LatticeC* lat, Lattice votes) except -1 nogil:
    """Write logarithms of the marginals as scores, without pairs: the best path has the greatest product of marginals. Those too small
    for a double are the least one: a label that is forced may be so improbable."""
    cdef LatticeC* to = &votes.c
    cdef int64_t t, j
    votes.reserve_shared(lat.T)
    for t in range(lat.T):
        for j in range(lat.P):
            to.score[t * lat.P + j] = log(fmax(lat.node[t * lat.P + j], DBL_MIN)) if j < lat.L else -INFINITY


cdef int32_t given_label(Scratch x, Rows rows, int64_t token) noexcept nogil:
    """The label in a row; -1 if the model lacks it."""
    cdef int32_t n
    cdef const char* cell = rows_label(&rows.c, token, &n)
    return strings_find(&x.decoder.label_table.c, cell, n)


cdef int force_labels(Scratch x, Rows rows, int64_t s, LatticeC* lat) except -1 nogil:
    """Forbid all labels but the one in the row, if the model has that label."""
    cdef int64_t t, j
    cdef int32_t label
    for t in range(lat.T):
        label = given_label(x, rows, rows.c.seq_ptr[s] + t)
        if label >= 0:
            for j in range(lat.L):
                if j != label:
                    lat.score[t * lat.P + j] = -INFINITY
