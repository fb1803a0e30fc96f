"""Lines of what `crfkit eval` reads: where a token's labels stand, by the rules of conlleval.

text/rows.pyx reads data by other rules: there a cell at the end may be empty, and all rows must be alike. Here
blanks at the end of a line do not count, any character can be the delimiter, and what `crfkit tag` and CRF++ write
before a sentence is known.
"""

from crfkit.memory cimport memchr, memcmp
from crfkit.text.table cimport FORM_CONLLU, FORM_CRFSUITE
from crfkit.text.scanning cimport BLANKS, cell_end, find, is_blank, is_digit, is_space, mark_at

from crfkit.errors import DataError
from crfkit.text.faults import COMMENTS_HINT, CONLLU_HINT
from crfkit.values import plural
from crfkit.text import table

LAST = 1 << 62              # the gold_column of rows with one label, in their last column

cdef enum:
    CONLLU_COLUMNS = 11     # with that of the predicted labels
    TABS_OR_BLANKS = -2     # in the place of a byte, as BLANKS


cdef class Lines:
    """How lines are read, and what was seen of them. separator: None (tabs or blanks), "blanks", or the byte
    between cells. The gold label is in the last column but one, or in gold_column; a row has `least` columns or
    more. words: the first column is a word. comments: lines before a sentence that begin with '#' are no tokens.
    """

    def __cinit__(self, form, separator, int64_t gold_column, int64_t least, bint comments, bint words, path):
        self.separator = TABS_OR_BLANKS if separator is None else BLANKS if separator == "blanks" else separator[0]
        self.form, self.gold_column, self.least = table.FORMS[form], gold_column, least
        self.comments, self.words, self.path = comments, words, path

    @property
    def marks(self):
        """Whether tokens began with '#': (at the start of sentences of several, inside)."""
        return bool(self.marked[0]), bool(self.marked[1])

    def sentences(self, bytes data not None, int64_t line, int64_t word=-1, bint added=False):
        """(first line, words, labels) of each sentence in a block with one label per row: in gold_column, or if `added` and there
        are more than `least` columns, in the last one. Words are in column `word`; None if that is -1, or if the label is alone."""
        cdef const char* text = data
        cdef const char* at = text
        cdef const char* end = text + len(data)
        cdef const char* stop
        cdef CutC cut, again
        cdef int kind
        cdef int64_t first = line
        words, labels = [], []
        self.alone, self.added = True, added
        while at < end:
            stop = <const char*>memchr(at, b"\n", <size_t>(end - at))
            if stop == NULL:
                stop = end
            kind = self.read(at, stop, not labels, line, &cut)
            if kind == TOKEN:
                first = first if labels else line
                find_cells(self, cut.first.start, cut.stop, word, &again)
                words.append(again.gold.start[:again.gold.end - again.gold.start] if word >= 0 and cut.columns > 1 else None)
                labels.append(cut.found.start[:cut.found.end - cut.found.start])
            elif kind == BLANK and labels:
                yield first, words, labels
                words, labels = [], []
            at, line = stop + 1, line + 1
        if labels:
            yield first, words, labels

    cdef int read(self, const char* at, const char* stop, bint between, int64_t line, CutC* cut) except -1 nogil:
        """The kind of a line, and the cells of a token. between: no token of its sentence came before."""
        # A carriage return, blanks and empty cells at the end do not count.
        while stop > at and (is_blank((stop - 1)[0]) or <unsigned char>(stop - 1)[0] == self.separator):
            stop -= 1
        if stop == at:
            self.skipping = False
            return BLANK
        at += mark_at(at, 0, stop - at)
        if self.skipping or (between and at[0] == b"#" and (is_header(self, at, stop) or self.comments)) or is_aside(self, at, stop):
            return NO_TOKEN
        if between and at[0] == b"@" and is_score(at, stop):
            return NO_TOKEN
        find_cells(self, at, stop, self.gold_column, cut)
        if self.alone:
            cut.stop = stop
            if self.gold_column < cut.columns and not (self.added and cut.columns > self.least):
                cut.found = cut.gold
            cut.gold = cut.found
        if self.gold_column < 0 and cut.first.end - cut.first.start == 3 and memcmp(cut.first.start, b"-X-", 3) == 0:
            return BLANK  # as in conlleval
        check_cells(self, cut, line)
        if between:
            self.begun = at[0] == b"#"
            self.hashes |= self.begun
        else:
            self.marked[0] |= self.begun
            self.marked[1] |= at[0] == b"#"
        return TOKEN


