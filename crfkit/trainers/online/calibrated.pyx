"""Trainers that find their first rate, where none is given, by trying some on a sample of the data.

A trainer that minimises the objective takes the rate that comes nearest to the optimum: penalties, if there are any, decide how far
weights should go from zero, not the rate. What is foreseen of sequences left out of the trials is another matter. Of few sequences with many attributes it is best long
before labels are told well, at rates with which training would never come near the optimum. For other trainers, whose rates do decide
how far they go, it is what counts.

A subclass calls `find_rate` once all it needs for a step is there, and says how a trial begins and ends.

No single rate suits attributes with values of different magnitudes. So where it is found, that of an attribute with values above 1 is
1 / v^2 of it: steps are those that would be made if the attribute were measured in a unit in which v is 1. Penalties stay what they
are. Here v^2 is the largest value times the root of the mean square, which lets one extreme value count less. A subclass calls `measure`
for that, and has its loops take values that are multiplied by what belongs to each row.
"""

from cpython.exc cimport PyErr_CheckSignals

from crfkit.memory cimport Arena, BufferC, arena_reserve, arena_zeros
from crfkit.data.dataset cimport Dataset
from crfkit.lattice.lattice cimport recursions_of
from crfkit.loops.numbers cimport INFINITY, fabs, fmax, sqrt
from crfkit.loops.atomic cimport crfkit_prefetch
from crfkit.loops.kernels cimport K
from crfkit.loops.structs cimport DatasetC, SentenceC
from crfkit.weights.layout cimport Layout

from crfkit.errors import TrainingError

cdef enum:
    SAMPLES = 1000          # sequences on which the first rate is chosen
    KNOWN = 750             # as many as are learned from there, where the objective on them decides
    ROUNDS = 3              # over those of them that a rate is tried on, and one in which it falls
    ENOUGH = 1000           # tokens to judge it by
    AHEAD = 16              # rows are asked for so many attributes before they are needed

cdef struct MagnitudeC:     # of the values of an attribute
    double largest          # its square
    double sum              # of squares
    int64_t n               # of those that are not zero


