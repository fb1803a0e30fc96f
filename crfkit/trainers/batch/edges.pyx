"""The steps of a whole data set, by kind.

Steps whose tokens have the same rich attributes have the same potentials exp(tau + ...): they are of one kind. A kind is stored
as a list of its pairs with a weight where that is faster, else as a matrix. Lists are kept until weights change, and so are
matrices where kinds are few, as with the letters of words. Where nearly every step is of a kind of its own, a matrix is built on
demand: the one of plain pairs, times the exponentials of the weights that differ.
"""

from crfkit.loops.numbers cimport fabs, fmax
from crfkit.loops.kernels cimport K
from crfkit.memory cimport arena_reserve, arena_zeros, buffer_free, memcpy, memset
from crfkit.lattice.forms cimport SPARSE, most_pairs, recursions_of
from crfkit.loops.structs cimport SentenceC
from crfkit.weights.cells cimport rich_features

cdef enum:
    TOO_LONG = -1
    NOTHING = -1        # no kind
    STALE = -2          # not even the matrix of plain pairs

# Where nearly every step is of a kind of its own, a list comes from memory, while the one matrix stays in the L2 cache and is
# faster up to this many bytes. Measured by `benchmarks/compare.py --labels 161 250 300 400 --only sbcd`.
cdef int64_t CACHED = 400_000


cdef class Edges:
    """Steps under the weights at `w`, which `load...` read; scores must lie within the range of exp."""

    def __cinit__(self, Dataset data not None, Layout layout not None, str recursions="auto"):
        layout.check(data)
        self.data, self.layout, self.recursions = data, layout, recursions_of(recursions)
        cdef int64_t n, k, L = layout.c.L, most = most_pairs(L, self.recursions)
        cdef double* table
        self.matrix = L * layout.c.P
        number_kinds(self)
        # Neither the matrices of all kinds nor the lists may take more memory than the recursions themselves.
        self.shared = self.n_kinds * L <= data.c.n_tok or self.n_kinds == 1
        self.budget = 3 * 8 * data.c.n_tok * layout.c.P
        self.listed = self.shared or self.recursions == SPARSE or 8 * self.matrix > CACHED
        n = self.n_kinds if self.shared else 1
        table = <double*>arena_zeros(self, (2 * n + 3) * self.matrix, sizeof(double))
        self.edge = <EdgeC*>arena_zeros(self, self.n_kinds, sizeof(EdgeC))
        for k in range(self.n_kinds):
            self.edge[k].L, self.edge[k].P, self.edge[k].n = layout.c.L, layout.c.P, TOO_LONG
        self.plain = self.spare = self.edge[0]
        for k in range(n):
            self.edge[k].E, self.edge[k].ET = table + 2 * k * self.matrix, table + (2 * k + 1) * self.matrix
        self.plain.score = table + 2 * n * self.matrix
        self.unfolded = self.plain.score + self.matrix
        self.spare.E = self.unfolded + self.matrix
        self.store = <BufferC*>arena_zeros(self, self.n_kinds, sizeof(BufferC))
        # Lists of plain pairs, of a kind being built, and intermediate ones.
        most = min(L * L, most + most_features(self)) if most >= 0 else 0
        self.plain.pair = <PairC*>arena_zeros(self, L * L + 3 * most, sizeof(PairC))
        self.plain.row_ptr = <int32_t*>arena_zeros(self, 4 * (L + 1) + L * L + most, sizeof(int32_t))
        self.room, self.index_room = self.plain.pair + L * L, self.plain.row_ptr + 2 * (L + 1) + L * L
        self.merged[0] = self.room + most
        self.merged[1] = self.merged[0] + most
        if not self.shared:
            n = layout.c.b_ptr[layout.c.B]
            self.factor, self.cell = <double*>arena_zeros(self, n, sizeof(double)), <int64_t*>arena_zeros(self, n, sizeof(int64_t))
            self.end = <int64_t*>arena_zeros(self, layout.c.B, sizeof(int64_t))

    cdef int load_all(self) except -1 nogil:
        """Reload all kinds: when plain label pairs have changed, or everything."""
        cdef:
            int64_t i, P = self.layout.c.P, L = self.layout.c.L
            const weight_t* tau = self.w + self.layout.c.tau0
            int32_t kind, b
        for b in range(self.layout.c.B):
            exp_of(self, b)
        for i in range(L * P):
            self.plain.score[i] = tau[i] if self.layout.c.has_tau and i % P < L else 0
        K.list_pairs(&self.plain, NULL, L * L, self.plain.pair, self.plain.row_ptr)
        self.largest = 0
        for kind in range(self.n_kinds):
            load(self, kind)

    cdef int load_users(self, int32_t b, const int32_t* token, int64_t n) except -1 nogil:
        """Reload the kinds that contain a rich attribute, which these n tokens have."""
        cdef int64_t k
        exp_of(self, b)
        for k in range(n):
            if token[k] == self.model[self.kind[token[k]]]:
                load(self, self.kind[token[k]])

    cdef const EdgeC* of(self, int64_t token) noexcept nogil:
        """The step into a token; valid until the next call."""
        cdef int32_t kind = self.kind[token]
        cdef const EdgeC* edge = &self.edge[kind]
        if edge.pair != NULL or edge.n == TOO_LONG and edge.E != NULL:
            return edge
        if kind != self.made:
            make(self, kind)
        return &self.spare

    cdef const double* matrix_of(self, int32_t kind) noexcept nogil:
        """Its potentials as a matrix; valid until the next call."""
        cdef const EdgeC* edge = self.of(self.model[kind])
        if edge.pair == NULL:
            return edge.E
        return K.unfold(edge, True, self.unfolded)


