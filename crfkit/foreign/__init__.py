"""Models of other programs: CRFsuite, CRF++ and Wapiti. Files are recognised by their first bytes.

    FORMAT.read(data) -> Parts       a file, parsed and checked; FORMAT is crfsuite, crfpp, crfpp_text or wapiti
    model_of(parts) -> Model         for crfkit's tagger
    parts_of(model) -> Parts         and back
    FORMAT.write(parts) -> bytes

`load` opens any model, `convert` converts between formats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from crfkit import model, modelfile
from crfkit.errors import ModelFileError, OptionError, UnsupportedError
from crfkit.header import check_columns
from crfkit.modelbytes import Held, held, named_in_faults
from crfkit.replacing import replacing
from crfkit.template.parsing import Template
from crfkit.values import exactly, legible

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from crfkit.model import Model
    from crfkit.parser.model import ParserModel

    from .parts import Parts


class Format(Protocol):
    """The interface of a format's module."""

    START: bytes  # a pattern of the first bytes, by which its files are recognised

    def read(self, data: memoryview) -> Parts:
        """Parse a file; ModelFileError says what is wrong with it."""

    def write(self, parts: Parts) -> bytes:
        """The bytes of a file; UnsupportedError says what the format cannot express."""

    def dump(self, data: memoryview) -> Iterator[bytes]:
        """The model as the program prints it, in pieces of whole lines."""


CRFKIT = "crfkit"
_MODULES = {"crfsuite": "crfsuite", "crfpp": "crfpp", "crfpp-text": "crfpp_text", "wapiti": "wapiti"}
FORMATS = (CRFKIT, *_MODULES)


def _format(name: str) -> Format:
    return import_module(f".{_MODULES[name]}", __name__)


def _format_of(start: bytes) -> Format | None:
    """The format of another program whose files begin so."""
    return next((form for form in map(_format, _MODULES) if re.match(form.START, start)), None)


def ready(name: str) -> None:
    """Import what writes a format, as crfkit.model.ready does."""
    for module in (f".{_MODULES[name]}", ".darts", ".observations", ".placed", "numpy"):
        import_module(module, __name__)


def begins_as_model(path: str) -> bool:
    """Whether a file has the beginning of a model, be it of crfkit or of another program."""
    start = held(path).start
    return start.startswith(modelfile.MAGIC) or _format_of(start) is not None


PIECE = 1 << 16  # bytes of a dump
_MOST, _LARGEST = 4, 1 << 23  # models that are kept, and the bytes of the file of one
_last: dict[Any, Model] = {}


class _Foreign(NamedTuple):
    source: Held
    form: Format

    def parts(self) -> Parts:
        with named_in_faults(self.source.name):
            return self.form.read(self.source.data)

    def model(self, exact: bool = False) -> Model:
        """The same model for crfkit's tagger. The last small ones are kept: some programs open the same files for each sentence."""
        from xxhash import xxh3_128_digest

        from .parts import model_of

        name, data = self.source
        if len(data) > _LARGEST:
            return model_of(self.parts(), name, exact)
        key = (name, exact, len(data), xxh3_128_digest(data))
        found = _last.get(key)
        if found is None:
            found = _last[key] = model_of(self.parts(), name, exact)
            for oldest in list(_last)[:-_MOST]:
                _last.pop(oldest, None)
        return found

    def dumped(self) -> Iterator[bytes]:
        """The model as its program prints it, in pieces of whole lines."""
        with named_in_faults(self.source.name):
            rest = b""  # some are a few bytes, and writing takes longer than making them
            for piece in self.form.dump(self.source.data):
                rest += piece
                if len(rest) > PIECE:
                    yield rest
                    rest = b""
            yield rest


def _opened(source: Any) -> tuple[Held, _Foreign | None]:
    """The bytes of a model, and the model if it is of another program: None for crfkit's own, and for a file that crfkit's reader will refuse."""
    found = held(source)
    form = None if found.start.startswith(modelfile.MAGIC) else _format_of(found.start)
    return found, None if form is None else _Foreign(found, form)


def read(path_or_bytes: Any) -> Parts:
    """The parts of any model, with exactly the weights of its file."""
    from .parts import parts_of

    source, foreign = _opened(path_or_bytes)
    return parts_of(model.load(source)) if foreign is None else foreign.parts()


def load(path_or_bytes: str | os.PathLike[str] | Buffer | Held, verify: bool = True, exact: bool = False) -> Model:
    """Open a model of crfkit or of another program, from a file or its bytes. `verify` is for crfkit's own models, `exact` for
    those of others: scores then use their weights in double precision."""
    source, foreign = _opened(path_or_bytes)
    return model.load(source, verify) if foreign is None else foreign.model(exact)


