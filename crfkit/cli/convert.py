"""`crfkit convert`: models of other programs, from and to."""

from __future__ import annotations

import click

from crfkit import foreign
from crfkit.constants import WEIGHTS
from crfkit.errors import warnings_taken
from crfkit.replacing import refuse_overwriting

from .common import HELP_FLAGS, PATH, debug_option, note, refuse_dash, usage_errors


@click.command("convert", context_settings=HELP_FLAGS)
@click.argument("source", type=PATH)
@click.argument("target", type=PATH)
@click.option("--to", type=click.Choice(foreign.FORMATS), default=foreign.CRFKIT, help="The program that TARGET is for.  [default: crfkit]")
@click.option(
    "--template",
    type=PATH,
    metavar="FILE",
    help="The template that made the attributes, for a model without a template.",
)
@click.option(
    "--weights",
    type=click.Choice(WEIGHTS),
    help="Number format of the weights of a crfkit model: float16 takes half the space, int8 a quarter.",
)
@click.option("--edit", type=PATH, metavar="FILE", help="Weights to change, in lines as crfkit dump --layout crfkit prints them.")
@debug_option
@click.pass_context
def convert_command(ctx: click.Context, source: str, target: str, to: str, template: str | None, weights: str | None, edit: str | None) -> None:
    """Write the model SOURCE to TARGET in the format of another program.

    \b
    crfkit convert ner.crfsuite ner.model
    crfkit convert --to crfpp-text chunking.model chunking.txt
    crfkit convert --weights int8 chunking.model small.model
    crfkit convert --edit weights.txt ner.model edited.model

    SOURCE is a model of crfkit, CRFsuite, CRF++ (binary or text) or Wapiti, recognised by its content. TARGET gives
    the same labels on every input. Anything that its format cannot hold is an error: CRFsuite, for instance, has no
    templates.

    Each line of the file of --edit gives a feature a weight. 0 drops the feature; one that the model does not have is added.
    All other weights stay as they are; those kept as int8 are rounded anew.
    """
    with usage_errors(ctx):
        refuse_dash("TARGET", target)
        refuse_overwriting("TARGET", (source, template, edit), target)
        foreign.check_weights(weights, to)
    with warnings_taken() as told:
        foreign.convert(source, target, to, template, weights, edit)
    for warning in told:
        note(f"warning: {warning}")
