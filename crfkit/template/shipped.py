"""The templates that come with crfkit: in an installed package beside its modules, in a clone in its folder templates/."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from crfkit.errors import FileError, OptionError
from crfkit.values import nearest, shown

_PACKAGE = Path(__file__).parents[1]


def shipped() -> dict[str, Path]:
    """The files of all templates by name."""
    for folder in (_PACKAGE / "templates", _PACKAGE.parent / "templates"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.txt"), key=lambda path: path.stem)}
    raise FileError(f"{_PACKAGE / 'templates'}: not there: this installation lacks the templates")


def purpose(path: Path) -> str:
    """The purpose of a template, from its first line."""
    with path.open(encoding="utf-8") as file:
        return file.readline().strip("# \n")


def text_of(name: str) -> bytes:
    """A template, byte for byte."""
    found = shipped()
    if name not in found:
        near = nearest(name, found)
        hint = f"did you mean {near}? There are" if near else "there are"
        raise OptionError(f"no template {shown(name)}; {hint} {', '.join(found)}")
    return found[name].read_bytes()


def command_for(path: str) -> str:
    """What to add to a message about a file that is not there, if it has the name of a template: how to print that one."""
    name = Path(path).stem
    with suppress(FileError):
        if name in shipped():
            return f"; `crfkit templates {name}` prints one"
    return ""
