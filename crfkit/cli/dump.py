"""`crfkit dump`: a model as text."""

from __future__ import annotations

import json

import click

from crfkit import foreign
from crfkit.errors import OptionError, refuse
from crfkit.modelbytes import held
from crfkit.replacing import refuse_overwriting
from crfkit.values import as_bytes

from .common import HELP_FLAGS, PATH, Integer, Text, debug_option, is_given, usage_errors, write_output


@click.command("dump", context_settings=HELP_FLAGS)
@click.argument("model", type=PATH)
@click.option("--header", is_flag=True, help="The header as JSON: algorithm, options, labels, template, counts.")
@click.option("--labels", is_flag=True, help="The labels, one per line, in the order of their numbers.")
@click.option("--template", is_flag=True, help="The template, as it was given.")
@click.option("--top", type=Integer(1), metavar="N", help="Only the N weights of greatest absolute value, greatest first.")
@click.option("--attribute", type=Text(), metavar="NAME", help="Only the weights of one attribute, such as U02:the; * for plain label pairs.")
@click.option("--layout", type=click.Choice(["original", "crfkit"]), default="original",
              help="Print models of other programs as those programs do, with all their digits, or as crfkit's.  [default: original]")
@debug_option
@click.pass_context
def dump_command(ctx: click.Context, model: str, header: bool, labels: bool, template: bool, top: int | None, attribute: str | None, layout: str) -> None:
    """Print the nonzero weights of MODEL, or other parts of it.

    A line has four columns separated by tabs: the attribute (* for plain label pairs), the previous label (# if the
    weight does not depend on it), the label, and the weight with all its digits. A feature that sees two labels back,
    or a place before the sentence, has two previous labels, separated by a blank. # is one of them that does not matter,
    _B-1 and _B-2 are places before the sentence.

    Backslashes escape special characters: \\t is a tab in an attribute, \\n and \\r are line ends, \\\\ is a backslash,
    \\s is a blank in one of two previous labels. An attribute * is written \\*, a label # is written \\#, and a label
    _B-1 among two is written \\_B-1.
    """
    parts = sum((header, labels, template, top is not None or attribute is not None))
    with usage_errors(ctx):
        refuse(
            (parts > 1, "--header, --labels, --template and weights cannot be shown together; choose one"),
            (parts and layout == "original" and is_given(ctx, "layout"), "--layout original shows all weights: leave it out to show a part of the model"),
        )
        refuse_overwriting("output", [model], "-")
    source = held(model)  # once: a pipe cannot be read again
    pieces = foreign.dump(source) if not parts and layout == "original" else None
    if pieces is not None:
        write_output(pieces)
        return
    opened = foreign.load_any(source)
    if header:
        write_output(json.dumps(opened.header, indent=2, ensure_ascii=False) + "\n")
    elif labels:
        write_output(as_bytes(f"{label}\n") for label in opened.labels)
    elif template:
        if opened.template is None:
            raise OptionError(f"{model}: trained on attribute lines, there is no template")
        write_output([as_bytes(opened.template.text)])
    else:
        write_output(opened.dumped(top, attribute))
