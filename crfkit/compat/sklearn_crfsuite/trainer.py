"""A trainer that prints a line for each iteration."""

from __future__ import annotations

from typing import Any

from crfkit.compat.pycrfsuite import Trainer

__all__ = ["LinePerIterationTrainer"]


class LinePerIterationTrainer(Trainer):
    """Prints one line per iteration, and at the end the scores of each label on the development data."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        parts = [f"Iter {info['num']:<3} time={info['time']:<5.2f} loss={info['loss']:<8.2f}"]
        if "active_features" in info:
            parts.append(f"active={info['active_features']:<5}")
        if "avg_precision" in info:
            parts.append(f"precision={info['avg_precision']:0.3f}  recall={info['avg_recall']:0.3f}  F1={info['avg_f1']:0.3f} ")
            parts.append(f"Acc(item/seq)={info['item_accuracy_float']:0.3f} {info['instance_accuracy_float']:0.3f} ")
        if "feature_norm" in info:
            parts.append(f"feature_norm={info['feature_norm']:<8.2f}")
        print(" ".join(parts).rstrip())

    def on_optimization_end(self, log: str) -> None:
        last = self.logparser.last_iteration if self.logparser is not None else None
        scores = (last or {}).get("scores")
        if scores:
            rows = [["Label", "Precision", "Recall", "F1", "Support"]]
            for label, score in sorted(scores.items()):
                rates = (score.precision, score.recall, score.f1 or 0)
                rows.append([label, *("" if rate is None else f"{rate:.3f}" for rate in rates), str(score.ref)])
            widths = [max(len(cells[0]) + 2, *map(len, cells)) for cells in zip(*rows, strict=True)]
            rows.insert(1, ["-" * width for width in widths])
            size = sum(widths) + 2 * (len(widths) - 1)
            print("=" * size)
            for label, *figures in rows:
                print(f"{label:<{widths[0]}}  " + "  ".join(f"{figure:>{width}}" for figure, width in zip(figures, widths[1:], strict=True)))
            print("-" * size)
        super().on_optimization_end(log)
