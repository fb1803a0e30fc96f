"""The passes of a run, until there is a reason to stop."""

from __future__ import annotations

import array
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from crfkit.errors import FileError, OptionError

from .checkpoint import Checkpoint, Standing
from .fitting import REASONS
from .log import PassLog

if TYPE_CHECKING:
    from crfkit.options import Run

    from .development import DevSet
    from .divergence import Divergence
    from .progress import Progress, StopRequest


class Passes:
    """The passes of a run: scored on the development data, logged, reported and kept in checkpoints one by one."""

    def __init__(
        self, trainer: Any, divergence: Divergence, run: Run, dev: DevSet | None, checkpoint: Checkpoint | None, progress: Progress,
        stop: StopRequest, chosen: dict[str, Any] | None = None,
    ):
        self.trainer, self.divergence, self.run, self.dev, self.checkpoint, self.progress, self.stop = trainer, divergence, run, dev, checkpoint, progress, stop
        self.chosen = chosen or {}  # options that were not given: those that follow from the data, later the trainer's, too
        self.options = self.trainer.options
        self.limit = getattr(self.options, "passes", None) or self.options.max_iter
        self.standing = Standing() if self.checkpoint is None else self.checkpoint.resume(self.trainer)
        if self.checkpoint is not None and self.standing.passes > self.limit:
            name = "--passes" if hasattr(self.options, "passes") else "--max-iter"
            raise OptionError(f"{self.checkpoint.source}: {self.standing.passes} passes have been made already, more than {name} {self.limit}")
        self.log: PassLog | None = None
        self.last: dict[str, Any] = {}  # the record of the last pass
        self.whole = True  # no warm-up was cut short, so a resumed run would do the same
        self.started = time.perf_counter() - self.standing.seconds

    def all(self) -> Iterator[tuple[float | None, array.array]]:
        """The weights to keep: the last ones for each value of l1 on the path, or the best on the development data.
        The trainer is freed before the last of them, since building a model needs its memory."""
        values = getattr(self.options, "path", None) or (None,)
        done = self.standing.passes
        if self.run.resume:
            self.progress.note(
                f"resuming after pass {done}" if done else "no checkpoint to resume from: starting with the first pass"
            )
        with nullcontext() if self.run.log is None else PassLog(self.run.log, self.standing.log_size) as self.log:
            self.stop.armed = self.trainer.warms_up  # not sooner: a log that is a pipe waits for its reader, and there is nothing to keep yet
            if not done:
                self._prepare()
            self.whole = not (self.trainer.warms_up and self.stop.requested())
            self.stop.armed = True
            self.progress.warn(self.trainer.warning())
            self.progress.chosen(self.trainer.chosen(), REASONS)
            self.chosen = {**self.chosen, **self.trainer.chosen()}
            for l1 in values:
                if l1 is not None:
                    self.trainer.set_l1(l1)
                    self.progress.note(f"l1 {l1:g}")
                self._until_done(l1)
                over = l1 == values[-1] or self.stop.requested()
                if over:
                    self.trainer.finish()
                weights = None if self.dev is not None else self._checked(self.trainer.weights(), l1)
                if over:
                    del self.trainer
                if weights is not None:
                    yield l1, weights
                if over:
                    break
        if self.standing.best is not None:
            self.progress.note(f"the weights of pass {self.standing.best_pass} are kept, the best on the development data")
            yield self.standing.best_l1, self._checked(self.standing.best, self.standing.best_l1)

    def _checked(self, weights: array.array, l1: float | None) -> array.array:
        own = getattr(self.options, "l1", None) if l1 is None else l1
        guilty = None if self.stop.requested() else own  # a run that was cut short has zeros for want of time
        self.divergence.finish(weights, self.standing.last_loss, guilty, self.run.prune, self.progress)
        return weights

    def _prepare(self) -> None:
        begun = self.started
        for record in self.trainer.prepare(self.stop.requested):
            now = time.perf_counter()
            self.progress.prepared({**record, "seconds": now - begun})
            begun = now

    def _until_done(self, l1: float | None) -> None:
        standing = self.standing
        if l1 is not None:
            standing.waited = 0
        before = 0 if l1 is None else standing.passes
        self.progress.start(self.limit, standing.passes - before)
        reason = self._reason_to_end()
        # If the start is the optimum already, one pass is made anyway, for the log and the development data.
        while standing.passes - before < self.limit and (reason is None or standing.passes == before):
            self._one(l1)
            reason = self._reason_to_end()
            self._keep(reason is not None or standing.passes - before == self.limit)
            if self.stop.requested():
                break
        self.progress.end(reason, self.stop.requested(), self.last)

    def _reason_to_end(self) -> str | None:
        """The reason to stop, if the trainer or the development data give one."""
        if self.trainer.converged is None and self.run.patience is not None and self.standing.waited >= self.run.patience:
            return "stopped by --patience"
        return self.trainer.converged

    def _one(self, l1: float | None) -> None:
        """One pass."""
        from crfkit.trainers.base import summarise

        standing, begun, cpu = self.standing, time.perf_counter(), time.process_time()
        standing.passes += 1
        record = {"pass": standing.passes, **({} if l1 is None else {"l1": l1}), **self.trainer.run_pass(self.stop.requested)}
        now = time.perf_counter()
        standing.seconds = now - self.started
        record.update(seconds=now - begun, cpu=time.process_time() - cpu, elapsed=standing.seconds, **self.trainer.measures(), **self.chosen)
        if self.dev is not None or self.log is not None:
            weights = self.trainer.weights()
            active, total = summarise(weights)
            record.update(mean_abs_weight=total / max(self.trainer.n_features, 1), active=active)
        self.divergence.check(record, standing.least_loss)
        standing.note_loss(record)
        if self.dev is not None:
            scores = self.dev.scores(weights)
            standing.offer(scores.pop("score"), weights, l1)
            record.update(scores)
        if self.log is not None:
            try:
                self.log.write(record)
            except FileError as error:  # no reason to lose the model
                self.progress.lost(f"{error}; training goes on without it")
                self.log = None
        self.progress.report(record)
        self.last = record

    def _keep(self, over: bool) -> None:
        """Write the checkpoint if it is time to."""
        if self.checkpoint is None or not self.whole or self.trainer.interrupted:
            return
        if over or self.stop.requested() or self.checkpoint.due(self.standing.passes):
            if self.log is not None:  # else it has failed, or this part of the run has none: --resume keeps what it held before
                self.standing.log_size = self.log.synced() or self.standing.log_size
            try:
                self.checkpoint.write(self.trainer, self.standing, over)
            except FileError as error:  # what is learned matters more
                self.progress.lost(f"{error}; training goes on")
