"""Which form each step of a lattice has (loops/simd/crf.h): a matrix of all label pairs, a list of the pairs with a weight, or changes of the one
that steps share; and what memory that takes. Paths are the same with any, to the last bit."""

from posix.unistd cimport _SC_PAGESIZE, sysconf

from crfkit.loops.structs cimport ChangeC, EdgeC, PairC
from crfkit.weights.layout cimport Layout

cdef int64_t LARGEST_CELL = (1 << 31) - 1       # places in a matrix of label pairs are 32 bits where there are many of them

# From this many labels on, and with this many cells of the shared matrix a change, it is faster to change that to and fro than to copy it for a step.
cdef int64_t labels_to_change = 41, cells_a_change = 40

cdef enum:
    MANY_BYTES = 1 << 26        # of the matrices of one sequence, which no cache holds then
    PAIRS_A_CHANGE = 8          # of a shared list
    CELLS_A_SUMMED_CHANGE = 14  # of a matrix, whose exponentials take longer than all else
    LEAST_CELLS = 6             # and this many cells a change: changes take a quarter of the memory, or less, and no more time


cdef Recursions recursions_of(str name) except *:
    return {"auto": AUTO, "sparse": SPARSE, "dense": DENSE}[name]


cdef int64_t most_pairs(int64_t L, Recursions recursions, bint summed=False) noexcept nogil:
    """Up to how many pairs with a weight a list is faster than a matrix; -1: it never is.

    Measured by benchmarks/sparse_threshold.py. Up to some eighty labels a matrix fits into the L1 cache, and only very short lists are faster.
    With more labels, lists of up to 9 % of all pairs are faster for both forward-backward and Viterbi. For forward-backward alone, by the sums of a
    list (loops/simd/sums.inc), these are an eighth and a quarter: that is `summed`, where best paths are never searched and all steps are the shared
    one, or changes of it."""
    if recursions == SPARSE:
        return L * L
    if recursions == DENSE or L < 48:
        return -1
    if summed:
        return L * L // (8 if L < 88 else 4)
    return L * L // (32 if L < 88 else 11)


def bytes_of_steps(Layout layout not None, int64_t steps, int64_t attributes, bint summed=False) -> int:
    """Memory for so many steps with rich attributes, at most so many each, in the form that they have while all features have weights. `summed`: of a
    trainer that only sums."""
    cdef int64_t b, longest = 0, n
    cdef bint listed = is_listed(&layout.c, AUTO, summed)
    for b in range(layout.c.B):
        longest = max(longest, layout.c.b_ptr[b + 1] - layout.c.b_ptr[b])
    n = layout.c.n_pairs + attributes * longest
    if (not listed or pairs_known(&layout.c)) and attributes * longest <= most_changes(
            layout.c.L, layout.c.P, layout.c.n_pairs if listed else -1, steps, summed):
        return steps * attributes * longest * sizeof(ChangeC)
    if n > most_pairs(layout.c.L, AUTO):
        return bytes_of_matrices(layout.c.L, layout.c.P, steps)
    return steps * (n * sizeof(PairC) + (2 * layout.c.P + n + 3) * sizeof(int32_t))


def bytes_of_tables(Layout layout not None, bint summed) -> int:
    """Memory for the tables of all pairs of labels of one thread, with weights that change all the time (`list_features`). Of lists, only the
    searches of best paths touch some: single scores, which lists of steps with rich attributes need, too, and how often paths have which pairs."""
    cdef:
        const LayoutC* c = &layout.c
        int64_t table = <int64_t>c.L * c.P * sizeof(double)
        int64_t places = 0 if summed and pairs_known(c) else c.n_pairs + (c.L if c.P > c.L else 0)    # of scores, and the padding of each row
        bint counts = (c.n_pairs > 0 or c.B > 0) and not summed
    if not is_listed(c, AUTO, summed):
        return 5 * table
    return min(table, places * sysconf(_SC_PAGESIZE)) + counts * table


cdef int64_t bytes_of_matrices(int64_t L, int64_t P, int64_t steps) noexcept nogil:
    return steps * 2 * L * P * <int64_t>sizeof(double)


cdef int64_t most_changes(int64_t L, int64_t P, int64_t pairs, int64_t steps, bint summed) noexcept nogil:
    """Up to how many rich features a step, one of so many, had better be changes of the shared one than a list or a matrix of its own; -1: never.
    `pairs`: so many are on the shared list, those of all features among them; -1: it is a matrix. `summed`: best paths, which a step's own list
    or matrix gives sooner than many changes, are never searched."""
    cdef int64_t most = -1
    if pairs >= 0:
        return L * P // CELLS_A_SUMMED_CHANGE if summed else pairs // PAIRS_A_CHANGE
    if L >= labels_to_change:
        most = L * P // cells_a_change
    if bytes_of_matrices(L, P, steps) > MANY_BYTES:
        most = max(most, L * P // LEAST_CELLS)
    return most


cdef bint pairs_known(const LayoutC* layout) noexcept nogil:
    """Whether the pairs of all rich features are features, too: then all are on the list of these."""
    return mark_rich(layout, <uint8_t*>layout.tau_mask, 0) == 0     # nothing is marked


cdef int64_t mark_scored(const EdgeC* shared, uint8_t* mask) noexcept nogil:
    """Make a mask of the pairs with a score; how many these are."""
    cdef int64_t i, j, n = 0
    for i in range(shared.L):
        for j in range(shared.L):
            mask[i * shared.P + j] = shared.score[i * shared.P + j] != 0
            n += mask[i * shared.P + j]
    return n


cdef int64_t mark_rich(const LayoutC* layout, uint8_t* mask, int64_t most) noexcept nogil:
    """Add the pairs of all rich features to it, if at most so many are new; how many are. -1: more, or one is of labels that do not exist, as may be
    where only the ends of the layout's tables were checked. NULL is a mask of no pairs."""
    cdef int64_t f, cell, n = 0
    for f in range(layout.b_ptr[layout.B] if layout.B else 0):
        if layout.b_prev[f] >= layout.L or layout.b_label[f] >= layout.L:
            return -1
        cell = <int64_t>layout.b_prev[f] * layout.P + layout.b_label[f]
        if mask == NULL or not mask[cell]:
            if n == most:
                return -1
            mask[cell] = True
            n += 1
    return n


cdef bint places_fit(const LayoutC* layout) noexcept nogil:
    return layout.n_pairs == 0 or <int64_t>layout.L * layout.P <= LARGEST_CELL


cdef bint is_listed(const LayoutC* layout, Recursions form, bint summed) noexcept nogil:
    """Whether the pairs of labels that are features are so few that the shared step is a list of them (`list_features`)."""
    return places_fit(layout) and layout.n_pairs <= most_pairs(layout.L, form, summed and pairs_known(layout))
