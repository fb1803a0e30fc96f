"""Decoding: sentences of parsed rows to labels.

    rows ── Index.extract ── attributes ── K.score ── lattice ── K.viterbi ── labels ── output

A Decoder is what the model gives, read only; any number of threads share it, each with a Scratch of its own.
"""

from libc.math cimport isfinite

from .columns cimport Rows
from .kernels cimport K
from .lattice cimport lattice_load_weights
from .layout cimport layout_fits
from .memory cimport buffer_free, buffer_reserve
from .output cimport Output
from .structs cimport SentenceC
from .tagged cimport write_tagged

from ..errors import DataError, ModelFileError


cdef class Decoder:
    """The parts of a model that tagging needs. With verified=False the features of each sentence are checked
    before they are scored."""

    def __init__(self, Index index not None, Layout layout not None, const float[::1] weights not None, labels,
                 bint verified=True):
        cdef int32_t j
        if self.index is not None:
            raise TypeError("a Decoder is set up once")
        if weights.shape[0] != layout.c.n_cells or len(labels) != layout.c.L:
            raise ValueError("weights or labels of another layout")
        if index.n_attributes != layout.n_attributes:
            raise ValueError("an index of another layout")
        self.layout, self.weights, self.verified = layout, weights, verified
        self.w = &weights[0] if weights.shape[0] else NULL
        self.labels = list(labels)
        self.encoded = [label.encode() for label in labels]
        buffer_reserve(&self.names, layout.c.L, sizeof(char*))
        buffer_reserve(&self.name_lens, layout.c.L, sizeof(int32_t))
        self.name, self.name_len = <const char**>self.names.data, <int32_t*>self.name_lens.data
        for j in range(layout.c.L):
            self.name[j], self.name_len[j] = <bytes>self.encoded[j], len(self.encoded[j])
        self.index = index

    def __dealloc__(self):
        buffer_free(&self.names)
        buffer_free(&self.name_lens)


cdef class Scratch:
    """What one thread needs to decode. It grows with the longest sentence and the largest block."""

    def __init__(self, Decoder decoder not None):
        if self.decoder is not None:
            raise TypeError("a Scratch is set up once")
        self.extractor, self.lattice = Extractor(), Lattice(decoder.layout.c.L)
        lattice_load_weights(&self.lattice.c, &decoder.layout.c, decoder.w, 1.0)
        self.decoder = decoder

    def __dealloc__(self):
        buffer_free(&self.labels)

    cdef int score(self, Rows rows, int64_t s) except -1 nogil:
        """Node and edge scores of sentence s, which must not be empty."""
        cdef const SentenceC* sent = &self.extractor.sentence
        self.decoder.index.extract(self.extractor, &rows.c, rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1])
        if not self.decoder.verified and not layout_fits(&self.decoder.layout.c, sent):
            raise ModelFileError("the model is damaged: its table of features is not what it should be")
        self.lattice.reserve(sent)
        K.score(&self.decoder.layout.c, self.decoder.w, 1.0, sent, &self.lattice.c)
        return 0

    cdef int decode(self, Rows rows, int64_t first, int64_t last, uint16_t* labels) except -1 nogil:
        """The best labels of sentences first .. last-1."""
        cdef int64_t s, base = rows.c.seq_ptr[first]
        for s in range(first, last):
            if rows.c.seq_ptr[s + 1] > rows.c.seq_ptr[s]:
                self.score(rows, s)
                K.viterbi(&self.lattice.c, labels + (rows.c.seq_ptr[s] - base))
        return 0

    def tagged(self, Rows rows not None, separator=None):
        """A parsed block with the label of each token at the end of its line, as bytes."""
        cdef Decoder d = self.decoder
        cdef Output out = Output()
        cdef bytes between = separator or b""
        cdef const char* sep = NULL
        cdef int32_t sep_len = len(between)
        if separator is not None:
            sep = between
        buffer_reserve(&self.labels, rows.c.n_tok + 1, sizeof(uint16_t))
        with nogil:
            self.decode(rows, 0, rows.c.n_seq, <uint16_t*>self.labels.data)
            write_tagged(&rows.c, 0, rows.c.n_seq, <const uint16_t*>self.labels.data, d.name, d.name_len,
                         sep, sep_len, &out.c)
        return out.getvalue()
