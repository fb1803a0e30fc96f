"""Labelled text. Two families of layouts:

lines   each input line with its label at the end, and with --probability two more columns; or in the column of labels; with --explain
        lines behind it that begin with a tab;
cells   CRF++'s: cells separated by tabs, headers `# probability` or `# rank probability`, and with
        -v 1 and -v 2 marginal probabilities after the labels:

            # 0 0.407045                                            -n: rank and probability; -v 1 alone: probability
            Rockwell  NNP  B-NP/0.975037  B-ADJP/0.000122 ...       -v 1: of the label; -v 2: of all labels too
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.loops.numbers cimport exp
from crfkit.text.rows cimport Rows
from crfkit.text.table cimport FORM_COLUMNS, FORM_CRFSUITE
from crfkit.text.scanning cimport find, last_blank_line
from .nbest cimport search_nbest
from .rivals cimport Rivals
from .scratch cimport HowC, Scratch
from crfkit.text.writing cimport (
    OutC, Output, begin_sentence, end_sentence, out_bytes, out_char, out_decimal, out_empty_line, out_integer, out_label, out_line_end, out_lines,
    out_separator, out_token_cells,
)


@cython.final
cdef class Printer:
    """A layout of labelled text.

    verbose (0, 1, 2), nbest (0: none): -v and -n of CRF++; with `cells` its layout is taken without them, too, and nothing else is written.
    posterior: labels are decoded by marginals.
    probability: a line gets the marginal probability of its label, and that of the sentence's labels.
    partial: the input says in an extra column which labels are possible.
    separator (bytes): between the columns added to a line.
    fill: nothing is added; the label replaces what stands in the column of labels.
    explain (0: none): at most so many reasons for each label, of which `lines` makes lines, without line ends (Rivals.token)."""

    cdef HowC how
    cdef bint probability, cells, fill, nameless
    cdef bint bare                  # cells and labels, and nothing else
    cdef int verbose, nbest, top
    cdef object lines
    cdef bytes separator            # None: each line's own
    cdef const char* between
    cdef int32_t between_len

    def __cinit__(self, *, int verbose=0, int nbest=0, bint posterior=False, bint probability=False,
                  bint partial=False, bytes separator=None, bint cells=False, bint fill=False, int explain=0, lines=None):
        self.nameless, self.bare = cells, cells and not (verbose or nbest)
        cells = cells or verbose > 0 or nbest > 0
        if cells + fill + (probability or separator is not None) > 1 or (posterior and nbest) or (
                explain and (cells or fill or probability or posterior or lines is None)):
            raise ValueError("layouts that exclude each other")
        self.verbose, self.nbest, self.probability, self.cells, self.fill = verbose, nbest, probability, cells, fill
        self.how, self.top, self.lines = HowC(posterior, partial), explain, lines
        self.separator = separator
        self.between = <const char*>self.separator if separator is not None else NULL
        self.between_len = len(separator or b"")

    def text(self, Scratch x not None, Rows rows not None):
        """A parsed block, labelled."""
        cdef Output out = Output()
        cdef Rivals rivals = Rivals() if self.top > 0 else None
        if rivals is not None and x.decoder.depth >= 0:
            raise ValueError("a model that finds no best paths")
        if rows.block is None and rows.c.form == FORM_CRFSUITE:
            raise ValueError("items from Python have no lines")
        with nogil:
            if self.cells:
                self.print_cells(x, rows, &out.c)
            else:
                self.print_lines(x, rows, rivals, &out.c)
        return out.getvalue()

    cdef int print_lines(self, Scratch x, Rows rows, Rivals rivals, OutC* out) except -1 nogil:
        cdef uint16_t* labels = x.room(rows.c.n_tok)
        cdef int64_t s, t, j, pos
        cdef int32_t column = rows.c.label_col if self.fill else -1
        cdef double p = 0
        for s in range(rows.c.n_seq):
            x.best(rows, s, self.how, labels)
            if self.probability:
                x.expect(rows, s)
                p = exp(x.path_score - x.lattice.c.logz)
            elif rivals is not None:
                rivals.search(x, labels, self.top)
            pos = begin_sentence(&rows.c, s, out)
            for t in range(rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1]):
                j = labels[t - rows.c.seq_ptr[s]]
                pos = out_label(&rows.c, t, pos, x.decoder.name[j], x.decoder.name_len[j], self.between, self.between_len, column, out)
                if self.probability:
                    self.print_probability(rows, t, marginal(x, t - rows.c.seq_ptr[s], j), out)
                    self.print_probability(rows, t, p, out)
                elif rivals is not None:
                    pos = self.print_reasons(rivals, t - rows.c.seq_ptr[s], rows, pos, out)
            end_sentence(&rows.c, s, pos, out)
        return out_lines(&rows.c, rows.c.tail_start, rows.c.n_text, True, out)

    cdef int print_probability(self, Rows rows, int64_t t, double p, OutC* out) except -1 nogil:
        out_separator(&rows.c, t, self.between, self.between_len, out)
        return out_decimal(out, p)

    cdef int64_t print_reasons(self, Rivals rivals, int64_t t, Rows rows, int64_t end, OutC* out) except -1 with gil:
        """Write the line end that stands at `end`, and the reasons for the label of a token, line by line; the position behind that line end."""
        cdef const char* text = rows.c.text
        cdef int64_t pos = find(text, b"\n", end, rows.c.n_text) + 1
        cdef bytes line
        out_bytes(out, text + end, pos - end)
        for line in self.lines(rivals.token(t)):
            out_bytes(out, line, len(line))
            out_bytes(out, text + end, pos - end)
        return pos

    cdef int print_cells(self, Scratch x, Rows rows, OutC* out) except -1 nogil:
        cdef uint16_t* labels = x.room(rows.c.n_tok)
        cdef int64_t s, k, own
        for s in range(rows.c.n_seq):
            if self.nbest:
                x.score(rows, s)
                if self.how.partial:
                    x.allow(rows, s)
                if search_nbest(x.search, &x.lattice.c, self.nbest, 0.0, 1.0) == 0:
                    x.impossible(rows, s)
            else:
                x.best(rows, s, self.how, labels)
            if not self.bare:
                x.expect(rows, s)
            # The names of the columns, and comments separated from the sentence by a blank line, come before its analyses; others
            # are repeated in each.
            own = max(rows.c.seq_start[s], last_blank_line(rows.c.text, rows.c.seq_start[s], rows.c.line_start[rows.c.seq_ptr[s]]))
            own = max(own, rows.c.head_end)
            self.print_others(rows, rows.c.seq_start[s], own, False, out)
            if not self.nbest:
                self.print_path(x, rows, s, own, -1, x.path_score, labels, out)
            for k in range(x.search.found if self.nbest else 0):
                self.print_path(x, rows, s, own, k, x.search.scores[k], x.search.labels + k * x.search.length, out)
        return self.print_others(rows, rows.c.tail_start, rows.c.n_text, True, out)

    cdef int print_others(self, Rows rows, int64_t start, int64_t stop, bint close, OutC* out) except -1 nogil:
        """Write lines that are no tokens; to programs written for CRF++ not the names of columns, which it does not have."""
        if self.bare:
            return 0
        if self.nameless and rows.c.form == FORM_COLUMNS:
            start = max(start, rows.c.head_end)
        return out_lines(&rows.c, start, stop, close, out)

    cdef int print_path(self, Scratch x, Rows rows, int64_t s, int64_t pos, int64_t rank, double score,
                        const uint16_t* labels, OutC* out) except -1 nogil:
        """One analysis of a sentence, whose own lines begin at pos; rank -1: the only one."""
        cdef int64_t t, j, label, first = rows.c.seq_ptr[s]
        if not self.bare:
            out_bytes(out, b"# ", 2)
            if rank >= 0:
                out_integer(out, rank)
                out_char(out, b" ")
            out_decimal(out, exp(score - x.lattice.c.logz))
            out_line_end(&rows.c, first, out)
        for t in range(first, rows.c.seq_ptr[s + 1]):
            label = labels[t - first]
            self.print_others(rows, pos, rows.c.line_start[t], False, out)
            pos = rows.c.line_end[t] + (rows.c.text[rows.c.line_end[t]] == b"\r") + 1
            out_token_cells(&rows.c, t, out)
            self.print_label(x, t - first, label, out)
            if self.verbose == 2:
                for j in range(x.lattice.c.L):
                    self.print_label(x, t - first, j, out)
            out_line_end(&rows.c, t, out)
        self.print_others(rows, pos, rows.c.seq_end[s], False, out)
        return out_empty_line(&rows.c, rows.c.seq_end[s], out)

    cdef int print_label(self, Scratch x, int64_t t, int64_t j, OutC* out) except -1 nogil:
        out_char(out, b"\t")
        out_bytes(out, x.decoder.name[j], x.decoder.name_len[j])
        if self.verbose:
            out_char(out, b"/")
            out_decimal(out, marginal(x, t, j))


cdef inline double marginal(Scratch x, int64_t t, int64_t j) noexcept nogil:
    """Probability of label j at position t."""
    return x.lattice.c.node[t * x.lattice.c.P + j]
