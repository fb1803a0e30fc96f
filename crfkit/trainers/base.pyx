"""What all trainers share: the weights, and the methods that `learn` calls.

A batch trainer implements `run_pass`; trainers that look at one sequence after another build on stepwise.pyx. A trainer that keeps
more from pass to pass than its base class names its numbers, which are public attributes, and lists its buffers:

    numbers = OnlineTrainer.numbers + ("scale",)

    cdef dict vectors(self):
        return {**OnlineTrainer.vectors(self), "squares": vector(self, "d", self.squares, self.layout.c.n_cells)}

That is its `state`, which `restore` takes back. A trainer extends `restore` if it has to check something.
"""

import array
from functools import partial

from libc.float cimport FLT_MAX

from crfkit.lattice.lattice cimport Lattice, lattice_of
from crfkit.loops.numbers cimport fabs, fabsf, fmax, sqrt
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport dataset_sentence
from crfkit.memory cimport arena_zeros, array_of, memcpy, memset, restore_vectors, vector

from crfkit import constants
from crfkit.errors import TrainingError
from crfkit.parallel import in_order

cdef enum:
    AT_LEAST = 256  # sequences for a lattice

cdef double SMALL = constants.SMALLEST_VALUE
cdef double LEAST_SQUARE = 1e-12    # of values


cdef int64_t wrong_labels(LatticeC* lat, const SentenceC* sent, uint16_t* path) noexcept nogil:
    """Wrong labels in the best path of a scored sequence. Overwrites alpha and beta."""
    K.viterbi(lat, path)
    return differing(path, sent)


cpdef double square_of_small(data) except -1:
    """Where all values are small, the square of a unit in which they are not: the largest value times the root of their mean square. Elsewhere 1."""
    cdef double largest = data.largest_value
    if not 0 < largest < SMALL:
        return 1
    return fmax(largest * sqrt(data.squares / data.n_incidences[0]), LEAST_SQUARE)


cdef dict accuracies(int64_t wrong, int64_t tokens, int64_t flawed, int64_t sequences):
    """What --train-accuracy reports, from the number of wrong labels and of sequences with one."""
    return {
        "train_accuracy": 1 - <double>wrong / max(tokens, 1),
        "train_sentence_accuracy": 1 - <double>flawed / max(sequences, 1),
    }


cdef class Trainer:
    """Owns the weights while they are learned.

    `run_pass()` goes once through the data, or makes one iteration, and returns {"objective": ...} or
    {"loss": ...}; `converged` then says why training is over, or None; `weights()` are the current weights.

    `state()` is all that a pass leaves for the next one: numbers, texts, None, and buffers. A trainer made from
    the same arguments that restores it continues with the same bits. There is no such state within a
    pass; `interrupted` says that the last one was ended early.
    """

    threaded = False            # several threads compute the same weights as one
    lock_free = False           # several threads may change the weights at once
    by_sequence = False         # makes one step for each sequence
    warms_up = False            # `prepare` finds weights, which are worth keeping
    numbers = ("converged",)    # attributes that belong to the state
    looks_for_paths = False     # learns from the best paths, not from expectations over all paths
    rates_of_rows = False       # each row has a rate, which passes change (`rates`)
    steps_like_values = False   # a step changes each weight by the value of its attribute: large ones drown the rest
    measured_steps = True       # a step changes a weight by about 1 at most, however large the values or long the sequences

    def __cinit__(self, Dataset data not None, Layout layout not None, options, initial=None, Trainer leader=None, **unused):
        self.data, self.layout, self.options, self.leader = data, layout, options, leader
        self.keep_data_in(data.folder)
        if leader is not None:
            if type(leader) is not type(self) or leader.data is not data or leader.layout is not layout:
                raise ValueError("a leader of another kind, or of other data")
            self.w = leader.w
            return
        layout.check(data)
        self.w = <weight_t*>arena_zeros(self, layout.c.n_cells, sizeof(weight_t))
        self.set_weights(initial)

    cdef int set_weights(self, given) except -1:
        """Set the weights to copies of these, or to zero if None."""
        cdef const float[::1] cells = given
        cdef int64_t n = self.layout.c.n_cells
        if given is None:
            memset(self.w, 0, n * sizeof(weight_t))
        elif cells.shape[0] != n:
            raise ValueError("initial weights of another layout")
        elif n:
            memcpy(self.w, &cells[0], n * sizeof(weight_t))

    @property
    def n_features(self) -> int:
        """How many weights may differ from zero."""
        return self.layout.n_features

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        """Estimated peak memory of a trainer, without the scratch of its threads."""
        return layout.c.n_cells * cls.bytes_per_cell(options, threads)

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        """Bytes of that for each weight: the weight, a copy, and with batches its gradient."""
        return 2 * sizeof(weight_t) + sizeof(weight_t) * (getattr(options, "batch_size", 1) > 1)

    @classmethod
    def slowness(cls, data, options, bint every) -> str | None:
        """Why another trainer takes a fraction of the time on these data, unless they are small. `every`: all labels and pairs of them are
        features."""
        return None

    @classmethod
    def weakness(cls, tallies) -> str | None:
        """Why other trainers label more tokens right after learning from data with these tallies (crfkit/data/tallies.pyx)."""
        return None

    def prepare(self, should_stop=None):
        """Work before the first pass, if any: yields {"loss": ...} after each part of it."""
        return ()

    def run_pass(self, should_stop=None) -> dict:
        """One pass over the data; `should_stop()` is called now and then, to end it early."""
        raise TypeError(f"{type(self).__name__} does not define run_pass")

    def finish(self) -> None:
        """There will be no further pass: free what only passes need."""

    def weights(self) -> array.array:
        """A copy of the weights, as they would be stored."""
        return array_of("f", self.w, self.layout.c.n_cells)

    cdef dict vectors(self):
        """The buffers of the state by name; see `vector`."""
        return {"weights": vector(self, "f", self.w, self.layout.c.n_cells)}

    def state(self) -> dict:
        """All that the next pass depends on. Its buffers belong to the trainer: use them before that pass."""
        return {**{name: getattr(self, name) for name in self.numbers}, **self.vectors()}

    def restore(self, dict state) -> None:
        """Continue from the state of another trainer. KeyError, TypeError or ValueError if it is none: this trainer must not be used then."""
        restore_vectors(state, self.vectors())
        for name in self.numbers:
            setattr(self, name, state[name])

    def chosen(self) -> dict:
        """The options that were not given, as chosen for these data."""
        return {}

    def warning(self) -> str | None:
        """Why another trainer may suit these data better, if trials before the first pass have shown that."""
        return None

    def measures(self) -> dict:
        """More fields for the log, about the current weights; called after a pass, outside its time."""
        return {}


