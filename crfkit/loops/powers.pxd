"""(1 - x)^n, the factor of n steps of a penalty; without pow(), whose last bit differs between machines."""

from libc.stdint cimport int64_t

from .numbers cimport fabs
from .kernels cimport K


cdef inline double shrunk(double x, int64_t n) noexcept nogil:
    cdef double result = 1, base = 1 - x, rest
    if n == 1:
        return base
    if n * fabs(x) < 0.01:      # nearly always; the omitted terms of the binomial series are below 1e-14
        rest = 1 / 6.0 - (n - 3) * x * (1 / 24.0 - (n - 4) * x * (1 / 120.0))
        return 1 - n * x * (1 - (n - 1) * x * (0.5 - (n - 2) * x * rest))
    if fabs(x) < 1e-4:          # n log(1 - x), to 1e-16 of it
        return K.exp(-n * x * (1 + x * (0.5 + x * (1 / 3.0 + x * 0.25))))
    while n > 0:
        if n & 1:
            result *= base
        base *= base
        n >>= 1
    return result
