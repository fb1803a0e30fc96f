"""Training data: from files, or from lists, to numbered attributes and the features that exist."""

from __future__ import annotations

import array
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crfkit.errors import DataError, TemplateError
from crfkit.template.parsing import Template
from crfkit.text.sources import label_column, parsed_blocks

from .progress import Progress

if TYPE_CHECKING:
    from crfkit.features.names import Names
    from crfkit.model import Model
    from crfkit.options import Run


@dataclass
class Corpus:
    """Training data as numbers, with all that is needed to make a model of their weights."""

    dataset: Any
    builder: Any
    layout: Any
    template: Template | None
    n_columns: int
    column_names: tuple[str, ...] | None
    label_column: int | None
    backward: bool = False  # sequences stand in reverse order
    summary: dict[str, Any] = field(default_factory=dict)

    def attributes(self, bigram: bool = False) -> Names:
        """The names of all attributes of a kind, in the order of their numbers."""
        from crfkit.features.names import Names

        return Names(self.builder, bigram)

    def weights_of(self, model: Model) -> array.array:
        """The weights of another model, for the features that both have; zero for the rest."""
        own_labels = {label: number for number, label in enumerate(self.dataset.labels)}
        own_attributes = [
            {name: number for number, name in enumerate(self.attributes(bigram))} for bigram in (False, True)
        ]
        weights = array.array("f", bytes(4 * self.layout.n_cells))
        history: dict[str | int | None, int] = {**own_labels, -1: len(own_labels), -2: len(own_labels) + 1, None: -1}
        for attribute, previous, label, weight in model.features():
            seen = previous if isinstance(previous, tuple) else (previous,)
            if label not in own_labels or not all(name in history for name in seen):
                continue
            before, j = [history[name] for name in seen], own_labels[label]
            if attribute is None:
                cell = self.layout.pair_cell(*before, j)
            elif previous is None:
                cell = self.layout.cell(own_attributes[0].get(attribute.encode(), -1), j)
            else:
                place = self.layout.rich_cell if len(before) == 1 else self.layout.history_cell
                cell = place(own_attributes[1].get(attribute.encode(), -1), *before, j)
            if cell >= 0:
                weights[cell] = weight
        return weights


def refuse_history(template: Template | None) -> None:
    """TemplateError for a line that looks at labels given before."""
    if template is None or template.history_line is None:
        return
    line = template.history_line
    what = "T lines see" if line.kinds == "T" else "%y macros see"
    raise TemplateError(f"{what} labels given before, which only the trainer lookahead can use", template.path or "template", line.number)


def id_warning(template: Template | None, names: Sequence[str]) -> str | None:
    """What to say, if anything, of a template that uses column 0 of CoNLL-U, which is not the word as in most other files."""
    if template is None or names[0] != "id":
        return None
    for line in template.lines:
        for macro in line.macros:
            if macro.kind != "y" and macro.column == 0 and macro.column_name is None:
                return f"{template.path or 'template'}:{line.number}: {macro.text} is the number of a token in CoNLL-U; words are in column 1, or form"
    return None


def refuse_bare_labels(run: Run, attributes: int, path: str | None) -> None:
    """DataError where a file of attribute lists, with so many of them, has nothing but labels."""
    if run.format == "crfsuite" and not attributes:
        raise DataError("no line has an attribute: expected a label, a tab, and attributes with tabs between", path)


def refuse_labels(labels: Iterable[str], path: str | None) -> None:
    """DataError for a label that cannot stand at the end of a line."""
    for label in labels:
        if set(label) & set("\t\r\n\0"):
            raise DataError(f"the label {label!r} holds a tab or a line end", path)


