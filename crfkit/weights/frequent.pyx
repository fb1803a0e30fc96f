"""Features counted as CRFsuite counts them: each time by the value that the attribute has there, pairs of labels by
one.
"""

import array

from libc.stdint cimport int64_t

from crfkit.data.dataset cimport Dataset
from .layout cimport Layout, layout_cell, layout_clear_absent

from .pruning import pruned


def frequent(Layout layout not None, Dataset data not None, double least):
    """A layout that `Layout.build` made of these data, without the features whose count is less: (layout, new ids
    of the unigram attributes, of the bigram ones). None where nothing is to be left out. Features of bigram
    attributes stay.
    """
    cdef:
        int64_t s, t, u, k, cell, pairs, n_pairs = <int64_t>layout.c.L * layout.c.P
        int64_t left = 0
        bint negative = False
    for u in range(data.c.u_ptr[data.c.n_tok] if data.c.u_val != NULL else 0):
        negative = negative or data.c.u_val[u] < 0
    if (least <= 0 and not negative) or not layout.c.n_cells:
        return None
    counts, kept = array.array("d", [0.0]) * layout.c.n_cells, array.array("f", [0.0]) * layout.c.n_cells
    cdef double[::1] count = counts
    cdef float[::1] keep = kept
    pairs = layout.c.tau0
    for s in range(data.c.n_seq):
        for t in range(data.c.seq_ptr[s], data.c.seq_ptr[s + 1]):
            for u in range(data.c.u_ptr[t], data.c.u_ptr[t + 1]):
                cell = layout_cell(&layout.c, data.c.u_id[u], data.c.label[t]) if data.c.u_id[u] >= 0 else -1
                if cell >= 0:
                    count[cell] += 1 if data.c.u_val == NULL else data.c.u_val[u]
            if layout.c.has_tau and t > data.c.seq_ptr[s]:
                count[pairs + <int64_t>data.c.label[t - 1] * layout.c.P + data.c.label[t]] += 1
    for k in range(layout.c.n_cells):
        count[k] = k >= layout.c.rich0 or count[k] >= least
    layout_clear_absent(&layout.c, &count[0], 0, layout.c.n_cells)
    for k in range(layout.c.n_cells):
        keep[k] = <float>count[k]
        left += keep[k] != 0
    if left == layout.n_features:
        return None
    found, _, *new = pruned(layout, kept)
    mask = bytearray(n_pairs)
    cdef unsigned char[::1] wanted = mask
    for k in range(n_pairs if layout.c.has_tau else 0):
        wanted[k] = keep[pairs + k] != 0
    (<Layout>found).tell_absent(mask)
    return found, *new
