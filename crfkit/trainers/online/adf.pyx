"""ADF: stochastic gradient descent whose rates adapt to the frequency of features (Sun et al. 2014, figure 1).

    w_k <- w_k + rate_k * (observed - expected - l2 / |S| * w_k)

All rates start at c (--rate, or what calibrated.pyx chooses), lower for values above 1. At the end of every window of q = |S|/10
samples (or --window), rate_k *= alpha - u (alpha - beta), with u the fraction of the window's samples that have the feature: frequent
features settle early. With many windows, or where nearly all features are frequent, that would be too early, whatever c is. So where c is
chosen, windows are longer if need be (`longer_window`), and as a trial is short, its rates fall within its last pass, too.

A feature is used in a sample when its attribute occurs there, with any label and however often. So count and rate are kept for a *row*: a
unigram attribute, a rich bigram attribute, or all plain label pairs together, whose attribute, `B`, occurs in every sequence longer than one.

Rows that do not occur are updated lazily. Each row has a scale s, w = s v; when it occurs again, its scale
is multiplied by the weight decay of all steps in between: (1 - rate l2/|S|)^steps for each window, with the rate
of that window. Over n windows in which the row did not occur the rates are a geometric series, and so are
the powers of x = rate l2/|S| in log(1 - x), whose sums for n windows are tabulated. Scale and rate are multiplied into the values of
attributes, so that the loops are SGD's.

A stream is trained on window by window (learning/streaming.py): each is a data set for a new trainer.

With mini-batches a window has q updates, a tenth of a pass, and batch_size times as many samples. Threads meet at the end of every window:
within a window rates do not change. A row's scale belongs to the latest step that used it, and its count is exact: both change under a lock.
"""

from libc.stdint cimport int32_t, int64_t

from crfkit.data.dataset cimport Dataset
from crfkit.loops.numbers cimport fabs
from crfkit.loops.kernels cimport K
from crfkit.lattice.lattice cimport lattice_load_for
from crfkit.weights.cells cimport multiply_row, pairs_row
from crfkit.weights.layout cimport Layout
from crfkit.memory cimport arena_zeros, memset, vector
from crfkit.loops.powers cimport shrunk
from crfkit.loops.structs cimport DatasetC, LatticeC, LayoutC, SentenceC, weight_t
from crfkit.loops.atomic cimport crfkit_spin_lock, crfkit_spin_unlock
from crfkit.trainers.stepwise cimport OnlineTrainer
from .calibrated cimport CalibratedTrainer

import array

from crfkit.data.tallies import spread, values_in
from crfkit.errors import ImpossibleError

cdef enum:
    WINDOWS_A_PASS = 10
    LEAST_WINDOW = 100      # sequences, where the first rate is chosen
    MOST_WINDOWS = 200      # there, in all passes
    WINDOWS_OF_DENSE = 20   # the same where each sequence has each attribute
    LOCKS = 1024            # shared by all rows
    TOGETHER = 64           # at most this many windows are closed at once

cdef double FAR = 1e-4          # values are far from 0 where their variance is a smaller share of their squares

cdef struct IdleC:      # n windows in which a row does not occur
    double rate         # factor on its rate
    double[4] sums      # over these windows, of (rate / first rate)^k / k for k = 1 .. 4

cdef struct AdfRowC:
    double rate
    double scale
    int64_t step        # the penalty of all steps before this one is in the scale
    int32_t window      # the last one in which the row was looked at
    int32_t count       # samples of that window in which it occurred


