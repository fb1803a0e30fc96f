/* To be preloaded: fails one of the allocations that crfkit's own modules ask for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static long left; /* allocations until the one that fails; 0: none does */
static int failed;

void fail_allocation(long number)
{
    left = number, failed = 0;
}

int has_failed(void)
{
    return failed;
}

static int fails(void *caller)
{
    Dl_info module;
    if (left == 0 || !dladdr(caller, &module) || !strstr(module.dli_fname, "/crfkit/") || --left > 0)
        return 0;
    return failed = 1;
}

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

void *malloc(size_t n) { return fails(CALLER) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails(CALLER) ? NULL : __libc_calloc(n, size); }
void *realloc(void *block, size_t n) { return fails(CALLER) ? NULL : __libc_realloc(block, n); }
