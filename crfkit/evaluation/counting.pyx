"""Counting of chunks, labels and words in two columns of labels, gold and predicted, block by block.

    scan      bytes of a block -> two arrays of label ids; id 0 stands after each sentence
    count     tokens right and wrong, per label and per sentence
    Counter   chunks by one scheme: its table says for every two neighbouring labels what starts and ends

Only totals outlive a block (and one row a sentence where systems are compared), so memory does not grow
with the input.
"""

import re

cimport cython

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from crfkit.text.rows cimport FORM_COLUMNS, FORM_CONLLU, FORM_CRFSUITE
from crfkit.memory cimport Arena, BufferC, arena_reserve
from crfkit.text.scanning cimport has_probability, is_decimal, is_digit, is_probability, without_probability
from crfkit.features.strings cimport StringTable, string_hash, strings_find

from crfkit.evaluation import schemes
from crfkit.text.faults import plural
from crfkit.errors import DataError

if schemes.N_PREFIXES != N_PREFIXES:
    raise ImportError("crfkit.evaluation.counting was built for other schemes; build crfkit again")

cdef enum:
    START = 1   # bits of the tables, see crfkit.schemes
    END = 2
    INSIDE = 4

cdef enum:
    TABS_OR_BLANKS = -1
    BLANKS = -2

cdef dict FORMS = {"columns": FORM_COLUMNS, "conllu": FORM_CONLLU, "crfsuite": FORM_CRFSUITE}
cdef object ESCAPE = re.compile(rb"\\([:\\])")
cdef dict PREFIX_CODES = {name: code for code, name in enumerate(schemes.PREFIXES)}


cdef int reserve_zeroed(Arena arena, BufferC* buffer, int64_t* n, int64_t wanted, int64_t size) except -1 nogil:
    """Make room for `wanted` items; those from n on are zero, and n becomes wanted."""
    if wanted > n[0]:
        arena_reserve(arena, buffer, wanted, size)
        memset(buffer.data + n[0] * size, 0, <size_t>((wanted - n[0]) * size))
        n[0] = wanted
    return 0


# ------------------------------------------------------------------------------------------------ chunks

@cython.final
cdef class Counter:
    """Chunks of both columns by one table of crfkit.schemes, and those they have in common."""

    def __cinit__(self, const unsigned char[::1] rules, bint strict, bint keep):
        if rules.shape[0] != <Py_ssize_t>sizeof(self.rules):
            raise ValueError("not a table of crfkit.schemes")
        memcpy(self.rules, &rules[0], sizeof(self.rules))
        self.strict, self.keep = strict, keep
        self.gold.start = self.found.start = -1

    cdef int run(self, const LabelC* labels, const int32_t* gold, const int32_t* found, int64_t n,
                 int64_t n_types) except -1 nogil:
        cdef int64_t i
        cdef int64_t* counts
        reserve_zeroed(self, &self.by_type, &self.n_types, n_types, 3 * sizeof(int64_t))
        counts = <int64_t*>self.by_type.data
        for i in range(n):
            if self.strict:
                self.strict_step(labels[gold[i]], labels[found[i]], counts)
            else:
                self.lenient_step(labels[gold[i]], labels[found[i]], counts)
            self.position += 1
            if self.keep and gold[i] == 0:
                self.end_sentence()
        return 0

    cdef void lenient_step(self, LabelC gold, LabelC found, int64_t* counts) noexcept nogil:
        """conlleval's own bookkeeping, since a label of an unknown kind can end a chunk in one column only."""
        cdef int in_gold = transition(self.rules, self.gold.last, gold)
        cdef int in_found = transition(self.rules, self.found.last, found)
        if self.agreeing:
            if in_gold & END and in_found & END and self.gold.last.type == self.found.last.type:
                self.agreeing = False
                self.total[2] += 1
                counts[3 * self.gold.last.type + 2] += 1
            elif (in_gold & END) != (in_found & END) or gold.type != found.type:
                self.agreeing = False
        if in_gold & START:
            self.total[0] += 1
            counts[3 * gold.type] += 1
        if in_found & START:
            self.total[1] += 1
            counts[3 * found.type + 1] += 1
        if in_gold & START and in_found & START and gold.type == found.type:
            self.agreeing = True
        self.gold.last, self.found.last = gold, found

    cdef void strict_step(self, LabelC gold, LabelC found, int64_t* counts) noexcept nogil:
        """A chunk is counted where it ends, for only there it is known to be well-formed."""
        cdef int32_t gold_type = self.gold.last.type, found_type = self.found.last.type
        cdef int64_t in_gold = close_or_open(self.rules, &self.gold, gold, self.position)
        cdef int64_t in_found = close_or_open(self.rules, &self.found, found, self.position)
        if in_gold >= 0:
            self.total[0] += 1
            counts[3 * gold_type] += 1
        if in_found >= 0:
            self.total[1] += 1
            counts[3 * found_type + 1] += 1
        if in_gold >= 0 and in_gold == in_found and gold_type == found_type:
            self.total[2] += 1
            counts[3 * gold_type + 2] += 1

    cdef int end_sentence(self) except -1 nogil:
        arena_reserve(self, &self.by_sentence, self.n_sentences + 1, sizeof(self.total))
        memcpy(self.by_sentence.data + self.n_sentences * sizeof(self.total), self.total, sizeof(self.total))
        self.n_sentences += 1
        return 0

    cdef int finish(self, LabelC outside, bint in_sentence) except -1:
        """The input has ended, perhaps without a blank line."""
        if self.n_types == 0:
            return 0
        if self.strict:
            self.strict_step(outside, outside, <int64_t*>self.by_type.data)
        elif self.agreeing:
            self.agreeing = False
            self.total[2] += 1
            (<int64_t*>self.by_type.data)[3 * self.gold.last.type + 2] += 1
        if self.keep and in_sentence:
            self.end_sentence()
        return 0

    @property
    def totals(self):
        """(gold, found, correct) chunks."""
        return self.total[0], self.total[1], self.total[2]

    def counts(self, types):
        """{type: (gold, found, correct)} of the types that occur in chunks."""
        cdef int64_t* c = <int64_t*>self.by_type.data
        cdef int64_t i
        return {types[i]: (c[3 * i], c[3 * i + 1], c[3 * i + 2])
                for i in range(self.n_types) if c[3 * i] or c[3 * i + 1]}


