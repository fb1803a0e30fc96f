"""`wapiti train`: a training run of crfkit with Wapiti's patterns and log."""

from __future__ import annotations

import array
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from crfkit import modelfile, options
from crfkit.errors import FileError, ModelFileError, OptionError, TrainingError
from crfkit.foreign import wapiti
from crfkit.foreign.observations import places_for
from crfkit.foreign.parts import Parts, Places, model_of, parts_of
from crfkit.learning.checkpoint import Checkpoint
from crfkit.learning.corpus import Corpus, Known, read_corpus
from crfkit.learning.development import DevSet
from crfkit.learning.divergence import Divergence
from crfkit.learning.local import make_trainer
from crfkit.learning.passes import Passes
from crfkit.learning.progress import StopRequest
from crfkit.learning.reader import Reader
from crfkit.model import build, ready
from crfkit.options import Run
from crfkit.replacing import check_writable, replacing
from crfkit.template import dialects
from crfkit.text.faults import placed_in
from crfkit.text.opening import contents, path_of
from crfkit.values import as_text

from ..wording import rewording
from .algorithms import TYPES, WORDS, trainer_of
from .editing import compacted
from .progress import Log, Windows
from .singles import sequences

if TYPE_CHECKING:
    from crfkit.features.strings import StringTable
    from crfkit.template.parsing import Template

ONLY_AT_THE_END = 2**30  # passes between two checkpoints
WAPITIS_STATE = b"#state#"  # how the files begin that Wapiti's --sstate writes


def read_patterns(source: Any, dialect: str) -> Template:
    """The patterns of a file, by its path or open; TemplateError if one is invalid."""
    data, path = contents(source)
    lines = [line.partition("#")[0].rstrip(" \t\r\v\f") for line in as_text(data).removeprefix("\ufeff").split("\n")]
    return dialects.parse("".join(f"{line[:1].lower()}{line[1:]}\n" for line in lines), dialect, path)


def train(given: dict[str, Any], source: Any, say: Callable[[str], Any] | None = None) -> bytes:
    """Train on the data `source` and return the bytes of a Wapiti model. The data and the patterns are paths or open files. `say` is called with
    the lines of the log; of the signals to the program that calls, only Ctrl-C is taken. None: this is the command, which logs to standard error."""
    if given["type"] == "memm":
        raise OptionError("--type: expected crf or maxent; crfkit does not train memm, which normalises each token separately")
    if given["me"] and given["pattern"]:
        raise OptionError("--me is for lines that name their features: it takes no --pattern; for sentences there is --type maxent")
    if given["type"] not in TYPES:
        raise OptionError(f"--type: expected one of {', '.join(TYPES)}, found {given['type']!r}")
    algorithm, chosen = trainer_of(given)
    made = options.make(algorithm, chosen)
    windows = Windows(given["objwin"], given["stopwin"], given["stopeps"])
    log, stop = Log(windows, say), StopRequest(lambda: windows.over)
    signals = stop.on_signals() if say is None else stop.on_ctrl_c()
    with rewording(WORDS, FileError, OptionError, TrainingError), signals, ExitStack() as stack:
        return _trained(given, source, algorithm, made, log, stop, stack)


def _trained(given: dict[str, Any], source: Any, algorithm: str, made: Any, log: Log, stop: StopRequest, stack: ExitStack) -> bytes:
    ready()
    old, template = _before(given, log)
    run = Run(features="all", format="crfsuite" if given["me"] else "columns", threads=given["nthread"], **_states(given, stack))
    checkpoint = None if run.checkpoint is None else Checkpoint(run, algorithm, _lasting(made), given["rstate"])
    log.step("Load training data")
    known = None if old is None else Known(old.labels, old.places.keys())
    with placed_in(path_of(source)):
        corpus = read_corpus(Reader(sequences(source) if given["me"] else source, template, run, log, as_seen=True), known=known)
    header = {**corpus.header, "algorithm": algorithm if template is not None else wapiti.NAME, "options": asdict(made), "by_string": template is not None}
    dev, held = None, 0
    if given["devel"]:
        log.step("Load development data")
        dev = DevSet(sequences(given["devel"]) if given["me"] else given["devel"], corpus, header, run.threads)
        held = dev.size()
        log.loaded(held)
    log.step("Initialize the model" if old is None else "Resync the model")
    initial = None if old is None else corpus.weights_of(model_of(old))
    if checkpoint is not None:
        checkpoint.identify(corpus.digest(), initial, None)
    observations = corpus.builder.observations() if old is None else old.places.names
    _summary(log, corpus, held, observations)
    log.step(f"Train the model with {given['algo']}")
    divergence = Divergence(made, corpus.dataset.weight, len(corpus.dataset.labels))
    passes = Passes(make_trainer(algorithm, corpus, made, run, initial), divergence, run, None, checkpoint, log, stop)
    if given["rstate"]:
        passes.trainer.converged = None  # the next iteration judges anew: --stopeps may be a smaller one than before
    log.state = partial(_state, corpus, passes.trainer, dev, max(run.threads, 1))
    ((_, weights),) = passes.all()
    if given["sstate"] and os.path.exists(run.checkpoint or ""):
        with open(str(run.checkpoint), "rb") as state, replacing(given["sstate"]) as file:
            shutil.copyfileobj(state, file)
    parts = _parts(corpus, weights, header, observations)
    if given["compact"]:
        parts = compacted(parts, log.note)
    return wapiti.write(parts)


