"""What is wrong with the chunks that are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Verdicts(NamedTuple):
    """How many chunks of one column of labels agree how well with those of the other. The order is that of judging.pyx."""

    right: int
    """Same tokens, same type."""
    wrong_type: int
    """Same tokens, another type."""
    wrong_ends: int
    """Same type; some tokens in common, but not all."""
    both_wrong: int
    """Another type; some tokens in common, but not all."""
    alone: int
    """No token in common with any chunk: missed, or invented."""


FORGIVEN = {"type": ("right", "wrong_type"), "ends": ("right", "wrong_ends"), "both": Verdicts._fields[:-1]}
"""What need not be right -> the verdicts that then are."""


@dataclass(frozen=True)
class Mistakes:
    """How many chunks are right, and what is wrong with the others."""

    gold: dict[str, Verdicts]
    """Gold chunks by type."""
    found: dict[str, Verdicts]
    """Predicted chunks by type."""
    types: dict[tuple[str, str], int]
    """Chunks with the same tokens and another type, by gold and predicted type."""

    def forgiving(self, what: str) -> dict[str, float]:
        """Precision, recall and F1 if what is named (of FORGIVEN) need not be right."""
        precision, recall = (_share(total(column), FORGIVEN[what]) for column in (self.found, self.gold))
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return {"precision": precision, "recall": recall, "f1": f1}

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "gold": {name: verdicts._asdict() for name, verdicts in self.gold.items()},
            "found": {name: verdicts._asdict() for name, verdicts in self.found.items()},
            "types": [[gold, found, n] for (gold, found), n in self.types.items()],
            "forgiving": {what: self.forgiving(what) for what in FORGIVEN},
        }


def total(column: dict[str, Verdicts]) -> Verdicts:
    """The verdicts on chunks of all types."""
    return Verdicts(*map(sum, zip(*column.values(), strict=True))) if column else Verdicts(0, 0, 0, 0, 0)


def _share(verdicts: Verdicts, good: tuple[str, ...]) -> float:
    return sum(getattr(verdicts, name) for name in good) / sum(verdicts) if any(verdicts) else 0.0
