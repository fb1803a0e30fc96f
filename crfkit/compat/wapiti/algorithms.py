"""Wapiti's algorithms and their options, as crfkit's trainers have them: the same objective, the same penalties."""

from __future__ import annotations

from typing import Any

from crfkit.errors import OptionError
from crfkit.values import exactly

ALGORITHMS = ("l-bfgs", "sgd-l1", "bcd", "rprop", "rprop+", "rprop-")
TYPES = ("maxent", "memm", "crf")
UNLIMITED = 2**31 - 1
_NEAREST = 1e-7  # to the optimum, as a part of it: the digits of weights in single precision

# Options that change how Wapiti computes, not what; crfkit has no use for them.
WITHOUT_EFFECT = ("jobsize", "sparse", "maxls", "stpmin", "stpmax", "stpinc", "stpdec", "cutoff")

# crfkit's options in messages, and what they are called here.
_NAMES = {"l1": "rho1", "l2": "rho2", "rate": "eta0", "decay": "alpha", "memory": "histsz", "max-iter": "maxiter", "passes": "maxiter", "threads": "nthread",
          "checkpoint": "rstate"}
WORDS = {rf"--{ours}\b(?!-)": f"--{theirs}" for ours, theirs in _NAMES.items()}


def trainer_of(given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """crfkit's trainer for the options of `wapiti train`, and its own options."""
    from crfkit.options.trainers import Lbfgs, Owlqn

    algorithm, limit = given["algo"], given["maxiter"] or UNLIMITED
    if algorithm not in ALGORITHMS:
        raise OptionError(f"--algo: expected one of {', '.join(ALGORITHMS)}, found {exactly(algorithm)}")
    if given["clip"]:
        raise OptionError("--clip is not supported: shrink the model with `update -c` and train it again without --clip")
    l1, l2 = given["rho1"], given["rho2"]
    if algorithm == "sgd-l1":
        return "sgd", {"l1": l1, "l2": 0.0, "passes": limit, "rate": given["eta0"], "decay": given["alpha"]}
    batch = {"max_iter": limit, "delta": 0.0, "l2": l2}  # whether the objective still falls is for --objwin
    if algorithm == "bcd":
        return "sbcd", {**batch, "l1": l1, "kappa": given["kappa"]}
    batch["memory"] = min(max(given["histsz"], 1), 64)
    batch["epsilon"] = min(max(given["stopeps"], _NEAREST), (Owlqn if l1 else Lbfgs).epsilon)  # or a small --stopeps would change nothing
    return ("owlqn", {**batch, "l1": l1}) if l1 else ("lbfgs", batch)


def note_of(given: dict[str, Any], chosen: set[str]) -> str | None:
    """A note for the user where crfkit works differently, or None; `chosen`: the options that were given."""
    parts = []
    if given["algo"].startswith("rprop"):
        parts.append(f"{given['algo']} is crfkit's {trainer_of(given)[0]}, another way to the same optimum")
    if given["algo"] == "sgd-l1" and "rho2" in chosen and given["rho2"]:
        parts.append("sgd-l1 has no l2 penalty: --rho2 is ignored, as in Wapiti")
    idle = sorted(f"--{name}" for name in chosen.intersection(WITHOUT_EFFECT))
    if idle:
        parts.append(f"{', '.join(idle)}: crfkit decides by itself")
    return "; ".join(parts) or None
