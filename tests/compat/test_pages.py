"""The pages for those who come from other libraries: both sides print what the page says."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["python-crfsuite", "sklearn-crfsuite"])
@pytest.mark.parametrize("side", ["crfkit", "the other library"])
def test_both_sides(page, side, capsys):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    program, printed = re.search(r"^\$ cat weather\.py\n(.*?)^```$.*?^```text\n(.*?)^```$", text, re.M | re.S).groups()
    line = re.search(r"^.*# was: (.*)$", program, re.M)
    if side != "crfkit":
        pytest.importorskip(page.replace("python-", "py").replace("-", "_"))
        program = program.replace(line[0], line[1])
    exec(program, {"__name__": "__main__"})
    assert capsys.readouterr().out == printed
