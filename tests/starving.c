/* To be preloaded: fails one of the allocations that the modules of a folder ask for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static const char *folder;
static long left; /* allocations until the one that fails; 0: none does */
static int failed;

void fail_allocation(const char *of_modules_in, long number)
{
    folder = of_modules_in, left = number, failed = 0;
}

int has_failed(void)
{
    return failed;
}

static int fails(void *caller)
{
    Dl_info module;
    if (left == 0 || !dladdr(caller, &module) || strncmp(module.dli_fname, folder, strlen(folder)) != 0 || --left > 0)
        return 0;
    return failed = 1;
}

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

void *malloc(size_t n) { return fails(CALLER) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails(CALLER) ? NULL : __libc_calloc(n, size); }
void *realloc(void *block, size_t n) { return fails(CALLER) ? NULL : __libc_realloc(block, n); }
