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
            heads, _, *lines = ([cell.strip() for cell in line[1:-1].split(" | ")] for line in text.splitlines() if line.startswith("| ") or line.startswith("|---"))
            found.append((text.splitlines()[0], page[1], list((listed if heads[0] == "task" else crossed)(heads, lines))))
    return found


def listed(heads, lines):
    """Rows of a table that has all tasks in one column."""
    assert heads == ["task", "claim", "paper", "here", "verdict"]
    named = ""
    for task, claim, paper, here, verdict in lines:
        named = task or named
        yield [re.sub(r" \(reproduced: .*\)$", "", claim), named, paper, here, verdict_of(verdict)]


def crossed(heads, lines):
    """Rows of a table that has a column for each task."""
    tasks = [re.fullmatch(r"\[(.*)\]\(\S+\)", head)[1] for head in heads[1:]]
    for claim, *cells in lines:
        for task, cell in zip(tasks, cells, strict=True):
            if cell:
                verdict, here, *paper = re.fullmatch(r"(.*?)<br>(.*?)(?:<br>paper: (.*))?", cell).groups()
                of_all = re.search(r"\(paper: (.*?)[;)]", claim)
                text = re.sub(r" \((?:paper: |reproduced: |from pass).*\)$", "", claim)
                yield [text, task, of_all[1] if of_all else paper[0] or "", here, verdict_of(verdict)]


def verdict_of(cell):
    return re.fullmatch(r"\*\*(\w+)(?: [†‡]+)?\*\*", cell)[1]


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
    assert list(report.by_claim(rows, {("x", "p = 0.2"): " †"})) == [
        ("a wins (reproduced: at most 0.9, contradicted: at least 1.1)", {"x": ("", "1 and 2", "tie"), "y": ("3", "4 and 5", "tie")}),
        ("b wins", {"x": ("", "p = 0.2", "tie †"), "z": ("", f"6{rule}", "tie")}),
    ]
    rows = [["a grows", task, "", f"from pass 1 to 5 it rises by {n}%; in proportion it would be 9%", "tie"] for task, n in (("x", 3), ("y", 4))]
    told = "from pass 1 to 5 it rises by …; in proportion it would be 9%"
    assert list(report.by_claim(rows, {})) == [(f"a grows ({told})", {"x": ("", "3%", "tie"), "y": ("", "4%", "tie")})]
    assert list(report.by_claim([["some are", "x", "", "9%; of 3", "tie"]], {})) == [("some are", {"x": ("", "9%; of 3", "tie")})]
    rows = [["a wins", task, "figure 1", here, "tie"] for task, here in (("x", "1"), ("y", "2"))]
    assert list(report.by_claim(rows, {})) == [("a wins (paper: figure 1)", {"x": ("", "1", "tie"), "y": ("", "2", "tie")})]


def test_claims_with_several_tasks_have_a_column_for_each():
    rows = [["a wins", "x", "1 and 2", "3.00 ± 0.10 and 4.00, p = 0.600", "tie"], ["a wins", "y y", "", "5 and 6: 0.8 times", "reproduced"], ["b wins", "y y", "", "7 and 8 points, 5 and 4 seeds", "tie"]]
    assert report.of_claims(rows, "page", {}) == [
        "| claim | [x](page.md#x) | [y y](page.md#y-y) |", "|---|---|---|",
        "| a wins | **tie**<br>3.00±0.10; 4.00<br>p=0.600<br>paper: 1; 2 | **reproduced**<br>5; 6<br>0.8 times |",
        "| b wins |  | **tie**<br>7; 8 points, 5 and 4 seeds |",
    ]
    assert report.of_claims([["a", "x", "1", "2", "tie"], ["b", "x", "", "3", "tie"], ["c", "y", "", "4", "tie"]], "page", {("x", "3"): " †"}) == [
        "| task | claim | paper | here | verdict |", "|---|---|---|---|---|", "| x | a | 1 | 2 | **tie** |", "|  | b |  | 3 | **tie †** |", "| y | c |  | 4 | **tie** |",
    ]


def test_a_claim_counts_where_page_claim_and_task_fit():
    rows = [[claim, task, "", "", word] for claim, task, word in (("a wins", "x", "tie"), ("a wins", "y", "tie"), ("b wins", "x", "reproduced"), ("a wins", "z", "contradicted"))]
    one = exhibits.Exhibit("table 1", "", "", "^a", ("p",), "^[xy]$")
    assert one.verdicts([("P", "p", rows), ("Q", "q", rows)]) == "2 ties"
    assert exhibits.Exhibit("table 1", "", "", "wins", ("p",)).verdicts([("P", "p", rows)]) == "1 reproduced, 2 ties, 1 contradicted"
    assert exhibits.Exhibit("table 1", "", "").verdicts([("P", "p", rows)]) == ""
