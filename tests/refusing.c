/* To be preloaded: on the files of a folder, a system call fails or is done in part. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE, READ, OPEN, MMAP, FSYNC, RENAME, FTRUNCATE, FALLOCATE, KINDS };

struct found {
    long calls[KINDS];
    char where[PATH_MAX]; /* the file of the first call that failed */
};

static const char *folder; /* NULL: nothing is counted */
static enum kind kind;
static long number;
static int reason, lasting;
static struct found *found;

/* The call of this number, if it is not 0, fails for this reason; so do all that follow if it is lasting. No reason: it does a part of its work. */
void refuse_call(const char *of_folder, int of_kind, long of_number, int for_reason, int is_lasting, void *told)
{
    folder = of_folder, kind = of_kind, number = of_number, reason = for_reason, lasting = is_lasting, found = told;
}

static int refused(enum kind of, int file, const char *path)
{
    char link[32], name[PATH_MAX];
    if (folder == NULL)
        return 0;
    if (path == NULL) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t n = readlink(link, name, sizeof name - 1);
        if (n < 0)
            return 0;
        name[n] = 0, path = name;
    }
    if (path[0] == '/' && strncmp(path, folder, strlen(folder)) != 0)
        return 0;
    long calls = ++found->calls[of];
    if (of != kind || number == 0 || calls < number || (calls > number && !lasting))
        return 0;
    if (!*found->where)
        strcpy(found->where, path);
    return 1;
}

static int fails(enum kind of, int file, const char *path)
{
    return refused(of, file, path) ? (errno = reason, 1) : 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PART(n) ((n) > 1 ? ((n) + 1) / 2 : (n))

/* What takes n bytes: all or, where there is no reason to fail, half of them. */
#define MOVING(of, name, type, ...)                                  \
    ssize_t name(int file, type data, size_t n __VA_OPT__(,) __VA_ARGS__) \
    {                                                                  \
        if (refused(of, file, NULL)) {                              \
            if (reason)                                                \
                return errno = reason, -1;                             \
            n = PART(n);                                               \
        }                                                              \
        return NEXT(name)(file, data, n AT);                           \
    }
#define AT
MOVING(WRITE, write, const void *)
MOVING(READ, read, void *)
#undef AT
#define AT , at
MOVING(WRITE, pwrite, const void *, off_t at)
MOVING(WRITE, pwrite64, const void *, off64_t at)
MOVING(READ, pread, void *, off_t at)
MOVING(READ, pread64, void *, off64_t at)

ssize_t writev(int file, const struct iovec *parts, int n)
{
    if (refused(WRITE, file, NULL)) {
        if (reason)
            return errno = reason, -1;
        n = PART(n);
    }
    return NEXT(writev)(file, parts, n);
}

int fsync(int file) { return fails(FSYNC, file, NULL) ? -1 : NEXT(fsync)(file); }
int rename(const char *old, const char *new) { return fails(RENAME, 0, new) ? -1 : NEXT(rename)(old, new); }
int ftruncate(int file, off_t n) { return fails(FTRUNCATE, file, NULL) ? -1 : NEXT(ftruncate)(file, n); }
int ftruncate64(int file, off64_t n) { return fails(FTRUNCATE, file, NULL) ? -1 : NEXT(ftruncate64)(file, n); }

int posix_fallocate(int file, off_t first, off_t n) { return refused(FALLOCATE, file, NULL) ? reason : NEXT(posix_fallocate)(file, first, n); }
int posix_fallocate64(int file, off64_t first, off64_t n)
{
    return refused(FALLOCATE, file, NULL) ? reason : NEXT(posix_fallocate64)(file, first, n);
}

void *mmap(void *at, size_t n, int prot, int flags, int file, off_t first)
{
    return file >= 0 && fails(MMAP, file, NULL) ? MAP_FAILED : NEXT(mmap)(at, n, prot, flags, file, first);
}
void *mmap64(void *at, size_t n, int prot, int flags, int file, off64_t first)
{
    return file >= 0 && fails(MMAP, file, NULL) ? MAP_FAILED : NEXT(mmap64)(at, n, prot, flags, file, first);
}

/* A folder that is opened to be looked through, or synchronised, counts too. */
#define OPENING(name, before, ...)                                          \
    int name(__VA_ARGS__, int flags, ...)                                   \
    {                                                                       \
        va_list rest;                                                       \
        va_start(rest, flags);                                              \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                       \
        return fails(OPEN, 0, path) ? -1 : NEXT(name)(before path, flags, mode); \
    }
OPENING(open, , const char *path)
OPENING(open64, , const char *path)
#define FROM from,
OPENING(openat, FROM, int from, const char *path)
OPENING(openat64, FROM, int from, const char *path)
