"""Chunk counting; see chunks.pyx."""

cimport cython

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from crfkit.memory cimport Arena, BufferC
from crfkit.features.strings cimport StringTable

cdef enum:
    N_PREFIXES = 13     # that of crfkit.schemes


# A label as the tables of a scheme see it.
cdef struct LabelC:
    int32_t type        # id of what follows the first hyphen
    int32_t prefix      # of what precedes it, as numbered in crfkit.schemes


cdef struct SpellingC:
    uint64_t hash       # of a label's bytes
    int32_t same        # the label that this one is another spelling of, or itself


# One column's chunk under way, in strict counting.
cdef struct OpenC:
    LabelC last
    int64_t start       # position of its first token, -1 if none is under way


@cython.final
cdef class Counter(Arena):
    cdef uint8_t[N_PREFIXES * N_PREFIXES * 2] rules
    cdef bint strict, keep
    cdef OpenC gold, found
    cdef bint agreeing              # lenient: the two columns' chunks are equal up to here
    cdef int64_t position
    cdef int64_t[3] total           # gold, found, correct chunks
    cdef BufferC by_type            # int64 [type][3] the same
    cdef BufferC by_sentence        # int64 [sentence][3] total after it, if kept
    cdef int64_t n_types, n_sentences

    cdef int run(self, const LabelC* labels, const int32_t* gold, const int32_t* found, int64_t n,
                 int64_t n_types) except -1 nogil
    cdef void lenient_step(self, LabelC gold, LabelC found, int64_t* counts) noexcept nogil
    cdef void strict_step(self, LabelC gold, LabelC found, int64_t* counts) noexcept nogil
    cdef int end_sentence(self) except -1 nogil
    cdef int finish(self, LabelC outside, bint in_sentence) except -1


# Where the cells of a line stand that matter here. Ends are exclusive.
cdef struct CutC:
    int64_t columns
    const char* first
    const char* first_end
    const char* gold            # the last cell but one
    const char* gold_end
    const char* before          # the last cell but one, which may be the same
    const char* before_end
    const char* found           # the last cell
    const char* found_end


# What is noted of a sentence to compare two inputs.
cdef struct SentenceC:
    int64_t line, tokens, correct
    uint64_t gold               # hash of its gold labels


@cython.final
cdef class Tally(Arena):
    cdef readonly StringTable names     # labels; 0 is the empty string: the end of a sentence
    cdef readonly list types            # of the labels; 0 is the empty string
    cdef readonly list counters         # one for each table asked for
    cdef readonly dict first_lines      # label -> line where it was first seen
    cdef readonly int64_t sentences, sentences_correct
    cdef readonly object path           # of the input, for error messages
    cdef object lexicon, word_table
    cdef const uint8_t* word_starts     # in word_table; NULL: words are not counted
    cdef dict type_ids, misses          # misses: gold label << 32 | predicted label -> tokens
    cdef bytes outside
    cdef bint raw, keep, words, in_sentence, comments
    cdef bint[2] marked                 # as in text/rows.pxd
    cdef bint probabilities             # a header has told that labels may have /0.97 after them
    cdef bint skipping                  # the sentence is a further analysis of the last one
    cdef int separator                  # a byte or one of the codes above
    cdef int form                       # of the lines, as columns.pxd numbers them
    cdef int64_t gold_column            # -1: the last but one
    cdef int64_t least                  # columns that a row has
    cdef int64_t n_cols, first_row      # of all rows, and the line where that was seen
    cdef int64_t n_labels, n_spellings, n_counted, n_rows, n_tokens, right
    cdef int64_t sentence_tokens, sentence_correct
    cdef uint64_t gold_hash
    cdef int64_t[5] n_words
    cdef BufferC labels                 # LabelC [label]
    cdef BufferC spellings              # SpellingC [label]
    cdef BufferC by_label               # int64 [label][3] gold, found, correct tokens
    cdef BufferC gold, found            # int32: the labels of one block; 0 ends a sentence
    cdef BufferC cells                  # int64 [entry][2]: where a token's first cell is, if there is a lexicon
    cdef BufferC by_sentence            # SentenceC, if kept

    cdef int64_t fill(self, BufferC* column, labels, int64_t sentence) except -1
    cdef int64_t scan(self, const char* text, int64_t n, int64_t line) except -1 nogil
    cdef const char* strip(self, const char* at, const char* stop) noexcept nogil
    cdef void cut(self, const char* at, const char* stop, CutC* cut) noexcept nogil
    cdef int check(self, CutC* cut, int64_t line) except -1 nogil
    cdef bint is_header(self, const char* at, const char* stop, int64_t line) noexcept nogil
    cdef bint is_aside(self, const char* at, const char* stop) noexcept nogil
    cdef int add_token(self, const CutC* cut, int64_t m, int64_t line) except -1 nogil
    cdef int begin_row(self, int64_t line) except -1 nogil
    cdef int32_t label(self, const char* s, int64_t n, int64_t line) except -1 nogil
    cdef int32_t add_label(self, bytes text, int64_t line) except -1
    cdef int alias(self, int32_t i, bytes text, int64_t line) except -1
    cdef int count(self, int64_t n) except -1
    cdef int end_sentence(self) except -1
    cdef int count_words(self, int64_t n, const char* text) except -1
