"""Pages with tables, verdicts and pictures from the raw results of a study."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import fsum
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import protocol
from protocol import MISSING
from runs import flags

HEADS = {
    "default": "dev., defaults", "development": "dev.", "one": "test after one pass", "error": "token error", "passes": "passes",
    "paper_passes": "paper's passes", "cpu_a_pass": "CPU s a pass", "cpu": "CPU s in all", "paper_seconds": "paper's s", "weight": "mean abs. weight",
    "tag": "CPU s of tagging", "paper_tag": "paper's tagging, s", "paper": "paper", "pr": "test P / R", "paper_pr": "paper's P / R",
}
_DIGITS = {"cpu": 1, "cpu_a_pass": 3, "tag": 3, "paper_seconds": 0, "paper_tag": 0}
METHOD = """\
## How these numbers were made

`benchmarks/papers/{script}.py` wrote this page ([how to repeat it](index.md#how-to-repeat-these-runs)). Commit of the package: {commits}. Kind of machine: {machines}.
Options were chosen by ten trials each, or taken over from another row.
"""
VERDICTS = """\
## What holds

{counts}: [claim by claim, with numbers](index.md#{section}).{rules}
"""
RULES = """\
 [The protocol](protocol.md) says how options are chosen and what a verdict means, and
[what stands in the tables](protocol.md#tables-and-pictures) below. [Choosing a trainer](../trainers.md#what-the-comparisons-say) draws the conclusions."""


def spread(scores: list[float]) -> str:
    """Mean and standard deviation."""
    return f"{fmean(scores):.2f}" + (f" ± {stdev(scores):.2f}" if len(scores) > 1 else "")


def short(seconds: float) -> str:
    """Three digits, all where there are more before the point."""
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"


def chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def write(pages: list[tuple[Any, list[Any]]], runs: Any, folder: Path) -> list[Path]:
    """The pages of papers, with their pictures, and that of the protocol; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "protocol.md"]
    paths[0].write_text("# " + protocol.__doc__.strip() + "\n", encoding="utf-8")
    for paper, found in pages:
        lines = [f"# {paper.title}", "", paper.about.strip(), ""]
        if runs.quick:
            lines += ["**A few sentences of the synthetic corpora: these numbers mean nothing.**", ""]
        judged = [(table, outcomes) for table, outcomes, _ in found if outcomes]
        lines += holding(rows(judged, runs), paper.title, RULES)
        told: dict[str, str] = {}
        for table, outcomes, lacking in found:
            if outcomes:
                lines += _section(paper, table, outcomes, lacking, runs, folder, told)
        if absent := [f"{table.task.title} (`{table.task.name}`)" for table, outcomes, _ in found if not outcomes]:
            lines += ["## Not measured yet", "", f"The script has these tables, too: {'; '.join(absent)}.", ""]
        text = "\n".join([*lines, *_method(paper, found)])
        for picture in folder.glob(f"{paper.name}-*.png"):
            if picture.name not in text:
                picture.unlink()
        paths.append(folder / f"{paper.name}.md")
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def rows(found: list[tuple[Any, dict[str, Any]]], runs: Any) -> list[list[str]]:
    """Rows of the index: claim, task, the paper's numbers, those here, verdict."""
    return [
        [claim.text, table.task.short, claim.paper, *reversed(claim.verdict(outcomes, runs))] for table, outcomes in found for claim in table.claims if not claim.own
    ]


def index(sections: list[tuple[str, str, list[list[str]]]], beside: list[str], marks: Mapping[tuple[str, str], str], folder: Path) -> Path:
    """One page, claim by claim; a section is its title, the name of its page, and rows. `beside` goes behind them."""
    names = (protocol.REPRODUCED, protocol.TIE, protocol.CONTRADICTED, MISSING)
    counts = [(title, Counter(row[-1] for row in found)) for title, _, found in sections]
    shown = [name for name in names if name != MISSING or any(count[name] for _, count in counts)]
    lines = ["# What holds, claim by claim", "", ABOUT]
    lines += markdown(["", *shown], [[f"[{title}](#{section(title)})", *(str(count[name]) for name in shown)] for title, count in counts])
    lines += ["", INDEX]
    for title, name, found in sections:
        lines += [f"## {title}", "", f"[Tables, options, pictures]({name}.md)", ""]
        if measured := [row for row in found if row[-1] != MISSING]:
            lines += [*of_claims(measured, name, marks), ""]
        if absent := Counter(row[1] for row in found if row[-1] == MISSING):
            lines += [f"Not measured yet: {'; '.join(f'{n} of the claims on {task}' for task, n in absent.items())}.", ""]
    path = folder / "index.md"
    path.write_text("\n".join([*lines, *beside, "", REPEAT]), encoding="utf-8")
    return path


def of_claims(rows: list[list[str]], page: str, marks: Mapping[tuple[str, str], str]) -> list[str]:
    """The table of a section: a row for each claim and a column for each task. Where no claim has several tasks, all have one column, and a task is named
    at its first claim."""
    claims = list(by_claim(rows, marks))
    if any(len(found) > 1 for _, found in claims):
        tasks = list(dict.fromkeys(row[1] for row in rows))
        heads = ["claim", *(f"[{task}]({page}.md#{section(task)})" for task in tasks)]
        table = markdown(heads, ([claim, *(_told(*found[task]) if task in found else "" for task in tasks)] for claim, found in claims))
    else:
        heads, cells = ["task", "claim", "paper", "here", "verdict"], [[task, claim, *told] for claim, found in claims for task, told in found.items()]
        table = markdown(heads, ([row[0] * (k == 0 or row[0] != cells[k - 1][0]), *row[1:-1], f"**{row[-1]}**"] for k, row in enumerate(cells)))
    return [table[0], "|---" * len(heads) + "|", *table[2:]]


def _told(paper: str, here: str, verdict: str) -> str:
    """A cell: verdict, numbers, those of the paper, a line each."""
    numbers = here.replace(", p ", "<br>p ").replace("p = ", "p=").replace("p < ", "p<").replace(": ", "<br>")
    return "<br>".join([f"**{verdict}**", *(text.replace(" ± ", "±").replace(" and ", "; ", 1) for text in (numbers, f"paper: {paper}" * bool(paper)) if text)])


def by_claim(rows: list[list[str]], marks: Mapping[tuple[str, str], str]) -> Iterator[tuple[str, dict[str, tuple[str, str, str]]]]:
    """Each claim of the index, with what its rows have in common: what the paper says, what their numbers are, the rule of the verdicts. For each of its
    tasks the paper's numbers, those here, and the verdict with its mark, if it has one, by task and numbers."""
    claims: dict[str, list[list[str]]] = {}
    for row in rows:
        claims.setdefault(row[0], []).append(row)
    for claim, found in claims.items():
        parts = [NUMBERS.fullmatch(row[3]).groups(default="") for row in found]
        lead, tail, papers = ({part[0] for part in parts}, {part[2] for part in parts}, {row[2] for row in found})
        leads, tails = (len(same) == 1 and (len(found) > 1 or RULE in next(iter(same))) for same in (lead, tail))
        of_all = papers.pop() if len(found) > 1 and len(papers) == 1 else ""
        about = [f"paper: {of_all}" * bool(of_all), f"{parts[0][0]}…" * leads * bool(parts[0][0]), parts[0][2].removeprefix("; ") * tails]
        told = "; ".join(text for text in about if text)
        yield (f"{claim} ({told})" if told else claim), {
            task: (paper * (not of_all), f"{before * (not leads)}{numbers}{after * (not tails)}", verdict + marks.get((task, here), ""))
            for (_, task, paper, here, verdict), (before, numbers, after) in zip(found, parts, strict=True)
        }


RULE = "; reproduced: "
"""What a rule begins with, behind the numbers of a verdict."""
NUMBERS = re.compile(r"(from pass.*? by )?(.*?)(; .*)?")
"""What the numbers of a verdict are, where it is told; they themselves; what follows."""
ABOUT = """\
Five papers describe trainers of crfkit. Their claims were tested again, on the papers' data where these could be had, else on others. (Parsing is in the paper on lookahead, networks are in that on search-based learning.) Each claim has one verdict on each task:
"""
INDEX = """\
* *Reproduced*: the difference has the sign that the paper reports, and p < 0.05. Where a claim says that two are the same: they differ by at most 0.1 points, and p >= 0.05.
* *Contradicted*: the difference has the opposite sign, and p < 0.05.
* *Tie*: anything else. If there is a difference, the test part is too small to show it. *Seeds disagree*: some seeds show it, others the opposite.
* †: a tie, if all tests are taken together. ‡: with other seeds it might be a tie. Both are told [below](#all-tests-together).

[A protocol](protocol.md) defines the rules, also those for costs and weights. It was fixed before the test scores were computed, and marks what was changed or added later. The pages on sparse CRFs, parsing and
networks state their own rules. On simulated data the study itself is counted, not [its controls](simulated.md), which use more data and contradict two claims. What the trainers compute
[differs from the papers](../trainers.md#where-they-differ-from-the-papers) in some points.

Scores are means over five seeds ± their standard deviation. Deterministic trainers have one run, sparse CRFs no deviations, networks as many seeds as their cells say. Where a claim says that one score is better, that one stands first.
Weights and losses over 50 passes, and seconds of a pass, are of one seed. Without *paper*, the paper has no number, or not this task.
"""
REPEAT = """\
## How to repeat these runs

All numbers come from the lines of `docs/results/raw/` and of the `*.jsonl` beside it. `make results` runs what is missing there, from corpora in the folder that
`CRFKIT_CORPORA` names, and writes the pages; stopped, it goes on where it was. `make results ONLY=pages` only writes the pages, in minutes. All runs took 27 hours of one processor: the networks 9, parsing 4, the
pages on `adf`, `sapo`, `dbl-crf` and `lookahead` 14.

To repeat one table of these four: `python benchmarks/papers/results.py --only runs --tasks conll2003 --out FOLDER` (`--help` has the names) writes new lines to `FOLDER/raw`, to be compared with those here. That
takes 8 minutes for `conll2003` and 3 hours for `cws-sxu`. With the package of the commit that the page names, 32 runs that were repeated so had the same scores and weights to the last bit.
"""


def side_by_side(outcomes: list[dict[str, Any]]) -> list[str]:
    """The mean test scores of the trainers on all tasks that several of them have."""
    scores: dict[str, dict[str, str]] = {}
    for found in outcomes:
        for name, outcome in found.items():
            scores.setdefault(outcome.task.title, {})[name] = f"{fmean(outcome.scores):.2f}"
    rows = [[title, *(found.get(name, "") for name in TRAINERS)] for title, found in scores.items() if sum(name in found for name in TRAINERS) > 1]
    return ["## All trainers, side by side", "", SIDE, "", *markdown(["", *TRAINERS.values()], rows)] if rows else []


SIDE = "Mean test scores: F1 (of words for segmentation), or accuracy for parts of speech and reviews. On biomedical names `lookahead` tags backward. An empty cell was not run."
TRAINERS = {
    "lbfgs": "`lbfgs`", "sgd": "`sgd`", "sgd, L1": "`sgd --l1`", "adf": "`adf`", "sapo": "`sapo`", "depth 1": "`lookahead`", "depth 0": "`lookahead --depth 0`",
    "averaged 5-best mira": "`mira -n 5`", "averaged mira": "`mira`", "averaged perceptron": "`perceptron`", "naive perceptron": "`perceptron --no-average`",
    "arow": "`arow`", "cw": "`cw`",
}


def section(title: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def counted(verdicts: Iterable[str]) -> str:
    """How many verdicts there are of each kind."""
    count = Counter(verdicts)
    told = [protocol.REPRODUCED, protocol.TIE, protocol.CONTRADICTED]
    return f"*Reproduced* are {count[told[0]]} of {sum(map(count.__getitem__, told))} verdicts, *tie* {count[told[1]]}, *contradicted* {count[told[2]]}"


def holding(rows: list[list[str]], title: str, rules: str = "") -> list[str]:
    """A section: how many claims have which verdict, and where they stand. `rows`: those of the index; `title`: their section of it."""
    return [VERDICTS.format(counts=counted(row[-1] for row in rows), section=section(title), rules=rules)] if rows else []


def _section(paper: Any, table: Any, outcomes: dict[str, Any], lacking: list[str], runs: Any, folder: Path, told: dict[str, str]) -> list[str]:
    """A task, with what its trainers reached. `told`: the heading under which the page describes a corpus."""
    first = told.setdefault(table.task.data, table.task.title)
    data = table.task.data if first == table.task.title else f"Data as in [{first}](#{section(first)})."
    lines = [f"## {table.task.title}", "", f"{data} {table.task.source}".strip(), ""]
    if table.task.seen:
        lines += [f"**Seen before:** {table.task.seen}", ""]
    heads = ["trainer", *(HEADS.get(name, f"test {table.task.metric}") for name in table.columns)]
    lines += markdown(heads, ([outcome.row.name, *(_cell(outcome, name) for name in table.columns)] for outcome in outcomes.values()))
    lines += ["", _given(outcomes, table.columns), ""]
    if lacking:
        lines += [f"Not measured yet: {', '.join(lacking)}.", ""]
    if table.note:
        lines += [table.note.strip(), ""]
    own = [(claim.text, *claim.verdict(outcomes, runs)) for claim in table.claims if claim.own]  # the protocol has their rules
    if own:
        lines += ["Beside the claims of the paper:", "", *(f"* {verdict.capitalize()}: {text}{f' ({numbers.partition(RULE)[0]})' if numbers else ''}." for text, verdict, numbers in own), ""]
    for kind in table.plots:
        name = f"{paper.name}-{table.task.name}-{kind}.png"
        if plot(outcomes, kind, folder / name):
            lines += [f"![{_TITLES[kind].format(metric=_metric(table.task))}]({name})", ""]
    return lines


def _cell(outcome: Any, name: str) -> str:
    if name == "score":
        return spread(outcome.scores)
    value = getattr(outcome.row if name.startswith("paper") else outcome, name)
    if value is None or isinstance(value, str):
        return value or ""
    if name == "weight":
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{_DIGITS.get(name, 2)}f}"


def _given(outcomes: dict[str, Any], columns: Iterable[str]) -> str:
    """The options of all rows, without passes that the table has."""
    told = []
    for outcome in outcomes.values():
        row, like = outcome.row, outcomes[outcome.row.like].row if outcome.row.like else None
        own = row.fixed if like else outcome.options
        words = [f"-a {row.algorithm}"] * (row.algorithm != (like.algorithm if like else row.name))
        words += flags({name: value for name, value in own.items() if name != "passes" or name not in columns})
        given = ", ".join(text for text in (f"as *{row.like}*" if like else "", f"`{' '.join(words)}`" if words else "") if text)
        told.append(f"*{row.name}* {given}{'' if outcome.enclosed else ' (edge)'}")
    return f"Options: {'; '.join(told)}."


def _method(paper: Any, found: list[Any]) -> list[str]:
    records = [record for _, outcomes, _ in found for outcome in outcomes.values() for record in outcome.records]
    machines, commits = ("; ".join(sorted({record[name] for record in records})) for name in ("machine", "commit"))
    return [METHOD.format(script=paper.name.replace("-", "_"), machines=machines, commits=commits)]


def markdown(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table, numbers flush right."""
    heads = list(heads)
    return [f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}", *(f"| {' | '.join(row)} |" for row in rows)]


# --- Pictures ---------------------------------------------------------------------------------------------------------

_SERIES = {
    "score": "{metric} on development data",
    "seconds": "{metric} on development data",
    "weight": "mean absolute weight",
    "loss": "the trainer's own loss",
}
_TITLES = {
    **{kind: f"{title} after each pass" for kind, title in _SERIES.items()},
    "seconds": "{metric} on development data against processor seconds",
}


def _metric(task: Any) -> str:
    return "F1" if task.metric == "F1" else "token accuracy"


def plot(outcomes: dict[str, Any], kind: str, path: Path) -> bool:
    """A picture; False where there is none."""
    drawn = {name: outcome for name, outcome in outcomes.items() if (outcome.row.like is None or outcome.row.tried if kind in ("score", "seconds") else outcome.curve is not None)}
    if not drawn:
        return False
    with picture(path) as axes:
        if axes is None:
            return path.exists()
        _lines(axes, drawn, kind)
        axes.set_ylabel(_SERIES[kind].format(metric=_metric(next(iter(outcomes.values())).task)))
        return True


@contextmanager
def picture(path: Path, frames: int = 1, legend: bool = True) -> Iterator[Any]:
    """What to draw on, for a picture that is then saved, a list where there are several frames; None, with a message, where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        print(f"{path.name}: not drawn, matplotlib is not installed: pip install 'crfkit[plots]'", file=sys.stderr)
        yield None
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    if frames == 1:
        figure, axes = pyplot.subplots(figsize=(6.4, 4.2), dpi=80)
    else:
        figure, grid = pyplot.subplots(-(-frames // 2), 2, figsize=(9.6, 3.2 * -(-frames // 2)), dpi=80)
        axes = list(grid.flat)
    yield axes
    for one in [axes] if frames == 1 else axes:
        if legend:
            one.grid(alpha=0.3)
            one.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})
    pyplot.close(figure)


def _lines(axes: Any, outcomes: dict[str, Any], kind: str) -> None:
    """A line for each trainer, over passes or seconds."""
    shown: list[float] = []
    for k, (name, outcome) in enumerate(outcomes.items()):
        if kind in ("weight", "loss"):
            values = outcome.curve["weights" if kind == "weight" else "losses"]
        else:
            values = mean(outcome.trial["scores"])
        x: list[float] = list(range(1, len(values) + 1))
        if kind == "seconds":
            spent = mean(outcome.trial["seconds"])
            x = [fmean(outcome.trial.get("warm_up", [0.0])) + fsum(spent[: k + 1]) for k in range(len(values))]
        axes.plot(x, values, label=name, linewidth=1.2, linestyle=("-", "--", ":")[k // 10 % 3])
        shown += values[2:] or values
    if kind in ("score", "seconds") and shown:
        axes.set_ylim(max(min(shown), max(shown) - 4), max(shown) + 0.2)
    if kind in ("weight", "loss"):      # weights of perceptrons are a hundred times as large as those of others
        axes.set_yscale("log")
    if kind in ("score", "seconds"):  # `lbfgs` makes up to a thousand passes, others a dozen
        axes.set_xscale("log")
    axes.set_xlabel("processor seconds" if kind == "seconds" else "passes")


def mean(series: list[list[float]]) -> list[float]:
    """Average of series, as long as the longest; those that ended early go on as they ended."""
    return [fmean(one[min(k, len(one) - 1)] for one in series) for k in range(max(map(len, series)))]