def _before(given: dict[str, Any], log: Log) -> tuple[Parts | None, Template | None]:
    """The model to go on from, and the patterns, which may be those of that model."""
    dialect = dialects.MAXENT if given["type"] == "maxent" else dialects.WAPITI
    old, template = None, None
    if given["model"]:
        log.step("Load previous model")
        old, me = wapiti.read_file(*contents(given["model"])), given["me"]
        if (wapiti.LINE_BY_LINE in old.options) != me:
            kind = "sequences" if me else "single lines (--me)"
            raise ModelFileError(f"{given['model']}: a model of {kind}: train it {'without' if me else 'with'} --me")
        template = None if old.template is None else dialects.parse(old.template.text, dialect)
    if given["pattern"]:
        log.step("Load patterns")
        template = read_patterns(given["pattern"], dialect)
    if template is None and not given["me"]:
        raise OptionError(
            "--pattern: crfkit needs patterns. Lines that name their features need none: if each line is a sequence, add --me; "
            "if a line is a token, train with `crfkit learn --format crfsuite`"
        )
    return old, template


def _summary(log: Log, corpus: Corpus, held: int, observations: StringTable) -> None:
    log.step("Summary")
    labels = len(corpus.dataset.labels)
    features = places_for(observations, labels)
    counts = {"train": corpus.dataset.n_sequences, "devel": held, "labels": labels, "blocks": len(observations), "features": features}
    for name, count in counts.items():
        if name == "devel" and not held:
            continue
        log.note(f"    {f'nb {name}:':<13}{count}")


def _state(corpus: Corpus, trainer: Any, dev: DevSet | None, threads: int) -> tuple[int, float, float]:
    """What the log asks after each pass. Errors are those on the development data, or on the training data without them."""
    from crfkit.trainers.base import mistakes, summarise

    data, weights = corpus.dataset, trainer.weights()
    active = summarise(weights)[0]
    if dev is not None:
        scores = dev.scores(weights)
        return active, 100 - 100 * scores["dev_accuracy"], 100 - 100 * scores["dev_sentence_accuracy"]
    tokens, sequences = mistakes(data, corpus.layout, weights, threads)
    return active, 100 * tokens / data.n_tokens, 100 * sequences / data.n_sequences


def _parts(corpus: Corpus, weights: array.array[float], header: dict[str, Any], observations: StringTable) -> Parts:
    """The model, with all observations in order of first occurrence."""
    parts = parts_of(build(corpus.layout, weights, corpus.builder, header))
    places = Places.of(observations)
    if corpus.builder.plan.patterns is None:
        return replace(parts, places=places, pairs=None, options={wapiti.LINE_BY_LINE: True})
    return replace(parts, places=places, columns=max(corpus.builder.plan.patterns.last_column, 0) + 2)


def _states(given: dict[str, Any], stack: ExitStack) -> dict[str, Any]:
    """The options of a run that loads and saves the state of the optimizer. The saved state replaces the file only when the run has
    succeeded: until then, and if it fails, the old file stays."""
    begin, end = given["rstate"], given["sstate"]
    if not begin and not end:
        return {}
    if begin:
        try:
            with open(begin, "rb") as file:
                start = file.read(len(WAPITIS_STATE))
        except OSError as error:
            raise FileError(f"{begin}: cannot be used: {error.strerror}") from None
        if start == WAPITIS_STATE:
            raise FileError(f"{begin}: a state of Wapiti, of which crfkit has no use; to go on from a model give it as --model")
    if end:
        check_writable(end)
        if os.path.isfile(end) and not _is_state(end):
            raise FileError(f"{end}: contains something other than a state; give another name to --sstate")
    path = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "state")
    return {"checkpoint": path, "resume": bool(begin), "checkpoint_every": ONLY_AT_THE_END}


def _lasting(made: Any) -> Any:
    """The options that a state must have in common with the run that goes on from it: how near to the optimum that ends is not among them."""
    return replace(made, epsilon=type(made).epsilon) if hasattr(made, "epsilon") else made


def _is_state(path: str) -> bool:
    """Whether a state may overwrite the file: it is a state, or empty."""
    try:
        return os.path.getsize(path) == 0 or modelfile.read(path, verify=False).header.get("kind") == modelfile.CHECKPOINT
    except (FileError, ModelFileError, OSError):
        return False
