from libc.stdint cimport int32_t, int64_t

from crfkit.loops.structs cimport DatasetC, SentenceC, dataset_sentence
from crfkit.memory cimport Arena, BufferC
from .dataset cimport Dataset


cdef struct RecordC:        # a sequence in its stretch; its numbers follow, see sequence_of
    int64_t place           # in the order
    int64_t size            # bytes, with this
    int64_t n_u, n_b        # attributes
    int32_t T
    float weight


cdef struct StretchC:       # of the order
    int64_t begin           # in the file
    int64_t size            # bytes
    int64_t done            # of these, written or waiting


cdef class Ordered(Arena):
    cdef Dataset data
    cdef const int32_t* which       # the sequences of the window, in its order
    cdef int64_t n                  # how many there are
    cdef const int32_t* order       # the sequences that are wanted
    cdef int64_t wanted, step       # how many there are, and in a window
    cdef int64_t window_bytes
    cdef BufferC places, stretches, waiting, record, records
    cdef BufferC window, starts     # records, and where in the window they begin, in its order

    cdef int begin(self, const int32_t* order, int64_t n) except -1 nogil
    cdef int64_t come_to(self, int64_t k) except -1 nogil
    cdef int gather(self, const int32_t* which, int64_t n) except -1 nogil


cdef SentenceC sequence_of(const RecordC* record, const DatasetC* c) noexcept nogil


cdef inline SentenceC sentence_at(Ordered ordered, const int32_t* which) noexcept nogil:
    """The sequence which[0], out of the window if it is there."""
    cdef const int64_t* start = <const int64_t*>ordered.starts.data
    if ordered.which <= which < ordered.which + ordered.n:
        return sequence_of(<const RecordC*>(ordered.window.data + start[which - ordered.which]), &ordered.data.c)
    return dataset_sentence(&ordered.data.c, which[0])
