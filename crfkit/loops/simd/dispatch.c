/* Chooses the variant of the loops: the requested one, or the best for this processor. */
#include "kernels.h"

#include <string.h>

const KernelsC *crfkit_select(const char *name)
{
    int any = name == NULL || name[0] == '\0';
#ifdef CRFKIT_X86
    __builtin_cpu_init();
    if ((any || !strcmp(name, "avx512")) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return &crfkit_avx512;
    if ((any || !strcmp(name, "avx2")) && __builtin_cpu_supports("avx2"))
        return &crfkit_avx2;
#endif
    return any || !strcmp(name, "base") ? &crfkit_base : NULL;
}
