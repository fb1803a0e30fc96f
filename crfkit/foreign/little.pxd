"""Numbers of 32 bits, little-endian, in bytes that need not be aligned."""

from libc.stdint cimport uint8_t, uint32_t


cdef inline uint32_t number(const uint8_t* at) noexcept nogil:
    return at[0] | <uint32_t>at[1] << 8 | <uint32_t>at[2] << 16 | <uint32_t>at[3] << 24


cdef inline void put(uint8_t* at, uint32_t value) noexcept nogil:
    at[0], at[1], at[2], at[3] = value & 0xFF, value >> 8 & 0xFF, value >> 16 & 0xFF, value >> 24
