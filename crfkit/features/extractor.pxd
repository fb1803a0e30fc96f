"""One sentence after the other as attributes; see extractor.pyx."""

from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.structs cimport SentenceC
from crfkit.memory cimport Arena, BufferC
from crfkit.text.rows cimport RowsC
from .tables cimport Features
from .workspace cimport Workspace


cdef class Extractor(Arena):
    cdef readonly Features features
    cdef SentenceC sentence             # valid until the next extraction
    cdef Workspace workspace
    cdef Dataset found                  # one sentence
    cdef BufferC columns                # int32: their numbers in the rows, where they are others than in training

    # Fill `sentence` (without labels) from the tokens first .. last-1 of a block.
    cdef int extract(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil
