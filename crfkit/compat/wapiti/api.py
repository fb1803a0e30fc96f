"""libwapiti's module for Python: `Model` learns from texts, and labels them.

    model = Model(patterns="*\\nu:%x[0,0]", rho1=0.1)
    model.train(["the DT\\ndog NN", "a DT\\ncat NN"])
    model.save("pos.wapiti")
    Model(model="pos.wapiti").label_sequence("the\\ncat")
"""

from __future__ import annotations

import codecs
import logging
import os
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from crfkit.constants import MOST_THREADS
from crfkit.errors import DataError, OptionError
from crfkit.modelbytes import held
from crfkit.text.opening import contents, in_memory
from crfkit.values import as_bytes, as_text, nearest, shown

from . import algorithms

if TYPE_CHECKING:
    from crfkit.tagging import Tagger

__all__ = ["ALGORITHMS", "Model", "logger"]

ALGORITHMS = [*algorithms.ALGORITHMS, "auto"]

logger = logging.getLogger("wapiti")
"""Receives the log of `wapiti train`."""

_NAMES = {"me": "maxent", "post": "lblpost", "score": "outsc"}
"""Long options of the command that have other names in libwapiti."""


class Model:
    """A Wapiti model. `model` is a file to open, of Wapiti, crfkit or CRF++; `patterns` (a text) or `pattern` (a file) is for training a
    new one. Other options have the names of the long options of Wapiti's `train` and `label`, or of libwapiti; `options` holds
    all of them, and may be changed.
    """

    def __init__(self, patterns: str | None = None, encoding: str = "utf8", **options: Any):
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise OptionError(f"encoding: Python does not know {shown(encoding)}") from None
        self.encoding, self.patterns, self._sequences = encoding, patterns, list[bytes]()
        self._content: bytes | None = None  # of the file of the model: the one that was opened may change
        self._tagger: Tagger | None = None
        self._exact = False  # what the tagger is
        self.options = _all_options(options)
        if self.options.model:
            from .labelling import by_lines, tagger_of

            source = held(os.fspath(self.options.model))
            self._content = bytes(source.data)
            self._exact = self._wants_exact()
            self._tagger = tagger_of(source, self._exact)
            if by_lines(self._tagger):
                raise OptionError(f"{source.name}: a model for single lines is for `crfkit-wapiti label`")
        elif self.options.pattern:
            self.patterns = as_text(contents(self.options.pattern)[0])

    def _wants_exact(self) -> bool:
        """Whether labels are chosen by scores in double precision."""
        return bool(self.options.lblpost) or self.options.nbest > 1

    def _at_work(self) -> Tagger:
        """The tagger, for the options as they are now."""
        if self._tagger is None:
            raise OptionError("nothing to label with: open a model, or train one")
        exact = self._wants_exact()
        if exact != self._exact:
            self._open(self._content, exact)
        return self._tagger

    def _open(self, content: Any, exact: bool) -> None:
        from crfkit.foreign import load

        self._tagger, self._content, self._exact = load(content, exact=exact).tagger(), content, exact

    def add_training_sequence(self, sequence: str | bytes) -> None:
        """Add a training sequence: lines with the label last. Blank lines are ignored."""
        self._sequences.append(b"\n".join(self._lines(sequence)))

    def train(self, sequences: Iterable[str | bytes] | None = None) -> None:
        """Train on all sequences added so far and on these."""
        from .training import train

        for sequence in sequences or ():
            self.add_training_sequence(sequence)
        exact = self._wants_exact()
        pattern = in_memory(self._bytes(self.patterns), "patterns") if self.patterns else None
        given = {**_understood(vars(self.options), "train"), "pattern": pattern}
        if given["algo"] == "auto":
            given["algo"] = "l-bfgs"
        content = train(given, in_memory(b"\n\n".join(self._sequences) + b"\n", "training sequences"), logger.info)
        self._open(content, exact)

    def save(self, filename: str | os.PathLike[str]) -> None:
        """Write the model to a file."""
        from crfkit.replacing import replacing

        if not isinstance(filename, (str, os.PathLike)):
            raise TypeError("The file name must be unicode type")
        if self._content is None:
            raise OptionError("nothing to save: train the model first")
        with replacing(filename) as file:
            file.write(self._content)

    def label_sequence(self, lines: str | bytes, include_input: bool = False) -> bytes:
        """The labels of one sequence of lines, one per line; with `include_input` appended to the input lines. Blank lines are
        ignored. With the option `nbest`, a blank line separates the label sequences."""
        tagger, given = self._at_work(), self._lines(lines)
        if not given:
            return b""
        if self.options.nbest > 1 and self.options.lblpost:
            return self._best_by_marginals(tagger, given, include_input)
        rows = [[as_text(cell) for cell in line.split()] for line in given]  # as bytes, so that only ASCII blanks separate cells
        if self.options.nbest > 1:
            found = [labels for _, labels in tagger.nbest(rows, self.options.nbest)]
        else:
            found = [tagger.tag(rows, posterior=bool(self.options.lblpost))]
        before = [line + b"\t" for line in given] if include_input else [b""] * len(given)
        return b"\n".join(b"".join(start + as_bytes(label) + b"\n" for start, label in zip(before, labels, strict=True)) for labels in found)

    def _best_by_marginals(self, tagger: Tagger, lines: list[bytes], include_input: bool) -> bytes:
        """The labellings with the greatest products of marginals, as the command prints them."""
        from crfkit.text.reading import Source

        from .layout import LinePrinter

        tagger.need_probabilities("lblpost")
        source = Source(in_memory(b"\n".join([*lines, b""]), "sequence"), "columns", loose=tagger.loose)
        printer = LinePrinter(only=not include_input, posterior=True, nbest=self.options.nbest)
        return b"".join(text for text, _, _ in tagger.text(source, printer, threads=1)).removesuffix(b"\n")

    def _lines(self, sequence: str | bytes) -> list[bytes]:
        lines = (line.rstrip(b"\r") for line in self._bytes(sequence).split(b"\n"))
        return [line for line in lines if line.strip()]

    def _bytes(self, text: str | bytes) -> bytes:
        if not isinstance(text, (str, bytes)):
            raise DataError(f"found {shown(text)}, expected a text, whose lines are tokens")
        return text.encode(self.encoding) if isinstance(text, str) else text


