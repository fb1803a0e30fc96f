"""Lists of the sums, rows and cells that each token visits, for trainers that pass over the data many times.

What is the same in every pass is looked up once: which attributes have dense rows, and the cells and labels of the
others. Attributes that always occur together are summed up beforehand (nests.pyx). Values are listed only if some of those other than
0 are not 1: those of mappings with True and False are not.
"""

import array

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from crfkit.data.dataset cimport Dataset
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport data_zeros
from crfkit.loops.structs cimport CRFKIT_AHEAD, DatasetC, LayoutC
from .nests cimport Survey

cdef enum:
    OFTEN = 4               # occurrences from which a nest mostly saves work


def bytes_of_visits(Dataset data not None, Layout layout not None, int threads) -> int:
    """Estimated memory for the visits, as if there were no nests, and for the sums and their gradients, as if whatever may be a nest were one."""
    cdef:
        const DatasetC* c = &data.c
        const int32_t* id = c.u_id
        const float* value = c.u_val
        int64_t u, a, rows = 0, cells = 0, nests = 0
        int64_t[::1] numbers = array.array("q", [0]) * (layout.c.A + 1)
        int64_t* count = &numbers[0]        # of the visits to each attribute
    layout.check(data, False)
    for u in range(c.u_ptr[c.n_tok]):
        count[id[u]] += value == NULL or value[u] != 0
    for a in range(layout.c.A):
        if a < layout.c.H:
            rows += count[a]
        else:
            cells += count[a] * (layout.c.u_ptr[a + 1] - layout.c.u_ptr[a])
    if data.nesting is not None and value == NULL:
        made_by, slots = data.nesting
        holds = {slot for slot in slots if slot >= 0}
        for a in range(layout.c.A):
            nests += count[a] >= OFTEN and made_by[a] in holds
    lists = 24 * c.n_tok + 4 * (rows + cells) * (2 if has_other_values(c) else 1) + 2 * cells
    return (0 if data.folder is not None else lists) + (1 + threads) * nests * layout.c.P * sizeof(double)


cdef class Visits:
    """The visits of a data set; `nests` are the sums that have to be kept up to date. `survey`: as for Nests."""

    def __cinit__(self, Dataset data not None, Layout layout not None, Survey survey=None):
        self.keep_data_in(data.folder)
        self.nests = Nests(data, layout, survey)
        list_visits(self, &self.nests.c, &layout.c)
        self.nests.release()

    cdef VisitsC of(self, int64_t token) noexcept nogil:
        """The visits of the sequence that begins with this token."""
        cdef VisitsC found = self.c
        found.sum_ptr += token
        found.row_ptr += token
        found.cell_ptr += token
        return found


cdef inline bint is_zero(const DatasetC* data, int64_t u) noexcept nogil:
    """Whether an attribute of a token has the value 0, which changes no score and no gradient: it is not visited."""
    return data.u_val != NULL and data.u_val[u] == 0


cdef bint has_other_values(const DatasetC* data) noexcept nogil:
    """Whether there are values other than 0 and 1."""
    cdef int64_t u
    for u in range(data.u_ptr[data.n_tok] if data.u_val != NULL else 0):
        if data.u_val[u] != 0 and data.u_val[u] != 1:
            return True
    return False


cdef int list_visits(Visits visits, const DatasetC* data, const LayoutC* layout) except -1:
    cdef:
        int64_t t, u, f, n = data.u_ptr[data.n_tok], first = layout.u_ptr[layout.H], sums = 0, rows = 0, cells = 0
        int32_t a
        int64_t* sum_ptr = <int64_t*>data_zeros(visits, data.n_tok, sizeof(int64_t))
        int64_t* row_ptr = <int64_t*>data_zeros(visits, data.n_tok, sizeof(int64_t))
        int64_t* cell_ptr = <int64_t*>data_zeros(visits, data.n_tok, sizeof(int64_t))
        int32_t* sum
        int32_t* row
        uint32_t* cell
        uint16_t* label
        float* row_val = NULL
        float* cell_val = NULL
    if layout.u_ptr[layout.A] - first > 0xFFFFFFFF:
        raise MemoryError("more than four thousand million features")
    with nogil:
        for t in range(data.n_tok):
            for u in range(data.u_ptr[t], data.u_ptr[t + 1]):
                a = data.u_id[u]
                if is_zero(data, u):
                    continue
                if a < 0:
                    sums += 1
                elif a < layout.H:
                    rows += 1
                else:
                    cells += layout.u_ptr[a + 1] - layout.u_ptr[a]
            sum_ptr[t + 1], row_ptr[t + 1], cell_ptr[t + 1] = sums, rows, cells
    sum, row = <int32_t*>data_zeros(visits, sums + CRFKIT_AHEAD, sizeof(int32_t)), <int32_t*>data_zeros(visits, rows + CRFKIT_AHEAD, sizeof(int32_t))
    cell, label = <uint32_t*>data_zeros(visits, cells + CRFKIT_AHEAD, sizeof(uint32_t)), <uint16_t*>data_zeros(visits, cells, sizeof(uint16_t))
    if has_other_values(data):
        row_val, cell_val = <float*>data_zeros(visits, rows, sizeof(float)), <float*>data_zeros(visits, cells, sizeof(float))
    sums = rows = cells = 0
    with nogil:
        for u in range(n):
            a = data.u_id[u]
            if is_zero(data, u):
                continue
            if a < 0:
                sum[sums] = -1 - a
                sums += 1
            elif a < layout.H:
                row[rows] = a
                if row_val != NULL:
                    row_val[rows] = data.u_val[u]
                rows += 1
            else:
                for f in range(layout.u_ptr[a], layout.u_ptr[a + 1]):
                    cell[cells] = <uint32_t>(f - first)
                    label[cells] = layout.u_label[f]
                    if cell_val != NULL:
                        cell_val[cells] = data.u_val[u]
                    cells += 1
    visits.c.sum_ptr, visits.c.sum = sum_ptr, sum
    visits.c.row_ptr, visits.c.row, visits.c.row_val = row_ptr, row, row_val
    visits.c.cell_ptr, visits.c.cell, visits.c.label, visits.c.cell_val = cell_ptr, cell, label, cell_val
