"""One sentence after the other as attributes: what taggers use, and each of their threads has."""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.structs cimport SentenceC
from crfkit.memory cimport Arena, BufferC, arena_reserve
from crfkit.text.rows cimport FORM_CRFSUITE, Rows, RowsC
from .tables cimport Features
from .walk cimport find_tokens
from .workspace cimport Workspace


cdef class Extractor(Arena):
    """The attributes of one sentence after the other, and the scratch of the thread that finds them. `columns` says
    where each column of the plan stands in the rows, if not where it stood in training."""

    def __init__(self, Features features not None, columns=None):
        cdef int32_t i, column
        if self.features is not None:
            raise TypeError("an Extractor is set up once")
        if columns is not None:
            if len(columns) != features.n_columns or min(columns, default=0) < 0:
                raise ValueError(f"{len(columns)} columns, expected {features.n_columns}")
            arena_reserve(self, &self.columns, features.n_columns + 1, sizeof(int32_t))
            for i, column in enumerate(columns):
                (<int32_t*>self.columns.data)[i] = column
        self.workspace = Workspace()
        self.workspace.column_number = <const int32_t*>(self.columns.data if columns is not None else features.column_number.data)
        self.found = Dataset(b_ptr=[0] if features.has_bigrams else None)
        self.features = features

    cdef int extract(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil:
        cdef SentenceC* sent = &self.sentence
        self.found.c.n_tok = 0
        find_tokens(self.features, self.workspace, rows, first, last, self.found)
        sent.T = self.workspace.T
        sent.u_ptr = <const int64_t*>self.found.u_ptr.data
        sent.u_id = <const int32_t*>self.found.u_id.data
        sent.u_val = <const float*>self.found.u_val.data if rows.form == FORM_CRFSUITE else NULL
        sent.b_ptr = <const int64_t*>self.found.b_ptr.data
        sent.b_id = <const int32_t*>self.found.b_id.data
        sent.b_val = NULL
        sent.label, sent.weight = NULL, 1.0
        return 0

    def attributes_of(self, Rows rows not None):
        """The attributes of each token of a parsed block: lists (unigram ids, bigram ids)."""
        cdef const SentenceC* sent = &self.sentence
        cdef int64_t s, t
        found = []
        for s in range(rows.c.n_seq):
            self.extract(&rows.c, rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1])
            for t in range(sent.T):
                found.append(([sent.u_id[k] for k in range(sent.u_ptr[t], sent.u_ptr[t + 1])],
                              [sent.b_id[k] for k in range(sent.b_ptr[t], sent.b_ptr[t + 1])]
                              if sent.b_ptr != NULL else []))
        return found
