"""Weights in fewer bytes: as half-precision numbers, or as whole numbers from -127 to 127 times the scale of their
block.

    float16     the nearest one, ties to even; what is beyond the largest one, 65504, becomes that
    int8        blocks of BLOCK cells; scale = largest absolute value of the block / 127; the nearest multiple, ties to even
"""

import array

from libc.math cimport fabs, fmax, fmin, rint
from libc.stdint cimport int8_t, int64_t, uint16_t, uint32_t

from crfkit.memory cimport memcpy

cdef enum:
    BLOCK = 128             # cells
    MOST = 127

cdef double LARGEST_HALF = 65504
cdef double LARGEST_SCALE = 2.6792775e36    # times 127 it is still below the largest float


cdef double power(int n) noexcept:
    """2^n, exactly."""
    cdef double found = 1
    for _ in range(abs(n)):
        found *= 2.0 if n > 0 else 0.5
    return found


cdef uint16_t half_of(float x) noexcept:
    """The bits of the nearest half."""
    cdef uint32_t bits
    cdef double size = fmin(fabs(x), LARGEST_HALF)
    cdef int exponent
    memcpy(&bits, &x, 4)
    cdef uint16_t sign = <uint16_t>(bits >> 16 & 0x8000)
    if size < power(-14):       # multiples of 2^-24; 1024 of them are the first of the others
        return sign | <uint16_t>rint(size * power(24))
    exponent = -14
    while size >= power(exponent + 1):
        exponent += 1
    # a sum, not an "or": what is rounded up to the next power of two carries over
    return sign | <uint16_t>(((exponent + 14) << 10) + <int>rint(size * power(10 - exponent)))


cdef float of_half(uint16_t bits) noexcept:
    """What it stands for; infinities and what is no number stay that."""
    cdef uint32_t mantissa = bits & 0x3FF, exponent = bits >> 10 & 31, wide
    cdef uint32_t sign = <uint32_t>(bits & 0x8000) << 16
    cdef float found
    if exponent == 0:
        found = <float>(mantissa * 5.9604644775390625e-08)     # 2^-24
        return -found if sign else found
    wide = sign | ((255 if exponent == 31 else exponent + 112) << 23) | (mantissa << 13)
    memcpy(&found, &wide, 4)
    return found


def halves(const float[::1] weights) -> array.array:
    """The bits of the nearest halves."""
    found = array.array("H", [0]) * weights.shape[0]
    cdef uint16_t[::1] out = found
    cdef int64_t k
    for k in range(weights.shape[0]):
        out[k] = half_of(weights[k])
    return found


def from_halves(const uint16_t[::1] bits) -> array.array:
    """The numbers that they stand for."""
    found = array.array("f", [0]) * bits.shape[0]
    cdef float[::1] out = found
    cdef int64_t k
    for k in range(bits.shape[0]):
        out[k] = of_half(bits[k])
    return found


def n_scales(int64_t n) -> int:
    """How many blocks there are of n cells."""
    return (n + BLOCK - 1) // BLOCK


def scaled(const float[::1] weights) -> tuple[array.array, array.array]:
    """Whole numbers, and the scales of their blocks."""
    cdef int64_t n = weights.shape[0], b, k
    numbers, scales = array.array("b", [0]) * n, array.array("f", [0]) * n_scales(n)
    cdef int8_t[::1] out = numbers
    cdef float[::1] scale = scales
    cdef double most
    for b in range(scale.shape[0]):
        most = 0
        for k in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            most = fmax(most, fabs(weights[k]))
        scale[b] = <float>fmin(most / MOST, LARGEST_SCALE)
        for k in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            if scale[b] > 0:
                out[k] = <int8_t>fmax(-MOST, fmin(rint(weights[k] / <double>scale[b]), MOST))
    return numbers, scales


def from_scaled(const int8_t[::1] numbers, const float[::1] scales) -> array.array:
    """The numbers that they stand for. There is a scale for each block."""
    cdef int64_t k
    if scales.shape[0] != n_scales(numbers.shape[0]):
        raise ValueError(f"{scales.shape[0]} scales for {numbers.shape[0]} numbers")
    found = array.array("f", [0]) * numbers.shape[0]
    cdef float[::1] out = found
    for k in range(numbers.shape[0]):
        out[k] = numbers[k] * scales[k // BLOCK]
    return found
