/* Large pages for large tables: random reads then miss the TLB less often. */
#ifndef CRFKIT_PAGES_H
#define CRFKIT_PAGES_H

#include <stdint.h>

#define CRFKIT_LARGE (8 << 20) /* bytes from which on it pays */

#ifdef __linux__
#include <sys/mman.h>
#endif

/* A hint, which systems may ignore. */
static inline void crfkit_large_pages(char *block, int64_t n)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t page = 4096, first = ((uintptr_t)block + page - 1) & ~(page - 1);
    if (n >= CRFKIT_LARGE)
        (void)madvise((void *)first, ((uintptr_t)block + (uintptr_t)n - first) & ~(page - 1), MADV_HUGEPAGE);
#else
    (void)block, (void)n;
#endif
}

#endif
