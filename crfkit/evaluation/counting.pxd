"""Counting of labels; see counting.pyx."""

cimport cython

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from crfkit.memory cimport Arena, BufferC
from crfkit.features.strings cimport StringTable
from .lines cimport CutC, Lines


cdef struct SpellingC:
    uint64_t hash       # of a label's bytes
    int32_t same        # the label that this one is another spelling of, or itself


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
    cdef readonly Lines lines           # how they are read
    cdef object lexicon, word_table
    cdef const uint8_t* word_starts     # in word_table; NULL: words are not counted
    cdef dict type_ids, misses          # misses: gold label << 32 | predicted label -> tokens
    cdef bytes outside
    cdef bint raw, words, in_sentence
    cdef readonly bint keep     # what each sentence adds to the counts
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
    cdef int add_token(self, const CutC* cut, int64_t m, int64_t line) except -1 nogil
    cdef int begin_row(self, int64_t line) except -1 nogil
    cdef int32_t label(self, const char* s, int64_t n, int64_t line) except -1 nogil
    cdef int32_t add_label(self, bytes text, int64_t line) except -1
    cdef int alias(self, int32_t i, bytes text, int64_t line) except -1
    cdef int count(self, int64_t n) except -1
    cdef int end_sentence(self) except -1
    cdef int count_words(self, int64_t n, const char* text) except -1
