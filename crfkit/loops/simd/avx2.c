/* The loops for x86-64 processors with AVX2 (2013 and later). */
#include "kernels.h"
#ifdef CRFKIT_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define VARIANT avx2
#define LANES 4
#define PAIR_ROWS 2
#include "kernels.inc"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
