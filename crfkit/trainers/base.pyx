"""What all trainers share: the weights, the loop over sequences in random order, the answers to `learn`.

A new online trainer is a class with `step`, which looks at one sequence and changes the weights, and where
needed `begin_pass`, `end_pass` and `weights`. A batch trainer writes `run_pass` itself. A trainer that keeps more
from pass to pass than its base class adds it to `state` and takes it back in `restore`:

    def state(self):
        state = OnlineTrainer.state(self)
        state.update(scale=self.scale, squares=vector(self, "d", self.squares, self.layout.c.n_cells))
        return state

    def restore(self, dict state):
        OnlineTrainer.restore(self, state)
        self.scale = state["scale"]
        take(state, "squares", "d", self.squares, self.layout.c.n_cells)
"""

from libc.math cimport fabs, isfinite
from libc.string cimport memcpy, memset

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES

from crfkit.core.memory cimport buffer_free, buffer_reserve
from crfkit.core.rng cimport rng_seed, rng_shuffle
from crfkit.core.structs cimport dataset_sentence

import array

from ..errors import ImpossibleError, TrainingError

cdef enum:
    STEPS_BETWEEN_SIGNALS = 64


cdef class Vector:
    """Numbers that a trainer owns, as a buffer: nothing is copied, and the trainer lives as long as the buffer."""

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        buffer.obj = self
        buffer.buf, buffer.len, buffer.itemsize = self.data, self.n * self.size, self.size
        buffer.readonly, buffer.ndim = True, 1
        buffer.format = <char*>self.form if flags & PyBUF_FORMAT else NULL
        buffer.shape = &self.n if flags & PyBUF_ND else NULL
        buffer.strides = &self.size if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        buffer.suboffsets = NULL
        buffer.internal = NULL


cdef object vector(object owner, str form, const void* data, int64_t n):
    """n numbers of a trainer, for `state`. The form is a letter that `array` knows."""
    cdef Vector it = Vector()
    it.owner, it.data, it.n = owner, <void*>data, n
    it.form, it.size = form.encode(), array.array(form).itemsize
    return memoryview(it)


cdef int take(dict state, str name, str form, void* data, int64_t n) except -1:
    """Back from a state to where `vector` took it from; ValueError if it is not of this form and number."""
    cdef const unsigned char[::1] source
    given = memoryview(state[name])
    if (given.itemsize, given.nbytes) != (array.array(form).itemsize, given.itemsize * n):
        raise ValueError(f"{name}: {given.nbytes} bytes, expected {n} numbers")
    if n:
        source = given.cast("B")
        memcpy(data, &source[0], given.nbytes)
    return 0


cdef class Trainer:
    """Owns the weights while they are learned.

    `run_pass()` goes once through the data, or makes one iteration, and returns {"objective": ...} or
    {"loss": ...}; `converged` then says why training is over, or None; `weights()` is the model as it stands.

    `state()` is all that a pass leaves for the next one: numbers, texts, None, and buffers. A trainer made from
    the same arguments that is given it by `restore` goes on to the very bits. There is no such state within a
    pass; `interrupted` says that the last one was ended early.
    """

    def __cinit__(self, Dataset data, Layout layout, options, initial=None, **unused):
        cdef const float[::1] start
        self.data, self.layout, self.options = data, layout, options
        buffer_reserve(&self.cells, layout.c.n_cells + 1, sizeof(weight_t))
        self.w = <weight_t*>self.cells.data
        memset(self.w, 0, layout.c.n_cells * sizeof(weight_t))
        if initial is not None:
            start = initial
            if start.shape[0] != layout.c.n_cells:
                raise ValueError("initial weights of another layout")
            memcpy(self.w, &start[0], layout.c.n_cells * sizeof(weight_t))

    def __dealloc__(self):
        buffer_free(&self.cells)

    def prepare(self, should_stop=None):
        """What is to be done before the first pass, if anything: yields {"loss": ...} after each part of it."""
        return ()

    def run_pass(self, should_stop=None) -> dict:
        """One pass over the data; `should_stop()` is asked now and then, to end it early."""
        raise TypeError(f"{type(self).__name__} does not say what a pass is")

    def weights(self) -> array.array:
        """A copy of the weights, as they would be stored."""
        cells = array.array("f", bytes(4 * self.layout.c.n_cells))
        cdef float[::1] view = cells if len(cells) else None
        if len(cells):
            memcpy(&view[0], self.w, self.layout.c.n_cells * sizeof(weight_t))
        return cells

    def state(self) -> dict:
        """All that the next pass depends on. Its buffers are the trainer's own: use them before that pass."""
        return {"weights": vector(self, "f", self.w, self.layout.c.n_cells), "converged": self.converged}

    def restore(self, dict state) -> None:
        """Go on where another trainer was when it gave this state. KeyError, TypeError or ValueError if the state
        is not one of such a trainer; it is then of no use any more."""
        take(state, "weights", "f", self.w, self.layout.c.n_cells)
        self.converged = state["converged"]


