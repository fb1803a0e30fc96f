cimport cython

from libc.stdint cimport int32_t, int64_t, uint8_t

from crfkit.memory cimport Arena, BufferC
from .chunks cimport N_PREFIXES, KindC, LabelC


cdef struct ChunkC:
    int64_t start, end
    int32_t type, verdict


cdef struct ColumnC:
    KindC last              # of the label before
    ChunkC open             # the chunk under way; it starts at -1 if there is none
    BufferC chunks          # ChunkC: those of the sentence so far
    int64_t n
    BufferC by_type         # int64 [type][N_VERDICTS]
    int64_t n_types


@cython.final
cdef class Judge(Arena):
    cdef uint8_t[N_PREFIXES * N_PREFIXES * 2] rules
    cdef bint strict
    cdef ColumnC gold, found
    cdef int64_t position
    cdef dict confused              # (gold type, predicted type) -> chunks that have the same tokens

    cdef int run(self, const LabelC* labels, const int32_t* gold, const int32_t* found, int64_t n, int64_t n_types) except -1
    cdef int finish(self, KindC outside) except -1
    cdef int step(self, ColumnC* column, KindC label, bint between) except -1
    cdef int judge(self) except -1