cdef inline int transition(const uint8_t* rules, LabelC last, LabelC label) noexcept nogil:
    return rules[2 * (N_PREFIXES * last.prefix + label.prefix) + (last.type == label.type)]


cdef inline int64_t close_or_open(const uint8_t* rules, OpenC* column, LabelC label, int64_t position) noexcept nogil:
    """Move on by one label; the start of the well-formed chunk that ended before it, or -1."""
    cdef int bits = transition(rules, column.last, label)
    cdef int64_t ended = -1
    if column.start >= 0 and not bits & INSIDE:
        if bits & END:
            ended = column.start
        column.start = -1
    if column.start < 0 and bits & START:
        column.start = position
    column.last = label
    return ended


# ------------------------------------------------------------------------------------------------- input

@cython.final
cdef class Tally:
    """All counts of one input. Feed it blocks of a file, or sentences; then finish it and read.

    tables: (table, strict) of each Counter. word_starts: the table that tells where words start, to count words;
    with a lexicon (a set of bytes) also those it lacks. keep: note each sentence, to compare with another input.
    separator: None (tabs or blanks), "blanks", or the byte between cells; raw and outside as in conlleval. form:
    "columns", "conllu" or "crfsuite"; the gold label is in the last column but one, or in gold_column, and the
    predicted one behind `before` columns or more. comments: lines before a sentence that begin with '#' are no tokens.
    """

    def __cinit__(self, tables=(), *, bytes word_starts=None, lexicon=None, bint keep=False, bint raw=False,
                  bytes outside=b"O", separator=None, path=None, form="columns", int64_t gold_column=-1,
                  int64_t before=1, bint comments=False):
        self.names, self.types, self.type_ids = StringTable(), [], {}
        self.keep, self.raw, self.outside, self.path, self.comments = keep, raw, outside, path, comments
        self.lexicon, self.words, self.word_table = lexicon, lexicon is not None, word_starts
        if word_starts is not None:
            self.word_starts = <const uint8_t*>PyBytes_AS_STRING(word_starts)
        self.separator = TABS_OR_BLANKS if separator is None else BLANKS if separator == "blanks" else separator[0]
        self.form, self.gold_column, self.least = FORMS[form], gold_column, before + 1 + self.words
        self.counters = [Counter(table, strict, keep) for table, strict in tables]
        self.misses, self.first_lines = {}, {}
        self.add_label(b"", 0)

    def feed(self, const unsigned char[::1] block not None, int64_t line):
        """Count a block of whole sentences whose first line has this number; the number of its entries."""
        cdef int64_t n
        if block.shape[0] == 0:
            return 0
        with nogil:
            n = self.scan(<const char*>&block[0], block.shape[0], line)
        self.count(n)
        if self.word_starts != NULL:
            self.count_words(n, <const char*>&block[0] if self.words else NULL)
        return n

    def add(self, gold, found):
        """Count one sentence, given as two lists of labels."""
        cdef int64_t n, n_found, sentence = self.sentences + 1
        n = self.fill(&self.gold, gold, sentence)
        n_found = self.fill(&self.found, found, sentence)
        if n_found != n:
            raise DataError(f"sentence {sentence}: {plural(n - 1, 'gold label')}, but {n_found - 1} predicted")
        if n > 1:
            if self.keep:
                self.begin_row(sentence)
            self.count(n)
            if self.word_starts != NULL:
                self.count_words(n, NULL)

    cdef int64_t fill(self, BufferC* column, labels, int64_t sentence) except -1:
        """The ids of a sentence's labels and of its end; how many."""
        cdef int64_t n = 0
        cdef bytes text
        names = tuple(labels)  # what says how many it has may say what it likes
        arena_reserve(self, column, len(names) + 1, sizeof(int32_t))
        for name in names:
            if not isinstance(name, str) or not name:
                raise DataError(f"sentence {sentence}: the label {name!r} is not a string of characters")
            text = (<str>name).encode("utf-8", "surrogatepass")
            (<int32_t*>column.data)[n] = self.label(text, len(text), sentence)
            n += 1
        (<int32_t*>column.data)[n] = 0
        return n + 1

    def finish(self):
        """End the input. The counts are complete now."""
        cdef Counter counter
        for counter in self.counters:
            counter.finish((<LabelC*>self.labels.data)[0], self.in_sentence)
        self.end_sentence()

    @property
    def marks(self):
        """Whether tokens began with '#': (at the start of sentences, inside)."""
        return bool(self.marked[0]), bool(self.marked[1])

    @property
    def tokens(self):
        """The number of tokens."""
        return self.n_tokens

    @property
    def counts_words(self):
        """Whether `word_counts` means anything."""
        return self.word_starts != NULL

    @property
    def has_lexicon(self):
        """Whether words were looked up."""
        return self.words

    @property
    def confusion(self):
        """{(gold label, predicted label): tokens} of those that differ."""
        return {(self.names[key >> 32].decode(), self.names[key & 0xFFFFFFFF].decode()): n
                for key, n in self.misses.items()}

    def label_counts(self):
        """{label: (gold, found, correct)} in tokens."""
        cdef int64_t* c = <int64_t*>self.by_label.data
        cdef int64_t i
        return {self.names[i].decode(): (c[3 * i], c[3 * i + 1], c[3 * i + 2])
                for i in range(1, self.n_labels) if c[3 * i] or c[3 * i + 1]}

    # The lines of a block.

    cdef int64_t scan(self, const char* text, int64_t n, int64_t line) except -1 nogil:
        """Fill gold and found from a block; the number of entries."""
        cdef const char* at = text
        cdef const char* end = text + n
        cdef const char* stop
        cdef const char* next_line
        cdef int64_t m = 0
        cdef bint blank, between = not self.in_sentence
        cdef CutC cut
        # A token takes four bytes with its newline, and the blank line after it one.
        arena_reserve(self, &self.gold, n // 2 + 2, sizeof(int32_t))
        arena_reserve(self, &self.found, n // 2 + 2, sizeof(int32_t))
        if self.words:
            arena_reserve(self, &self.cells, n // 2 + 2, 2 * sizeof(int64_t))
        while at < end:
            stop = <const char*>memchr(at, b"\n", <size_t>(end - at))
            next_line = stop + 1 if stop != NULL else end
            stop = self.strip(at, stop if stop != NULL else end)
            blank = stop == at
            if blank:
                self.skipping = False
            elif not (self.skipping or (between and at[0] == b"#" and (self.is_header(at, stop, line) or self.comments)) or self.is_aside(at, stop)):
                self.cut(at, stop, &cut)
                blank = self.gold_column < 0 and cut.first_end - cut.first == 3 and memcmp(cut.first, b"-X-", 3) == 0  # as in conlleval
                if not blank:
                    self.check(&cut, line)
                    if at[0] == b"#":
                        self.marked[not between] = True
                    if between and self.keep:
                        self.begin_row(line)
                    if self.words:
                        (<int64_t*>self.cells.data)[2 * m] = cut.first - text
                        (<int64_t*>self.cells.data)[2 * m + 1] = cut.first_end - text
                    self.add_token(&cut, m, line)
                    m += 1
                    between = False
            if blank and not between:
                (<int32_t*>self.gold.data)[m] = (<int32_t*>self.found.data)[m] = 0
                m += 1
                between = True
            at = next_line
            line += 1
        return m

    cdef const char* strip(self, const char* at, const char* stop) noexcept nogil:
        """The end of a line without the carriage return and empty cells at its end."""
        while stop > at and ((stop - 1)[0] == b" " or (stop - 1)[0] == b"\t" or (stop - 1)[0] == b"\r"
                             or <unsigned char>(stop - 1)[0] == self.separator):
            stop -= 1
        return stop

    cdef void cut(self, const char* at, const char* stop, CutC* cut) noexcept nogil:
        """Find the last two cells and the first, and count all."""
        cdef const char* q = at
        cdef const char* gold = NULL
        cdef const char* gold_end = NULL
        cdef int separator = self.separator
        if separator == TABS_OR_BLANKS and memchr(at, b"\t", <size_t>(stop - at)) != NULL:
            separator = b"\t"
        cut.columns = 1
        if separator >= 0:
            cut.first = cut.gold = cut.gold_end = cut.found = at
            while q < stop:
                if <unsigned char>q[0] == separator:
                    if cut.columns == 1:
                        cut.first_end = q
                    cut.gold, cut.gold_end = cut.found, q
                    if cut.columns == self.gold_column + 1:
                        gold, gold_end = cut.found, q
                    cut.found = q + 1
                    cut.columns += 1
                q += 1
        else:
            while is_blank(q[0]):  # the line is not blank and does not end with one
                q += 1
            cut.first = cut.gold = cut.gold_end = cut.found = q
            while q < stop:
                if is_blank(q[0]):
                    if cut.columns == 1:
                        cut.first_end = q
                    cut.gold, cut.gold_end = cut.found, q
                    if cut.columns == self.gold_column + 1:
                        gold, gold_end = cut.found, q
                    while is_blank(q[0]):
                        q += 1
                    cut.found = q
                    cut.columns += 1
                q += 1
        cut.found_end = stop
        if cut.columns == 1:
            cut.first_end = stop
        cut.before, cut.before_end = cut.gold, cut.gold_end
        if gold != NULL:
            cut.gold, cut.gold_end = gold, gold_end

    cdef int check(self, CutC* cut, int64_t line) except -1 nogil:
        """Refuse a line whose cells cannot be what they should be."""
        if cut.columns != self.n_cols:
            if cut.columns < self.least or self.n_cols != 0:
                with gil:
                    self.raise_columns(cut.columns, line)
            if self.form != FORM_CRFSUITE:  # its lines are of any length
                self.n_cols, self.first_row = cut.columns, line
            if is_probability(cut.found, cut.found_end) and (self.gold_column >= 0 or is_probability(cut.gold, cut.gold_end)):
                with gil:
                    raise DataError("the last two columns are probabilities, as `--probability` adds them; expected a gold "
                                    "and a predicted label", self.path, line)
        if cut.gold == cut.gold_end or cut.found == cut.found_end:
            with gil:
                raise DataError(f"the {'gold' if cut.gold == cut.gold_end else 'predicted'} label is empty", self.path, line)
        if self.probabilities:
            if has_probability(cut.before, cut.before_end, self.gold_column >= 0):
                with gil:
                    raise DataError("the last two columns are labels with probabilities, as `-v 2` writes them; "
                                    "expected a gold and a predicted label (`-v 0` or `-v 1`)", self.path, line)
            cut.found_end = without_probability(cut.found, cut.found_end)
        return 0

    def raise_columns(self, int64_t found, int64_t line):
        """Say what is wrong with a line of so many columns."""
        if found >= self.least and self.n_cols:
            hint = " (--comments passes over lines before a sentence that begin with '#')" if self.marked[0] else ""
            raise DataError(f"{plural(found, 'column')}, but line {self.first_row} has {self.n_cols}{hint}", self.path, line)
        wanted = "the predicted label" if self.gold_column >= 0 else "a token, a gold and a predicted label" if self.words \
            else "a gold and a predicted label"
        raise DataError(f"{plural(found, 'column')}; expected at least {self.least}, the last of them {wanted}", self.path, line)

    cdef bint is_aside(self, const char* at, const char* stop) noexcept nogil:
        """Is the line no token in its form: a comment of CoNLL-U, or a number like 1-2 or 1.1; a weight of CRFsuite's?"""
        if self.form == FORM_CONLLU:
            if at[0] == b"#":
                return True
            while at < stop and is_digit(at[0]):
                at += 1
            return at < stop and (at[0] == b"-" or at[0] == b".")
        return self.form == FORM_CRFSUITE and at[0] == b"@"

    cdef bint is_header(self, const char* at, const char* stop, int64_t line) noexcept nogil:
        """Is the line not a token, but one of those before a sentence: `# 0.97` and `# 1 0.02`, the probability
        and rank of one of several analyses, or `# columns = ...` in the first lines of a file?

        A token may be `#` too. It stands in a line of more cells, or of cells that are no such numbers."""
        cdef const char* number = at + 2
        if stop - at > 9 and memcmp(at, b"# columns", 9) == 0 and self.n_cols == 0:
            return memchr(at, b"=", <size_t>(stop - at)) != NULL
        if stop - at < 5 or at[1] != b" ":
            return False
        while number < stop and is_digit(number[0]):
            number += 1
        if number == stop or number[0] != b" ":
            number = at + 1
        if not is_decimal(number + 1, stop):
            return False
        self.probabilities = True
        self.skipping = number > at + 1 and not (number == at + 3 and at[2] == b"0")  # only the best one counts
        return True

    cdef int add_token(self, const CutC* cut, int64_t m, int64_t line) except -1 nogil:
        cdef int32_t gold = self.label(cut.gold, cut.gold_end - cut.gold, line)
        cdef int64_t n = cut.found_end - cut.found
        (<int32_t*>self.gold.data)[m] = gold
        if n != cut.gold_end - cut.gold or memcmp(cut.found, cut.gold, <size_t>n) != 0:
            gold = self.label(cut.found, n, line)
        (<int32_t*>self.found.data)[m] = gold
        return 0

    cdef int begin_row(self, int64_t line) except -1 nogil:
        reserve_zeroed(self, &self.by_sentence, &self.n_rows, self.n_rows + 1, sizeof(SentenceC))
        (<SentenceC*>self.by_sentence.data)[self.n_rows - 1].line = line
        return 0

    # Labels.

    cdef int32_t label(self, const char* s, int64_t n, int64_t line) except -1 nogil:
        """The id of a label."""
        cdef uint64_t h = string_hash(s, n)
        cdef int32_t i = strings_find(&self.names.c, s, n, h)
        if i < 0:
            with gil:
                i = self.add_label(s[:n], line)
        return (<SpellingC*>self.spellings.data)[i].same

    cdef int32_t add_label(self, bytes text, int64_t line) except -1:
        """Enter a new label, and split it as conlleval does."""
        cdef int32_t i = self.names.intern_bytes(text)
        cdef LabelC* label
        cdef bytes prefix, kind
        try:
            text.decode()
        except UnicodeDecodeError:
            raise DataError(f"the label {text!r} is not valid UTF-8", self.path, line) from None
        reserve_zeroed(self, &self.labels, &self.n_labels, i + 1, sizeof(LabelC))
        reserve_zeroed(self, &self.spellings, &self.n_spellings, i + 1, sizeof(SpellingC))
        (<SpellingC*>self.spellings.data)[i].same = i
        (<SpellingC*>self.spellings.data)[i].hash = string_hash(text, len(text))
        reserve_zeroed(self, &self.by_label, &self.n_counted, i + 1, 3 * sizeof(int64_t))
        if self.raw and text not in (b"", b"O", self.outside):
            prefix, kind = b"B", text
        elif text in (b"", self.outside):
            prefix, kind = b"O", b""
        else:
            prefix, _, kind = text.partition(b"-")
        label = <LabelC*>self.labels.data + i
        label.prefix = PREFIX_CODES.get(prefix.decode(), schemes.OTHER)
        label.type = self.type_ids.setdefault(kind, len(self.type_ids))
        if label.type == len(self.types):
            self.types.append(kind.decode())
        if text:
            self.first_lines[text.decode()] = line
        # "B-" is "B", and another name for O is O: the same token for conlleval. CRFsuite's gold labels may have escapes.
        if text and text == self.outside and text != b"O":
            self.alias(i, b"O", line)
        elif prefix and not self.raw and not kind and text.endswith(b"-"):
            self.alias(i, prefix, line)
        elif self.form == FORM_CRFSUITE and ESCAPE.search(text):
            self.alias(i, ESCAPE.sub(rb"\1", text), line)
        return i

    cdef int alias(self, int32_t i, bytes text, int64_t line) except -1:
        cdef int32_t same = self.label(text, len(text), line)
        (<SpellingC*>self.spellings.data)[i].same = same
        return 0

    def prefixes(self):
        """{label: prefix, as numbered in crfkit.schemes} for every label."""
        return {self.names[i].decode(): (<LabelC*>self.labels.data)[i].prefix for i in range(1, self.n_labels)}

    # Counting.

    cdef int count(self, int64_t n) except -1:
        """Count the n entries of gold and found."""
        cdef const int32_t* gold = <const int32_t*>self.gold.data
        cdef const int32_t* found = <const int32_t*>self.found.data
        cdef const LabelC* labels = <const LabelC*>self.labels.data
        cdef const SpellingC* spellings = <const SpellingC*>self.spellings.data
        cdef int64_t* by_label = <int64_t*>self.by_label.data
        cdef int64_t i, key, n_types = len(self.types)
        cdef Counter counter
        for i in range(n):
            if gold[i] == 0:
                self.end_sentence()
                continue
            self.in_sentence = True
            self.n_tokens += 1
            self.sentence_tokens += 1
            by_label[3 * gold[i]] += 1
            by_label[3 * found[i] + 1] += 1
            if self.keep:
                self.gold_hash = (self.gold_hash ^ spellings[gold[i]].hash) * <uint64_t>0x9E3779B97F4A7C15
            if gold[i] == found[i]:
                by_label[3 * gold[i] + 2] += 1
                self.right += 1
                self.sentence_correct += 1
            else:
                key = (<int64_t>gold[i] << 32) | found[i]
                self.misses[key] = self.misses.get(key, 0) + 1
        for counter in self.counters:
            with nogil:
                counter.run(labels, gold, found, n, n_types)
        return 0

    cdef int end_sentence(self) except -1:
        cdef SentenceC* row
        if self.sentence_tokens == 0:
            return 0
        self.sentences += 1
        self.sentences_correct += self.sentence_correct == self.sentence_tokens
        if self.keep:
            row = <SentenceC*>self.by_sentence.data + (self.sentences - 1)
            row.tokens, row.correct, row.gold = self.sentence_tokens, self.sentence_correct, self.gold_hash
        self.sentence_tokens = self.sentence_correct = 0
        self.gold_hash = 0
        self.in_sentence = False
        return 0

    cdef int count_words(self, int64_t n, const char* text) except -1:
        """Count the words of a segmentation. The entries are whole sentences; text is the block they came
        from, or NULL where there is no lexicon."""
        cdef const int32_t* gold = <const int32_t*>self.gold.data
        cdef const int32_t* found = <const int32_t*>self.found.data
        cdef const LabelC* labels = <const LabelC*>self.labels.data
        cdef const int64_t* cell = <const int64_t*>self.cells.data
        cdef const uint8_t* starts = self.word_starts
        cdef int64_t i, k, begin = -1
        cdef bint outside, in_gold, in_found, agreeing = False, right
        for i in range(n + 1):
            outside = i == n or gold[i] == 0
            in_gold = in_found = True  # does a word start, or the last one end?
            if not outside and i > 0 and gold[i - 1] != 0:
                in_gold = transition(starts, labels[gold[i - 1]], labels[gold[i]]) & START
                in_found = transition(starts, labels[found[i - 1]], labels[found[i]]) & START
            if begin >= 0 and in_gold:
                right = agreeing and in_found
                self.n_words[2] += right
                if text != NULL and b"".join([text[cell[2 * k]:cell[2 * k + 1]] for k in range(begin, i)]) not in self.lexicon:
                    self.n_words[3] += 1
                    self.n_words[4] += right
                begin = -1
            agreeing = agreeing and not in_found
            if not outside:
                if in_gold:
                    begin, agreeing = i, in_found
                self.n_words[0] += in_gold
                self.n_words[1] += in_found
        return 0

    @property
    def word_counts(self):
        """(gold, found, correct) words, and those that are not in the lexicon: (gold, correct)."""
        return tuple(self.n_words)


cdef inline bint is_blank(char c) noexcept nogil:
    return c == b" " or c == b"\t"