cdef int load(Edges edges, int32_t kind) except -1 nogil:
    """Build one kind from the weights: choose its form, and keep it if there is room."""
    cdef EdgeC* edge = &edges.edge[kind]
    edges.made, edges.patched = NOTHING, STALE
    edge.pair = NULL
    edges.spent -= edges.store[kind].capacity
    if list_spare(edges, kind):
        edge.n = edges.spare.n
        keep_list(edges, kind)
    else:
        edge.n = TOO_LONG
        buffer_free(&edges.store[kind])
    edges.spent += edges.store[kind].capacity
    if edge.E != NULL and (edge.n == TOO_LONG or not edges.shared):
        fill_matrix(edges, kind)


cdef void make(Edges edges, int32_t kind) noexcept nogil:
    """Build a kind that is not kept in the spare one."""
    edges.made = kind
    if edges.edge[kind].n != TOO_LONG:
        list_spare(edges, kind)
        return
    edges.spare.pair = NULL
    if edges.patched == STALE:
        memcpy(edges.spare.E, edges.edge[0].E, edges.matrix * sizeof(double))
    elif edges.patched != NOTHING:
        patch(edges, edges.patched, False)
    patch(edges, kind, True)
    edges.patched = kind


cdef void patch(Edges edges, int32_t kind, bint on) noexcept nogil:
    """Change the cells of the spare matrix in which a kind differs from plain pairs, or restore them."""
    cdef:
        int64_t u, f, token = edges.model[kind]
        const double* plain = edges.edge[0].E
        double* E = edges.spare.E
        int32_t b
    for u in range(edges.data.c.b_ptr[token], edges.data.c.b_ptr[token + 1]):
        b = edges.data.c.b_id[u]
        for f in range(edges.layout.c.b_ptr[b], edges.end[b]):
            if on:
                E[edges.cell[f]] *= edges.factor[f]
            else:
                E[edges.cell[f]] = plain[edges.cell[f]]


cdef int number_kinds(Edges edges) except -1:
    """Number the kinds; find the kind of every step."""
    cdef:
        const int64_t* row = edges.data.c.b_ptr
        const int32_t* id = edges.data.c.b_id
        int64_t s, t, n
        dict numbers = {b"": 0}
        list models = [0]
        bytes key
    edges.kind = <int32_t*>arena_zeros(edges, edges.data.c.n_tok, sizeof(int32_t))
    if row != NULL:
        for s in range(edges.data.c.n_seq):
            for t in range(edges.data.c.seq_ptr[s] + 1, edges.data.c.seq_ptr[s + 1]):
                n = row[t + 1] - row[t]
                if n:
                    key = (<const char*>(id + row[t]))[:n * sizeof(int32_t)]
                    if key not in numbers:
                        numbers[key] = len(models)
                        models.append(t)
                    edges.kind[t] = numbers[key]
    edges.n_kinds = len(models)
    edges.model = <int32_t*>arena_zeros(edges, edges.n_kinds, sizeof(int32_t))
    for n in range(edges.n_kinds):
        edges.model[n] = models[n]


