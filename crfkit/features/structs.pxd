"""The tables that are searched by hash: of strings (hashing.pxd), of cell tuples (tuples.pxd)."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from crfkit.memory cimport BufferC


cdef struct StringSlotC:
    uint32_t tag        # upper half of the hash: most mismatches end here
    uint32_t ref        # id + 1; 0 = empty


# Whether growable or mapped from a model file, a table is searched in this form.
cdef struct StringTableC:
    int64_t n                       # strings
    uint64_t mask                   # slots - 1, the number of slots being a power of two
    int64_t n_bytes                 # length of the arena
    const StringSlotC* slot         # [mask+1] open addressing, linear probing, at most 2/3 full
    const int64_t* offset           # [n+1] string i is arena[offset[i]:offset[i+1]]
    const char* arena


cdef struct GramC:
    uint32_t a, b
    uint32_t ref            # id + 1; 0 = empty


cdef struct GramTableC:     # starts as zeros
    int64_t n
    uint64_t mask           # slots - 1
    BufferC slots           # of GramC, at most 2/3 full
