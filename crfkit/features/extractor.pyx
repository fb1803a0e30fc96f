"""One sentence after the other as attributes: what taggers use, and each of their threads has."""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset, sort_ids
from crfkit.loops.structs cimport SentenceC
from crfkit.memory cimport Arena, BufferC, arena_reserve
from crfkit.template.patterns cimport BIGRAM, UNIGRAM, Patterns
from crfkit.text.rows cimport FORM_CRFSUITE, Rows, RowsC
from .tables cimport Features, find_literal
from .walk cimport Workspace, find_tokens

from crfkit.errors import DataError


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
        self.patterns = features.plan.patterns
        self.found = Dataset(b_ptr=[0] if features.has_bigrams or self.patterns is not None else None)
        self.features = features

    cdef int extract(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil:
        cdef SentenceC* sent = &self.sentence
        self.found.c.n_tok = 0
        if self.patterns is not None:
            apply_patterns(self.features, self.patterns, self.workspace, rows, first, last, self.found)
        else:
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


cdef int apply_patterns(Features f, Patterns patterns, Workspace s, const RowsC* rows, int64_t first, int64_t last,
                        Dataset out) except -1 nogil:
    """Find what the patterns of Wapiti say at each token among the strings of attributes."""
    cdef int64_t t, n, T = last - first, n_u = 0, n_b = 0
    cdef int32_t i, a
    cdef const int32_t* kind = <const int32_t*>patterns.kinds.data
    cdef BufferC* line = &s.line
    if T and patterns.last_column >= rows.n_cols:
        raise DataError(f"the patterns use column {patterns.last_column}, but the data have {rows.n_cols}")
    if T > 0x7FFFFFF0:
        raise OverflowError("a sequence of more than two thousand million tokens")
    s.T = <int32_t>T
    arena_reserve(out, &out.u_ptr, T + 1, sizeof(int64_t))
    arena_reserve(out, &out.b_ptr, T + 1, sizeof(int64_t))
    arena_reserve(out, &out.u_id, T * patterns.n, sizeof(int32_t))
    arena_reserve(out, &out.b_id, T * patterns.n, sizeof(int32_t))
    cdef int64_t* u_ptr = <int64_t*>out.u_ptr.data
    cdef int64_t* b_ptr = <int64_t*>out.b_ptr.data
    cdef int32_t* u_id = <int32_t*>out.u_id.data
    cdef int32_t* b_id = <int32_t*>out.b_id.data
    u_ptr[0] = b_ptr[0] = 0
    for t in range(T):
        for i in range(patterns.n):
            n = patterns.expand(i, rows, first, T, t, line)
            if kind[i] & UNIGRAM:
                a = find_literal(&f.space[0], line.data, n)
                if a >= 0:
                    u_id[n_u] = a
                    n_u += 1
            if kind[i] & BIGRAM and t:
                a = find_literal(&f.space[1], line.data, n)
                if a >= 0:
                    b_id[n_b] = a
                    n_b += 1
        sort_ids(u_id + u_ptr[t], NULL, n_u - u_ptr[t])
        sort_ids(b_id + b_ptr[t], NULL, n_b - b_ptr[t])
        u_ptr[t + 1], b_ptr[t + 1] = n_u, n_b
    out.c.n_tok += T
    return 0
