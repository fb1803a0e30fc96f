"""What all online trainers share: the loop over sequences in random order.

A new online trainer is a class with `step`, which learns from one sequence, and if needed `begin_pass`, `end_pass` and `weights`.

A step reads scores from `w` and adds its changes to `out`. That is `w`, or with mini-batches (--batch-size N) a second array, which is
added to `w` and cleared after N sequences, row by row of the attributes that occurred.

Threads (--threads N, for trainers that are `lock_free`), after Niu et al., Hogwild (2011): workers, trainers of the
same class with scratch of their own, change the weights of their leader without locks. They take blocks of sequences from
a common counter. Rates and scales are functions of the number of the step, so each worker advances its own to the start of its next
block (`skip`). Whatever touches all weights happens between pieces of the pass, while no worker runs (`undisturbed`). Two races remain:
two threads may add to one weight at once, and one change is lost; and a score may use some weights from before a change and some from
after it. A weight is a single aligned float, so it is never torn.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from crfkit.data.dataset cimport Dataset
from crfkit.data.ordered cimport sentence_at
from crfkit.lattice.lattice cimport lattice_load_weights, lattice_path_score, lattice_sum
from crfkit.loops.numbers cimport isfinite
from crfkit.loops.atomic cimport crfkit_fetch_add, crfkit_prefetch, crfkit_prefetch_bytes
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport DatasetC, LatticeC
from crfkit.memory cimport arena_zeros, data_zeros, memcpy, memset, vector
from crfkit.rng cimport rng_below, rng_seed, rng_shuffle
from crfkit.weights.cells cimport layout_row, pairs_row
from crfkit.weights.layout cimport Layout
from .base cimport all_cells_finite

from crfkit import constants
from crfkit.errors import ImpossibleError, TrainingError

cdef enum:
    STEPS_BETWEEN_SIGNALS = 64      # or fewer, where steps look at many paths:
    PATHS_BETWEEN_SIGNALS = 1024
    FETCHED = 256           # bytes
    PIECE = 256             # sequences a thread between two checks for signals

cdef int64_t BLOCK = constants.BLOCK_SEQUENCES


cdef class OnlineTrainer(Trainer):
    """Trainers that change the weights after every sequence, or every few of them (options.batch_size)."""

    by_sequence = True
    numbers = Trainer.numbers + ("passes", "steps")

    def __cinit__(self, Dataset data, Layout layout, options, initial=None, seed=0, threads=1, Trainer leader=None,
                  **unused):
        cdef int64_t s
        if data.c.n_seq > 0x7FFFFFFF:
            raise TrainingError("online trainers take at most 2,147,483,647 sequences")
        self.lattice, self.path = Lattice(layout.c.L, listing=True), <uint16_t*>arena_zeros(self, data.c.longest, sizeof(uint16_t))
        self.batch = getattr(options, "batch_size", 1)
        self.between = min(STEPS_BETWEEN_SIGNALS, max(PATHS_BETWEEN_SIGNALS // getattr(options, "nbest", 1), 1))
        self.threads = threads if self.lock_free and self.batch == 1 else 1
        self.workers = []
        if getattr(options, "dropout", None):
            self.dropout = Dropout(options.dropout)
        if leader is not None:
            self.sequences, self.ordered = (<OnlineTrainer>leader).sequences, (<OnlineTrainer>leader).ordered
            self.out, self.threads = self.w, 1
            return
        rng_seed(self.rng, <uint64_t>(seed & 0xFFFFFFFFFFFFFFFF))
        self.sequences = <int32_t*>data_zeros(self, data.c.n_seq, sizeof(int32_t))
        for s in range(data.c.n_seq):
            self.sequences[s] = <int32_t>s
        self.ordered = Ordered(data)
        self.out = self.w
        if self.batch > 1:
            self.out = <weight_t*>arena_zeros(self, layout.c.n_cells, sizeof(weight_t))

    # ------------------------------------------------------------------------------------------ of each trainer

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        """Learn from one sequence: add changes of the weights to `out`, and its loss to loss[0]."""
        raise TypeError("an online trainer without a step")

    cdef int begin_pass(self) except -1:
        """Before the first sequence of a pass."""

    cdef int end_pass(self) except -1:
        """After its last one."""

    cdef int begin_update(self) except -1 nogil:
        """Begin an update: all its sequences see the same weights."""

    cdef void close_batch(self) noexcept nogil:
        """Update the weights after all sequences of a batch."""

    cdef double row_factor(self, int64_t r) noexcept nogil:
        """The factor on changes of row r when they are added to `w`."""
        return 1

    # ------------------------------------------------------------------------------------------ updates

    cdef int64_t updates_of(self, int64_t n) noexcept nogil:
        """How many updates are made from n sequences."""
        return (n + self.batch - 1) // self.batch

    cdef int update(self, const int32_t* which, int64_t n, double* loss) except -1 nogil:
        """One update from n sequences."""
        cdef SentenceC sent
        cdef int64_t k
        self.begin_update()
        for k in range(n):
            self.sequence = which[k]
            sent = sentence_at(self.ordered, which + k)
            self.lattice.reserve(&self.layout.c, &sent)
            if self.dropout is not None:
                self.dropout.leave_out(&sent, self.rng[0] + <uint64_t>(self.steps * self.batch + k))
            self.step(&sent, loss)
            if not isfinite(loss[0]):
                raise self.diverged(f" at sequence {which[k] + 1}")
        if self.batch > 1:
            self.close_batch()
            carry(self, which, n)
        self.steps += 1

    cdef int learn_from(self, const int32_t* which, int64_t n, double* loss) except -1 nogil:
        """Updates from n sequences, each from a batch of them."""
        cdef int64_t k = 0, j, size
        while k < n:
            size = min(self.batch, n - k)
            for j in range(k, k + size):
                self.fetch(which + j, n - j)
            self.update(which + k, size, loss)
            k += size

    cdef void fetch(self, const int32_t* which, int64_t n) noexcept nogil:
        """Prefetch the beginnings of the next of n sequences, which lie anywhere in memory. What they consist of is found one from
        the other, so a few sequences lie between. The processor itself prefetches what follows."""
        cdef const DatasetC* c = &self.data.c
        cdef int64_t first
        if self.data.folder is not None:
            return
        if n > 6:
            crfkit_prefetch(c.seq_ptr + which[6])
        if n > 4:
            first = c.seq_ptr[which[4]]
            crfkit_prefetch_bytes(c.u_ptr + first, FETCHED)
            crfkit_prefetch(c.label + first)
            if c.b_ptr != NULL:
                crfkit_prefetch_bytes(c.b_ptr + first, FETCHED)
        if n > 2:
            first = c.seq_ptr[which[2]]
            crfkit_prefetch_bytes(c.u_id + c.u_ptr[first], 2 * FETCHED)
            if c.u_val != NULL:
                crfkit_prefetch_bytes(c.u_val + c.u_ptr[first], 2 * FETCHED)
            if c.b_ptr != NULL:
                crfkit_prefetch_bytes(c.b_id + c.b_ptr[first], FETCHED)

    cdef int begin_anew(self, start) except -1:
        """Start anew from these weights (None: zero), for trials outside of passes."""
        self.set_weights(start)
        if self.batch > 1:      # a trial that diverged may have left changes
            memset(self.out, 0, self.layout.c.n_cells * sizeof(weight_t))
        self.steps, self.pairs_known = 0, False

    cdef int draw_sample(self, int32_t* sample, int64_t n) except -1:
        """n random sequences from all parts of the data, in random order, always the same. They are written twice, so that from any
        of them on all the others follow. They are random, since every second document, say, might be of one class."""
        cdef:
            uint64_t[4] rng
            int64_t k, first, total = self.data.c.n_seq
        rng_seed(rng, 0)
        for k in range(n):
            first = total * k // n
            sample[k] = <int32_t>(first + rng_below(rng, total * (k + 1) // n - first))
        rng_shuffle(rng, sample, n)
        memcpy(sample + n, sample, n * sizeof(int32_t))
        return self.ordered.gather(sample, 2 * n)

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
            int64_t k = 0, n = self.data.c.n_seq, known, most
            double loss = 0
        rng_shuffle(self.rng, self.sequences, n)
        self.pairs_known = False        # so that a restored trainer computes the same
        self.begin_pass()
        with nogil:
            self.ordered.begin(self.sequences, n)
        try:
            while k < n:
                with nogil:
                    known = self.ordered.come_to(k)
                if self.threads > 1:
                    k = run_threads(self, k, known, &loss)
                else:       # whole batches
                    most = min((min(known - k, self.between) + self.batch - 1) // self.batch * self.batch, n - k)
                    with nogil:
                        self.learn_from(self.sequences + k, most, &loss)
                    k += most
                if should_stop is not None and should_stop():
                    break
        except ImpossibleError:             # no label is forbidden, so a score is not finite
            raise self.diverged(f" at sequence {self.sequence + 1}" if self.threads == 1 else "") from None
        self.interrupted = k < n
        self.end_pass()
        if not all_cells_finite(self.w, self.layout.c.n_cells):
            raise self.diverged(" at the end")
        self.passes += 1
        return {"loss": loss}

    def go_on(self, int64_t passes):
        """The next pass is the one after so many over the same data, by another trainer, of which weights and rates are known."""
        self.passes = passes

    def finish(self):
        self.workers, self.pool = [], None      # workers refer to this trainer: it would wait for the garbage collector

    cdef dict vectors(self):
        return {
            **Trainer.vectors(self), "rng": vector(self, "Q", self.rng, 4), "order": vector(self, "i", self.sequences, self.data.c.n_seq),
        }

    def restore(self, dict state) -> None:
        cdef const int32_t[::1] order
        given = memoryview(state["order"])
        if given.nbytes == self.data.c.n_seq * sizeof(int32_t) > 0:     # else it is refused, and not copied
            order = given.cast("B").cast("i")
            if not is_permutation(&order[0], order.shape[0]):
                raise ValueError("order: not one of the sequences")
        Trainer.restore(self, state)
        if not 0 <= self.passes <= 0x7FFFFFFF or self.steps != self.passes * self.updates_of(self.data.c.n_seq):
            raise ValueError("steps: not those of the passes")

    # ------------------------------------------------------------------------------------------ threads

    cdef int64_t skip(self, int64_t n) noexcept nogil:
        """Advance rates and scales by up to n updates, without sequences, to where all weights have to be touched; by how many it did."""
        self.steps += n
        return n

    cdef int64_t undisturbed(self, int64_t n) noexcept nogil:
        """How many of the next n updates can be made before all weights have to be touched."""
        return n

    cdef void follow(self, OnlineTrainer leader) noexcept:
        """Take over the state of the leader."""
        self.steps, self.passes, self.rng, self.loss = leader.steps, leader.passes, leader.rng, 0

    cdef void absorb(self, OnlineTrainer worker) noexcept:
        """Add what a worker has counted."""

    # ------------------------------------------------------------------------------------------ measures

    cdef double expect(self, const weight_t* w, double scale, const SentenceC* scored) except? -1 nogil:
        """Forward and backward over a sequence with the weights scale * w, label pairs already loaded; its negative log-likelihood."""
        cdef LatticeC* lat = &self.lattice.c
        K.score(&self.layout.c, w, scale, scored, lat)
        lattice_sum(lat)
        return scored.weight * (lat.logz - lattice_path_score(lat, scored.label))

    cdef bint may_be(self, const SentenceC* scored) noexcept nogil:
        """Leave the labellings that may be true in the scored lattice. False: all labels are given, and nothing was done."""
        return self.data.possible is not None and self.data.possible.restrict(&self.lattice.c, scored.label, self.data.c.seq_ptr[self.sequence])

    cdef bint restrict(self, const SentenceC* scored, double* loss) except -1 nogil:
        """After `expect`, where not all labels are given: forward and backward over the possible ones, whose likelihood replaces that of the given
        ones in loss[0]. Whether that is so."""
        cdef LatticeC* lat = &self.lattice.c
        if not self.may_be(scored):
            return False
        lattice_sum(lat)
        loss[0] -= scored.weight * (lat.logz - lattice_path_score(lat, scored.label))
        return True

    cdef double nll(self, const weight_t* w, double scale, const int32_t* which, int64_t n) except? -1:
        """Negative log-likelihood of n sequences with the weights scale * w."""
        cdef:
            int64_t k, known = n
            double total = 0
            SentenceC sent
            bint stretches = which == self.sequences
        self.pairs_known = False
        lattice_load_weights(&self.lattice.c, &self.layout.c, w, scale)
        with nogil:
            for k in range(n):
                if stretches and (k == 0 or k == known):
                    known = self.ordered.come_to(k)
                self.sequence = which[k]
                sent = sentence_at(self.ordered, which + k)
                self.lattice.reserve(&self.layout.c, &sent)
                total += self.expect(w, scale, &sent)
                self.restrict(&sent, &total)
        return total

    def measures(self) -> dict:
        """With --crf-loss, the negative log-likelihood of all data with the current weights."""
        cdef const float[::1] cells
        if not getattr(self.options, "crf_loss", False):
            return {}
        cells = self.weights()
        self.ordered.begin(self.sequences, self.data.c.n_seq)
        return {"crf_loss": self.nll(&cells[0], 1.0, self.sequences, self.data.c.n_seq)}


cdef void carry_row(OnlineTrainer trainer, int64_t r) noexcept nogil:
    cdef int64_t k, first, n = layout_row(&trainer.layout.c, r, &first)
    cdef double factor = trainer.row_factor(r)
    for k in range(first, first + n):
        trainer.w[k] += <weight_t>(factor * trainer.out[k])
        trainer.out[k] = 0


cdef void carry(OnlineTrainer trainer, const int32_t* which, int64_t n) noexcept nogil:
    """Add the changes of a batch to the weights. Rows that occur twice are cleared the first time."""
    cdef int64_t k, u
    cdef SentenceC sent
    for k in range(n):
        sent = sentence_at(trainer.ordered, which + k)
        for u in range(sent.u_ptr[0], sent.u_ptr[sent.T]):
            carry_row(trainer, sent.u_id[u])
        if sent.b_ptr != NULL:
            for u in range(sent.b_ptr[0], sent.b_ptr[sent.T]):
                carry_row(trainer, <int64_t>trainer.layout.c.A + sent.b_id[u])
    carry_row(trainer, pairs_row(&trainer.layout.c))
    trainer.pairs_known = False


cdef int64_t run_threads(OnlineTrainer trainer, int64_t first, int64_t last, double* loss) except -1:
    """Make some updates on several threads, at most up to the last sequence; returns where they end."""
    cdef int64_t n = min(last - first, <int64_t>PIECE * trainer.threads)
    cdef OnlineTrainer worker
    n = trainer.undisturbed(n)
    if n < 2 * BLOCK:
        n = max(n, 1)
        with nogil:
            trainer.learn_from(trainer.sequences + first, n, loss)
        return first + n
    while len(trainer.workers) < trainer.threads:
        trainer.workers.append(type(trainer)(trainer.data, trainer.layout, trainer.options, leader=trainer))
    if trainer.pool is None:
        trainer.pool = Threads(trainer.threads - 1)
    trainer.claimed, trainer.piece = first, first + n
    for worker in trainer.workers:
        worker.follow(trainer)
        worker.claimed = first
    trainer.pool.in_shares(trainer, take_blocks, 0, len(trainer.workers))
    for worker in trainer.workers:
        loss[0] += worker.loss
        trainer.absorb(worker)
    trainer.skip(n)
    trainer.pairs_known = False
    return first + n


cdef int take_blocks(owner, int what, int64_t first, int64_t last) except -1:
    """What workers first .. last - 1 do in a piece: each takes blocks of it until none is left."""
    cdef:
        OnlineTrainer leader = owner, worker
        int64_t at, block
    for worker in leader.workers[first:last]:
        at = worker.claimed
        with nogil:
            block = crfkit_fetch_add(&leader.claimed, BLOCK)
            while block < leader.piece:
                worker.skip(block - at)
                at = min(block + BLOCK, leader.piece)
                worker.learn_from(worker.sequences + block, at - block, &worker.loss)
                block = crfkit_fetch_add(&leader.claimed, BLOCK)


cdef bint is_permutation(const int32_t* order, int64_t n) except -1:
    """Whether this is a permutation of the numbers below n."""
    cdef uint8_t[::1] seen = bytearray(n + 1)
    cdef int64_t k
    for k in range(n):
        if not 0 <= order[k] < n or seen[order[k]]:
            return False
        seen[order[k]] = True
    return True
