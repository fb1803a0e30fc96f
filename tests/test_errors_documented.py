"""docs/errors.md has every message that the sources raise, and none that they raise no more."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "crfkit"
ERRORS = "DataError|TemplateError|OptionError|ModelFileError|FileError|TrainingError|ImpossibleError|UnsupportedError|CrfkitError|_Problem|PatternError"
STRING = re.compile(r"""(?<!\w)[rRfF]{0,2}("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""")

pytestmark = pytest.mark.skipif(not (SOURCES / "errors.py").exists(), reason="the sources are not here")


def without_fields(text):
    """The text of a format string, with … where values go."""
    out, depth = "", 0
    for piece in re.split(r"(\{\{|\}\}|\{|\})", text):
        if piece in ("{{", "}}") and depth == 0:
            out += piece[0]
        elif piece == "{":
            depth += 1
            out += "…" * (depth == 1)
        elif piece == "}":
            depth -= 1
        elif depth == 0:
            out += piece
    return re.sub(r"…[…\s]*…", "…", out)


def first_argument(source, start):
    """The text of the first argument of a call whose parenthesis opens before `start`."""
    depth, at = 0, start
    while at < len(source):
        string = STRING.match(source, at)
        if string:
            at = string.end()
            continue
        if source[at] in "([{":
            depth += 1
        elif source[at] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and source[at] == ","):
            break
        at += 1
    return source[start:at]


def messages():
    """(file, message) of each place that raises one of our errors with a text of its own."""
    found = set()
    for path in sorted([*SOURCES.rglob("*.py"), *SOURCES.rglob("*.pyx")]):
        source = path.read_text(encoding="utf-8")
        texts = [first_argument(source, match.end()) for match in re.finditer(rf"(?:raise|return) (?:{ERRORS}|self\.error)\(", source)]
        texts += re.findall(r"^ +message = (.*)$", source, re.M)
        for argument in texts:
            parts = [part[1][1:-1] for part in STRING.finditer(argument)]
            text = without_fields("".join(parts)).replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")
            if re.search(r"[a-z]{3}", text):
                found.add((str(path.relative_to(SOURCES)), " ".join(text.split())))
    return found


def catalogue():
    """The messages of docs/errors.md: what stands between backquotes at the beginning of a line."""
    text = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    return {match[1] for match in re.finditer(r"^\* `` ?(.*?) ?``", text, re.M)}


def test_every_message_is_there():
    missing = {message for _, message in messages()} - catalogue()
    assert not missing


def test_no_message_of_the_past():
    assert not catalogue() - {message for _, message in messages()}


def test_the_collector_sees_what_it_should():
    found = {message for _, message in messages()}
    assert len(found) > 150
    assert "no tokens: expected one token a line and a blank line after each sentence" in found
    assert without_fields("a {b['c']} {{d}} {e:{f}g}") == "a … {d} …"