def _options(table: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Each option of `train` or of `label`: its name in libwapiti, its name in the command, its type (None: a flag), its default."""
    from . import commands

    for names, kind, default, _ in {"train": commands.TRAIN, "label": commands.LABEL}[table]:
        name = names.rpartition("--")[2]
        yield _NAMES.get(name, name), name, kind, default


def _all_options(given: dict[str, Any]) -> SimpleNamespace:
    """These options, and defaults for the others, as the command reads them. OptionError for unknown names and invalid values."""
    found = {name: default for table in ("train", "label") for name, _, _, default in _options(table)}
    found["nthread"] = min(os.cpu_count() or 1, MOST_THREADS)
    for key, value in given.items():
        name = _NAMES.get(key, key)
        if name not in found:
            likely = nearest(key, [*found, *_NAMES])
            raise OptionError(f"Model has no option {shown(key)}" + (f"; did you mean {likely!r}?" if likely else ""))
        found[name] = as_text(value) if isinstance(value, bytes) else value
    for table in ("train", "label"):
        understood = _understood(found, table)
        found.update((name, understood[command]) for name, command, _, _ in _options(table) if isinstance(found[name], str))
    return SimpleNamespace(**found)


def _understood(options: dict[str, Any], table: str) -> dict[str, Any]:
    """These options, as the command `train` or `label` parses them."""
    import click

    from . import commands

    words = []
    for name, command, kind, _ in _options(table):
        value = options[name]
        if kind is not None:
            words += [] if value is None else [f"--{command}={value}"]
        elif value:
            words.append(f"--{command}")
    try:
        found: dict[str, Any] = getattr(commands, table).make_context("wapiti.Model", words).params
    except click.ClickException as error:
        raise OptionError(error.format_message()) from None
    return found