cdef class Adf(CalibratedTrainer):
    """The loss is the negative log-likelihood of each sequence before its update."""
    cdef AdfRowC* rows          # of unigram attributes, of rich bigram attributes, of the plain label pairs
    cdef int32_t* locks         # of rows, while several threads are at work; else NULL
    cdef int32_t* stamps        # sample in which a row was last counted; NULL where its step says that
    cdef int32_t sample
    cdef IdleC[TOGETHER + 1] idle
    cdef double alpha, beta
    cdef double part            # factor on all rates: less than 1 in the last pass of a trial whose windows are long
    cdef bint long_window       # a tenth of the data would be too short
    cdef int64_t given_window   # updates after which rates fall, as an option says
    cdef public int64_t q       # and what is in force: more passes, when a run is resumed, leave it as it was
    cdef int32_t window

    numbers = CalibratedTrainer.numbers + ("q",)
    rates_of_rows = True

    @classmethod
    def expected_bytes(cls, Dataset data not None, Layout layout not None, options, int threads) -> int:
        return super(Adf, cls).expected_bytes(data, layout, options, threads) + sizeof(AdfRowC) * (<int64_t>layout.c.A + layout.c.B)

    def __init__(self, Dataset data, Layout layout, options, leader=None, rates=None, sequences=None, found=None, shares=True, **unused):
        """For a window of a stream: `sequences` up to its end, `rates` of all rows at its start. `found` and `shares` as in ScaledTrainer."""
        cdef int64_t k, n = pairs_row(&layout.c) + 1
        self.penalty = options.l2 / self.updates_of(data.c.n_seq)
        self.alpha, self.beta = options.alpha, options.beta
        self.part = 1
        found = options.rate is None if found is None else found
        self.given_window = options.window or 0
        self.sum_idle_windows()
        if leader is not None or self.batch > 1:
            self.stamps = <int32_t*>arena_zeros(self, n, sizeof(int32_t))
        self.rows = <AdfRowC*>arena_zeros(self, n, sizeof(AdfRowC)) if leader is None else (<Adf>leader).rows
        self.known_rows, self.row_size = <char*>self.rows, sizeof(AdfRowC)
        if found and not options.window and leader is None:
            self.given_window = self.longer_window(options.passes or 0)
            self.long_window = self.given_window != 0
        if self.threads > 1:
            self.locks = <int32_t*>arena_zeros(self, LOCKS, sizeof(int32_t))
        if found and shares and leader is None:
            self.measure()
        if sequences is not None:
            self.penalty = options.l2 / sequences
        self.find_rate()
        if leader is not None:
            self.locks, self.q = (<Adf>leader).locks, (<Adf>leader).q
            return
        self.begin_trial(self.updates_of(data.c.n_seq))
        if sequences is not None:
            self.q = self.updates_of(data.c.n_seq)
        if rates is not None:
            for k in range(n):
                self.rows[k].rate = min(<double>rates[k], self.first_rate(k))

    cdef int64_t longer_window(self, int64_t passes) except -1:
        """The sequences of a window, where a tenth of the data is too short: with so many passes there would be so many windows that rates fall to
        nothing while weights still change. 0: it is not. Of values far from 0, a rate that is too high for what they have in common must fall soon."""
        cdef int64_t window = LEAST_WINDOW
        if self.data.largest_value <= 1 or spread(values_in(self.data), self.data.c.n_tok) >= FAR:
            window = max(window, <int64_t>(passes * self.data.c.n_seq / min(MOST_WINDOWS, WINDOWS_OF_DENSE / self.density())))
        return window if window * WINDOWS_A_PASS > self.data.c.n_seq else 0

    cdef double density(self) noexcept:
        """The share of sequences that have an attribute, on average of all attributes of all sequences. Until training begins, rows count these."""
        cdef:
            int64_t r
            double n = 0, squares = 0
        self.count_sequences()
        for r in range(pairs_row(&self.layout.c)):
            n += self.rows[r].count
            squares += <double>self.rows[r].count * self.rows[r].count
        return squares / n / self.data.c.n_seq if n > 0 else 1. / self.data.c.n_seq

    cdef void count_sequences(self) noexcept:
        """Count, in each row, the sequences in which it is used; rows have no steps yet."""
        cdef:
            const DatasetC* c = &self.data.c
            int64_t s
            AdfRowC* pairs = &self.rows[pairs_row(&self.layout.c)]
        for s in range(c.n_seq):
            self.count_sequence(s, c.u_ptr, c.u_id, 0)
            if c.b_ptr != NULL:
                self.count_sequence(s, c.b_ptr, c.b_id, self.layout.c.A)
            pairs.count += self.layout.c.has_tau and c.seq_ptr[s + 1] - c.seq_ptr[s] > 1

    cdef void count_sequence(self, int64_t s, const int64_t* ptr, const int32_t* ids, int64_t first_row) noexcept:
        cdef:
            int64_t u
            AdfRowC* row
        for u in range(ptr[self.data.c.seq_ptr[s]], ptr[self.data.c.seq_ptr[s + 1]]):
            row = &self.rows[first_row + ids[u]]
            if row.step <= s:
                row.step = s + 1
                row.count += 1

    cdef int begin_trial(self, int64_t updates) except -1:
        cdef int64_t k
        self.q = max(1, self.given_window // self.batch if self.given_window else updates // WINDOWS_A_PASS)
        self.part = 1
        for k in range(pairs_row(&self.layout.c) + 1):
            self.rows[k].rate, self.rows[k].scale = self.first_rate(k), 1
            self.rows[k].step = self.rows[k].window = self.rows[k].count = 0

    def go_on(self, int64_t passes):
        """The window in which these passes end goes on. How often a row occurred in it is what is to be expected: the order of the passes is not known."""
        cdef:
            int64_t r, updates = self.updates_of(self.data.c.n_seq)
            AdfRowC* row
        self.passes, self.steps = passes, passes * updates
        self.window = <int32_t>(self.steps // self.q)
        if self.steps % self.q:
            self.count_sequences()
        for r in range(pairs_row(&self.layout.c) + 1):
            row = &self.rows[r]
            row.step, row.window = self.steps, self.window
            row.count = <int32_t>(row.count * (self.steps % self.q) // updates)

    cdef double first_rate(self, int64_t r) noexcept:
        """The first rate of row r; `rate0` is for values up to 1."""
        return self.rate0 if self.shares == NULL else self.shares[r] * self.rate0

    cdef void fall_to(self, double rate) noexcept nogil:
        if self.long_window:
            self.part = rate / self.rate0

    cdef double end_trial(self) noexcept:
        self.carry_scales_out(self.w)
        return 1

    def run_window(self) -> float:
        """One update for each sequence, in order; returns the loss."""
        cdef double loss = 0
        try:
            with nogil:
                self.learn_from(self.sequences, self.data.c.n_seq, &loss)
        except ImpossibleError:             # nothing forbids a label here: a score is not finite
            raise self.diverged(f" at sequence {self.sequence + 1} of a window") from None
        return loss

    # ------------------------------------------------------------------------------------------ rows

    cdef void sum_idle_windows(self) noexcept nogil:
        cdef int32_t n, k
        cdef double power
        self.idle[0].rate = 1
        memset(self.idle[0].sums, 0, sizeof(self.idle[0].sums))
        for n in range(TOGETHER):
            self.idle[n + 1].rate = self.idle[n].rate * self.alpha
            power = 1
            for k in range(4):
                power *= self.idle[n].rate
                self.idle[n + 1].sums[k] = self.idle[n].sums[k] + power / (k + 1)

    cdef void close_windows(self, AdfRowC* row) noexcept nogil:
        """Apply all windows before this one to a row: first the last one in which it occurred, then those since."""
        cdef:
            const IdleC* idle
            int64_t end = (row.window + 1) * self.q
            int32_t n
            double x, rate, scale
        row.scale *= shrunk(row.rate * self.penalty, end - row.step)
        row.rate *= self.alpha - <double>row.count / (self.q * self.batch) * (self.alpha - self.beta)
        row.count = 0
        row.window += 1
        while row.window < self.window:
            rate, scale, x = row.rate, row.scale, row.rate * self.penalty
            n = min(self.window - row.window, TOGETHER) if fabs(x) < 1e-4 else 1
            idle = &self.idle[n]
            if n == 1:
                row.scale *= shrunk(x, self.q)
            else:           # to 1e-16 of the logarithm
                row.scale *= K.exp(-self.q * x * (idle.sums[0] + x * (idle.sums[1] + x * (idle.sums[2] + x * idle.sums[3]))))
            row.rate *= idle.rate
            row.window += n
            if row.rate == rate and row.scale == scale:     # it will not change in the remaining windows either
                row.window = self.window
        row.step = self.window * self.q

    cdef void catch_up(self, AdfRowC* row) noexcept nogil:
        """Apply windows and weight decay before this step to a row."""
        if row.window < self.window:
            self.close_windows(row)
        if row.step < self.steps:
            row.scale *= shrunk(row.rate * self.penalty, self.steps - row.step)
            row.step = self.steps

    cdef AdfRowC caught_up(self, int64_t r) noexcept nogil:
        """The row after all steps so far; leaves the row itself unchanged."""
        cdef AdfRowC row = self.rows[r]
        self.window = <int32_t>(self.steps // self.q)
        self.catch_up(&row)
        return row

    cdef void fold(self, int64_t r) noexcept nogil:
        """Multiply the weights of a row by its scale before v exceeds the precision of floats."""
        if fabs(self.rows[r].scale) < 1e-4:
            multiply_row(&self.layout.c, r, self.rows[r].scale, self.w)
            self.rows[r].scale = 1

    cdef double scale_of(self, int64_t r) noexcept nogil:
        """The scale of a row in this step, before its update."""
        cdef AdfRowC* row = &self.rows[r]
        if self.locks != NULL:
            return self.shared_scale(r)
        if row.step < self.steps or row.window < self.window:
            self.catch_up(row)
        return row.scale

    cdef double shared_scale(self, int64_t r) noexcept nogil:
        """`scale_of` with threads. They wait for each other at the end of a window, so no other thread uses the scale of a row that occurs for the
        first time in one."""
        cdef:
            AdfRowC* row = &self.rows[r]
            int32_t* lock = &self.locks[r % LOCKS]
            double scale
            bint first
        crfkit_spin_lock(lock)
        first = row.window < self.window
        self.catch_up(row)
        if first:
            self.fold(r)
        scale = row.scale
        crfkit_spin_unlock(lock)
        return scale

    cdef double gain_of(self, int64_t r) noexcept nogil:
        """The factor on the gradient of a row in this step. The first call for a row counts the sample and applies the weight decay."""
        cdef AdfRowC* row = &self.rows[r]
        if self.stamps != NULL:
            return self.stamped_gain(r)
        if row.step == self.steps:
            row.count += 1
            self.penalise(r)
        return self.part * row.rate / row.scale

    cdef void penalise(self, int64_t r) noexcept nogil:
        """Apply the weight decay of this step to a row that has all earlier ones."""
        cdef AdfRowC* row = &self.rows[r]
        row.step += 1
        row.scale *= 1 - row.rate * self.penalty
        self.fold(r)

    cdef double stamped_gain(self, int64_t r) noexcept nogil:
        """`gain_of` in a batch, whose update brings the weight decay; and with threads, where other samples may have had the row meanwhile."""
        cdef:
            AdfRowC* row = &self.rows[r]
            int32_t* lock = &self.locks[r % LOCKS] if self.locks != NULL else NULL
            bint first = self.stamps[r] != self.sample
            double gain
        self.stamps[r] = self.sample
        if lock == NULL:
            row.count += first
            return self.part * row.rate
        crfkit_spin_lock(lock)
        if first:
            row.count += 1
        if row.step <= self.steps:
            row.scale *= shrunk(row.rate * self.penalty, self.steps + 1 - row.step)
            row.step = self.steps + 1
        gain = row.rate / row.scale
        crfkit_spin_unlock(lock)
        return gain

    cdef double row_factor(self, int64_t r) noexcept nogil:
        if self.rows[r].step == self.steps:
            self.penalise(r)
        return 1 / self.rows[r].scale

    # ------------------------------------------------------------------------------------------ steps

    cdef int step(self, const SentenceC* sent, double* loss) except -1 nogil:
        cdef:
            LatticeC* lat = &self.lattice.c
            const LayoutC* c = &self.layout.c
            SentenceC valued
            double gain
        self.window = <int32_t>(self.steps // self.q)
        self.sample += 1
        self.load_values(sent, False, &valued)
        lattice_load_for(lat, c, self.w, self.scale_of(pairs_row(c)), sent)
        loss[0] += self.expect(self.w, 1.0, &valued)
        self.load_values(sent, True, &valued)
        gain = self.gain_of(pairs_row(c)) if c.has_tau and sent.T > 1 else 0    # plain label pairs have no value that could hold it
        return self.learn(&valued, sent.weight, sent.weight * gain, loss)

    cdef int64_t undisturbed(self, int64_t n) noexcept nogil:
        """How many updates are left in the window. A window in which a scale could vanish is for one thread."""
        if self.rate0 * self.penalty * self.q > 20:
            return 0
        return min(n, self.q - self.steps % self.q)

    def rates(self):
        """The current rates of all rows."""
        return array.array("d", [self.caught_up(r).rate for r in range(pairs_row(&self.layout.c) + 1)])

    cdef dict vectors(self):
        cdef int64_t n = pairs_row(&self.layout.c) + 1
        return {**CalibratedTrainer.vectors(self), "rows": vector(self, "B", self.rows, n * sizeof(AdfRowC))}

    def restore(self, dict state):
        cdef int64_t r
        CalibratedTrainer.restore(self, state)
        if self.q < 1:
            raise ValueError("q: a window without updates")
        for r in range(pairs_row(&self.layout.c) + 1):
            if not 0 <= self.rows[r].window <= self.steps // self.q or not 0 <= self.rows[r].step <= self.steps:
                raise ValueError("rows: one is ahead of the steps")

    def weights(self):
        """A copy of the weights, multiplied by their scales. The rows are left unchanged, so this changes no later bits."""
        cdef float[::1] cells = OnlineTrainer.weights(self)
        cdef weight_t* w = &cells[0] if cells.shape[0] else NULL
        with nogil:
            self.carry_scales_out(w)
        return cells.base

    cdef void carry_scales_out(self, weight_t* w) noexcept nogil:
        """Multiply copied weights by the scales of their rows; leaves the rows unchanged."""
        cdef int64_t r
        for r in range(pairs_row(&self.layout.c) + 1):
            multiply_row(&self.layout.c, r, self.caught_up(r).scale, w)
