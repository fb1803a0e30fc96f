from libc.stdint cimport int32_t, int64_t, uint64_t

from crfkit.loops.structs cimport SentenceC
from crfkit.memory cimport Arena, BufferC


cdef struct KeptC:      # the attributes that are left, of one kind
    BufferC ptr
    BufferC ids
    BufferC values


cdef class Dropout(Arena):
    cdef uint64_t bound         # below it, a random number of 64 bits leaves out an attribute
    cdef KeptC unigrams
    cdef KeptC bigrams

    cdef int leave_out(self, SentenceC* sent, uint64_t seed) except -1 nogil
