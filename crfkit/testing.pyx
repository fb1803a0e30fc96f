"""Doors for tests: parts that no program drives from Python. Nothing else imports this."""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.decode.scratch cimport Scratch
from crfkit.features.cells cimport View
from crfkit.features.strings cimport StringTable
from crfkit.features.walk cimport Extractor
from crfkit.lattice cimport forms
from crfkit.lattice.lattice cimport Lattice
from crfkit.loops.numbers cimport INFINITY
from crfkit.loops.structs cimport EdgeC, SentenceC, weight_t
from crfkit.parser.trees cimport Treebank
from crfkit.memory cimport Arena, arena_zeros, array_of
from crfkit.template.patterns cimport Patterns
from crfkit.template.regex cimport Regex
from crfkit.text.rows cimport Rows
from crfkit.text.writing cimport (
    Output, begin_sentence, end_sentence, out_decimal, out_hexadecimal, out_integer, out_label, out_lines, out_significant,
)
from crfkit.trainers.batch.blocks cimport Occurrences
from crfkit.trainers.batch.dual cimport DualAscent
from crfkit.trainers.batch.edges cimport Edges
from crfkit.trainers.batch.nests cimport Nests
from crfkit.trainers.batch.steps cimport History
from crfkit.trainers.batch.visits cimport Visits
from crfkit.trainers.stepwise cimport OnlineTrainer
from crfkit.weights.layout cimport Layout
from crfkit.threads cimport Threads
from crfkit.trainers.batch.objective cimport PARTS, Objective, Worker

from array import array



def most_pairs(int64_t labels, str recursions, bint summed=False) -> int:
    """Up to how many pairs with a weight a step is a list; `summed`: of trainers that only sum."""
    return forms.most_pairs(labels, forms.recursions_of(recursions), summed)


def scaled_by_threads(const double[::1] gradient not None, const float[::1] curvature not None, int threads) -> list[list[float]]:
    """What threads that find a direction leave in their rooms, of which there are two: gradient / scale, of the last part of each share."""
    cdef:
        History history = History(gradient.shape[0], 2, Threads(threads - 1))
        int64_t size = gradient.shape[0] // PARTS, k, i
    history.scale_by_curvature(&curvature[0], 0)
    history.direction(&gradient[0], &gradient[0])
    return [[history.scaled[k * (size + 1) + i] for i in range(size)] for k in range(2)]


def change_steps(int64_t labels, int64_t cells) -> tuple[int, int]:
    """From how many labels on, and with how many cells a change (1 or more), steps with rich attributes are changes of the shared one; what was set before."""
    before = forms.labels_to_change, forms.cells_a_change
    forms.labels_to_change, forms.cells_a_change = labels, cells
    return before


def step_forms(Edges edges not None, const float[::1] cells not None) -> list[tuple[str, bool]]:
    """The form of the step into each token with these weights, "list" or "matrix", and whether it is kept."""
    cdef:
        const EdgeC* edge
        int64_t t
    edges.w = &cells[0]
    edges.load_all()
    found = []
    for t in range(edges.data.c.n_tok):
        edge = edges.of(t)
        found.append(("matrix" if edge.pair == NULL else "list", edge != &edges.spare))
    return found


def forms_of(owner not None) -> list[str]:
    """The form of each step with rich attributes of the sentence that a scratch, an online trainer or an objective's first thread scored last."""
    cdef:
        Lattice lattice
        const EdgeC* edge
        int64_t k
    if isinstance(owner, Objective):
        lattice = (<Worker?>(<Objective>owner).workers[0]).lattice
    else:
        lattice = (<OnlineTrainer>owner).lattice if isinstance(owner, OnlineTrainer) else (<Scratch?>owner).lattice
    found = []
    for k in range(lattice.c.n_own):
        edge = lattice.c.own + k
        if edge.plain != NULL:
            found.append("changes" if edge.plain.pair == NULL else "changes of a list")
        else:
            found.append("matrix" if edge.pair == NULL else "list")
    return found


def weights_in(Rows rows not None) -> list[float]:
    """The weight of each sequence."""
    return [rows.c.seq_weight[s] for s in range(rows.c.n_seq)]


def attributes_of(Extractor extractor not None, Rows rows not None) -> list[tuple[list[int], list[int]]]:
    """The attributes of each token of a parsed block: (unigram ids, bigram ids)."""
    cdef const SentenceC* sent = &extractor.sentence
    cdef int64_t s, t
    found = []
    for s in range(rows.c.n_seq):
        extractor.extract(&rows.c, rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1])
        for t in range(sent.T):
            of_pairs = [sent.b_id[k] for k in range(sent.b_ptr[t], sent.b_ptr[t + 1])] if sent.b_ptr != NULL else []
            found.append(([sent.u_id[k] for k in range(sent.u_ptr[t], sent.u_ptr[t + 1])], of_pairs))
    return found


