"""Messages of crfkit in the words of another program, which has other names for the same options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from crfkit.errors import CrfkitError

if TYPE_CHECKING:
    import click

ALIEN = {"(?=--comments passes|--format conllu|--template$)": "crfkit's "}
"""Options that crfkit alone has."""


def reworded(message: str, words: Mapping[str, str]) -> str:
    """A message in which these regular expressions are replaced, each by its own text."""
    for ours, theirs in words.items():
        message = re.sub(ours, theirs, message)
    return message


@contextmanager
def rewording(words: Mapping[str, str], *kinds: type[CrfkitError]) -> Iterator[None]:
    """Errors of these kinds speak so."""
    try:
        yield
    except kinds as error:
        error.args = (reworded(error.message, words),)
        raise


class Rewording:
    """Mixin for click's commands: errors speak so."""

    words: ClassVar[Mapping[str, str]] = ALIEN

    def invoke(self, ctx: click.Context) -> Any:
        with rewording(self.words, CrfkitError):
            return super().invoke(ctx)  # type: ignore[misc]
