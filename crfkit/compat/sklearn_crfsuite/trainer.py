"""A trainer that prints a line for each iteration."""

from __future__ import annotations

from typing import Any

from crfkit.compat.pycrfsuite import Trainer


class LinePerIterationTrainer(Trainer):
    """Prints one line an iteration, and at the end the scores of each label of the development data."""

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
            width = max(len("Label"), *map(len, scores))
            rule = "=" * (width + 43)
            print(rule)
            print(f"{'Label':<{width}}  {'Precision':>9}  {'Recall':>8}  {'F1':>8}  {'Support':>9}")
            for label, score in sorted(scores.items()):
                rates = (f"{'' if rate is None else format(rate, '.3f'):>{size}}" for rate, size in ((score.precision, 9), (score.recall, 8), (score.f1 or 0, 8)))
                print(f"{label:<{width}}  {'  '.join(rates)}  {score.ref:>9}")
            print(rule.replace("=", "-"))
        super().on_optimization_end(log)
