"""Weights in other precisions: as the doubles of other programs, as half-precision numbers, or as whole numbers from -127 to 127
times the scale of their block.

    float16     the nearest one, ties to even; larger numbers become 65504, the largest one
    int8        blocks of BLOCK cells; scale = largest absolute value of the block / 127; the nearest multiple, ties to even
"""

import array
import struct

from libc.stdint cimport int8_t, int32_t, int64_t, uint16_t, uint32_t

from crfkit.errors import ModelFileError
from crfkit.loops.numbers cimport fabs, fmax, fmin, rint
from crfkit.loops.structs cimport LayoutC
from crfkit.memory cimport memcpy
from .cells cimport feature_cell, padded, pairs_begin
from .layout cimport Layout

cdef enum:
    BLOCK = 128             # cells
    MOST = 127
    AT_ONCE = 4096          # weights packed together

cdef float LEAST = 1e-45      # the smallest float above zero
cdef double LARGEST_HALF = 65504
cdef double LARGEST_SCALE = 2.6792775e36    # times 127, still below the largest float


cdef inline float single(double weight, bint rest) noexcept:
    """A weight in single precision, or its remainder."""
    cdef float most = <float>weight, least
    if not rest or most == 0:
        return most
    least = <float>(weight - most)
    return least if least != 0 else LEAST


def cells(const double[::1] u_weight not None, const double[::1] pairs, int64_t labels, const double[::1] b_weight not None, bint rest=False):
    """The cells of a layout without dense rows: unigram features, label pairs (None: there are none), bigram features.
    `rest`: the weights minus their values in single precision, never zero where the weights are not."""
    cdef:
        int64_t i, j, P = padded(<int32_t>labels), tau0 = pairs_begin(u_weight.shape[0])
        int64_t rich0 = tau0 + (0 if pairs is None else labels * P)
    if pairs is not None and pairs.shape[0] != labels * labels:
        raise ValueError(f"{pairs.shape[0]} label pairs of {labels} labels")
    cdef float[::1] cell = array.array("f", bytes(4 * (rich0 + b_weight.shape[0])))
    for i in range(u_weight.shape[0]):
        cell[i] = single(u_weight[i], rest)
    if pairs is not None:
        for i in range(labels):
            for j in range(labels):
                cell[tau0 + i * P + j] = single(pairs[i * labels + j], rest)
    for i in range(b_weight.shape[0]):
        cell[rich0 + i] = single(b_weight[i], rest)
    return cell.base


def doubles(Layout layout not None, const float[::1] cell not None):
    """The inverse of `cells`: unigram features, label pairs (None: there are none), bigram features."""
    cdef:
        const LayoutC* c = &layout.c
        int64_t f, i, j, L = c.L
        int32_t a
    if cell.shape[0] != c.n_cells:
        raise ValueError("weights of another layout")
    layout.verify()
    of_u, of_pairs, of_b = [array.array("d", bytes(8 * n)) for n in (c.u_ptr[c.A], L * L if c.has_tau else 0, c.b_ptr[c.B])]
    cdef double[::1] u = of_u
    cdef double[::1] pair = of_pairs
    cdef double[::1] b = of_b
    for a in range(c.A):
        for f in range(c.u_ptr[a], c.u_ptr[a + 1]):
            u[f] = cell[feature_cell(c, a, f)]
    if c.has_tau:
        for i in range(L):
            for j in range(L):
                pair[i * L + j] = cell[c.tau0 + i * c.P + j]
    for f in range(c.b_ptr[c.B]):
        b[f] = cell[c.rich0 + f]
    return of_u, of_pairs if c.has_tau else None, of_b


cdef float of_half(uint16_t bits) noexcept:
    """The number with these bits; infinities and NaN included."""
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
    cdef int64_t first
    found = array.array("H")
    for first in range(0, weights.shape[0], AT_ONCE):
        piece = [fmax(-LARGEST_HALF, fmin(x, LARGEST_HALF)) for x in weights[first : first + AT_ONCE]]
        found.frombytes(struct.pack(f"{len(piece)}e", *piece))
    return found


def from_halves(const uint16_t[::1] bits) -> array.array:
    """The numbers with these bits."""
    cdef float[::1] found = array.array("f", [0]) * bits.shape[0]
    cdef int64_t k
    for k in range(bits.shape[0]):
        found[k] = of_half(bits[k])
    return found.base


cdef inline int64_t n_scales(int64_t n) noexcept:
    """How many blocks there are of n cells."""
    return (n + BLOCK - 1) // BLOCK


def scaled(const float[::1] weights) -> tuple[array.array, array.array]:
    """Quantise: whole numbers, and the scales of their blocks."""
    cdef int64_t n = weights.shape[0], b, k
    cdef int8_t[::1] out = array.array("b", [0]) * n
    cdef float[::1] scale = array.array("f", [0]) * n_scales(n)
    cdef double most
    for b in range(scale.shape[0]):
        most = 0
        for k in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            most = fmax(most, fabs(weights[k]))
        scale[b] = <float>fmin(most / MOST, LARGEST_SCALE)
        for k in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            if scale[b] > 0:
                out[k] = <int8_t>fmax(-MOST, fmin(rint(weights[k] / <double>scale[b]), MOST))
    return out.base, scale.base


def from_scaled(const int8_t[::1] numbers, const float[::1] scales) -> array.array:
    """The inverse: numbers times the scale of their block. ModelFileError if there are not as many scales as blocks."""
    cdef int64_t k
    if scales.shape[0] != n_scales(numbers.shape[0]):
        raise ModelFileError(f"{scales.shape[0]} scales, expected {n_scales(numbers.shape[0])}")
    cdef float[::1] found = array.array("f", [0]) * numbers.shape[0]
    for k in range(numbers.shape[0]):
        found[k] = numbers[k] * scales[k // BLOCK]
    return found.base
