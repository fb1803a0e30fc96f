"""A training run of crfkit that writes CRFsuite's log."""

from __future__ import annotations

import array
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from crfkit.errors import OptionError
from crfkit.parallel import threads_of
from crfkit.replacing import replacing
from crfkit.values import Expected

from .features import features_of, parts_of
from .parameters import FEATURES, Steps, printed

if TYPE_CHECKING:
    from .features import Features, Sequences

_TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
# Parameters that the log lists first, and those that have another name there.
_FIRST = ("c1", "c2", "num_memories")
_LOGGED = {("lbfgs", "period"): "stop", ("lbfgs", "max_linesearch"): "linesearch.max_iterations"}


def trainer_of(algorithm: str, values: dict[str, Any], features: Features, drawn: int) -> Any:
    """crfkit's trainer for an algorithm of CRFsuite: with the same objective and penalties, or with the same steps, in CRFsuite's order."""
    from crfkit import options
    from crfkit.options.trainers import Lbfgs

    data, layout, order = features.data, features.layout, features.order
    for name in ("c1", "c2", "variance", "gamma"):
        Expected(float, low=0.0).take(name, values.get(name, 0.0))
    if algorithm == "l2sgd":
        from crfkit.trainers.online.crfsuite import CrfsuiteSgd

        if values["period"] < 1:
            raise OptionError(f"period: expected a whole number of at least 1, found {values['period']}")
        rate = Expected(float, above=0.0).take("calibration.eta", values["calibration.eta"])
        sgd = options.make("sgd", {"l2": 2 * values["c2"], "decay": 0.0, "rate": rate})
        return CrfsuiteSgd(data, layout, sgd, order=order, drawn=drawn)
    if algorithm != "lbfgs":
        from crfkit.trainers.online.crfsuite import CrfsuiteTrainer

        given = {name: values[name] for name in Steps._fields if name in values}
        if given.get("type", 0) not in (0, 1, 2):
            raise OptionError(f"type: expected 0, 1 or 2, found {given['type']}")
        average = values.get("averaging", algorithm == "averaged-perceptron")
        return CrfsuiteTrainer(data, layout, Steps(algorithm, average, **given), order=order, drawn=drawn)
    period = {"period": values["period"], "delta": values["delta"]} if values["period"] else {"delta": 0.0}  # 0: no such test
    batch = {"epsilon": 0.0, **period, "memory": min(max(values["num_memories"], 1), 64), "l2": 2 * values["c2"]}
    from crfkit.trainers import trainer_class
    from crfkit.trainers.batch.objective import paying_threads

    # The warm-up has at most as many passes as there are iterations.
    warm_up = {"warm_up": max(0, min(values["max_iterations"], Lbfgs.warm_up))} if values["max_iterations"] else {}
    name, more = ("owlqn", {"l1": values["c1"]}) if values["c1"] else ("lbfgs", warm_up)
    return trainer_class(name)(data, layout, options.make(name, {**batch, **more}), threads=paying_threads(data, layout))


