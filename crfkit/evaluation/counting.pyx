"""Counting of chunks, labels and words in two columns of labels, gold and predicted, block by block.

    scan      bytes of a block -> two arrays of label ids; id 0 stands after each sentence
    count     tokens right and wrong, per label and per sentence; chunks by one scheme or several (chunks.pyx)

Only totals outlive a block (and one row a sentence where systems are compared), so memory does not grow
with the input.
"""

import re

cimport cython

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from crfkit.text.table cimport FORM_CRFSUITE
from crfkit.memory cimport Arena, BufferC, arena_reserve, memchr, memcmp, vector
from crfkit.features.hashing cimport string_hash, strings_find
from crfkit.features.strings cimport StringTable
from .chunks cimport START, Counter, KindC, LabelC, reserve_zeroed, transition
from .judging cimport Judge
from .lines cimport BLANK, TOKEN, CutC, Lines

from crfkit.evaluation import schemes
from crfkit.errors import DataError
from crfkit.values import plural, shown


ESCAPE = re.compile(rb"\\([:\\])")     # a colon or a backslash, in CRFsuite's format


# What is noted of a sentence to compare two inputs.
cdef struct CountedC:
    int64_t line, tokens, correct
    uint64_t gold               # hash of its gold labels


@cython.final
cdef class Tally(Arena):
    """All counts of one input. Feed it blocks of a file, or sentences; then finish it and read.

    tables, strict: of each Counter, and with mistakes of each Judge. word_starts: the table that tells where words start, to count words;
    with a lexicon (a set of bytes) also those it lacks. keep: note each sentence, to compare with another input.
    separator: None (tabs or blanks), "blanks", or the byte between cells; raw and outside as in conlleval. form:
    "columns", "conllu" or "crfsuite"; the gold label is in the last column but one, or in gold_column, and the
    predicted one behind `before` columns or more. comments: lines before a sentence that begin with '#' are no tokens.
    """

    cdef readonly StringTable names     # labels; 0 is the empty string: the end of a sentence
    cdef readonly list types            # of the labels; 0 is the empty string
    cdef readonly dict counters         # table -> Counter
    cdef readonly dict judges           # table -> Judge
    cdef readonly dict first_lines      # label -> line where it was first seen
    cdef readonly int64_t tokens, sentences, sentences_correct
    cdef readonly object path           # of the input, for error messages
    cdef readonly Lines lines           # how they are read
    cdef readonly object lexicon
    cdef readonly bytes word_starts     # None: words are not counted
    cdef readonly bint keep
    cdef dict type_ids, misses          # misses: gold label << 32 | predicted label -> tokens
    cdef bytes outside
    cdef bint raw
    cdef int64_t n_labels, n_rows
    cdef int64_t sentence_tokens, sentence_correct      # of the sentence under way
    cdef uint64_t gold_hash
    cdef int64_t[5] n_words
    cdef BufferC labels                 # LabelC [label]
    cdef BufferC gold, found            # int32: the labels of one block; 0 ends a sentence
    cdef BufferC cells                  # int64 [entry][2]: where a token's first cell is, if there is a lexicon
    cdef BufferC by_sentence            # CountedC, if kept

    def __cinit__(self, tables=(), bint strict=False, *, bytes word_starts=None, lexicon=None, bint keep=False, bint mistakes=False, bint raw=False,
                  bytes outside=b"O", separator=None, path=None, form="columns", int64_t gold_column=-1,
                  int64_t before=1, bint comments=False):
        self.names, self.types, self.type_ids = StringTable(), [], {}
        self.keep, self.raw, self.outside, self.path = keep, raw, outside, path
        self.lexicon, self.word_starts = lexicon, word_starts
        self.lines = Lines(form, separator, gold_column, before + 1 + (lexicon is not None), comments, lexicon is not None, path)
        self.counters = {table: Counter(table, strict, keep) for table in tables}
        self.judges = {table: Judge(table, strict) for table in (tables if mistakes else ())}
        self.misses, self.first_lines = {}, {}
        self.add_label(b"", 0)

    def feed(self, const unsigned char[::1] block not None, int64_t line):
        """Count a block of whole sentences whose first line has this number."""
        cdef int64_t n
        if block.shape[0] == 0:
            return
        with nogil:
            n = self.scan(<const char*>&block[0], block.shape[0], line)
        self.count(n)
        if self.word_starts is not None:
            self.count_words(n, <const char*>&block[0] if self.lexicon is not None else NULL)

    def add(self, gold, found, int64_t line=0):
        """Count one sentence, given as two lists of labels. line: where it begins, if it comes from a file."""
        cdef int64_t n, n_found, sentence = line or self.sentences + 1
        n = self.fill(&self.gold, gold, sentence)
        n_found = self.fill(&self.found, found, sentence)
        if n_found != n:
            raise DataError(f"sentence {sentence}: {plural(n - 1, 'gold label')}, but {n_found - 1} predicted")
        if n > 1:
            if self.keep:
                self.begin_row(sentence)
            self.count(n)
            if self.word_starts is not None:
                self.count_words(n, NULL)

    cdef int64_t fill(self, BufferC* column, labels, int64_t sentence) except -1:
        """The ids of a sentence's labels and of its end; how many."""
        cdef int64_t n = 0
        cdef bytes text
        names = tuple(labels)  # what says how many it has may say what it likes
        arena_reserve(self, column, len(names) + 1, sizeof(int32_t))
        for name in names:
            if not isinstance(name, str) or not name:
                raise DataError(f"sentence {sentence}: " + ("a label is empty" if isinstance(name, str) else f"the label {shown(name)} is not a str"))
            text = (<str>name).encode("utf-8", "surrogatepass")
            (<int32_t*>column.data)[n] = self.label(text, len(text), sentence)
            n += 1
        (<int32_t*>column.data)[n] = 0
        return n + 1

    def finish(self):
        """End the input. The counts are complete now."""
        cdef Counter counter
        cdef Judge judge
        for judge in self.judges.values():
            judge.finish((<LabelC*>self.labels.data)[0].kind)
        for counter in self.counters.values():
            counter.finish((<LabelC*>self.labels.data)[0].kind, self.sentence_tokens > 0)
        self.end_sentence()

    @property
    def confusion(self):
        """{(gold label, predicted label): tokens} of those that differ."""
        return {(self.names[key >> 32].decode(), self.names[key & 0xFFFFFFFF].decode()): n
                for key, n in self.misses.items()}

    def kept(self):
        """Four numbers for each sentence: its line, its tokens, how many of their labels are right, and a hash of the gold labels."""
        return vector(self, "q", self.by_sentence.data, 4 * self.sentences)

    def label_counts(self):
        """{label: (gold, found, correct)} in tokens."""
        cdef LabelC* labels = <LabelC*>self.labels.data
        cdef int64_t i
        return {self.names[i].decode(): tuple(labels[i].tokens)
                for i in range(1, self.n_labels) if labels[i].tokens[0] or labels[i].tokens[1]}

    cdef int64_t scan(self, const char* text, int64_t n, int64_t line) except -1 nogil:
        """Fill gold and found from a block; the number of entries."""
        cdef const char* at = text
        cdef const char* end = text + n
        cdef const char* stop
        cdef int64_t m = 0
        cdef int kind
        cdef bint between = self.sentence_tokens == 0
        cdef CutC cut
        # A token takes four bytes with its newline, and the blank line after it one.
        arena_reserve(self, &self.gold, n // 2 + 2, sizeof(int32_t))
        arena_reserve(self, &self.found, n // 2 + 2, sizeof(int32_t))
        if self.lexicon is not None:
            arena_reserve(self, &self.cells, n // 2 + 2, 2 * sizeof(int64_t))
        while at < end:
            stop = <const char*>memchr(at, b"\n", <size_t>(end - at))
            if stop == NULL:
                stop = end
            kind = self.lines.read(at, stop, between, line, &cut)
            if kind == TOKEN:
                if between and self.keep:
                    self.begin_row(line)
                if self.lexicon is not None:
                    (<int64_t*>self.cells.data)[2 * m] = cut.first.start - text
                    (<int64_t*>self.cells.data)[2 * m + 1] = cut.first.end - text
                self.add_token(&cut, m, line)
                m += 1
                between = False
            elif kind == BLANK and not between:
                (<int32_t*>self.gold.data)[m] = (<int32_t*>self.found.data)[m] = 0
                m += 1
                between = True
            at, line = stop + 1, line + 1
        return m

    cdef int add_token(self, const CutC* cut, int64_t m, int64_t line) except -1 nogil:
        cdef int64_t n_gold = cut.gold.end - cut.gold.start, n = cut.found.end - cut.found.start
        cdef bint escaped = self.lines.form == FORM_CRFSUITE and memchr(cut.gold.start, b"\\", <size_t>n_gold) != NULL
        cdef int32_t gold = self.unescaped(cut.gold.start, n_gold, line) if escaped else self.label(cut.gold.start, n_gold, line)
        (<int32_t*>self.gold.data)[m] = gold
        if escaped or n != n_gold or memcmp(cut.found.start, cut.gold.start, <size_t>n) != 0:
            gold = self.label(cut.found.start, n, line)
        (<int32_t*>self.found.data)[m] = gold

    cdef int begin_row(self, int64_t line) except -1 nogil:
        reserve_zeroed(self, &self.by_sentence, &self.n_rows, self.n_rows + 1, sizeof(CountedC))
        (<CountedC*>self.by_sentence.data)[self.n_rows - 1].line = line

    # Labels.

    cdef int32_t label(self, const char* s, int64_t n, int64_t line) except -1 nogil:
        cdef int32_t i = strings_find(&self.names.c, s, n)
        if i < 0:
            with gil:
                i = self.add_label(s[:n], line)
        return (<LabelC*>self.labels.data)[i].same

    cdef int32_t unescaped(self, const char* s, int64_t n, int64_t line) except -1 with gil:
        """The id of a label as CRFsuite's data have it. The predicted one beside it is written as it is."""
        cdef bytes text = ESCAPE.sub(rb"\1", s[:n])
        return self.label(text, len(text), line)

    cdef int32_t add_label(self, bytes text, int64_t line) except -1:
        cdef int32_t i = self.names.intern_bytes(text), same
        try:
            spelled = schemes.spelling(text, self.outside, self.raw, self.word_starts is not None)
        except UnicodeDecodeError:
            raise DataError(f"the label {shown(text)} is not valid UTF-8", self.path, line) from None
        kind = self.type_ids.setdefault(spelled.type, len(self.type_ids))
        if kind == len(self.types):
            self.types.append(spelled.type)
        reserve_zeroed(self, &self.labels, &self.n_labels, i + 1, sizeof(LabelC))
        (<LabelC*>self.labels.data)[i] = LabelC(KindC(kind, spelled.prefix), i, string_hash(text, len(text)), [0, 0, 0])
        if text:
            self.first_lines[spelled.label] = line
        if spelled.same is not None:
            text = spelled.same
            same = self.label(text, len(text), line)    # which may move the table
            (<LabelC*>self.labels.data)[i].same = same
        return i

    def prefixes(self):
        """{label: prefix} for every label; ? for one that no scheme has."""
        return {self.names[i].decode(): schemes.PREFIXES[(<LabelC*>self.labels.data)[i].kind.prefix] for i in range(1, self.n_labels)}

    # Counting.

    cdef int count(self, int64_t n) except -1:
        cdef const int32_t* gold = <const int32_t*>self.gold.data
        cdef const int32_t* found = <const int32_t*>self.found.data
        cdef LabelC* labels = <LabelC*>self.labels.data
        cdef int64_t i, key, n_types = len(self.types)
        cdef Counter counter
        cdef Judge judge
        for i in range(n):
            if gold[i] == 0:
                self.end_sentence()
                continue
            self.tokens += 1
            self.sentence_tokens += 1
            labels[gold[i]].tokens[0] += 1
            labels[found[i]].tokens[1] += 1
            if self.keep:
                self.gold_hash = (self.gold_hash ^ labels[gold[i]].hash) * <uint64_t>0x9E3779B97F4A7C15
            if gold[i] == found[i]:
                labels[gold[i]].tokens[2] += 1
                self.sentence_correct += 1
            else:
                key = (<int64_t>gold[i] << 32) | found[i]
                self.misses[key] = self.misses.get(key, 0) + 1
        for counter in self.counters.values():
            with nogil:
                counter.run(labels, gold, found, n, n_types)
        for judge in self.judges.values():
            judge.run(labels, gold, found, n, n_types)

    cdef int end_sentence(self) except -1:
        cdef CountedC* row
        if self.sentence_tokens == 0:
            return 0
        self.sentences += 1
        self.sentences_correct += self.sentence_correct == self.sentence_tokens
        if self.keep:
            row = <CountedC*>self.by_sentence.data + (self.sentences - 1)
            row.tokens, row.correct, row.gold = self.sentence_tokens, self.sentence_correct, self.gold_hash
        self.sentence_tokens = self.sentence_correct = 0
        self.gold_hash = 0

    cdef int count_words(self, int64_t n, const char* text) except -1:
        """Count the words of whole sentences of a segmentation; text: the block they came from, NULL without a lexicon."""
        cdef const int32_t* gold = <const int32_t*>self.gold.data
        cdef const int32_t* found = <const int32_t*>self.found.data
        cdef const LabelC* labels = <const LabelC*>self.labels.data
        cdef const int64_t* cell = <const int64_t*>self.cells.data
        cdef const uint8_t* starts = <const uint8_t*><const char*>self.word_starts
        cdef int64_t i, k, begin = -1
        cdef bint outside, in_gold, in_found, agreeing = False, right
        for i in range(n + 1):
            outside = i == n or gold[i] == 0
            in_gold = in_found = True  # does a word start, or the last one end?
            if not outside and i > 0 and gold[i - 1] != 0:
                in_gold = transition(starts, labels[gold[i - 1]].kind, labels[gold[i]].kind) & START
                in_found = transition(starts, labels[found[i - 1]].kind, labels[found[i]].kind) & START
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

    @property
    def word_counts(self):
        """(gold, found, correct) words, and those that are not in the lexicon: (gold, correct)."""
        return tuple(self.n_words)
