"""The command line: `crfkit learn | tag | eval | dump | convert | templates | compat`.

A command lives in its own module and is imported only when it is called, so that `crfkit eval` does not
wait for the trainers. The one-line helps stand here for the same reason.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from crfkit.version import __version__

from .common import HELP_FLAGS, ErrorsAsLines, debug_option

__all__ = ["cli", "main"]

COMMANDS = {
    "learn": "Train a model from labelled data and a template.",
    "tag": "Label data with a model.",
    "eval": "Score predicted labels against gold labels.",
    "dump": "Show a model as text.",
    "convert": "Make one kind of model of another.",
    "templates": "Print templates to start from.",
    "compat": "Print aliases: the commands of CRF++, CRFsuite and Wapiti.",
}

# Their names in other programs.
ELSEWHERE = {
    "train": "learn", "fit": "learn", "label": "tag", "predict": "tag", "test": "tag", "crf_test": "tag", "evaluate": "eval", "score": "eval", "update": "convert",
}


class LazyGroup(ErrorsAsLines, click.Group):
    """A group whose commands are `crfkit.cli.NAME:NAME_command`, imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"{__name__}.{cmd_name}"), f"{cmd_name}_command")

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from crfkit.values import nearest, shown  # not before they are needed

            near = ELSEWHERE.get(name) or nearest(name, COMMANDS)
            hint = f"did you mean {near}? There are" if near else "there are"
            raise click.UsageError(f"no command {shown(name)}; {hint} {', '.join(COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings=HELP_FLAGS)
@click.version_option(__version__, prog_name="crfkit", message="%(prog)s %(version)s")
@debug_option
def cli() -> None:
    """Sequence labelling with conditional random fields and their relatives."""


def main() -> None:
    """Run the command line; the process ends with the command's exit code."""
    cli.main(prog_name="crfkit")
