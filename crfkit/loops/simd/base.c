/* The loops for any processor. */
#define VARIANT base
#define LANES 2
#define PAIR_ROWS 1
#include "kernels.inc"
