"""Sorting the attributes of a token, which are mostly few."""

from libc.stdint cimport int32_t, int64_t

cdef enum:
    FEW = 64


cdef inline void sort_few(int32_t* id, int64_t n) noexcept nogil:
    """Sort at most FEW ids by counting how many are smaller, since comparing all pairs without a branch takes
    less time than unpredictable branches."""
    cdef int32_t[FEW] key
    cdef int32_t[FEW] rank
    cdef int64_t i, j, padded = (n + 7) & ~7
    cdef int32_t x
    for i in range(padded):
        key[i] = id[i] if i < n else 0
        rank[i] = 0
    for j in range(n):
        x = key[j]
        for i in range(padded):
            rank[i] += x < key[i]
    for i in range(n):
        id[i] = -1
    for i in range(n):
        id[rank[i]] = key[i]
    for i in range(1, n):
        if id[i] < 0:  # the same id again
            id[i] = id[i - 1]


cdef inline void sort_few_with(int32_t* id, float* value, int64_t n) noexcept nogil:
    """Sort at most FEW ids with their values. Of equal ids, the first stays first."""
    cdef int32_t[FEW] key
    cdef int32_t[FEW] rank
    cdef float[FEW] its_value
    cdef int32_t i, j, x
    cdef int32_t padded = <int32_t>((n + 7) & ~7)
    for i in range(padded):
        key[i] = id[i] if i < n else 0
        its_value[i] = value[i] if i < n else 0
        rank[i] = 0
    for j in range(<int32_t>n):
        x = key[j]
        for i in range(padded):
            rank[i] += (x < key[i]) | ((x == key[i]) & (j < i))
    for i in range(<int32_t>n):
        id[rank[i]] = key[i]
        value[rank[i]] = its_value[i]


cdef inline void sort_ids(int32_t* id, float* value, int64_t n) noexcept nogil:
    """Sort the attributes of a token, and their values (or NULL) with them, ascending."""
    cdef int64_t gap = 1, i, j
    cdef int32_t moved
    cdef float its_value = 0
    if n <= FEW:
        if value == NULL:
            sort_few(id, n)
        else:
            sort_few_with(id, value, n)
        return
    while gap * 9 < n * 4:
        gap = gap * 9 // 4 + 1
    while gap > 0:  # Shell's sort
        for i in range(gap, n):
            moved = id[i]
            j = i
            if value != NULL:
                its_value = value[i]
            while j >= gap and id[j - gap] > moved:
                id[j] = id[j - gap]
                if value != NULL:
                    value[j] = value[j - gap]
                j -= gap
            id[j] = moved
            if value != NULL:
                value[j] = its_value
        gap = gap * 4 // 9
