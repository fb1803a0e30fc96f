"""Numbers that are added to the scores of labels, at each token, before anything is computed from them.

Less for O, the label of tokens in no chunk, finds more chunks, and more for it fewer: recall is traded for precision without
training again (Minkov, Wang, Tomasic and Cohen, NER systems that suit user's preferences, HLT-NAACL 2006).
"""

from __future__ import annotations

import array
from collections.abc import Mapping, Sequence
from typing import Any

from crfkit.errors import CrfkitWarning, OptionError, warn_caller
from crfkit.values import nearest, plain, shown

Bias = Mapping[str, float]

MOST = 1e9  # in either direction: more than enough to force a label or to rule it out, and beside it scores keep seven decimals


def bias_of(bias: Any) -> dict[str, float] | None:
    """A copy of the numbers; OptionError for what is none, before there is a model whose labels they could be of."""
    if bias is None:
        return None
    if not isinstance(bias, Mapping):
        raise OptionError(f"--bias: found {shown(bias)}, expected a mapping from labels to numbers, such as {{'O': -1.0}}")
    return {plain(label): _number(label, number) for label, number in bias.items()}


def _number(label: Any, given: Any) -> float:
    number = plain(given)
    if not isinstance(number, (int, float)) or isinstance(number, bool) or not abs(number) <= MOST:
        raise OptionError(f"--bias: found {shown(given)} for the label {shown(label)}, expected a number from -1e9 to 1e9")
    return float(number)


def by_number(bias: Bias, labels: Sequence[str]) -> array.array[float]:
    """What each label of a model gets; OptionError for a label that it does not have."""
    found = dict.fromkeys(labels, 0.0)
    for label, number in bias.items():
        if label not in found:
            raise OptionError(f"--bias: {_unknown(label, labels)}")
        found[label] = number
    return array.array("d", found.values())


def of_labels(bias: Bias, labels: Sequence[str]) -> Bias:
    """The numbers of labels that a model has, and a warning if there are others: in a part of the data, as in cross-validation, a label may
    be missing."""
    others = [label for label in bias if label not in labels]
    if others:
        warn_caller(CrfkitWarning(f"bias: {_unknown(others[0], labels)}"))
    return {label: number for label, number in bias.items() if label not in others}


def _unknown(label: Any, labels: Sequence[str]) -> str:
    near = nearest(label, labels) if isinstance(label, str) else None
    hint = f"did you mean {shown(near)}?" if near else f"it has {shown(list(labels))}"
    return f"the model has no label {shown(label)}; {hint}"
