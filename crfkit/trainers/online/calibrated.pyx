"""Trainers that choose their first learning rate, where none is given, by trying several on a sample of the data (docs/defaults.md).

A rate is judged by the held-out loss; that of a trainer that minimises a penalised likelihood (sgd) by the training objective, since with few
sequences the held-out loss is lowest while weights are still small. If the sample is all of the data, the rate falls from
the first round of such a trial on: the noise of a high rate would not disappear in a single one. With more data a run makes more steps than
the trial, and lower rates get as far: the rate of the trial falls later.

A trainer that learns from the best paths (sapo) does not care how sure its answers are. The held-out loss does, and is the lower the smaller weights
are, although more answers are wrong. A high rate makes them small, as the penalty then takes away in a pass what was learned; a low one, too,
with few sequences. So its rate is at most 1 / l2, and with few sequences at least 1, if the first bound allows it.

A subclass calls `find_rate` once it is ready to make steps, and defines how a trial begins and ends.

No single rate suits attributes with values of different magnitudes. So where the rate is chosen, an attribute with values above 1 gets
rate / v^2, as if it were measured in a unit in which v is 1. Penalties do not change. Here v^2 is the largest value times the root mean square,
so that one extreme value counts less. Where all values are small, one such v serves all attributes, whose rate is higher then. A subclass
calls `measure` for that, and its loops use values that are multiplied by the factor of each row.
"""

from crfkit.memory cimport Arena, BufferC, arena_reserve, arena_zeros
from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport INFINITY, fabs, fmax, sqrt
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport DatasetC, LatticeC, SentenceC
from crfkit.threads cimport PyErr_CheckSignals
from crfkit.trainers.base cimport square_of_small
from crfkit.weights.cells cimport pairs_row
from crfkit.weights.layout cimport Layout

from crfkit.errors import TrainingError

cdef enum:
    SAMPLES = 1000          # sequences of a trial that is judged by held-out loss
    TRAINING_SAMPLES = 750  # of a trial that is judged by the training objective: as many as the others train on
    ROUNDS = 3              # passes over the sample, before a last one
    ENOUGH = 1000           # held-out tokens to judge a rate by
    FEW = 200               # sequences: with at most so many, the rate of a trainer that learns from the best paths is at least 1
    SHARES = 50             # held-out sequences of the first quarter for which the share of probability is computed
    BETWEEN_SIGNALS = 64    # sequences
    AHEAD = 16              # rows are prefetched so many attributes ahead

cdef struct MagnitudeC:     # of the values of an attribute
    double largest          # square
    double sum              # of squares
    int64_t n               # of those that are not zero


cdef bint has_usual_values(Dataset data, double square) noexcept:
    """Whether one rate suits all attributes: values are neither above 1 nor all small. `square`: of the unit of small ones."""
    return square == 1 and data.largest_value <= 1


