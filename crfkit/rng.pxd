"""Random numbers: xoshiro256** seeded by splitmix64, the same on every machine. A state is four words, which its owner has."""

from libc.stdint cimport int32_t, int64_t, uint64_t


cdef inline uint64_t rotate(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef inline void rng_seed(uint64_t* s, uint64_t seed) noexcept nogil:
    cdef uint64_t z
    cdef int k
    for k in range(4):
        seed += <uint64_t>0x9E3779B97F4A7C15
        z = (seed ^ (seed >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
        z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
        s[k] = z ^ (z >> 31)


cdef inline uint64_t rng_next(uint64_t* s) noexcept nogil:
    cdef uint64_t result = rotate(s[1] * 5, 7) * 9
    cdef uint64_t t = s[1] << 17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotate(s[3], 45)
    return result


cdef inline int64_t rng_below(uint64_t* s, int64_t n) noexcept nogil:
    """Uniform in 0 .. n-1; the bias of the modulo is below n / 2^64."""
    return <int64_t>(rng_next(s) % <uint64_t>n)


cdef inline double rng_fraction(uint64_t* s) noexcept nogil:
    """Uniform from 0 on, below 1."""
    return <double>(rng_next(s) >> 11) * 1.1102230246251565e-16      # 2^-53


cdef inline void rng_shuffle(uint64_t* s, int32_t* items, int64_t n) noexcept nogil:
    cdef int64_t i, j
    for i in range(n - 1, 0, -1):
        j = rng_below(s, i + 1)
        items[i], items[j] = items[j], items[i]
