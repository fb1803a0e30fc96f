"""Changing weights along paths, for all trainers that compare the true labels with labels they have found."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from crfkit.weights.cells cimport layout_cell
from crfkit.weights.history cimport ANY, layout_history_cell
from crfkit.memory cimport Arena, BufferC, arena_reserve
from crfkit.loops.structs cimport LatticeC, LayoutC, SentenceC, crfkit_set_score, weight_t
from crfkit.trainers.stepwise cimport OnlineTrainer


cdef class AveragedTrainer(OnlineTrainer):
    cdef double* u          # the sum of change * step of all changes; NULL without averaging

    cdef int64_t instants(self) noexcept nogil


cdef struct ShareC:         # what is taken from a label or a pair of labels of one position
    int32_t prev, label
    double amount


cdef struct PathsC:         # scratch
    BufferC amounts         # of labels or label pairs; zeros between uses
    BufferC shares


cdef inline int paths_reserve(Arena arena, PathsC* scratch, const LayoutC* layout, int64_t n) except -1 nogil:
    """Reserve room for up to n paths, in scratch owned by `arena`."""
    cdef int64_t k, size = <int64_t>layout.L * layout.P
    if scratch.amounts.data == NULL:
        arena_reserve(arena, &scratch.amounts, size, sizeof(double))
        for k in range(size):
            (<double*>scratch.amounts.data)[k] = 0
    return arena_reserve(arena, &scratch.shares, n + 1, sizeof(ShareC))


cdef inline void add_share(PathsC* scratch, int64_t P, int32_t prev, int32_t label, double amount,
                           int32_t* n) noexcept nogil:
    """Add to the amount of a label pair (prev is 0 where single labels are counted), and list the pair if the amount was zero.
    A pair may be listed twice, if its amount became zero in between: `take_shares` leaves zeros."""
    cdef double* total = (<double*>scratch.amounts.data) + (prev * P + label)
    cdef ShareC* share = (<ShareC*>scratch.shares.data) + n[0]
    if total[0] == 0:
        share.prev, share.label = prev, label
        n[0] += 1
    total[0] += amount


cdef inline int32_t take_shares(PathsC* scratch, int64_t P, int32_t n) noexcept nogil:
    """Move the amounts into the listed pairs; returns how many have a nonzero one."""
    cdef:
        double* amounts = <double*>scratch.amounts.data
        ShareC* shares = <ShareC*>scratch.shares.data
        int32_t k, left = 0
        int64_t key
    for k in range(n):
        key = shares[k].prev * P + shares[k].label
        if amounts[key] != 0:
            shares[left].prev, shares[left].label, shares[left].amount = shares[k].prev, shares[k].label, amounts[key]
            amounts[key] = 0
            left += 1
    return left


cdef inline bint all_agree(const SentenceC* sent, int64_t t, const uint16_t* paths, int64_t n) noexcept nogil:
    """Whether n paths have the true label at position t."""
    cdef int64_t k
    for k in range(n):
        if paths[k * sent.T + t] != sent.label[t]:
            return False
    return True


cdef inline void change(weight_t* w, double* late, double when, int64_t cell, double by) noexcept nogil:
    if cell >= 0:
        w[cell] += <weight_t>by
        if late != NULL:
            late[cell] += by * when


cdef inline bint follow_paths(PathsC* scratch, const LayoutC* layout, const SentenceC* sent, const uint16_t* paths,
                              const double* probability, int64_t n, double gain, weight_t* w, LatticeC* lat,
                              double* late, double when) noexcept nogil:
    """w += gain * (features of the true path - their mean over n paths). Returns whether anything changed.

    The paths are stored one after the other, with probabilities that sum to 1. Only positions are visited where one of
    them differs from the true path; there the paths are summed first, so that each attribute is visited once.
    The scores of label pairs in `lat`, if given, are kept up to date: few change, so they need
    not be loaded again for each sequence. `late`, if given, gains each change times `when`.
    """
    cdef:
        int64_t t, k, u, T = sent.T, P = layout.P
        int32_t i, j, m, q
        double by
        bint before = True, here, any_change = False
        ShareC* shares = <ShareC*>scratch.shares.data
    for t in range(T):
        here = all_agree(sent, t, paths, n)
        if not here:
            any_change = True
            m = 0
            add_share(scratch, P, 0, sent.label[t], gain, &m)
            for k in range(n):
                j = paths[k * T + t]
                add_share(scratch, P, 0, j, -gain * probability[k], &m)
            m = take_shares(scratch, P, m)
            for u in range(sent.u_ptr[t], sent.u_ptr[t + 1]):
                by = sent.u_val[u] if sent.u_val != NULL else 1.0
                for q in range(m):
                    change(w, late, when, layout_cell(layout, sent.u_id[u], shares[q].label), by * shares[q].amount)
        if t > 0 and not (here and before):
            m = 0
            add_share(scratch, P, sent.label[t - 1], sent.label[t], gain, &m)
            for k in range(n):
                i, j = paths[k * T + t - 1], paths[k * T + t]
                add_share(scratch, P, i, j, -gain * probability[k], &m)
            m = take_shares(scratch, P, m)
            if layout.has_tau:
                for q in range(m):
                    k = shares[q].prev * P + shares[q].label
                    if layout.tau_mask[k]:
                        change(w, late, when, layout.tau0 + k, shares[q].amount)
                        if lat != NULL:
                            crfkit_set_score(&lat.shared, shares[q].prev, shares[q].label, w[layout.tau0 + k])
            if sent.b_ptr != NULL:
                for u in range(sent.b_ptr[t], sent.b_ptr[t + 1]):
                    by = sent.b_val[u] if sent.b_val != NULL else 1.0
                    for q in range(m):
                        change(w, late, when, layout_history_cell(layout, sent.b_id[u], ANY, shares[q].prev, shares[q].label),
                               by * shares[q].amount)
        before = here
    return any_change


cdef struct FeatureC:
    int64_t cell        # of its weight
    int64_t slot        # its slot in the table


cdef class Differences(Arena):
    """Scratch of one thread. After `compare`, the weight of feature f < size is features[f].cell, and
    values[f * n + k] is its value on the true path minus its value on path k."""
    cdef int64_t n, size
    cdef FeatureC* features
    cdef double* values
    cdef BufferC feature_buffer, value_buffer, table
    cdef int64_t mask                   # slots of the table - 1; the table is empty between uses

    cdef int compare(self, const LayoutC* layout, const SentenceC* sent, const uint16_t* paths, int64_t n) except -1 nogil
    cdef int add(self, const LayoutC* layout, const SentenceC* sent, const uint16_t* paths, int64_t t, int kind, int32_t id,
                 double value) except -1 nogil
    cdef double* row(self, int64_t cell) except NULL nogil
    cdef int widen(self) except -1 nogil
    cdef void products(self, double* out) noexcept nogil