cdef class CalibratedTrainer(OnlineTrainer):
    """`rate0` is the first learning rate."""

    lock_free = True
    numbers = OnlineTrainer.numbers + ("rate0",)
    seeks_optimum = False       # minimises the penalised negative log-likelihood

    def __cinit__(self, Dataset data, Layout layout, options, str recursions="auto", square=None, **unused):
        """`square`: of the unit of small values, where they are a part of the data."""
        self.square = square_of_small(data) if square is None else square
        self.lattice.list_features(&layout.c, recursions, not self.looks_for_paths)

    @staticmethod
    def bytes_per_cell(options, int threads) -> int:
        return OnlineTrainer.bytes_per_cell(options, threads) + 6      # copies for trials of rates and for the model

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        cdef int64_t a_row = sizeof(double) + sizeof(MagnitudeC) if not has_usual_values(data, square_of_small(data)) else 0
        return layout.c.n_cells * cls.bytes_per_cell(options, threads) + a_row * (<int64_t>layout.c.A + layout.c.B)

    # ------------------------------------------------------------------------------------------ of each trainer

    cdef int begin_trial(self, int64_t updates) except -1:
        """Start training at `rate0`, with so many updates a pass; the weights are set already."""
        raise TypeError("a calibrated trainer without trials")

    cdef void fall_to(self, double rate) noexcept nogil:
        """Set the rate of the next update, in the last pass of a trial. Nothing to do for rates that fall by themselves."""

    cdef double end_trial(self) noexcept:
        """Carry out all lazy updates of the weights; returns their scale."""
        return 1

    cdef double penalties(self, double scale) noexcept nogil:
        """All penalties at the weights scale * w, divided by the updates a pass."""
        return self.penalty / 2 * scale * scale * K.dot_floats(self.layout.c.n_cells, self.w, self.w)

    cdef double scale_of(self, int64_t r) noexcept nogil:
        """The factor on values of row r for scoring."""
        return 1

    cdef double gain_of(self, int64_t r) noexcept nogil:
        """The factor on them in the gradient step."""
        return 1

    cdef double share(self, const int32_t* which, int64_t n, double scale) except? -1:
        """The share of the probability, by the weights scale * w, that those label sequences have of which a step is made: on average of n sequences."""
        return 1

    # ------------------------------------------------------------------------------------------ values of attributes

    cdef int measure(self) except -1:
        """Find the factor of the rate of each row (`shares`). None are kept if all would be 1."""
        cdef:
            const DatasetC* c = &self.data.c
            int64_t r, u, n = pairs_row(&self.layout.c) + 1
            Arena room = Arena()
            MagnitudeC* of
            double square
        if has_usual_values(self.data, self.square):
            return 0
        self.shares = <double*>arena_zeros(self, n, sizeof(double))
        if self.square != 1:
            for r in range(n):
                self.shares[r] = 1 / self.square if r < self.layout.c.A else 1
            return 0
        of = <MagnitudeC*>arena_zeros(room, n, sizeof(MagnitudeC))
        for u in range(c.u_ptr[c.n_tok]):
            r, square = c.u_id[u], <double>c.u_val[u] * c.u_val[u]
            of[r].largest = fmax(of[r].largest, square)
            of[r].sum += square
            of[r].n += c.u_val[u] != 0
        for r in range(n):
            self.shares[r] = 1 / fmax(1, sqrt(of[r].largest * of[r].sum / max(of[r].n, 1)))

    cdef int load_values(self, const SentenceC* sent, bint gains, SentenceC* out) except -1 nogil:
        """The sequence with values times the gains of their rows, or times their scales."""
        out[0] = sent[0]
        load_kind(self, &self.u_values, sent.u_ptr, sent.T, sent.u_id, sent.u_val, 0, gains, &out.u_val)
        if sent.b_ptr != NULL:
            load_kind(self, &self.b_values, sent.b_ptr, sent.T, sent.b_id, sent.b_val, self.layout.c.A, gains, &out.b_val)

    cdef int learn(self, const SentenceC* sent, double gain, double of_pairs, double* loss) except -1 nogil:
        """After `expect`: add gain * (observed - expected features); for plain label pairs the factor is `of_pairs`. Where not all labels are given,
        what the possible ones expect is observed, and the loss is theirs."""
        move(self, sent, gain, of_pairs)
        if self.restrict(sent, loss):
            move(self, sent, -gain, -of_pairs)

    # ------------------------------------------------------------------------------------------ trials

    @property
    def has_shares(self):
        """Whether attributes with unusual values have another rate, or would if there were any."""
        return self.shares != NULL or has_usual_values(self.data, self.square)

    def chosen(self):
        return {} if self.options.rate else {"rate": self.rate0}

    cdef int find_rate(self) except -1:
        """Set `rate0`: the leader's, the given one, or the best power of two. If no rate lowers the held-out loss, the training
        objective decides: labels are random, or the initial weights fit these sequences already. A single sequence cannot be held out."""
        cdef:
            double rate, highest        # at which the penalty halves a weight in one step
            bint held_out
            int64_t updates = self.updates_of(self.data.c.n_seq)
        options = self.options
        self.covered = 1
        if self.leader is not None or options.rate:
            self.rate0 = options.rate if self.leader is None else (<CalibratedTrainer>self.leader).rate0
            return 0
        start = OnlineTrainer.weights(self)
        self.penalised = (self.penalty > 0 or getattr(options, "l1", 0) > 0) and self.penalties(1) == 0
        held_out = self.data.c.n_seq > 1 and not (self.seeks_optimum and self.penalised)
        highest = 64 if options.l2 == 0 else min(64, updates / (2 * options.l2))
        if self.looks_for_paths and options.l2 > 0:
            highest = min(highest, 1 / options.l2)
        rate = best_rate(self, start, highest, held_out)
        if rate == 0 and held_out:
            rate = search(self, start, highest, False)
        elif held_out and self.looks_for_paths and self.penalised and self.data.c.n_seq <= FEW and self.data.largest_value <= 1:
            if rate < min(1, highest) and trial_loss(self, start, min(1, highest), True) < INFINITY:
                rate = min(1, highest)
        return self.start_trial(start, rate or min(1e-3, highest), updates)

    cdef int start_trial(self, start, double rate, int64_t n) except -1:
        """Start anew from these weights, at this rate, with n updates a pass."""
        self.begin_anew(start)
        self.rate0 = rate
        return self.begin_trial(n)


cdef int load_kind(CalibratedTrainer trainer, BufferC* buffer, const int64_t* ptr, int32_t T, const int32_t* ids, const float* val,
                   int64_t first_row, bint gains, const float** out) except -1 nogil:
    """Values of the attributes of one kind, whose rows begin with `first_row`, times their gains or scales."""
    cdef int64_t u, first = ptr[0], last = ptr[T]
    cdef double value
    cdef float* made
    made = <float*>arena_reserve(trainer, buffer, last - first + 1, sizeof(float))
    for u in range(first, last):
        if u + AHEAD < last:
            crfkit_prefetch(trainer.known_rows + (first_row + ids[u + AHEAD]) * trainer.row_size)
        value = trainer.gain_of(first_row + ids[u]) if gains else trainer.scale_of(first_row + ids[u])
        if val != NULL:
            value *= val[u]
        made[u - first] = <float>value if fabs(value) > 1e-30 else 0    # denormal products are slow, and change nothing
    out[0] = made - first