cdef int64_t most_features(Edges edges) noexcept nogil:
    """The most features that the rich attributes of one token have."""
    cdef int64_t most = 0, t
    for t in range(edges.data.c.n_tok if edges.data.c.b_ptr != NULL else 0):
        most = max(most, rich_features(&edges.layout.c, edges.data.c.b_id, edges.data.c.b_ptr[t], edges.data.c.b_ptr[t + 1]))
    return most


cdef void exp_of(Edges edges, int32_t b) noexcept nogil:
    """The nonzero weights of a rich attribute, as factors on the matrix of plain pairs."""
    cdef int64_t f, n
    if edges.shared:
        return
    n = edges.layout.c.b_ptr[b]
    for f in range(edges.layout.c.b_ptr[b], edges.layout.c.b_ptr[b + 1]):
        if edges.w[edges.layout.c.rich0 + f] != 0:
            edges.cell[n] = <int64_t>edges.layout.c.b_prev[f] * edges.layout.c.P + edges.layout.c.b_label[f]
            edges.factor[n] = K.exp(edges.w[edges.layout.c.rich0 + f])
            n += 1
    edges.end[b] = n


cdef bint list_spare(Edges edges, int32_t kind) noexcept nogil:
    """Build the list of a kind in the spare one; False if it is too long."""
    cdef:
        SentenceC step
        int64_t no_attributes[2]
        int64_t limit = most_pairs(edges.layout.c.L, edges.recursions)
    if edges.plain.n > limit or kind > 0 and not edges.listed:
        return False
    memset(&step, 0, sizeof(SentenceC))
    memset(no_attributes, 0, sizeof(no_attributes))
    step.b_ptr = edges.data.c.b_ptr + edges.model[kind] if kind > 0 else no_attributes
    step.b_id = edges.data.c.b_id
    edges.spare.pair, edges.spare.room = edges.room, edges.index_room
    K.merge_list(&edges.layout.c, edges.w, 1.0, &step, 0, &edges.plain, &edges.spare, edges.merged)
    K.exp_changed(&edges.spare, &edges.plain)
    return edges.spare.n <= limit


cdef int keep_list(Edges edges, int32_t kind) except -1 nogil:
    """Keep the spare list for a kind, if the budget allows."""
    cdef:
        EdgeC* edge = &edges.edge[kind]
        BufferC* store = &edges.store[kind]
        double* E = edge.E
        double* ET = edge.ET
        PairC* pair
        int64_t k, indices = 2 * (edges.layout.c.L + 1) + edges.spare.n
    if edges.shared or kind == 0:
        for k in range(edges.spare.n):
            edges.largest = fmax(edges.largest, fabs(edges.spare.pair[k].score))
    if store.capacity == 0 and edges.spent > edges.budget:
        return 0
    pair = <PairC*>arena_reserve(edges, store, edges.spare.n * sizeof(PairC) + indices * sizeof(int32_t), 1)
    edge[0] = edges.spare       # not before there is room for it: else two steps would have one list
    edge.pair, edge.E, edge.ET = pair, E, ET
    edge.row_ptr = <int32_t*>(edge.pair + edge.n)
    edge.column_ptr = edge.row_ptr + edges.layout.c.L + 1
    edge.column = edge.column_ptr + edges.layout.c.L + 1
    memcpy(edge.pair, edges.spare.pair, edge.n * sizeof(PairC))
    memcpy(edge.row_ptr, edges.spare.row_ptr, indices * sizeof(int32_t))


cdef void fill_matrix(Edges edges, int32_t kind) noexcept nogil:
    """Build the matrix, and its transpose, of a kind that has room for one."""
    cdef:
        int64_t L = edges.layout.c.L, P = edges.layout.c.P, i, j, u, f
        double* score = edges.unfolded
        double* E = edges.edge[kind].E
        double* ET = edges.edge[kind].ET
        int32_t b
    memcpy(score, edges.plain.score, edges.matrix * sizeof(double))
    if kind > 0:
        for u in range(edges.data.c.b_ptr[edges.model[kind]], edges.data.c.b_ptr[edges.model[kind] + 1]):
            b = edges.data.c.b_id[u]
            for f in range(edges.layout.c.b_ptr[b], edges.layout.c.b_ptr[b + 1]):
                score[edges.layout.c.b_prev[f] * P + edges.layout.c.b_label[f]] += edges.w[edges.layout.c.rich0 + f]
    K.exp_row(edges.matrix, score, 1, E)
    for i in range(L):
        for j in range(L, P):
            E[i * P + j] = 0
        for j in range(L):
            ET[j * P + i] = E[i * P + j]
            edges.largest = fmax(edges.largest, fabs(score[i * P + j]))