cdef inline void find_cells(Lines lines, const char* at, const char* stop, int64_t gold_column, CutC* cut) noexcept nogil:
    """Find the last two cells and the first, and count all. The line is not blank and does not end with a blank."""
    cdef CellC cell = CellC(NULL, NULL), before = cell, gold = cell
    cdef int64_t begin = 0, end, n = stop - at, columns = 0
    cdef int separator = lines.separator
    if separator == TABS_OR_BLANKS:
        separator = b"\t" if find(at, b"\t", 0, n) < n else BLANKS
    while True:
        end = cell_end(at, &begin, n, separator)
        before, cell = cell, CellC(at + begin, at + end)
        if columns == 0:
            cut.first = before = cell
        if columns == gold_column:
            gold = cell
        columns += 1
        if end == n:
            break
        begin = end + 1
    cut.columns, cut.before, cut.found, cut.gold = columns, before, cell, before if gold.start == NULL else gold
    while cut.gold.end > cut.gold.start and is_space((cut.gold.end - 1)[0]):  # nor do they count here, where columns end at tabs
        cut.gold.end -= 1


cdef int check_cells(Lines lines, CutC* cut, int64_t line) except -1 nogil:
    """Refuse a line whose cells cannot be what they should be."""
    if cut.columns != lines.n_cols:
        if cut.columns < lines.least or lines.n_cols != 0:
            raise_columns(lines, cut, line)
        if lines.form != FORM_CRFSUITE:  # its lines are of any length
            lines.n_cols, lines.first_row = cut.columns, line
        if cut.columns == 2 and not lines.alone and lines.separator == TABS_OR_BLANKS and memchr(cut.gold.start, b" ", <size_t>(cut.gold.end - cut.gold.start)) != NULL:
            raise DataError("the gold label has blanks, because columns end at tabs alone where a line has one; expected a gold "
                            "and a predicted label (with -d '\\s+' columns end at both)", lines.path, line)
        if has_probability(cut.found.start, cut.found.end, b":", True):
            lines.mark = b":"
        if is_probability(cut.found.start, cut.found.end) and (lines.gold_column >= 0 or is_probability(cut.gold.start, cut.gold.end)):
            raise DataError("the last two columns are probabilities, as `--probability` adds them; expected a gold "
                            "and a predicted label (`-v 0` or `-v 1`)", lines.path, line)
    if cut.gold.start == cut.gold.end or cut.found.start == cut.found.end:
        raise DataError(f"the {'gold' if cut.gold.start == cut.gold.end else 'predicted'} label is empty", lines.path, line)
    if lines.mark:
        if cut.columns > 1 and has_probability(cut.before.start, cut.before.end, lines.mark, lines.gold_column >= 0):
            raise_probabilities(lines, line)
        cut.found.end = without_probability(cut.found.start, cut.found.end, lines.mark)


cdef bint is_aside(Lines lines, const char* at, const char* stop) noexcept nogil:
    """Is the line no token in its form: a comment of CoNLL-U, or a number like 1-2 or 1.1; a weight of CRFsuite's?"""
    if lines.form == FORM_CONLLU:
        if at[0] == b"#":
            return True
        while at < stop and is_digit(at[0]):
            at += 1
        return at < stop and (at[0] == b"-" or at[0] == b".")
    return lines.form == FORM_CRFSUITE and at[0] == b"@"


cdef bint is_header(Lines lines, const char* at, const char* stop) noexcept nogil:
    """Is the line not a token, but one of those before a sentence: `# 0.97` and `# 1 0.02`, the probability
    and rank of one of several analyses, or `# columns = ...` in the first lines of a file?

    A token may be `#` too. It stands in a line of more cells, or of cells that are no such numbers."""
    cdef const char* number = at + 2
    if stop - at > 9 and memcmp(at, b"# columns", 9) == 0 and lines.n_cols == 0:
        return memchr(at, b"=", <size_t>(stop - at)) != NULL
    if stop - at < 5 or at[1] != b" ":
        return False
    while number < stop and is_digit(number[0]):
        number += 1
    if number == stop or number[0] != b" ":
        number = at + 1
    if not is_decimal(number + 1, stop):
        return False
    lines.mark = b"/"
    lines.skipping = number > at + 1 and not (number == at + 3 and at[2] == b"0")  # only the best one counts
    return True


