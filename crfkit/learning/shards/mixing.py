"""Online trainers over shards: iterative parameter mixing (McDonald, Hall & Mann, 2010).

In each pass every shard is trained on separately, starting from the same weights, in an order that depends on
seed, shard and pass alone. The weights of the next pass are the mean of the results. This process knows all that a pass
over a shard depends on: weights, rates and the number of the pass. So any worker can repeat it, with the same result.

Penalties: a step on a shard has the same share of them as a step on all data. Averages are the mean over passes
of the mean over shards of the averages within a pass. Rates fall from pass to pass as on one machine; adf's, one
for each attribute, are mixed like weights, and its windows go on where a pass ends. With l1, sgd counts what a weight has received anew in each pass.
"""

from __future__ import annotations

import array
from dataclasses import asdict
from typing import Any

import numpy as np
from xxhash import xxh3_64_intdigest

from crfkit.options import Run
from crfkit.options.trainers import DECAY, decay_of
from crfkit.trainers import trainer_class
from crfkit.trainers.base import square_of_small

from .driver import DistributedCorpus
from .sums import limit_of, mean, merge, quantum_of

USUAL_LENGTH = 1024  # tokens of a sequence: that many do not add to a weight at every one


class Mixing:
    """A trainer with the methods of trainers/base.pyx, whose passes workers make."""

    warms_up = False

    def __init__(self, corpus: DistributedCorpus, algorithm: str, options: Any, run: Run, initial: array.array | None, shared: list[int]):
        self.corpus, self.kind, self.options, self.seed = corpus, trainer_class(algorithm), options, run.seed
        self.layout = corpus.layout
        self.n, self.n_rows = len(corpus.shards), 1 + sum(self.layout.n_attributes)
        self.planned = options.passes  # when the run began: windows of adf follow from it
        self.passes, self.converged, self.interrupted = 0, None, False
        self.current = array.array("f", [0.0]) * self.layout.n_cells if initial is None else array.array("f", initial)
        self.average = array.array("d", [0.0]) * self.layout.n_cells if getattr(options, "average", False) else None
        self.rates: array.array | None = None
        self.rate: float | None = getattr(options, "rate", None)  # the first one, once it is known
        self.decay: float | None = decay_of(options) if hasattr(options, "decay") else None
        self.told: str | None = None  # what there is to warn of after trials of rates
        self.square = square_of_small(corpus.data)  # of the unit of small values: rates of attributes are 1 / square times as high
        self.shares = True  # whether attributes with values above 1 have a lower one, where it is chosen
        batch = getattr(options, "batch_size", 1)
        self.updates = [-(-sequences // batch) for sequences in corpus.data.sequences]
        corpus.common.append(("share_trainer", {"algorithm": algorithm, "options": asdict(options), "shared": shared, "square": self.square}))

    @staticmethod
    def bytes_per_cell(options: Any, workers: int) -> int:
        """Bytes for each weight: the weight, a sum and its mean, an average and its sum, and the answers of so many workers."""
        average = 8 * bool(getattr(options, "average", False))
        return 4 + 8 + 12 + 2 * average + workers * (8 + average)

    def prepare(self, should_stop: Any = None) -> tuple[()]:
        """Find the first rate, where none is given, by trials on the largest shard."""
        if not hasattr(self.options, "rate") or self.rate is not None:
            return ()
        shard = max(range(self.n), key=lambda shard: (self.corpus.data.sequences[shard], -shard))

        def accept(_: list[int], answer: list[Any]) -> None:
            rate, shares, told = answer
            if not 0 < float(rate) < 1e30:
                raise ValueError("a rate that is not possible")
            if told is not None and not isinstance(told, str):
                raise ValueError("no warning")
            self.rate, self.shares, self.told = float(rate), bool(shares), told

        self.corpus.ask([shard], "find_rate", lambda *_: {**self._job(shard), "weights": self.current}, accept)
        return ()

    def warning(self) -> str | None:
        """See Trainer.warning."""
        return self.told

    def chosen(self) -> dict[str, Any]:
        """Options that were not given and that were found for these data."""
        found = {"rate": self.rate} if self.rate is not None and not self.options.rate else {}
        return {**found, "decay": self.decay} if self.decay not in (None, DECAY) and self.options.decay is None else found

    @property
    def n_features(self) -> int:
        """How many weights may differ from zero."""
        return self.layout.n_features

    def finish(self) -> None:
        """There will be no further pass."""

    def measures(self) -> dict[str, Any]:
        """No more fields for the log."""
        return {}

    def _job(self, shard: int) -> dict[str, Any]:
        """This pass over this shard: its seed, and options: its part of the penalties, and the first rate, which falls with the number of the pass."""
        part = self.updates[shard] / sum(self.updates)
        changed = {name: getattr(self.options, name) * part for name in ("l1", "l2") if hasattr(self.options, name)}
        changed["passes"] = self.planned
        if self.rate is not None:
            changed["rate"] = self.rate
        if self.decay is not None:
            changed["decay"] = self.decay
            if self.rate is not None and self.decay == 0:  # it falls at every step: what it is after so many
                changed["rate"] /= 1 + self.rate * self.options.l2 / sum(self.updates) * self.passes * self.updates[shard]
        return {"shard": shard, "seed": xxh3_64_intdigest(f"{self.seed} {shard} {self.passes}".encode()), "changed": changed}

    def _step(self) -> float:
        """Roughly the most that one step may add to a weight: 1 if steps are measured, else values, once for each token of a sequence that has them.
        It is limited, so that small weights are not rounded away."""
        if self.kind.measured_steps:
            return 1.0
        return min(max(1.0, self.corpus.data.largest_value) * max(1.0, self.corpus.data.longest / USUAL_LENGTH), 1024.0)

    def run_pass(self, should_stop: Any = None) -> dict[str, Any]:
        """One pass over all shards. It cannot be interrupted, since its weights would be from some shards only."""
        limits = self._limits()
        sums = {name: array.array("d", [0.0]) * (self.n_rows if name == "rates" else self.layout.n_cells) for name in limits}
        records: dict[int, dict[str, float]] = {}
        common = {"passes": self.passes, "weights": self.current, "rates": self.rates, "shares": self.shares, "limits": limits}

        def accept(own: list[int], answer: dict[str, Any]) -> None:
            if answer["shards"] != own or set(answer["sums"]) != set(sums) or len(answer["records"]) != len(own):
                raise ValueError("another pass")
            found = [{name: float(value) for name, value in record.items()} for record in answer["records"]]
            parts = {name: np.asarray(answer["sums"][name], np.float64) for name in sums}
            if any(parts[name].shape != (len(total),) for name, total in sums.items()):
                raise ValueError("weights of another layout")
            for name, total in sums.items():  # no fault from here on: another worker's answer would be added to half of this one
                merge(total, parts[name])
            records.update(zip(own, found, strict=True))

        self.corpus.ask(range(self.n), "learn", lambda _, own: {"jobs": [self._job(shard) for shard in own], **common}, accept, grouped=True)
        self._mix(sums)
        self.passes += 1
        return self._summed([records[shard] for shard in range(self.n)])

    def _limits(self) -> dict[str, list[float]]:
        """What workers send of a pass over a shard: bounds for these numbers, and the quanta to which they are rounded."""
        most = {"last": limit_of(self.current, self._step())}
        if self.average is not None:
            most["average"] = most["last"]
        if self.kind.rates_of_rows:
            most["rates"] = 2 * (self.rate or 1.0) / self.square
        return {name: [limit, quantum_of(limit, self.n)] for name, limit in most.items()}

    def _mix(self, sums: dict[str, array.array]) -> None:
        """Take the means of what the shards gave."""
        self.current = mean(sums["last"], self.n)
        if self.average is not None:
            merge(self.average, np.asarray(sums["average"]) * (1 / self.n))
        if "rates" in sums:
            self.rates = array.array("d", (np.asarray(sums["rates"]) * (1 / self.n)).tobytes())

    def _summed(self, records: list[dict[str, float]]) -> dict[str, Any]:
        """Sums over all shards, in their order; shares of labels and of sequences are means."""
        data = self.corpus.data
        sizes = {"train_accuracy": data.tokens, "train_sentence_accuracy": data.sequences}
        found: dict[str, Any] = {}
        for name in records[0]:
            weights = sizes.get(name, [1] * self.n)
            total = 0.0
            for weight, record in zip(weights, records, strict=True):
                total += record[name] * weight
            found[name] = total / sum(weights) if name in sizes else total
        if "updates" in found:
            found["updates"] = int(found["updates"])
        return found

    def weights(self) -> array.array:
        """A copy of the weights, as they would be stored."""
        if self.average is not None and self.passes:
            return mean(self.average, self.passes)
        return self.current[:]

    def state(self) -> dict[str, Any]:
        """Everything that the next pass depends on."""
        state = {
            "weights": self.current, "passes": self.passes, "planned": self.planned, "rate": self.rate, "decay": self.decay, "shares": self.shares,
            "converged": None,
        }
        if self.average is not None:
            state["average"] = self.average
        if self.rates is not None:
            state["rates"] = self.rates
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of another one."""
        self.passes, self.planned, rate = int(state["passes"]), int(state["planned"]), state["rate"]
        self.rate, self.shares = None if rate is None else float(rate), bool(state["shares"])
        self.decay = None if self.decay is None else float(state["decay"])
        self.current = _numbers("f", state["weights"], self.layout.n_cells)
        if self.average is not None:
            self.average = _numbers("d", state["average"], self.layout.n_cells)
        if self.kind.rates_of_rows and self.passes:
            self.rates = _numbers("d", state["rates"], self.n_rows)


def _numbers(form: str, saved: Any, n: int) -> array.array:
    found = array.array(form)
    found.frombytes(memoryview(saved).cast("B"))
    if len(found) != n:
        raise ValueError(f"{len(found)} numbers, expected {n}")
    if not np.isfinite(np.asarray(found)).all():
        raise ValueError("a number is not finite")
    return found
