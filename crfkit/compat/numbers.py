"""Numbers as other programs have them: in options, written in more ways than crfkit's own; and those that logs tell of a growing count."""

from __future__ import annotations

import math
from typing import Any

import click

from crfkit.cli.common import Integer
from crfkit.values import digits_of


class Finite(click.FloatRange):
    name = "float"  # in messages

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return found if math.isfinite(found) else self.fail(f"{value!r} is not a finite number.", param, ctx)

    def _describe_range(self) -> str:
        return "" if self.min is self.max is None else super()._describe_range()  # else --help had `x<=None`


def passed(step: int, before: int, after: int) -> range:
    """The multiples of a step that a count has passed."""
    return range((before // step + 1) * step, after + 1, step)


class Whole(Integer):
    """A whole number, which may also be written as `5.0`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(digits_of(value), param, ctx)
