"""Checkpoints: the state of a training run in a file, from which it continues to exactly the same model.

The container is the same as for models: written atomically, and verified when it is read. Its header holds

    identity    of data and options, see below        trainer     the state of the trainer: numbers and texts
    standing    passes, seconds, best score ...       finished    whether training was over

and its sections the vectors of the trainer ("trainer.NAME") and the best weights so far ("best"). Continuing with other
data or options would give a model that no single run gives, so that is refused; only limits may be raised.
"""

from __future__ import annotations

import array
import math
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from crfkit import modelfile
from crfkit.errors import FileError, ModelFileError, OptionError
from crfkit.options import Run
from crfkit.replacing import check_writable
from crfkit.trainers import trainer_class
from crfkit.values import flag, interval
from crfkit.version import __version__

# Limits decide when to stop. What else follows from them, as the r of arow, is in the state, and stays as it was.
LIMITS = frozenset({"passes", "max_iter"})

_DATA = "training data or template"  # in files, whose names stay; the column of labels decides, too
_FIELDS = {"identity": dict, "standing": dict, "trainer": dict, "finished": bool}


@dataclass
class Standing:
    """How far a run has come, and the best weights on development data."""

    passes: int = 0
    seconds: float = 0.0
    log_size: int = 0
    best_score: float | None = None
    best_pass: int = 0
    waited: int = 0  # passes since the best score
    best: array.array | None = field(default=None, repr=False)
    best_l1: float | None = None
    last_loss: float | None = None
    least_loss: float | None = None

    def note_loss(self, record: dict[str, Any]) -> None:
        """Record the loss of a pass."""
        if "loss" in record:
            self.last_loss = record["loss"]
            self.least_loss = min(record["loss"], record["loss"] if self.least_loss is None else self.least_loss)

    def offer(self, score: float, weights: array.array, l1: float | None) -> None:
        """Record the score of a pass."""
        if self.best_score is None or score > self.best_score:
            self.best_score, self.best, self.best_l1, self.best_pass, self.waited = score, weights, l1, self.passes, 0
        else:
            self.waited += 1


def _standing(saved: dict[str, Any]) -> Standing:
    counts = {name: saved[name] for name in ("passes", "log_size", "waited", "best_pass")}
    if not all(type(count) is int and count >= 0 for count in counts.values()):
        raise ValueError("a count is not a number")
    numbers = {name: None if saved[name] is None else float(saved[name]) for name in ("best_score", "last_loss", "least_loss")}
    numbers["seconds"] = float(saved["seconds"])
    if not all(math.isfinite(number or 0.0) for number in numbers.values()):
        raise ValueError("a number is not finite")
    return Standing(**counts, **numbers)  # type: ignore[arg-type]