class Training:
    """One run; `say` is called with each piece of the log."""

    def __init__(self, algorithm: str, values: dict[str, Any], sequences: Sequences, holdout: int, say: Callable[[str], None]):
        self.algorithm, self.values, self.say, self.sequences, self.holdout = algorithm, values, say, sequences, holdout

    def run(self, path: str) -> None:
        """Train, and write the model to the file `path` unless that is empty."""
        begun = time.perf_counter()
        features = features_of(self.sequences, self.holdout, self.values) if self.sequences.groups else None
        self._features(0 if features is None else features.layout.n_features, time.perf_counter() - begun)
        self._head()
        if features is None:
            self._store(self._empty_model(0), (0, 0), path)
            return
        n, labels = features.layout.n_features, features.data.labels
        known = n, len(features.names)
        learnable = features.data.n_sequences > 0 and (self.algorithm != "lbfgs" or (len(labels) > 1 and n > 0))
        try:
            parts = self._learned(features) if learnable else self._empty_model(n, labels)
        finally:
            self.sequences.give_back(features.data)
        del features  # the data take memory that is needed for the file
        self._store(parts, known, path)

    def _lines(self, *lines: str) -> None:
        """A piece of the log for each line, as CRFsuite gives them."""
        for line in lines:
            self.say(f"{line}\n")

    def _features(self, n: int, seconds: float) -> None:
        """What CRFsuite logs while it generates features."""
        self._lines("Feature generation", "type: CRF1d", *(f"{name}: {printed(self.values[name])}" for name in FEATURES))
        for percent in range(0, 101, 2):
            self.say(str(percent // 10) if percent % 10 == 0 else ".")
        self._lines("", f"Number of features: {n}", f"Seconds required: {seconds:.3f}", "")

    def _head(self) -> None:
        values = sorted(self.values.items(), key=lambda item: _FIRST.index(item[0]) if item[0] in _FIRST else len(_FIRST))
        own = (one for one in values if not one[0].startswith(("feature.", "calibration.")))
        self._lines(_TITLES[self.algorithm], *(f"{_LOGGED.get((self.algorithm, name), name)}: {printed(value)}" for name, value in own), "")

    def _empty_model(self, n: int, labels: Iterable[str] = ()) -> Any:
        """The model if there is nothing to learn: no features, or not two labels. The error codes are CRFsuite's."""
        from crfkit.foreign.parts import FeatureRows, Parts

        if self.algorithm == "lbfgs":
            self._lines(f"L-BFGS terminated with error code ({2 if n else -1020})")
        self._lines("Total seconds required for training: 0.000", "")
        return Parts("crfsuite", list(labels), FeatureRows.empty(), FeatureRows.empty(), None)

    def _learned(self, features: Features) -> Any:
        trainer, n = trainer_of(self.algorithm, self.values, features, self.sequences.drawn or 0), features.data.n_sequences
        online = self.algorithm != "lbfgs"
        begun = time.perf_counter()
        for _ in trainer.prepare(lambda: False):
            pass
        if self.algorithm == "l2sgd":
            self._calibrate(trainer, n)
        reason: str | None = None
        losses: list[float] = []
        weights, limit = trainer.weights(), self.values["max_iterations"]
        if not online:
            limit = max(limit, 1) if limit else math.inf  # as in CRFsuite, which looks at the limit after an iteration
        while reason is None and len(losses) < limit:
            started = time.perf_counter()
            record = trainer.run_pass(lambda: False)
            seconds, last = time.perf_counter() - started, trainer.weights()
            losses.append(self._loss(record, last))
            if self.algorithm != "l2sgd" or losses[-1] <= min(losses):  # l2sgd keeps the best weights
                weights = last
            self._iteration(losses, record, trainer, last, seconds, features)
            reason = trainer.converged or self._reason(losses, n, record, last)
        self._end(reason, losses, time.perf_counter() - begun)
        trainer.finish()
        if online and self.sequences.drawn is not None:
            self.sequences.drawn += n * (len(losses) + (self.algorithm == "l2sgd"))
        return parts_of(features, weights)

    def _loss(self, record: dict[str, Any], weights: array.array) -> float:
        """The loss in the log, with the penalty if there is one."""
        if "objective" in record:
            return record["objective"]
        return record["loss"] + (self.values["c2"] * _norm(weights) ** 2 if self.algorithm == "l2sgd" else 0.0)

    def _calibrate(self, trainer: Any, n: int) -> None:
        """Find the first rate of l2sgd."""
        begun, of = time.perf_counter(), {**self.values, "calibration.samples": int(max(min(n, self.values["calibration.samples"]), 0))}
        parameters = (f"{name}: {printed(value)}" for name, value in of.items() if name.startswith("calibration."))
        self._lines("Calibrating the learning rate (eta)", *parameters)
        rate, samples, candidates, most = (of[f"calibration.{name}"] for name in ("rate", "samples", "candidates", "max_trials"))
        first = trainer.draw(samples)
        self._lines(f"Initial loss: {first:f}")
        for number, (eta, loss) in enumerate(_trials(trainer, first, rate, samples, candidates, most), 1):
            self._lines(f"Trial #{number} (eta = {eta:f}): {loss:f}{'' if loss < first else ' (worse)'}")
        self._lines(f"Best learning rate (eta): {trainer.rate0:f}", f"Seconds required: {time.perf_counter() - begun:.3f}", "")

    def _reason(self, losses: list[float], n: int, record: dict[str, Any], weights: array.array) -> str | None:
        """Why training is over by CRFsuite's own criteria, if it is."""
        if self.algorithm == "l2sgd":
            if len(losses) > self.values["period"] and self._improvement(losses) < self.values["delta"]:
                return "the stopping criteria"
        elif self.algorithm == "lbfgs":
            if record["gradient"] <= self.values["epsilon"] * max(1.0, _norm(weights)):
                return "a small gradient"
        else:
            mean, enough = losses[-1] / n, self.values["epsilon"]
            if mean < enough or (mean == enough and self.algorithm == "arow"):
                return "the stopping criterion"
        return None

    def _improvement(self, losses: list[float]) -> float:
        """The relative decrease of the loss over a period."""
        return (losses[-1 - self.values["period"]] - losses[-1]) / losses[-1] if losses[-1] else 0.0

    def _iteration(self, losses: list[float], record: dict[str, Any], trainer: Any, weights: array.array, seconds: float, features: Features) -> None:
        import numpy

        number, sgd = len(losses), self.algorithm == "l2sgd"
        norm = _norm(trainer.state()["weights"] if self.algorithm == "passive-aggressive" else weights)  # that is not averaged
        self._lines(f"***** {'Epoch' if sgd else 'Iteration'} #{number} *****", f"Loss: {losses[-1]:f}")
        if sgd and number > self.values["period"]:
            self._lines(f"Improvement ratio: {self._improvement(losses):f}")
        self._lines(f"Feature {'L2-' if sgd else ''}norm: {norm:f}")
        if self.algorithm == "lbfgs":
            active = numpy.count_nonzero(numpy.frombuffer(weights, dtype=numpy.float32))
            self._lines(f"Error norm: {record['gradient']:f}", f"Active features: {active}")
            self._lines(f"Line search trials: {trainer.trials}", f"Line search step: {trainer.step:f}")
        if sgd:
            self._lines(f"Learning rate (eta): {trainer.rate:f}", f"Total number of feature updates: {number * features.data.n_sequences}")
        self._lines(f"Seconds required for this iteration: {seconds:.3f}")
        if features.held.n_sequences:
            self._performance(weights, features)
        self._lines("")

    def _performance(self, weights: array.array, features: Features) -> None:
        from crfkit.trainers.base import best_labels

        names, held = features.held.labels, features.held
        given, found = held.arrays(), best_labels(held, features.layout, weights, threads_of(0))
        gold, guessed = ([names[label] for label in labels] for labels in (given["label"], found))
        self._lines(*performance(names, [(gold[begin:end], guessed[begin:end]) for begin, end in pairwise(given["seq_ptr"])]))

    def _end(self, reason: str | None, losses: list[float], seconds: float) -> None:
        if self.algorithm == "lbfgs":
            ends = {None: "terminated with the maximum number of iterations", "the objective hardly falls any more (--delta)": "terminated with the stopping criteria"}
            self._lines(f"L-BFGS {ends.get(reason, 'resulted in convergence')}")
        elif self.algorithm == "l2sgd":
            self._lines(f"SGD terminated with {reason or 'the maximum number of iterations'}", f"Loss: {min(losses, default=0.0):f}")
        elif reason is not None:
            self._lines(f"Terminated with {reason}", "")
        self._lines(f"Total seconds required for training: {seconds:.3f}", "")

    def _store(self, parts: Any, known: tuple[int, int], path: str) -> None:
        """Write the model and log that, unless the path is empty."""
        from crfkit.foreign import model_bytes

        if not path:
            return
        begun = time.perf_counter()
        self._lines("Storing the model")
        data = model_bytes(parts, "crfsuite")
        # Into an empty file itself: it may be a temporary one that somebody holds open.
        with open(path, "r+b") if os.path.isfile(path) and not os.path.getsize(path) else replacing(path) as file:
            file.write(data)
        active = sum(map(bool, parts.unigrams.weight)) + sum(map(bool, parts.pairs or ()))
        counts = {"features": (active, known[0]), "attributes": (len(parts.unigrams.names), known[1]), "labels": (len(parts.labels),) * 2}
        written = ("labels", "attributes", "feature references for transitions", "feature references for attributes")
        self._lines(*(f"Number of active {what}: {own} ({of})" for what, (own, of) in counts.items()), *(f"Writing {what}" for what in written))
        self._lines(f"Seconds required: {time.perf_counter() - begun:.3f}", "")


def _trials(trainer: Any, first: float, factor: float, samples: int, candidates: int, most: int) -> Iterator[tuple[float, float]]:
    """Calibrate the learning rate of l2sgd: multiply it by `factor` as long as a pass over a sample gets the loss below `first`, then
    divide the initial rate, until enough candidates have helped or `most` trials are made. Yields each rate with its loss.
    """
    start = rate = best = trainer.rate0
    divisor = factor or math.copysign(5e-324, factor)  # as in C, what is divided by 0 is infinite
    best_loss, left, down = float("inf"), candidates, False
    for _ in range(max(most - 1, 1)):
        if left <= 0 and down:
            break
        loss = trainer.trial(rate, samples)
        yield rate, loss
        if loss < best_loss:
            best, best_loss = rate, loss
        left -= loss < first
        if down:
            rate /= divisor
        elif loss < first and left > 0:
            rate *= factor
        else:
            down, left, rate = True, candidates, start / divisor
    trainer.begin_at(best)


def _norm(weights: Any) -> float:
    import numpy

    return float(numpy.sqrt(numpy.square(numpy.frombuffer(weights, dtype=numpy.float32), dtype=numpy.float64).sum()))


def performance(known: Iterable[str], pairs: list[tuple[list[str], list[str]]]) -> Iterator[str]:
    """CRFsuite's report on sequences of labels (wanted, found), line by line; `known` are the model's labels."""
    ref = Counter(label for wanted, _ in pairs for label in wanted)
    model = Counter(label for _, found in pairs for label in found)
    match = Counter(a for wanted, found in pairs for a, b in zip(wanted, found, strict=True) if a == b)
    names = list(dict.fromkeys([*known, *ref]))
    right = sum(wanted == found for wanted, found in pairs)
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):"
    sums = [0.0, 0.0, 0.0]
    for name in names:
        counts = f"    {name}: ({match[name]}, {model[name]}, {ref[name]})"
        if not ref[name]:
            yield f"{counts} (******, ******, ******)"
            continue
        precision = match[name] / model[name] if model[name] else 0.0
        recall = match[name] / ref[name] if ref[name] else 0.0
        rates = precision, recall, 2 * precision * recall / (precision + recall) if match[name] else 0.0
        sums = [total + rate for total, rate in zip(sums, rates, strict=True)]
        yield f"{counts} ({rates[0]:.4f}, {rates[1]:.4f}, {rates[2]:.4f})"
    macro = ", ".join(f"{total / max(len(names), 1):f}" for total in sums)
    yield f"Macro-average precision, recall, F1: ({macro})"
    for what, some, of in (("Item", match.total(), ref.total()), ("Instance", right, len(pairs))):
        yield f"{what} accuracy: {some} / {of} ({some / max(of, 1):.4f})"
