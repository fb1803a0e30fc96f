"""The list of the papers' tables and figures counts the verdicts that stand on the index of claims."""

import re
from pathlib import Path

import exhibits
import report

INDEX = Path(__file__).resolve().parents[1] / "docs" / "results" / "index.md"


def sections_of(index):
    """What the index was made from, read off the page."""
    found = []
    for text in re.split(r"^## ", index, flags=re.M)[1:]:
        if page := re.search(r"^\[Tables, options, pictures\]\((\S+)\.md\)$", text, re.M):
            rows: list[list[str]] = []
            for claim, task, paper, here, verdict in ([cell.strip() for cell in line[1:-1].split(" | ")] for line in text.splitlines() if line.endswith("** |")):
                rows.append([re.sub(r" \((?:reproduced: |from pass).*\)$", "", claim) or rows[-1][0], task, paper, here, verdict.strip("*")])
            found.append((text.splitlines()[0], page[1], rows))
    return found


def test_every_pattern_finds_its_claims():
    index = INDEX.read_text(encoding="utf-8")
    sections = sections_of(index)
    assert len(sections) == 8 and all(len(rows) > 3 for _, _, rows in sections)
    for paper, found in exhibits.EXHIBITS.items():
        assert not [(paper, one.name) for one in found if bool(one.verdicts(sections)) != bool(one.claims)]
    assert "\n".join(exhibits.lines(sections)) in index


def test_a_claim_that_names_a_figure_is_counted_there():
    named = [(page, row) for _, page, rows in sections_of(INDEX.read_text(encoding="utf-8")) for row in rows if re.fullmatch(r"figure \d", row[2])]
    exhibited = [one for found in exhibits.EXHIBITS.values() for one in found if one.claims]

    def is_counted(page, row):
        """On the tasks of the paper; its figure may have fewer than there are here."""
        names = (one for one in exhibited if one.name.startswith("figure") and row[2][-1] in re.findall(r"\d", one.name))
        return any(page in one.pages and re.search(one.claims, row[0]) for one in names)

    assert len(named) > 50 and not [(page, row) for page, row in named if not is_counted(page, row)]


def test_the_index_names_a_claim_once():
    rule = "; reproduced: at most 0.9, contradicted: at least 1.1"
    rows = [["a wins", "x", "", f"1 and 2{rule}", "tie"], ["b wins", "x", "", "p = 0.2", "tie"], ["a wins", "y", "3", f"4 and 5{rule}", "tie"], ["b wins", "z", "", f"6{rule}", "tie"]]
    assert list(report.by_claim(rows)) == [
        ["a wins (reproduced: at most 0.9, contradicted: at least 1.1)", "x", "", "1 and 2", "tie"],
        ["", "y", "3", "4 and 5", "tie"],
        ["b wins", "x", "", "p = 0.2", "tie"],
        ["", "z", "", f"6{rule}", "tie"],
    ]
    rows = [["a grows", task, "", f"from pass 1 to 5 it rises by {n}%; in proportion it would be 9%", "tie"] for task, n in (("x", 3), ("y", 4))]
    told = "from pass 1 to 5 it rises by …; in proportion it would be 9%"
    assert list(report.by_claim(rows)) == [[f"a grows ({told})", "x", "", "3%", "tie"], ["", "y", "", "4%", "tie"]]
    assert list(report.by_claim([["some are", "x", "", "9%; of 3", "tie"]])) == [["some are", "x", "", "9%; of 3", "tie"]]


def test_a_claim_counts_where_page_claim_and_task_fit():
    rows = [[claim, task, "", "", word] for claim, task, word in (("a wins", "x", "tie"), ("a wins", "y", "tie"), ("b wins", "x", "reproduced"), ("a wins", "z", "contradicted"))]
    one = exhibits.Exhibit("table 1", "", "", "^a", ("p",), "^[xy]$")
    assert one.verdicts([("P", "p", rows), ("Q", "q", rows)]) == "2 ties"
    assert exhibits.Exhibit("table 1", "", "", "wins", ("p",)).verdicts([("P", "p", rows)]) == "1 reproduced, 2 ties, 1 contradicted"
    assert exhibits.Exhibit("table 1", "", "").verdicts([("P", "p", rows)]) == ""