cdef class CalibratedTrainer(OnlineTrainer):
    """`rate0` is the first rate."""

    numbers = OnlineTrainer.numbers + ("rate0",)
    looks_for_paths = False     # and takes no expectations over all of them
    seeks_optimum = False       # of the likelihood and its penalties

    def __cinit__(self, Dataset data, Layout layout, options, str recursions="auto", **unused):
        self.lattice.list_features(&layout.c, recursions_of(recursions), not self.looks_for_paths)

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        cdef int64_t a_row = sizeof(double) + sizeof(MagnitudeC) if data.largest_value > 1 else 0
        return layout.c.n_cells * cls.bytes_per_cell(options, threads) + a_row * (<int64_t>layout.c.A + layout.c.B)

    # ------------------------------------------------------------------------------------------ of each trainer

    cdef int begin_trial(self, double rate, int64_t updates) except -1:
        """A trainer that begins at this rate, and makes so many updates a round; its weights are set already."""
        raise TypeError("a calibrated trainer without trials")

    cdef void fall_to(self, double rate) noexcept:
        """The rate of the next update in the last round of a trial. Rates that fall by themselves need nothing."""

    cdef double end_trial(self) noexcept:
        """Carry out what is put off until a weight is used; returns the scale of the weights."""
        return 1

    cdef double penalties(self, double scale) noexcept nogil:
        """An update's share of all penalties, of the weights as they stand, which have that scale."""
        return self.penalty / 2 * scale * scale * K.dot_floats(self.layout.c.n_cells, self.w, self.w)

    cdef double scale_of(self, int64_t r) noexcept nogil:
        """What values of row r are multiplied by before they are scored."""
        return 1

    cdef double gain_of(self, int64_t r) noexcept nogil:
        """What they are multiplied by before weights are changed."""
        return 1

    # ------------------------------------------------------------------------------------------ values of attributes

    cdef int measure(self) except -1:
        """Find the share of the first rate that each row has. It is 1, and not kept, where no value is above 1."""
        cdef:
            const DatasetC* c = &self.data.c
            int64_t r, u, n = <int64_t>self.layout.c.A + self.layout.c.B + 1
            Arena room = Arena()
            MagnitudeC* of
            double square
        if self.data.largest_value <= 1:
            return 0
        of = <MagnitudeC*>arena_zeros(room, n, sizeof(MagnitudeC))
        for u in range(c.u_ptr[c.n_tok]):
            r, square = c.u_id[u], <double>c.u_val[u] * c.u_val[u]
            of[r].largest = fmax(of[r].largest, square)
            of[r].sum += square
            of[r].n += c.u_val[u] != 0
        self.shares = <double*>arena_zeros(self, n, sizeof(double))
        for r in range(n):
            self.shares[r] = 1 / fmax(1, sqrt(of[r].largest * of[r].sum / max(of[r].n, 1)))
        return 0

    cdef int load_values(self, const SentenceC* sent, bint gains, SentenceC* out) except -1 nogil:
        """The sequence with values that hold scales or gains."""
        out[0] = sent[0]
        self.values(&self.u_values, sent.u_ptr, sent.T, sent.u_id, sent.u_val, 0, gains, &out.u_val)
        if sent.b_ptr != NULL:
            self.values(&self.b_values, sent.b_ptr, sent.T, sent.b_id, sent.b_val, self.layout.c.A, gains, &out.b_val)
        return 0

    cdef int values(self, BufferC* buffer, const int64_t* ptr, int32_t T, const int32_t* ids, const float* val,
                    int64_t first_row, bint gains, const float** out) except -1 nogil:
        """The values of a sequence's attributes times the scales of their rows, or times their gains."""
        cdef int64_t u, first = ptr[0], last = ptr[T]
        cdef double value
        cdef float* made
        arena_reserve(self, buffer, last - first + 1, sizeof(float))
        made = <float*>buffer.data
        for u in range(first, last):
            if u + AHEAD < last:
                crfkit_prefetch(self.known_rows + (first_row + ids[u + AHEAD]) * self.row_size)
            value = self.gain_of(first_row + ids[u]) if gains else self.scale_of(first_row + ids[u])
            if val != NULL:
                value *= val[u]
            made[u - first] = <float>value if fabs(value) > 1e-30 else 0    # products with less are slow, and change nothing
        out[0] = made - first
        return 0

    # ------------------------------------------------------------------------------------------ trials

    @property
    def has_shares(self):
        """Whether attributes with values above 1 have but a share of the rate."""
        return self.shares != NULL

    def chosen(self):
        return {} if self.options.rate else {"rate": self.rate0}

    cdef int find_rate(self) except -1:
        """The leader's, the one that is given, or the best among powers of two. Where nothing can be foreseen, it is the objective
        that decides: of a single sequence, of labels without a pattern, or where the weights to start from know the sequences."""
        cdef:
            double rate, highest        # at which the penalty halves a weight in one step
            bint foreseen
            int64_t updates = self.updates_of(self.data.c.n_seq)
        options = self.options
        if self.leader is not None or options.rate:
            self.rate0 = options.rate if self.leader is None else (<CalibratedTrainer>self.leader).rate0
            return 0
        start = OnlineTrainer.weights(self)
        self.penalised = (self.penalty > 0 or getattr(options, "l1", 0) > 0) and self.penalties(1) == 0
        foreseen = self.data.c.n_seq > 1 and not (self.seeks_optimum and self.penalised)
        highest = 64 if options.l2 == 0 else min(64, updates / (2 * options.l2))
        rate = self.best_way(start, highest, foreseen)
        if rate == 0 and foreseen:
            rate = self.search(start, highest, False)
        rate = rate or min(1e-3, highest)
        self.try_from(start, rate, updates)
        self.rate0 = rate
        return 0

    cdef double best_way(self, start, double highest, bint foreseen) except -1:
        """With shares, or with one rate for all where that foresees more: of values far from zero, shares slow what tells of labels
        as much as what all of them have in common. At the optimum both would be the same."""
        cdef:
            bint others = self.data.c.n_seq > 1
            double rate = self.search(start, highest, foreseen), one_rate, loss
            double* shares = self.shares
        if shares != NULL:
            loss = self.sample_loss(start, rate, others)
            self.shares = NULL
            one_rate = self.search(start, highest, foreseen)
            if self.sample_loss(start, one_rate, others) < loss:
                return one_rate
            self.shares = shares
        return rate

    cdef double search(self, start, double highest, bint foreseen) except -1:
        """A new start is made for each candidate. As in Bottou's sgd, the search goes up from 1/8 while it helps, then
        down. 0: nothing helps."""
        cdef:
            double best = 0, best_loss = self.sample_loss(start, 0, foreseen), first = 0.125, rate, loss
            bint up = True
        while first > highest:
            first /= 2
        rate = first
        while rate > 1e-8:
            loss = self.sample_loss(start, rate, foreseen) if rate <= highest else INFINITY
            if loss < best_loss:
                best, best_loss = rate, loss
            elif up and best <= first:
                up, rate = False, first         # less may be better still
            elif best > 0:
                break
            rate = rate * 2 if up else rate / 2
        return best

    cdef int try_from(self, start, double rate, int64_t n) except -1:
        """As a new trainer, with these weights, for rounds of n updates."""
        self.begin_anew(start)
        return self.begin_trial(rate, n)

    cdef double sample_loss(self, start, double rate, bint foreseen) except? -1:
        """What a rate is judged by; infinite where weights grow without bounds."""
        try:
            return self.loss_after(start, rate, foreseen)
        except TrainingError:
            return INFINITY

    cdef double loss_after(self, start, double rate, bint foreseen) except? -1:
        """The mean loss after learning from a sample at this rate. Foreseen: that of one quarter after learning from the others.
        Where a quarter has few tokens, others take their turn. Not foreseen: that of the sample itself, with its part of the
        penalties. Where these decide nothing, after a single round without them: in several, a rate that makes the weights of
        another run forgotten would look best."""
        cdef:
            int64_t n = min(self.data.c.n_seq, SAMPLES if foreseen else KNOWN), quarter, first, last, k, judged = 0, tokens = 0
            int32_t[2 * SAMPLES] sample
            double loss = 0, scale
        self.draw_sample(sample, n)
        if not foreseen:
            scale = self.learn_at(start, sample, n, rate, ROUNDS if self.penalised else 0)
            loss = self.nll(self.w, scale, sample, n)
            return (loss + (self.updates_of(n) * self.penalties(scale) if self.penalised else 0)) / n
        for quarter in range(4):
            first, last = n * quarter // 4, n * (quarter + 1) // 4
            if first == last:
                continue
            scale = self.learn_at(start, sample + last, n - last + first, rate, ROUNDS)
            loss += self.nll(self.w, scale, sample + first, last - first)
            judged += last - first
            for k in range(first, last):
                tokens += self.data.c.seq_ptr[sample[k] + 1] - self.data.c.seq_ptr[sample[k]]
            if tokens >= ENOUGH:
                break
        return loss / judged

    cdef double learn_at(self, start, const int32_t* which, int64_t n, double rate, int rounds) except? -1:
        """So many rounds over these sequences, and one in which the rate falls to zero, as that of a run does: noise that a high rate
        leaves in the weights goes away again, and should not count against it. Returns the scale of the weights."""
        cdef:
            int round
            int64_t k
            double own = 0
        self.try_from(start, rate, self.updates_of(n))
        for round in range(rounds + 1 if rate > 0 else 0):
            k = 0
            while k < n:
                PyErr_CheckSignals()
                if round == rounds:
                    self.fall_to(rate * (n - k) / n)
                self.update(which + k, min(self.batch, n - k), &own)
                k += self.batch
        return self.end_trial()
