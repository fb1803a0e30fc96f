"""The messages quoted in docs/errors.md are those of the program.

tests/test_docs.py runs the examples of that page; here its quotations are looked up in the sources.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "crfkit"

pytestmark = pytest.mark.skipif(not (SOURCES / "errors.py").exists(), reason="the sources are not here")


def quotations():
    """The quotations in backquotes, in the first column of a table on messages, or at the start of an item."""
    text = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    for table in re.findall(r"^\| the (?:message|warning) says .*\n((?:\|.*\n)+)", text, re.M):
        for line in table.splitlines():
            yield from re.findall(r"`([^`]+)`", line.split("|")[1])
    yield from re.findall(r"^\* `([^`]+)`:", text, re.M)


def strings():
    """The text of all sources, with adjacent string literals joined."""
    paths = [path for kind in ("py", "pyx") for path in SOURCES.rglob(f"*.{kind}")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return re.sub(r"""["']\s*\n\s*[rf]?["']""", "", text)


def test_there_are_quotations():
    assert len(list(quotations())) > 30


def test_every_quotation_is_in_the_sources():
    text = strings()
    assert not [quotation for quotation in quotations() if quotation not in text]
