"""`crfkit dump`: a model as text."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable
from typing import Any

import click

from ..errors import OptionError
from ..model import Model, load
from .common import HELP_FLAGS, debug_option, write_output

LINES_AT_ONCE = 10000


@click.command("dump", short_help="Show a model as text.", context_settings=HELP_FLAGS)
@click.argument("model", type=click.Path())
@click.option("--header", is_flag=True, help="What the file says of itself: algorithm, options, labels, template, counts (JSON).")
@click.option("--labels", is_flag=True, help="The labels, one a line, in the order of their numbers.")
@click.option("--template", is_flag=True, help="The template, as it was given.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="The N weights of greatest absolute value only, greatest first.")
@click.option("--attribute", metavar="NAME", help="The weights of one attribute only, such as U02:the; * for plain label pairs.")
@debug_option
def dump_command(model: str, header: bool, labels: bool, template: bool, top: int | None, attribute: str | None) -> None:
    """Print the weights of MODEL that are not zero, or other parts of it.

    A line has four columns between tabs: the attribute (* for plain label pairs), the previous label (# where the
    weight does not depend on it), the label, and the weight. Features that see two labels back have both for the
    previous label, with a blank between them.
    """
    if sum((header, labels, template, top is not None or attribute is not None)) > 1:
        raise click.UsageError("--header, --labels, --template and weights are different things to show; choose one")
    opened = load(model)
    if header:
        write_output(json.dumps(opened.header, indent=2, ensure_ascii=False) + "\n")
    elif labels:
        write_output("".join(f"{label}\n" for label in opened.labels))
    elif template:
        if opened.template is None:
            raise OptionError(f"{model}: trained on attribute lines, there is no template")
        write_output(opened.template.text)
    else:
        _write_features(_selected(opened, model, top, attribute))


def _selected(model: Model, path: str, top: int | None, attribute: str | None) -> Any:
    features: Iterable[Any] = model.features()
    if attribute is not None:
        wanted = None if attribute == "*" else attribute
        features = [feature for feature in features if feature[0] == wanted]
        if not features:
            raise OptionError(f"{path}: no weights for the attribute {attribute!r}")
    if top is not None:
        return heapq.nlargest(top, features, key=lambda feature: abs(feature[3]))
    return features


def _write_features(features: Any) -> None:
    lines: list[str] = []
    for attribute, previous, label, weight in features:
        if isinstance(previous, tuple):
            previous = " ".join("#" if name is None else name for name in previous)
        lines.append(f"{'*' if attribute is None else attribute}\t{'#' if previous is None else previous}\t{label}\t{weight:.7g}\n")
        if len(lines) >= LINES_AT_ONCE:
            write_output("".join(lines))
            lines.clear()
    write_output("".join(lines))