cdef class OnlineTrainer(Trainer):
    """Trainers that change the weights after every sequence."""

    def __cinit__(self, Dataset data, Layout layout, options, initial=None, seed=0, **unused):
        cdef int64_t s
        if data.c.n_seq > 0x7FFFFFFF:
            raise TrainingError("online trainers take at most 2,147,483,647 sequences")
        self.lattice = Lattice(layout.c.L)
        rng_seed(&self.rng, <uint64_t>(seed & 0xFFFFFFFFFFFFFFFF))
        buffer_reserve(&self.order, data.c.n_seq + 1, sizeof(int32_t))
        for s in range(data.c.n_seq):
            (<int32_t*>self.order.data)[s] = <int32_t>s

    def __dealloc__(self):
        buffer_free(&self.order)

    def sequence_order(self) -> list[int]:
        """The order in which the last pass took the sequences."""
        cdef int64_t k
        return [(<int32_t*>self.order.data)[k] for k in range(self.data.c.n_seq)]

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        """Learn from one sequence; add its loss to loss[0]."""
        raise TypeError("an online trainer without a step")

    cdef int begin_pass(self) except -1:
        return 0

    cdef int end_pass(self) except -1:
        return 0

    cdef int run_steps(self, int64_t first, int64_t last, double* loss) except -1 nogil:
        cdef:
            SentenceC sent
            int64_t k
            const int32_t* order = <const int32_t*>self.order.data
        for k in range(first, last):
            self.sequence = order[k]
            sent = dataset_sentence(&self.data.c, self.sequence)
            self.lattice.reserve(&sent)
            self.step(&sent, loss)
            self.steps += 1
            if not isfinite(loss[0]):
                with gil:
                    raise self.diverged(f" at sequence {order[k] + 1}")
        return 0

    def diverged(self, where=""):
        """The error to raise when weights grow beyond all bounds."""
        lower = "lower --rate, or " if hasattr(self.options, "rate") else ""
        return TrainingError(
            f"training diverged{where} of pass {self.passes + 1}: the numbers are no longer finite; "
            f"{lower}scale down the values of the features"
        )

    def run_pass(self, should_stop=None) -> dict:
        """Every sequence once, in a new random order."""
        cdef:
            int64_t k = 0, last, n = self.data.c.n_seq, before = self.steps
            double loss = 0
        rng_shuffle(&self.rng, <int32_t*>self.order.data, n)
        self.begin_pass()
        while k < n:
            last = min(n, k + STEPS_BETWEEN_SIGNALS)
            try:
                with nogil:
                    self.run_steps(k, last, &loss)
            except ImpossibleError:         # nothing forbids a label here: a score is not finite
                raise self.diverged(f" at sequence {self.sequence_order()[self.steps - before] + 1}") from None
            k = last
            if should_stop is not None and should_stop():
                break
        self.interrupted = k < n
        self.end_pass()
        if not all_cells_finite(self.w, self.layout.c.n_cells):
            raise self.diverged(" at the end")
        self.passes += 1
        return {"loss": loss}

    def state(self) -> dict:
        state = Trainer.state(self)
        state.update(
            passes=self.passes,
            steps=self.steps,
            rng=vector(self, "Q", &self.rng, 4),
            order=vector(self, "i", self.order.data, self.data.c.n_seq),
        )
        return state

    def restore(self, dict state) -> None:
        Trainer.restore(self, state)
        self.passes, self.steps = state["passes"], state["steps"]
        take(state, "rng", "Q", &self.rng, 4)
        take(state, "order", "i", self.order.data, self.data.c.n_seq)
        if sorted(self.sequence_order()) != list(range(self.data.c.n_seq)):
            raise ValueError("order: not one of the sequences")


def summarise(const float[::1] cells) -> tuple[int, float]:
    """How many weights differ from zero, and the sum of absolute values."""
    cdef:
        int64_t k, active = 0
        double total = 0
    with nogil:
        for k in range(cells.shape[0]):
            active += cells[k] != 0
            total += fabs(cells[k])
    return active, total


cdef bint all_cells_finite(const weight_t* w, int64_t n) noexcept nogil:
    cdef:
        int64_t k
        bint good = True
    for k in range(n):
        good &= isfinite(w[k]) != 0
    return good


def all_finite(const float[::1] cells) -> bool:
    """Whether no weight is infinite or not a number."""
    return all_cells_finite(&cells[0], cells.shape[0]) if cells.shape[0] else True


def prune(float[::1] cells, double threshold) -> None:
    """Zero for the weights of a smaller absolute value than the threshold."""
    cdef int64_t k
    with nogil:
        for k in range(cells.shape[0]):
            if fabs(cells[k]) < threshold:
                cells[k] = 0
