"""`crfkit learn --config`: options from a YAML file."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from crfkit import options as declarations
from crfkit.errors import CrfkitError, OptionError
from crfkit.text.opening import why_not_opened
from crfkit.values import Expected, as_bytes, bounded, named, shown

_LONGEST = 1 << 20  # characters: PyYAML takes seconds for a few of these


class Config(NamedTuple):
    """Options that stand in a file."""

    path: str
    options: dict[str, Any]
    lines: dict[str, int]

    def where(self, name: str) -> str:
        """File and line of an option."""
        return f"{self.path}:{self.lines[name]}" if name in self.lines else self.path

    @contextmanager
    def named_in_faults(self, elsewhere: Collection[str]) -> Iterator[None]:
        """An OptionError that speaks of an option of this file, and not given elsewhere, says where it stands."""
        try:
            yield
        except OptionError as error:
            spoken = [name.replace("-", "_") for name in re.findall(r"--([a-z][\w-]*)", error.message)]
            if str(self.options.get("algorithm")) in error.message:
                spoken.append("algorithm")
            for name in spoken:
                if name in self.options and name not in elsewhere:
                    raise OptionError(f"{self.where(name)}: {error.message}") from None
            raise


def read_config(path: str, algorithm: str | None) -> Config:
    """Options from a YAML file, named as flags or with underscores, for this algorithm or its own; each judged for itself."""
    found, lines = _parsed(path)
    if found is None:
        return Config(path, {}, {})
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise CrfkitError(f"{path}: expected options as `name: value`, one per line")
    options = {_named(name): value for name, value in found.items() if value is not None}
    config = Config(path, options, lines)
    known = declarations.declared(algorithm or options.get("algorithm"))
    for name, value in options.items():
        try:
            options[name] = _judged(name, value, known.get(name))
        except OptionError as error:
            raise CrfkitError(f"{config.where(name)}: {error}") from None
    return config


def _parsed(path: str) -> tuple[Any, dict[str, int]]:
    """The contents of a YAML file, and where each option stands."""
    import yaml

    try:
        text = _text_of(path)
        loader = _loader(path)(text)
        node = loader.get_single_node()
        lines = _lines(path, node)
        return (None if node is None else loader.construct_document(node)), lines
    except CrfkitError:
        raise
    except RecursionError:
        raise CrfkitError(f"{path}: not options: nested too deeply") from None
    except yaml.reader.ReaderError as error:  # a control character
        line = text.count("\n", 0, error.position) + 1
        raise CrfkitError(f"{path}:{line}: not YAML: {str(error).splitlines()[0]}") from None
    except Exception as error:  # PyYAML's own, and whatever its conversions of dates and numbers raise
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise CrfkitError(f"{path}{where}: not YAML: {problem}") from None


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LONGEST + 1)
    except OSError as error:
        raise CrfkitError(f"{named(path)}: cannot be read: {why_not_opened(path, error)}") from None
    except UnicodeDecodeError:
        raise CrfkitError(f"{path}: not YAML: not UTF-8") from None
    if len(text) > _LONGEST:
        raise CrfkitError(f"{path}: more than {_LONGEST:,} characters: expected options as `name: value`, one per line")
    return text


def _loader(path: str) -> Any:
    """The class that reads YAML, as options are written in it."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Without aliases: a few lines of them stand for more than memory holds."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                raise CrfkitError(f"{path}:{event.start_mark.line + 1}: {bounded('*' + event.anchor)}: expected a value, not the name of another one")
            return super().compose_node(parent, index)

        def number(self, node: Any) -> Any:
            """A decimal number, 010 too, as in YAML 1.2 and for people; what is none, such as 1:30.5, stays a text."""
            with suppress(ValueError):
                return int(node.value) if node.tag.endswith("int") else float(node.value)
            return node.value

    for kind in ("int", "float"):
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", Loader.number)
    return Loader


def _named(key: str) -> str:
    """The option that a key is meant for: min_freq, min-freq and --min-freq are the same."""
    return key.lstrip("-").replace("-", "_")


def _judged(name: str, value: Any, option: declarations.Declared | None) -> Any:
    """The value of one option, as far as it can be judged without the others."""
    if option is None and name != "algorithm":
        raise declarations.unknown(name)
    expected = Expected(str) if option is None else option.expected
    if expected.kind in (int, float) and isinstance(value, str):
        with suppress(ValueError):  # for YAML 1e-3 and 08 are texts, as "3" is, for people numbers
            value = expected.kind(value)
    if expected.kind is bool and isinstance(value, str):  # for YAML, "true" is a text, too
        value = {"true": True, "false": False}.get(value.lower(), value)
    if expected.kind in (object, str, os.PathLike) and (not isinstance(value, str) or "\0" in value) and expected.parse is None:
        raise OptionError(f"{name}: expected a text, found {shown(value)}")
    if expected.kind in (object, os.PathLike) and expected.parse is None:
        value = _file_name(value)
    return expected.take(name, value)


def _file_name(name: str) -> str:
    """The name of a file as on the command line: one whose characters the locale does not have is told by its bytes."""
    with suppress(UnicodeEncodeError):
        os.fsencode(name)
        return name
    with suppress(UnicodeEncodeError):
        return os.fsdecode(as_bytes(name))
    return name


def _lines(path: str, node: Any) -> dict[str, int]:
    """Where each option stands; an error for one given twice, in either spelling, of which YAML would take the last value."""
    lines: dict[str, int] = {}
    for key, _ in node.value if getattr(node, "id", None) == "mapping" else ():
        name, line = _named(str(key.value)), key.start_mark.line + 1
        if name in lines:
            raise CrfkitError(f"{path}:{line}: {bounded(str(key.value))}: given twice, first in line {lines[name]}")
        lines[name] = line
    return lines
