"""Atomic operations, spin locks and prefetching."""

from libc.stdint cimport int32_t, int64_t


cdef extern from "atomic.h":
    int64_t crfkit_fetch_add(int64_t* p, int64_t n) noexcept nogil
    bint crfkit_take(int64_t* p, int64_t value) noexcept nogil
    int64_t crfkit_look(const int64_t* p) noexcept nogil
    void crfkit_give(int64_t* p) noexcept nogil
    void crfkit_nap() noexcept nogil
    void crfkit_prefetch(const void* p) noexcept nogil
    void crfkit_prefetch_bytes(const void* p, int64_t n) noexcept nogil
    void crfkit_spin_lock(int32_t* lock) noexcept nogil
    void crfkit_spin_unlock(int32_t* lock) noexcept nogil
