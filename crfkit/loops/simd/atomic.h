/* Counters that threads share, locks that are held for a few nanoseconds, and prefetching. */
#ifndef CRFKIT_ATOMIC_H
#define CRFKIT_ATOMIC_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

#define CRFKIT_SPINS 1000 /* after this many attempts the lock's holder is probably not running: yield the processor */

static inline int64_t crfkit_fetch_add(int64_t *p, int64_t n) { return __atomic_fetch_add(p, n, __ATOMIC_RELAXED); }
/* Set *p to `value` if it is 0; whether it was. */
static inline int crfkit_take(int64_t *p, int64_t value)
{
    int64_t free = 0;
    return __atomic_compare_exchange_n(p, &free, value, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static inline int64_t crfkit_look(const int64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline void crfkit_give(int64_t *p) { __atomic_store_n(p, 0, __ATOMIC_RELEASE); }
static inline void crfkit_prefetch(const void *p) { __builtin_prefetch(p); }
static inline void crfkit_prefetch_bytes(const void *p, int64_t n)
{
    for (int64_t k = 0; k < n; k += 64)
        __builtin_prefetch((const char *)p + k);
}
static inline void crfkit_spin_lock(int32_t *lock)
{
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        for (int spins = 1; __atomic_load_n(lock, __ATOMIC_RELAXED); spins++)
            if (spins % CRFKIT_SPINS == 0)
                sched_yield();
}
static inline void crfkit_spin_unlock(int32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }
/* Yield to other threads, one of which may hold the lock. */
static inline void crfkit_nap(void)
{
    struct timespec moment = {0, 50000};
    nanosleep(&moment, 0);
}

#endif
