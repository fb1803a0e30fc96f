/* The loops for any processor. */
#define VARIANT base
#define PAIR_ROWS 2
#include "kernels.inc"
