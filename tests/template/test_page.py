"""docs/templates.md: its examples, its template, and every macro on it."""

import re
from pathlib import Path

import pytest

from crfkit.errors import TemplateError
from crfkit.template.meaning import expand
from crfkit.template.parsing import MACROS, Template

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "templates.md").read_text(encoding="utf-8")


def blocks(*kinds):
    """The fenced blocks of the page that are of these kinds, in order."""
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        if match[1] in kinds:
            yield match[1], match[2]


def sentence(block):
    """Feature columns of each token, and the position of the arrow."""
    lines = [line.split() for line in block.splitlines()]
    t = next(i for i, line in enumerate(lines) if line[-1] == "<-")
    return [line[:-2] if i == t else line[:-1] for i, line in enumerate(lines)], t


def test_examples_of_the_page():
    count = 0
    for kind, block in blocks("columns", "features"):
        if kind == "columns":
            rows, t = sentence(block)
            continue
        for example in block.splitlines():
            text, expected = (part.strip() for part in example.split(" => "))
            count += 1
            if expected == "(error)":
                with pytest.raises(TemplateError):
                    Template.parse(text)
            elif expected == "(no feature)":
                assert expand(Template.parse(text).lines[0], rows, t) is None
            else:
                assert expand(Template.parse(text).lines[0], rows, t) == expected
    assert count > 30


def test_the_template_of_the_page():
    [(_, columns)], [(_, text)] = blocks("columns"), blocks("template")
    rows, t = sentence(columns)
    template = Template.parse(text)
    template.check(len(rows[0]))
    strings = [expand(line, rows, t) for line in template.lines]
    assert strings.count(None) <= 3  # few suffixes are longer than the word
    assert len(set(strings)) > 0.8 * len(strings)


def test_python_of_the_page():
    found = [block for _, block in blocks("python")]
    assert found
    for block in found:
        exec(block, {})


def test_every_macro_is_on_the_page():
    reference = PAGE[: PAGE.index("## Annotations")]
    assert all(f"`%{letter}" in reference for letter in MACROS)
    used = "".join(block for _, block in blocks("features"))
    assert all(f"%{letter}[" in used for letter in MACROS if letter not in "Tydv")
