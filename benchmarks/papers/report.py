"""Documents with tables and pictures from the outcomes of a study."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HEADS = {
    "default": "dev., defaults",
    "development": "dev.",
    "passes": "passes",
    "cpu_a_pass": "CPU s a pass",
    "cpu": "CPU s in all",
    "weight": "mean abs. weight",
    "node": "node weights",
    "pair": "pair weights",
    "paper": "paper",
}
_DIGITS = {"cpu": 1, "weight": 4}
METHOD = """\
## How these numbers were made

`benchmarks/papers/{script}.py` wrote this page; `make results` writes it again.

* Within a table all trainers have the same features.
* Options were chosen on the training data alone, from the grids below: trained on one part, scored on another after every
  pass. The best pass is the number of passes of an online trainer. Batch trainers ran until they converged. "As sgd" is
  the penalty of that row.
* Then one model was trained on all training data, with one thread and seed 0. It tagged the test part once.
* *dev.* is the score by which options were chosen: token accuracy where the table's score is not F1 of chunks.
  *dev., defaults* is that of the trainer's defaults, after their last pass.
* Times are processor seconds on a shared machine: not exact. *In all* includes reading the data, saving the model, and
  the warm-up of `lbfgs`, which early commits lack.
* *paper* has the paper's own numbers, on its data.

Kind of machine: {machines}. Commits: {commits}.

| table | row | options | chosen from | commit |
|---|---|---|---|---|
"""


def write(paper: Any, found: list[tuple[Any, dict[str, Any], list[str]]], folder: Path, quick: bool) -> None:
    """The document of a paper, and its pictures beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# {paper.title}", "", paper.about.strip(), ""]
    for table, outcomes, lacking in found:
        if outcomes:
            lines += _section(paper, table, outcomes, lacking, folder)
    if absent := [f"{table.task.title} (`{table.task.name}`)" for table, outcomes, _ in found if not outcomes]:
        lines += ["## Not measured yet", "", f"The script has these tables, too: {'; '.join(absent)}.", ""]
    lines += _method(paper, found)
    if quick:
        lines.insert(2, "**A few sentences of the synthetic corpora: these numbers mean nothing.**\n")
    path = folder / f"{paper.name}.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    print(path)


def _section(paper: Any, table: Any, outcomes: dict[str, Any], lacking: list[str], folder: Path) -> list[str]:
    lines = [f"## {table.task.title}", "", table.task.source, ""]
    heads = ["trainer", *(HEADS.get(name, f"test {table.task.metric}") for name in table.columns)]
    lines += markdown(heads, ([outcome.row.name, *(_cell(outcome, name) for name in table.columns)] for outcome in outcomes.values()))
    lines.append("")
    if lacking:
        lines += [f"Not measured: {', '.join(lacking)}.", ""]
    if table.note:
        lines += [table.note.strip(), ""]
    for claim in table.claims:
        if all(name in outcomes for name in claim.needs):
            holds, numbers = claim.judge(outcomes)
            lines.append(f"* {'Reproduced' if holds else 'Not reproduced'}: {claim.text} ({numbers}).")
    lines += [""] * bool(table.claims)
    for kind in table.plots:
        name = f"{paper.name}-{table.task.name}-{kind}.png"
        if plot(outcomes, kind, folder / name):
            lines += [f"![{_TITLES[kind].format(metric=_metric(table.task, kind))}]({name})", ""]
    return lines


def _cell(outcome: Any, name: str) -> str:
    if name == "paper":
        return "" if outcome.row.paper is None else str(outcome.row.paper)
    value = getattr(outcome, name)
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.{_DIGITS.get(name, 2)}f}"


def _method(paper: Any, found: list[tuple[Any, dict[str, Any], list[str]]]) -> list[str]:
    results = [result for _, outcomes, _ in found for outcome in outcomes.values() for result in outcome.results]
    machines, commits = ("; ".join(sorted({getattr(result, name) for result in results})) for name in ("machine", "commit"))
    lines = [METHOD.format(script=paper.name.replace("-", "_"), machines=machines, commits=commits).rstrip("\n")]
    for table, outcomes, _ in found:
        for outcome in outcomes.values():
            grid = "; ".join(f"{name} {', '.join(map(str, values))}" for name, values in outcome.row.grid.items())
            if outcome.row.like is not None:
                grid = "; ".join(filter(None, [f"as {outcome.row.like}", grid]))
            command = outcome.results[0].command.removeprefix("crfkit learn ")
            lines.append(f"| {table.task.name} | {outcome.row.name} | `{command}` | {grid} | {outcome.results[0].commit} |")
    return [*lines, ""]


def markdown(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table, numbers flush right."""
    heads = list(heads)
    return [f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}", *(f"| {' | '.join(row)} |" for row in rows)]


# --- Pictures ---------------------------------------------------------------------------------------------------------

_SERIES = {
    "score": "{metric} on development data",
    "weight": "mean absolute weight",
    "loss": "the trainer's own loss",
}
_SCATTER = {"sparsity": "test {metric}", "cost": "CPU s a pass"}
_TITLES = {
    **{kind: f"{title} after each pass" for kind, title in _SERIES.items()},
    **{kind: f"{title} against weights that are not zero" for kind, title in _SCATTER.items()},
}


def _metric(task: Any, kind: str) -> str:
    if kind in _SCATTER:
        return task.metric
    return "F1" if task.metric == "F1" else "token accuracy"


def plot(outcomes: dict[str, Any], kind: str, path: Path) -> bool:
    """A picture; False, with a message, where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        print(f"{path.name}: not drawn, matplotlib is not installed: pip install 'crfkit[plots]'", file=sys.stderr)
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    task = next(iter(outcomes.values())).task
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2), dpi=80)
    if kind in _SCATTER:
        _points(axes, outcomes, "score" if kind == "sparsity" else "cpu_a_pass")
        axes.set_ylabel(_SCATTER[kind].format(metric=task.metric))
    else:
        _lines(axes, outcomes, kind)
        axes.set_ylabel(_SERIES[kind].format(metric=_metric(task, kind)))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)
    return True


def _lines(axes: Any, outcomes: dict[str, Any], kind: str) -> None:
    """A line for each trainer, over passes."""
    shown: list[float] = []
    for k, (name, outcome) in enumerate(outcomes.items()):
        values = outcome.series[kind]
        axes.plot(range(1, len(values) + 1), values, label=name, linewidth=1.2, linestyle=("-", "--", ":")[k // 10 % 3])
        shown += values[2:]
    if kind == "score" and shown:
        axes.set_ylim(max(min(shown), max(shown) - 4), max(shown) + 0.2)
    if kind == "loss":
        axes.set_yscale("log")
    if max(len(outcome.series[kind]) for outcome in outcomes.values()) > 60:
        axes.set_xscale("log")
    axes.set_xlabel("passes")


def _points(axes: Any, outcomes: dict[str, Any], name: str) -> None:
    """A point for each row, over active weights; the rows of one trainer and kind of selection are joined."""
    groups: dict[str, list[tuple[int, float]]] = {}
    for row, outcome in outcomes.items():
        groups.setdefault(row.split(",")[0], []).append((outcome.node + outcome.pair, getattr(outcome, name)))
    for group, points in groups.items():
        axes.plot(*zip(*sorted(points), strict=True), label=group, marker="o", markersize=4, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("weights that are not zero")
