from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.structs cimport SentenceC
from crfkit.memory cimport Arena
from crfkit.text.table cimport RowsC
from .tables cimport Features
from .workspace cimport Workspace


# Append the attributes of the tokens first .. last-1 to a data set. Learning numbers what it sees for the first time,
# and fills the tables; finding leaves out what they do not have, and gives the attributes of a token in ascending order.
cdef int learn_tokens(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last, Dataset out) except -1 nogil
cdef int find_tokens(Features f, Workspace s, const RowsC* rows, int64_t first, int64_t last, Dataset out) except -1 nogil


cdef class Extractor(Arena):
    cdef readonly Features features
    cdef SentenceC sentence             # valid until the next extraction
    cdef Workspace workspace
    cdef Dataset found                  # one sentence

    # Fill `sentence` (without labels) from the tokens first .. last-1 of a block.
    cdef int extract(self, const RowsC* rows, int64_t first, int64_t last) except -1 nogil
