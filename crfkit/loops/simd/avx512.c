/* The loops for x86-64 processors with AVX-512 (F, VL, DQ, BW). */
#include "kernels.h"
#ifdef CRFKIT_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")
#endif
#define VARIANT avx512
#define LANES 8
#define PAIR_ROWS 4
#include "kernels.inc"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