cdef bint is_score(const char* at, const char* stop) noexcept nogil:
    """Is it what `crfsuite tag -p` writes before a sequence: `@score` and two numbers, or `@probability` and one?

    A token may be called so, too; its labels are hardly numbers with six decimals."""
    cdef const char* end = <const char*>memchr(at, b"\t", <size_t>(stop - at))
    cdef const char* number
    cdef int numbers = 0, expected = 1
    if end == NULL:
        return False
    if end - at == 6 and memcmp(at, b"@score", 6) == 0:
        expected = 2
    elif not (end - at == 12 and memcmp(at, b"@probability", 12) == 0):
        return False
    while end < stop:
        number = end + 1
        end = <const char*>memchr(number, b"\t", <size_t>(stop - number))
        if end == NULL:
            end = stop
        number += number[0] == b"-"
        if end - number < 8 or (end - 7)[0] != b"." or not is_decimal(number, end):
            return False
        numbers += 1
    return numbers == expected


cdef int raise_probabilities(Lines lines, int64_t line) except -1 with gil:
    given, wanted = ("-v 2", "`-v 0` or `-v 1`") if lines.mark == b"/" else ("crfsuite tag -l", "`-r` or `-r -i`")
    raise DataError(f"the last two columns are labels with probabilities, as `{given}` writes them; "
                    f"expected a gold and a predicted label ({wanted})", lines.path, line)


cdef int raise_columns(Lines lines, const CutC* cut, int64_t line) except -1 with gil:
    """The error for a line with a wrong number of columns."""
    cdef bytes text = cut.first.start[:cut.found.end - cut.first.start]
    found = cut.columns
    if found >= lines.least and lines.n_cols:
        hint = ""
        if text.startswith(b"\trival\t"):
            hint = " (tag without --explain, which adds such lines)"
        elif lines.hashes or text.startswith(b"#"):
            hint = CONLLU_HINT if CONLLU_COLUMNS in (found, lines.n_cols) else COMMENTS_HINT
        raise DataError(f"{plural(found, 'column')}, but line {lines.first_row} has {lines.n_cols}{hint}", lines.path, line)
    wanted = "" if lines.alone else ", the last of them " + ("the predicted label" if lines.gold_column >= 0
             else "a token, a gold and a predicted label" if lines.words else "a gold and a predicted label")
    hint = "" if lines.n_cols or lines.words or lines.alone else " (--gold takes the gold labels from another file)"
    raise DataError(f"{plural(found, 'column')}; expected at least {lines.least}{wanted}{hint}", lines.path, line)


cdef bint is_decimal(const char* s, const char* stop) noexcept nogil:
    """Whether this is a number with a decimal point, and maybe an exponent."""
    cdef bint point = False
    if s >= stop or not is_digit(s[0]):
        return False
    while s < stop and (is_digit(s[0]) or (s[0] == b"." and not point)):
        point = point or s[0] == b"."
        s += 1
    if point and stop - s > 2 and s[0] == b"e" and (s[1] == b"-" or s[1] == b"+"):
        s += 2
        while s < stop and is_digit(s[0]):
            s += 1
    return point and s == stop


cdef const char* without_probability(const char* s, const char* stop, char mark) noexcept nogil:
    """Where the label in LABEL/0.97 ends, if the mark is a slash; `stop` if there is no probability."""
    cdef const char* at = stop - 1
    while at > s and at[0] != mark:
        at -= 1
    return at if at > s and is_decimal(at + 1, stop) else stop


cdef bint is_probability(const char* s, const char* stop) noexcept nogil:
    """Whether this is a probability as `crfkit tag` writes it, with six decimals."""
    return stop - s == 8 and s[1] == b"." and is_decimal(s, stop)


cdef bint has_probability(const char* s, const char* stop, char mark, bint six) noexcept nogil:
    """Whether a label ends with a probability. With `six` it must have six decimals: attributes may look like shorter ones."""
    cdef const char* end = without_probability(s, stop, mark)
    return end != stop and (not six or is_probability(end + 1, stop))
