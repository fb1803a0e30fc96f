"""Numbers as the options of other programs have them: written in more ways than crfkit's own."""

from __future__ import annotations

import math
import re
from typing import Any

import click

_WHOLE = re.compile(r"\s*([+-]?[0-9]+)(?:\.0*)?\s*", re.ASCII)


def digits_of(value: Any) -> Any:
    """`5` of the text `5.0`: scripts that compute with decimals write whole numbers so. Anything else as it is."""
    written = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return written[1] if written else value


class Finite(click.FloatRange):
    """A finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return found if math.isfinite(found) else self.fail(f"{value!r} is not a finite number.", param, ctx)


class Whole(click.IntRange):
    """A whole number, which may also be written as `5.0`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(digits_of(value), param, ctx)