def _part(saved: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of an identity; nothing where the file holds something else."""
    found = saved.get(name)
    return found if isinstance(found, dict) else {}


class Checkpoint:
    """The checkpoint of one run: read when the run is resumed, and written during it."""

    def __init__(self, run: Run, algorithm: str, chosen: Any, source: str | None = None):
        """FileError, ModelFileError or OptionError if it cannot be used, before data are read. `source`: another file to resume from."""
        self.path = str(run.checkpoint)
        self.source = source or self.path
        self.every_passes, self.every_seconds = interval(run.checkpoint_every) or (1, 0.0)
        self.written = time.monotonic()
        own = {name: value for name, value in asdict(chosen).items() if name not in LIMITS}
        own.update({name: getattr(run, name) for name in ("comments", "features", "min_freq", "outside", "patience", "seed", "select")})
        if trainer_class(algorithm).lock_free:
            own["threads"] = max(run.threads, 1)
        if run.distributed:
            own["shards"] = run.shards
        self.identity: dict[str, Any] = {"crfkit": __version__, "algorithm": algorithm, "options": own}
        self.file = self._opened(run.resume)
        check_writable(self.path)

    def _opened(self, resume: bool) -> modelfile.ModelFile | None:
        """The file to resume from, or None if there is none."""
        if not os.path.exists(self.source):
            return None
        if not os.path.isfile(self.source):  # to read from a pipe would wait without end
            raise FileError(f"{self.source}: is not a regular file; give another name to --checkpoint")
        try:
            file = modelfile.read(self.source, what=modelfile.CHECKPOINT)
            if file.header.get("kind") != modelfile.CHECKPOINT or not all(isinstance(file.header.get(name), kind) for name, kind in _FIELDS.items()):
                raise ModelFileError(f"{self.source}: not a checkpoint")
        except (FileError, ModelFileError) as error:
            if resume:
                raise
            raise FileError(f"{error.message}; give another name to --checkpoint, or remove this file") from None
        if resume:
            self._check_options(file.header["identity"])
            return file
        if not file.header["finished"]:
            raise FileError(f"{self.source}: contains a run that is not finished: add --resume to continue it, or remove the file")
        return None

    def _check_options(self, saved: dict[str, Any]) -> None:
        """OptionError if the file is from a run with other options."""
        for name in ("crfkit", "algorithm"):
            self._compare(name, saved.get(name), self.identity[name])
        theirs, own = _part(saved, "options"), self.identity["options"]
        if ("shards" in theirs) != ("shards" in own):
            by = "with" if "shards" in theirs else "without"
            raise OptionError(f"{self.source}: was written by a run {by} --workers or --cluster; resume with what it was written with")
        for name, value in own.items():
            self._compare(flag(name), theirs.get(name), value)

    def _compare(self, name: str, saved: Any, wanted: Any) -> None:
        if saved == wanted:
            return
        if isinstance(wanted, bool):
            found = f"with {name}, not without it" if saved else f"without {name}, not with it"
        else:
            before = f"without {name}, not with" if saved is None else f"with {name} {saved}, not"
            found = f"{before} {'without' if wanted is None else wanted}"
        raise OptionError(f"{self.source}: was written {found}; resume with what it was written with")

    def identify(self, digest: str, initial: array.array | None, dev: Iterable[bytes] | None) -> None:
        """Record the data of this run; `digest` is of data and features. OptionError if the file is from a run with other data."""
        from xxhash import xxh3_128

        parts: dict[str, Iterable[Any] | None] = {"--init model": None if initial is None else [initial], "--dev data": dev}
        found: dict[str, str | None] = {_DATA: digest}
        for name, pieces in parts.items():
            checksum = xxh3_128()
            for piece in pieces or ():
                checksum.update(piece)
            found[name] = None if pieces is None else checksum.hexdigest()
        self.identity["data"] = found
        theirs = found if self.file is None else _part(self.file.header["identity"], "data")
        for name, value in found.items():
            if theirs.get(name) != value:
                what = "training data, template or column of labels" if name == _DATA else name
                raise OptionError(f"{self.source}: was written by a run with different {what}; resume with what it was written with")

    def resume(self, trainer: Any) -> Standing:
        """Restore a new trainer to the state of the run; without a file to resume, the start of a run."""
        if self.file is None:
            return Standing()
        header, sections = self.file.header, self.file.contents()
        vectors = {name.removeprefix("trainer."): values for name, values in sections.items() if name.startswith("trainer.")}
        try:
            trainer.restore({**header["trainer"], **vectors})
            standing = _standing(header["standing"])
            if getattr(trainer, "passes", standing.passes) != standing.passes:
                raise ValueError("passes: others than those of the trainer")
            if standing.best_score is not None:
                standing.best = array.array("f", modelfile.numbers(sections, "best", "float32"))
                # A parser's weights are for the features that existed then.
                if hasattr(trainer, "layout") and len(standing.best) != trainer.layout.n_cells:
                    raise ValueError("best: weights of another layout")
        except KeyError as error:  # which no single changed byte brings about
            raise ModelFileError(
                f"{self.source}: has no {error.args[0]}: it was written by another build of crfkit {__version__}; remove the file and start again"
            ) from None
        except (OverflowError, TypeError, ValueError) as error:
            raise ModelFileError(f"{self.source}: damaged: not a valid state of this run ({' '.join(str(error).split())})") from None
        self.file = None  # the mapping is not needed any more
        return standing

    def due(self, passes: int) -> bool:
        """Whether to write it after this pass."""
        if self.every_passes:
            return passes % self.every_passes == 0
        return time.monotonic() - self.written >= self.every_seconds

    def write(self, trainer: Any, standing: Standing, finished: bool) -> None:
        """Replace the checkpoint. FileError if that fails; the previous one is then kept."""
        state = trainer.state()
        plain = {name: value for name, value in state.items() if not isinstance(value, (array.array, memoryview))}
        sections = {f"trainer.{name}": value for name, value in state.items() if name not in plain}
        if standing.best is not None:
            sections["best"] = standing.best
        counts = {name: value for name, value in vars(standing).items() if name != "best"}
        header = {
            "kind": modelfile.CHECKPOINT,
            "identity": self.identity,
            "standing": counts,
            "trainer": plain,
            "finished": finished,
        }
        modelfile.write(self.path, header, sections)
        self.written = time.monotonic()
