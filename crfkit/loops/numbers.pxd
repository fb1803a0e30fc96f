"""The functions of <math.h> in use. libc.math would make Cython parse all of them in every module."""

cdef extern from "<math.h>" nogil:
    const float INFINITY

    bint isfinite(long double)
    bint signbit(double)
    double ceil(double)
    double exp(double)
    double fabs(double)
    float fabsf(float)
    double fmax(double, double)
    double fmin(double, double)
    double frexp(double, int*)
    double ldexp(double, int)
    double log(double)
    double log2(double)
    double rint(double)
    double sqrt(double)