cdef void move(CalibratedTrainer trainer, const SentenceC* sent, double gain, double of_pairs) noexcept nogil:
    """Add gain * (given - expected features), from the marginals in the lattice."""
    cdef LatticeC* lat = &trainer.lattice.c
    K.update_expected(&trainer.layout.c, sent, lat, gain, trainer.out)
    if of_pairs != 0 and trainer.layout.c.has_tau and sent.T > 1:
        K.add_pairs(lat, 1.0)
        K.update_pairs(&trainer.layout.c, sent, lat, of_pairs, trainer.out)


cdef double best_rate(CalibratedTrainer trainer, start, double highest, bint held_out) except -1:
    """The best rate with `shares`, or with one rate for all attributes if that has a lower loss: where all values are far from
    zero, lower rates slow down the part that depends on the label as well as the common part. The optimum is the same."""
    cdef:
        bint others = trainer.data.c.n_seq > 1
        double rate = search(trainer, start, highest, held_out), one_rate, loss
        double covered = trainer.covered
        double* shares = trainer.shares
    if shares != NULL:
        loss = trial_loss(trainer, start, rate, others)
        trainer.shares = NULL
        one_rate = search(trainer, start, highest, held_out)
        if trial_loss(trainer, start, one_rate, others) < loss:
            return one_rate
        trainer.shares, trainer.covered = shares, covered
    return rate


cdef double search(CalibratedTrainer trainer, start, double highest, bint held_out) except -1:
    """The best rate; 0 if none lowers the loss. As in Bottou's sgd, the search goes up from 1/8 while that helps, then down."""
    cdef:
        double best = 0, best_loss = trial_loss(trainer, start, 0, held_out), first = 0.125, rate, loss
        bint up = True
    while first > highest:
        first /= 2
    rate = first
    while rate > 1e-8:
        loss = trial_loss(trainer, start, rate, held_out) if rate <= highest else INFINITY
        if loss < best_loss:
            best, best_loss, trainer.covered = rate, loss, trainer.covered_now
        elif up and best <= first:
            up, rate = False, first         # a lower one may be better still
        elif best > 0:
            break
        rate = rate * 2 if up else rate / 2
    return best


cdef double trial_loss(CalibratedTrainer trainer, start, double rate, bint held_out) except? -1:
    """The mean loss of a sequence after training on a sample at this rate; infinite where training diverges. Held out: on one quarter,
    after training on the others; on further quarters until there are enough tokens. Not held out: on the sample itself, with its share of
    the penalties. Without `penalised` training makes a single pass: in several, a rate that forgets the initial weights would look best."""
    cdef:
        int64_t n = min(trainer.data.c.n_seq, SAMPLES if held_out else TRAINING_SAMPLES), quarter, first, last, k, judged = 0, tokens = 0
        int32_t[2 * SAMPLES] sample
        double loss = 0, scale
        int rounds
    trainer.covered_now = 1
    trainer.draw_sample(sample, n)
    try:
        if not held_out:
            rounds = ROUNDS if trainer.penalised else 0
            scale = train_at(trainer, start, sample, n, rate, rounds, max(1, (rounds + 1) * n // trainer.data.c.n_seq))
            loss = trainer.nll(trainer.w, scale, sample, n)
            return (loss + (trainer.updates_of(n) * trainer.penalties(scale) if trainer.penalised else 0)) / n
        for quarter in range(4):
            first, last = n * quarter // 4, n * (quarter + 1) // 4
            if first == last:
                continue
            scale = train_at(trainer, start, sample + last, n - last + first, rate, ROUNDS, 1)
            loss += trainer.nll(trainer.w, scale, sample + first, last - first)
            if judged == 0:
                trainer.covered_now = trainer.share(sample + first, min(last - first, SHARES), scale)
            judged += last - first
            for k in range(first, last):
                tokens += trainer.data.c.seq_ptr[sample[k] + 1] - trainer.data.c.seq_ptr[sample[k]]
            if tokens >= ENOUGH:
                break
        return loss / judged
    except TrainingError:
        return INFINITY


cdef double train_at(CalibratedTrainer trainer, start, const int32_t* which, int64_t n, double rate, int rounds, int falling) except? -1:
    """Train on these sequences: some passes and one more, over the last `falling` of which the rate falls to zero, as in a run: the noise
    that a high rate leaves in the weights disappears again, and should not count against it. Returns the scale of the weights."""
    cdef:
        int round
        int64_t k, end
        double own = 0
    trainer.start_trial(start, rate, trainer.updates_of(n))
    for round in range(rounds, -1 if rate > 0 else rounds, -1):
        k = 0
        while k < n:
            PyErr_CheckSignals()
            end = min(k + BETWEEN_SIGNALS, n)
            with nogil:
                while k < end:
                    if round < falling:
                        trainer.fall_to(rate * (n * (round + 1) - k) / (n * falling))
                    trainer.update(which + k, min(trainer.batch, n - k), &own)
                    k += trainer.batch
    return trainer.end_trial()