cdef object not_finite(str penalties):
    """The error to raise if an objective is not finite; `penalties`: options that help."""
    return TrainingError(f"the objective is not finite; scale down the values of the features, or raise {penalties}")


def summarise(const float[::1] cells) -> tuple[int, float]:
    """How many weights differ from zero, and the sum of their absolute values."""
    cdef:
        int64_t k, active = 0
        double total = 0
    with nogil:
        for k in range(cells.shape[0]):
            active += cells[k] != 0
            total += fabs(cells[k])
    return active, total


cdef bint all_cells_finite(const weight_t* w, int64_t n) noexcept nogil:
    """Whether no weight is infinite or not a number."""
    cdef:
        int64_t k
        int bad = 0
    for k in range(n):
        bad |= not fabsf(w[k]) <= FLT_MAX  # in vectors
    return not bad


def all_finite(const float[::1] cells) -> bool:
    """Whether no weight is infinite or not a number."""
    return all_cells_finite(&cells[0], cells.shape[0]) if cells.shape[0] else True


def prune(float[::1] cells, double threshold) -> None:
    """Set weights of a smaller absolute value than the threshold to zero."""
    cdef int64_t k
    with nogil:
        for k in range(cells.shape[0]):
            if fabs(cells[k]) < threshold:
                cells[k] = 0


def best_labels(Dataset data not None, Layout layout not None, const float[::1] weights not None, int threads=1) -> array.array:
    """The label of each token in the best paths by these weights."""
    if weights.shape[0] != layout.c.n_cells:
        raise ValueError("weights of another layout")
    layout.check(data, False)
    found = array.array("H", [0]) * data.c.n_tok
    cdef int64_t many = max(<int64_t>AT_LEAST, data.c.n_seq // (4 * threads) + 1)
    for _ in in_order(partial(_label_some, data, layout, weights, found, many), range(0, data.c.n_seq, many), threads):
        pass
    return found


def _label_some(Dataset data, Layout layout, const float[::1] weights, uint16_t[::1] found, int64_t many, int64_t first):
    """Find the labels of so many sequences from `first` on."""
    cdef:
        weight_t none = 0
        const weight_t* w = &weights[0] if weights.shape[0] else &none     # nothing is read of it without features
        int64_t s
        Lattice lattice = lattice_of(&layout.c, w, "auto")
        SentenceC sent
    lattice.list_pairs(&layout.c, "auto")
    with nogil:
        for s in range(first, min(first + many, data.c.n_seq)):
            sent = dataset_sentence(&data.c, s)
            if sent.T:
                lattice.reserve(&layout.c, &sent)
                K.score(&layout.c, w, 1.0, &sent, &lattice.c)
                K.viterbi(&lattice.c, &found[data.c.seq_ptr[s]])


def mistakes(Dataset data not None, Layout layout not None, const float[::1] weights not None, int threads=1) -> tuple[int, int]:
    """How many tokens these weights label wrong, and how many sequences have such a token."""
    cdef:
        const uint16_t[::1] found = best_labels(data, layout, weights, threads)
        int64_t s, own, wrong = 0, flawed = 0
        SentenceC sent
    for s in range(data.c.n_seq):
        sent = dataset_sentence(&data.c, s)
        own = differing(&found[data.c.seq_ptr[s]], &sent) if sent.T else 0
        wrong += own
        flawed += own > 0
    return wrong, flawed
