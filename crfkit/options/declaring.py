"""How an option is declared: its default, its help, and what it takes."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from crfkit.values import Expected


def option(
    default: Any, help: str, *, short: str | None = None, metavar: str | None = None, kind: Any = None, **expected: Any
) -> Any:
    """A field of an options dataclass (crfkit.values). `short` is its other flag on the command line, `metavar` stands for its value."""
    takes = Expected(kind or (object if default is None else type(default)), **expected)
    return field(default=default, metadata={"help": help, "short": short, "metavar": metavar, "expected": takes})