def load_any(path_or_bytes: Any, verify: bool = True) -> Model | ParserModel:
    """Open any model, as `load` does, or a parser."""
    source, foreign = _opened(path_or_bytes)
    if foreign is not None:
        return foreign.model()
    file = modelfile.read(source, verify=verify)
    if file.header.get("kind") != modelfile.PARSER:
        return model.of_file(model.Model, file, verify)
    from crfkit.parser import model as parser

    return model.of_file(parser.ParserModel, file, verify)


def dump(path_or_bytes: Any) -> Iterator[bytes] | None:
    """A foreign model as its own program prints it, in pieces of whole lines; None for crfkit's own models."""
    _, foreign = _opened(path_or_bytes)
    return None if foreign is None else foreign.dumped()


def model_bytes(of: Parts, to: str, name: str = "model") -> bytes:
    """The bytes of a model file in the format `to`, one of FORMATS. `name`: of what the parts were read from."""
    from .parts import is_finite, model_of

    if not isinstance(to, str) or to not in FORMATS:
        raise OptionError(f"to: expected one of {', '.join(FORMATS)}, found {exactly(to)}")
    if to not in (CRFKIT, "crfsuite"):
        check_columns(of.labels)
        _check_lines(of)
    if to == CRFKIT:
        return model_of(of, name).to_bytes()
    if not is_finite(of):
        raise ModelFileError(f"{name}: a weight is not a finite number")
    return _format(to).write(of)


def in_format(path_or_bytes: Any, to: str) -> bytes:
    """The bytes of any model in the format `to`."""
    source = held(path_or_bytes)
    return _bytes_of(read(source), to, source.name)


def _bytes_of(of: Parts, to: str, name: str) -> bytes:
    """The same of its parts; errors begin with the name of what they were read from."""
    try:
        return model_bytes(of, to, name)
    except UnsupportedError as error:
        raise UnsupportedError(f"{name}: {error.message}") from None


def _check_lines(of: Parts) -> None:
    """UnsupportedError for attributes that no line of a file can make, as their cells came from Python."""
    for rows in (of.unigrams, of.bigrams):
        together = b"".join(rows.names)
        for name in rows.names if b"\n" in together or b"\0" in together else ():
            if b"\n" in name or b"\0" in name:
                raise UnsupportedError(f"the attribute {legible(name)!r} has a line end or a zero byte, for which the other format has no room")


def check_weights(weights: str | None, to: str) -> None:
    """OptionError for a weight precision that models of another program do not have."""
    if weights is not None and to != CRFKIT:
        raise OptionError(f"weights as {weights} are for models of crfkit, not of {to}")


def convert(
    source: str | os.PathLike[str], target: str | os.PathLike[str], to: str = CRFKIT, template: str | os.PathLike[str] | Template | None = None,
    weights: str | None = None, edit: str | os.PathLike[str] | None = None,
) -> int:
    """Write the model `source` to `target` in another format; returns the number of bytes written.

    `template` is for a model that has none, such as CRFsuite's: attributes are then made from columns. `weights`: the format
    of weights in a crfkit model, one of crfkit.constants.WEIGHTS; None: as in `source`, if that is one. `edit`: a file of features whose
    weights change first (crfkit.editing).
    """
    check_weights(weights, to)
    own, foreign = _opened(source)
    opened = changed = model.load(own) if foreign is None else None
    if edit is not None:
        from crfkit.editing import edited

        changed = edited(opened or load(own), edit)
    if opened and to == CRFKIT and (edit is not None or template is not None):
        weights = weights or model.precision_of(opened)
    if template is None and to == CRFKIT and changed:
        data = changed.to_bytes()
    else:
        from .parts import parts_of

        parts = parts_of(changed) if changed else read(own)  # its errors name the file themselves
        data = _bytes_of(_with_template(parts, template, own.name), to, own.name)
    if weights is not None:
        data = load(data).quantised(weights).to_bytes()
    with replacing(target) as file:
        file.write(data)
    return len(data)


def _with_template(of: Parts, template: str | os.PathLike[str] | Template | None, name: str) -> Parts:
    if template is None:
        return of
    if of.template is not None:
        raise UnsupportedError(f"{name}: the model has a template already")
    found = Template.of(template)
    where = "" if found.path is None else f"{found.path}: "
    if found.column_names:
        raise OptionError(f"{where}the template names columns; number them for a model that knows no names")
    if found.history_line is not None:
        raise OptionError(f"{where}the template has features of earlier labels, which the model cannot use")
    starts = tuple(line.literals[0] for line in found.lines)
    names = list(of.unigrams.names)
    if names and not any(name.startswith(starts) for name in names):
        raise OptionError(f"{where}no attribute of the model, such as {names[0].decode(errors='replace')!r}, begins as a line of the template does")
    return replace(of, template=found, columns=max(found.columns, default=0) + 2)