def read_corpus(
    train: Any, template: Template | None, run: Run, progress: Progress | None = None, direction: str | None = None
) -> Corpus:
    """Read all training data, number its attributes, and decide which features exist. `direction` is that of a trainer
    that can use labels given before; with "backward" those behind the token are the ones given before."""
    from crfkit.features.builder import IndexBuilder
    from crfkit.weights.layout import Layout

    if direction is None:
        refuse_history(template)
    report = progress or Progress.silent()
    started = time.perf_counter()
    backward = direction == "backward"
    builder: Any = None
    layout: Any = None
    attributes: dict[str | None, int] = {}
    for rows, layout in parsed_blocks(train, run.format, run.label, comments=run.comments, warn=report.warn):
        if not rows.n_tokens:
            continue
        if builder is None:
            template = fitted(template, layout, run)
            report.warn(id_warning(template, layout.names) if run.format == "conllu" else None)
            builder = IndexBuilder(template, crfsuite=run.format == "crfsuite", backward=backward)
        builder.add(rows)
        path = rows.where(0)[0]
        attributes[path] = attributes.get(path, 0) + rows.n_attributes
        report.reading(rows.n_tokens, len(rows))
    if builder is None:
        raise DataError("no tokens to learn from")
    for path, found in attributes.items():
        refuse_bare_labels(run, found, path)
    dataset = builder.finish(run.min_freq)
    refuse_labels(dataset.labels, layout.path)
    if not dataset.n_tokens:
        raise DataError("no tokens to learn from", layout.path)
    if len(dataset.labels) < 2:
        raise DataError(f"only one label, {dataset.labels[0]!r}: there is nothing to learn", layout.path)
    if run.n_selected is not None:
        _select(builder, dataset, run.n_selected)

    n_u, n_b = dataset.n_u, dataset.n_b
    every = {"observed": 0, "all": 1}[run.features]
    plain = None if template is None else plain_bigram(template)
    features, u_new, b_new = Layout.build(
        dataset,
        len(dataset.labels),
        template is None or plain is not None,
        _rules(builder, False, every, n_u),
        array.array("i", [1]) * n_u,
        _rules(builder, True, every, n_b),
        array.array("i", [1]) * n_b,
        {"observed": 0, "all": 1, None: every}[plain.rule if plain else None],
        builder.reaches(),
    )
    builder.renumber(u_new, b_new)
    dataset.nesting = builder.nesting()
    if not features.n_features:
        raise DataError("no feature is left: lower --min-freq", layout.path)
    column = label_column(run.label, layout, run.format)
    summary = {
        "sequences": dataset.n_sequences,
        "tokens": dataset.n_tokens,
        "labels": len(dataset.labels),
        "attributes": sum(features.n_attributes),
        "weights": features.n_features,
        "seconds": time.perf_counter() - started,
    }
    return Corpus(dataset, builder, features, template, layout.n_cols, layout.names, column, backward, summary)


def fitted(template: Template | None, layout: Any, run: Run) -> Template | None:
    """The template with column names resolved, checked against the columns of the data."""
    if template is None:
        return None
    if layout.names is not None:
        template = template.resolve({name: number for number, name in enumerate(layout.names)})
    label = label_column(run.label, layout, run.format)
    n_features = layout.n_cols - 1 if label is None else layout.n_cols
    if label is None and layout.n_cols < 2:
        raise DataError(f"found {layout.n_cols} column, expected at least two: features, and the label last", layout.path, layout.line)
    template.check(n_features, layout.names)
    if label is not None and label in template.columns:
        raise TemplateError(f"the template uses column {label}, which holds the label", template.path)
    return template


def _select(builder: Any, dataset: Any, n: int) -> None:
    """Keep the n attributes of the highest mutual information with the label."""
    from crfkit.data.selection import keep_best, mutual_information

    builder.renumber(*keep_best(mutual_information(dataset), mutual_information(dataset, True), n))


def plain_bigram(template: Template) -> Any:
    """The line that asks for plain label pairs, or None."""
    return next((line for line in template.lines if "B" in line.kinds and not line.macros), None)


def _rules(builder: Any, bigram: bool, every: int, n: int) -> bytes:
    """For each attribute 1 if it goes with every label, 0 if only with those it was seen with."""
    if not builder.has_rules:
        return bytes([every]) * n
    return bytes((0, every, 1)[rule] for rule in builder.rules(bigram))