def curvature_of(DualAscent ascent not None) -> array:
    """The curvature along each weight, as the ascent estimates it."""
    cdef float[::1] cells = array("f", bytes(4 * ascent.layout.c.n_cells))
    if cells.shape[0]:
        ascent.add_curvature(&cells[0])
    return cells.base


def occurrences_of(Occurrences found not None, int32_t a) -> list[tuple[int, float]]:
    """The tokens with an attribute, and the values it has there."""
    return [(found.token[k], found.value[k] if found.value != NULL else 1.0) for k in range(found.ptr[a], found.ptr[a + 1])]


def rows_of(Nests nests not None) -> list[list[int]]:
    """The attributes and nests of each token; -1 - k is nest k."""
    return [[nests.c.u_id[u] for u in range(nests.c.u_ptr[t], nests.c.u_ptr[t + 1])] for t in range(nests.c.n_tok)]


def visits_of(Dataset data not None, Layout layout not None) -> tuple[int, int, int]:
    """How many sums, rows and cells all tokens visit."""
    cdef Visits visits = Visits(data, layout)
    return visits.c.sum_ptr[data.c.n_tok], visits.c.row_ptr[data.c.n_tok], visits.c.cell_ptr[data.c.n_tok]


def parts_of(Nests nests not None, int32_t k) -> list[int]:
    """What nest k adds up."""
    return [nests.part[i] for i in range(nests.start[k], nests.start[k + 1])]


def value_at(Objective objective not None, const double[::1] cells not None, double bound=INFINITY) -> tuple[float, array]:
    """The objective and its gradient at a point in single precision; above the bound it may be infinite and the gradient undefined."""
    if cells.shape[0] != objective.layout.c.n_cells:
        raise ValueError("a point of another layout")
    cdef:
        int64_t k, n = cells.shape[0]
        Arena room = Arena()        # the loops need aligned vectors
        double* g = <double*>arena_zeros(room, n, sizeof(double))
        weight_t* w = <weight_t*>arena_zeros(room, n, sizeof(weight_t))
    for k in range(n):
        w[k] = <weight_t>cells[k]
    objective.bound = bound
    try:
        return objective.evaluate(w, g), array_of("d", g, n)
    finally:
        objective.bound = INFINITY


def made_of(bytes cell not None, plan) -> bytes | None:
    """What a macro (crfkit.features.plan.ViewPlan) makes of a cell; None: no value, and so no feature."""
    cdef View view = View(0, plan, StringTable(), 0)
    cdef Output room = Output()
    cdef const char* value
    cdef int64_t n = view.transform(cell, len(cell), &room.c.room, &value)
    return value[:n] if n >= 0 else None


def found_in(Regex regex not None, cell) -> str | bytes | None:
    """The leftmost match in a cell (str or bytes): the piece that matches, or None."""
    cdef bytes text = cell.encode() if isinstance(cell, str) else cell
    cdef int64_t start = 0, end = 0
    if not regex.search(text, len(text), &start, &end):
        return None
    return text[start:end].decode() if isinstance(cell, str) else text[start:end]


def said_by(Patterns patterns not None, Rows rows not None) -> list[list[bytes]]:
    """The strings of the patterns at each token of a sentence, the first of the rows."""
    cdef Output line = Output()
    cdef int64_t t, n, T = rows.c.seq_ptr[1]
    cdef int32_t i
    found = []
    for t in range(T):
        strings = []
        for i in range(patterns.n):
            n = patterns.expand(i, &rows.c, 0, T, t, &line.c.room)
            strings.append(line.c.room.data[:n])
        found.append(strings)
    return found


def heads_in(Treebank bank not None, int64_t s) -> list[int]:
    """The heads of a sentence: numbers of words from 1, 0 for the root."""
    return [bank.head[t] + 1 for t in range(bank.start[s], bank.start[s + 1])]


def tagged(Rows rows not None, labels, bytes separator=None) -> bytes:
    """The rows' text with the label (bytes) of each token behind its line, after the separator (None: the line's own)."""
    cdef Output out = Output()
    cdef const char* between = <const char*>separator if separator is not None else NULL
    cdef int64_t s, t, pos
    cdef bytes label
    for s in range(rows.c.n_seq):
        pos = begin_sentence(&rows.c, s, &out.c)
        for t in range(rows.c.seq_ptr[s], rows.c.seq_ptr[s + 1]):
            label = labels[t]
            pos = out_label(&rows.c, t, pos, label, <int32_t>len(label), between, <int32_t>len(separator or b""), -1, &out.c)
        end_sentence(&rows.c, s, pos, &out.c)
    out_lines(&rows.c, rows.c.tail_start, rows.c.n_text, True, &out.c)
    return out.getvalue()


def written(str form, number, int decimals=6) -> bytes:
    """A number as it is written in these forms: integer, decimal, significant, hexadecimal."""
    cdef Output text = Output()
    if form == "integer":
        out_integer(&text.c, number)
    elif form == "decimal":
        out_decimal(&text.c, number, decimals)
    elif form == "significant":
        out_significant(&text.c, number)
    else:
        out_hexadecimal(&text.c, number)
    return text.getvalue()
