"""Edge potentials of a whole data set: one matrix for each kind of step.

Steps whose tokens have the same rich attributes with the same values have the same potentials exp(tau + ...). Where
there are few kinds of steps, as with the letters of words, each keeps its matrix, its transpose, and the list of its
active pairs as soon as that is the faster form. Where nearly every step is of its own kind, the matrix of plain pairs
is changed in the cells of the weights in question, for as long as the step takes.
"""

from libc.math cimport fabs, fmax
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from crfkit.data.dataset cimport Dataset
from crfkit.loops.kernels cimport K
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport buffer_free, buffer_reserve
from crfkit.lattice.sparse cimport DENSE, SparseEdges, recursions_of
from crfkit.loops.structs cimport LatticeC, PairsC, weight_t


cdef class Edges:
    """For the weights at `w`, which `load...` read; scores must lie within the range of exp."""

    def __cinit__(self, Dataset data not None, Layout layout not None, str recursions="auto"):
        self.data, self.layout, self.recursions = data, layout, recursions_of(recursions)
        self.matrix = <int64_t>layout.c.L * layout.c.P

    def __init__(self, Dataset data not None, Layout layout not None, str recursions="auto"):
        cdef int64_t n, k, most
        self.number_kinds()
        # The matrices of all kinds never take more than the recursions themselves.
        self.shared = <int64_t>self.n_kinds * layout.c.L <= data.c.n_tok or self.n_kinds == 1
        if not self.shared:
            most = self.most_features()
            buffer_reserve(&self.touches, 2 * most, sizeof(double))
            self.before = <double*>self.touches.data
            self.touched = <int64_t*>(self.before + most)
            buffer_reserve(&self.factors, layout.c.b_ptr[layout.c.B], sizeof(double))
            self.rich_factor = <double*>self.factors.data
        n = self.n_kinds if self.shared else 1
        buffer_reserve(&self.tables, 3 * n * self.matrix, sizeof(double))
        self.score = <double*>self.tables.data
        self.E, self.ET = self.score + n * self.matrix, self.score + 2 * n * self.matrix
        memset(self.tables.data, 0, 3 * n * self.matrix * sizeof(double))
        buffer_reserve(&self.pointers, n, sizeof(PairsC*))
        self.sparse = <const PairsC**>self.pointers.data
        self.lists = [None] * n
        for k in range(n):
            self.sparse[k] = NULL

    def __dealloc__(self):
        buffer_free(&self.kinds)
        buffer_free(&self.users_of)
        buffer_free(&self.models)
        buffer_free(&self.tables)
        buffer_free(&self.pointers)
        buffer_free(&self.touches)
        buffer_free(&self.factors)

    cdef int64_t most_features(self) noexcept:
        """Of the rich attributes of one token."""
        cdef int64_t most = 0, t, u, n
        for t in range(self.data.c.n_tok):
            n = 0
            for u in range(self.data.c.b_ptr[t], self.data.c.b_ptr[t + 1]):
                n += self.layout.c.b_ptr[self.data.c.b_id[u] + 1] - self.layout.c.b_ptr[self.data.c.b_id[u]]
            most = max(most, n)
        return most

    cdef int number_kinds(self) except -1:
        """The kind of every step, and the kinds that each rich attribute is part of."""
        cdef:
            const int64_t* row = self.data.c.b_ptr
            const int32_t* id = self.data.c.b_id
            const float* value = self.data.c.b_val
            int64_t s, t, u, n
            int64_t* users
            int32_t* user
            dict numbers = {b"": 0}
            list models = [0]
            bytes key
        buffer_reserve(&self.kinds, self.data.c.n_tok + 1, sizeof(int32_t))
        self.kind = <int32_t*>self.kinds.data
        memset(self.kind, 0, self.data.c.n_tok * sizeof(int32_t))
        if row != NULL:
            for s in range(self.data.c.n_seq):
                for t in range(self.data.c.seq_ptr[s] + 1, self.data.c.seq_ptr[s + 1]):
                    n = row[t + 1] - row[t]
                    if n:
                        key = (<const char*>(id + row[t]))[:n * sizeof(int32_t)]
                        if value != NULL:
                            key += (<const char*>(value + row[t]))[:n * sizeof(float)]
                        if key not in numbers:
                            numbers[key] = len(models)
                            models.append(t)
                        self.kind[t] = numbers[key]
        self.n_kinds = len(models)
        buffer_reserve(&self.models, self.n_kinds, sizeof(int32_t))
        self.model = <int32_t*>self.models.data
        for n in range(self.n_kinds):
            self.model[n] = models[n]
        n = self.layout.c.B
        total = sum(row[t + 1] - row[t] for t in models[1:]) if row != NULL else 0
        buffer_reserve(&self.users_of, n + 2 + total, sizeof(int64_t))
        users = <int64_t*>self.users_of.data
        user = <int32_t*>(users + n + 2)
        memset(users, 0, (n + 2) * sizeof(int64_t))
        users += 1  # as in Occurrences
        for s in range(1, self.n_kinds):
            for u in range(row[self.model[s]], row[self.model[s] + 1]):
                users[id[u] + 1] += 1
        for t in range(n):
            users[t + 1] += users[t]
        for s in range(1, self.n_kinds):
            for u in range(row[self.model[s]], row[self.model[s] + 1]):
                user[users[id[u]]] = <int32_t>s
                users[id[u]] += 1
        self.users, self.user = users - 1, user
        return 0

    cdef int load(self, int32_t kind) except -1:
        """The matrix of one kind from the weights."""
        cdef:
            LatticeC lat
            SparseEdges found
            int64_t L = self.layout.c.L, P = self.layout.c.P, i, j, u, f, token = self.model[kind]
            double* score = self.score + kind * self.matrix
            double* E = self.E + kind * self.matrix
            double* ET = self.ET + kind * self.matrix
            const weight_t* tau = self.w + self.layout.c.tau0
            const weight_t* rich = self.w + self.layout.c.rich0
            double v
            int32_t b
        for i in range(L):
            for j in range(L):
                score[i * P + j] = tau[i * P + j] if self.layout.c.has_tau else 0
        if kind > 0:
            for u in range(self.data.c.b_ptr[token], self.data.c.b_ptr[token + 1]):
                b = self.data.c.b_id[u]
                v = self.data.c.b_val[u] if self.data.c.b_val != NULL else 1
                for f in range(self.layout.c.b_ptr[b], self.layout.c.b_ptr[b + 1]):
                    score[self.layout.c.b_prev[f] * P + self.layout.c.b_label[f]] += v * rich[f]
        K.exp_row(self.matrix, score, 1, E)
        for i in range(L):
            for j in range(L, P):
                E[i * P + j] = 0
        for i in range(L):
            for j in range(L):
                ET[j * P + i] = E[i * P + j]
        self.sparse[kind] = NULL
        if self.recursions == DENSE:
            return 0
        found = self.lists[kind]
        if found is None:
            found = self.lists[kind] = SparseEdges()
        lat.L, lat.P, lat.taumax, lat.tau = <int32_t>L, <int32_t>P, 0, score
        if found.find(&lat, NULL, self.recursions):
            self.sparse[kind] = &found.c
        return 0

    cdef int load_all(self) except -1:
        """All matrices: when plain label pairs have changed, or everything."""
        cdef int32_t kind, b
        for b in range(self.layout.c.B):
            self.exp_of(b)
        for kind in range(self.n_kinds if self.shared else 1):
            self.load(kind)
        return 0

    cdef void exp_of(self, int32_t b) noexcept nogil:
        """The exponentials of the weights of a rich attribute, where steps have no matrices to keep them."""
        cdef int64_t f
        if not self.shared:
            for f in range(self.layout.c.b_ptr[b], self.layout.c.b_ptr[b + 1]):
                self.rich_factor[f] = K.exp(self.w[self.layout.c.rich0 + f])

    cdef int load_users(self, int32_t b) except -1:
        """The matrices that depend on a rich attribute."""
        cdef int64_t k
        self.exp_of(b)
        if self.shared:
            for k in range(self.users[b], self.users[b + 1]):
                self.load(self.user[k])
        return 0

    cdef const double* open(self, int64_t token) noexcept nogil:
        """Potentials of the step into a token, until `close`."""
        cdef:
            int64_t u, f, cell
            const weight_t* rich = self.w + self.layout.c.rich0
            double v
            int32_t b
        if self.shared:
            return self.E + self.kind[token] * self.matrix
        self.n_touched = 0
        if self.kind[token] == 0:
            return self.E
        for u in range(self.data.c.b_ptr[token], self.data.c.b_ptr[token + 1]):
            b = self.data.c.b_id[u]
            v = self.data.c.b_val[u] if self.data.c.b_val != NULL else 1
            for f in range(self.layout.c.b_ptr[b], self.layout.c.b_ptr[b + 1]):
                if rich[f] == 0:
                    continue
                cell = <int64_t>self.layout.c.b_prev[f] * self.layout.c.P + self.layout.c.b_label[f]
                self.touched[self.n_touched] = cell
                self.before[self.n_touched] = self.E[cell]
                self.n_touched += 1
                self.E[cell] *= self.rich_factor[f] if v == 1 else K.exp(v * rich[f])
        return self.E

    cdef void close(self) noexcept nogil:
        """The matrix of plain pairs as it was."""
        while self.n_touched:
            self.n_touched -= 1
            self.E[self.touched[self.n_touched]] = self.before[self.n_touched]

    cdef double widest(self) noexcept nogil:
        """The largest score, by its absolute value, in the matrices kept."""
        cdef double most = 0
        cdef int64_t k
        for k in range((self.n_kinds if self.shared else 1) * self.matrix):
            most = fmax(most, fabs(self.score[k]))
        return most
