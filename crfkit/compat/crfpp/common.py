"""What both programs share: the banner, the layout of the help, and one-line errors."""

from __future__ import annotations

from typing import Any

import click

from crfkit.cli.common import ErrorsAsLines
from crfkit.version import __version__

from ..wording import ALIEN, Rewording

BANNER = "CRF++: Yet Another CRF Tool Kit\nCopyright (C) 2005-2013 Taku Kudo, All rights reserved.\n\n"
"""What CRF++ prints first. Scripts that read its output skip three lines."""


WORDS = {
    "lower --min-freq": "lower --freq",
    r"lower --l[12], which is \S+": "raise --cost",
    "raise (?:--l1 or )?--l2": "lower --cost",
    **ALIEN,
}
"""What messages of crfkit advise -> the same in the options of CRF++, or in those that crfkit alone has."""


class Command(ErrorsAsLines, Rewording, click.Command):
    """A command whose help is laid out as CRF++'s, and whose errors are one line."""

    words = WORDS

    def get_help(self, ctx: click.Context) -> str:
        lines = [f"{BANNER}Usage: {ctx.info_name} [options] files"]
        for option in self.get_params(ctx):
            if isinstance(option, click.Option):
                *short, written = sorted(option.opts, key=len)
                name = f" -{short[0][1]}, {written}" if short else f"     {written}"
                lines.append(f"{name}{f'={option.metavar}' if option.metavar else ''}".ljust(28) + f" {option.help or ''}")
        return "\n".join(lines) + "\n"


class Positive(click.types.FloatParamType):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not 0 < number < float("inf"):
            self.fail(f"expected a finite number above 0, found {number:g}", param, ctx)
        return number


def version_option(*flags: str) -> Any:
    """The option that prints a version."""
    return click.version_option(__version__, *flags, message="CRF++ of 0.59, by crfkit %(version)s", help="show the version and exit")
