"""How the papers' results are measured and written down: search, verdicts, pages from made results."""

import json
import re
from dataclasses import replace
from pathlib import Path

import protocol
import pytest
import report
import study
import tasks
import together
from claims import better, costs, fewer
from commands import log_lines
from journal import Journal
from outcome import Outcome, Row
from protocol import CONTRADICTED, MISSING, REPRODUCED, TIE, Search
from runs import Raw, Runs, choice, words

L2_RATE = {"l2": (0.04, 0.25, 1), "rate": (0.05,)}


def searched(grid, score):
    search = Search(grid)
    for point in search.points():
        search.tried[point] = score(*point)
    return search


@pytest.mark.parametrize("peak", [0.04, 0.25, 1, 4, 10, 0.01, 20])
def test_a_search_widens_until_the_best_is_enclosed(peak):
    rung = protocol.LADDERS["l2"].index
    search = searched({"l2": (0.04, 0.25, 1)}, lambda l2: -abs(rung(l2) - rung(peak)))
    assert search.best == (peak,) and search.enclosed and len(search.tried) == protocol.TRIALS


def test_a_search_widens_in_two_options():
    rungs = [protocol.LADDERS[name].index for name in ("l2", "rate")]
    search = searched(L2_RATE, lambda l2, rate: -abs(rungs[0](l2) - rungs[0](0.25)) - abs(rungs[1](rate) - rungs[1](0.5)))
    assert search.best[1] == 0.5 and len(search.tried) == protocol.TRIALS


def test_a_best_value_on_the_edge_is_told():
    search = searched(L2_RATE, lambda l2, rate: rate - l2)
    assert not search.enclosed and len(search.tried) == protocol.TRIALS
    assert search.best[1] == max(rate for _, rate in search.tried) > 0.1


def test_only_the_end_of_an_option_is_no_edge():
    assert searched({"batch_size": (1, 2, 4)}, lambda size: -size).enclosed
    assert not searched({"batch_size": (1, 2, 4)}, lambda size: size).enclosed
    smallest = searched({"l2": (0.04, 0.25, 1)}, lambda l2: -l2)
    assert smallest.best == (protocol.LADDERS["l2"][0],) and not smallest.enclosed
    assert searched({}, lambda: 0.0).tried == {(): 0.0}


def test_the_values_of_the_papers_are_on_the_ladders():
    assert {1 / sigma**2 for sigma in (1, 2, 5)} | {2 * size for size in (0.1, 0.5, 1, 2, 5)} <= set(protocol.LADDERS["l2"])
    assert {0.005, 0.01, 0.05, 0.1} <= set(protocol.LADDERS["rate"])
    assert all(list(ladder) == sorted(set(ladder)) for ladder in protocol.LADDERS.values())


def test_verdicts_on_scores():
    assert protocol.on_scores([94.2, 94.3], [94.0], [0.01, 0.04, 0.2]) == REPRODUCED
    assert protocol.on_scores([94.0], [94.2, 94.3], [0.01, 0.04, 0.2]) == CONTRADICTED
    assert protocol.on_scores([94.2, 94.3], [94.0], [0.01, 0.05, 0.2]) == TIE
    assert protocol.on_sameness([94.0], [94.1], [0.05]) == REPRODUCED
    assert protocol.on_sameness([94.0], [94.1], [0.01]) == TIE == protocol.on_sameness([94.0], [94.3], [0.3])
    assert protocol.on_sameness([94.0], [94.3], [0.01]) == CONTRADICTED


def test_seeds_that_disagree_are_no_evidence():
    p = [0.01] * 5
    assert protocol.of_one_sign([2.0, 3.0, 0.0, 4.0, 5.0], [1.0], p) == [0.01, 0.01, 1.0, 0.01, 0.01]
    assert protocol.of_one_sign([1.0], [2.0, 0.0, 3.0, 1.0, 2.0], p) == [0.01, 1.0, 0.01, 1.0, 0.01]


def test_verdicts_on_costs_and_growth():
    assert [protocol.on_ratio(ratio, 0.9, 1.1) for ratio in (0.9, 1.0, 1.1)] == [REPRODUCED, TIE, CONTRADICTED]
    line = [100.0] * 9 + [2 + 0.1 * k for k in range(41)] + [0.0] * 10
    assert protocol.growth(line) == pytest.approx(2.0)
    assert protocol.growth([1.0] * 50) == 0
    assert [protocol.on_growth(*rises) for rises in ((0.3, 0.1), (0.3, 0.2), (0.09, 0.0), (0.1, 0.1))] == [REPRODUCED, TIE, TIE, CONTRADICTED]
    steady, other = ([94.0, 94.1], [94.0, 94.1]), ([94.0, 94.1], [93.0, 93.1])
    assert protocol.on_losses(steady, other) == REPRODUCED
    assert protocol.on_losses(other, steady) == CONTRADICTED
    assert protocol.on_losses(steady, steady) == TIE


def test_verdicts_on_growth_in_line_and_on_settling():
    line = [float(k) for k in range(1, 51)]
    assert protocol.growth(line) == pytest.approx(4.0)      # in proportion to passes from the start: the page says so
    assert [protocol.on_line(rise) for rise in (4.0, 2.0, 1.5, 1.0, 0.1)] == [REPRODUCED, REPRODUCED, TIE, CONTRADICTED, CONTRADICTED]
    assert [protocol.on_settling(*moved, 0.1) for moved in ((0.1, 0.9), (-0.2, 0.0), (0.2, 0.1), (0.2, 0.2))] == [REPRODUCED, REPRODUCED, CONTRADICTED, TIE]
    assert protocol.late_fall([9.0] * 39 + [8.0] + [7.0] * 9 + [6.0]) == pytest.approx(0.25)


def test_verdicts_on_scores_that_fall():
    assert protocol.fall([0.0] * 5 + [90.0] * 5 + [0.0] * 35 + [88.0] * 5) == pytest.approx(2.0)
    worse, steady, noisy = [0.5, 0.6, 0.7], [0.0, 0.1, -0.1], [3.0, -2.0, 0.5]
    assert protocol.on_falls(worse, steady) == REPRODUCED
    assert protocol.on_falls(noisy, steady) == TIE == protocol.on_falls([0.05, 0.06], steady) == protocol.on_falls([0.9, 1.0, 1.1], worse)
    assert protocol.on_falls(steady, [-0.3, -0.2]) == CONTRADICTED == protocol.on_falls(worse, [0.9, 1.0, 1.1])


def test_the_choice_of_passes():
    trial = {"algorithm": "sgd", "scores": [[1.0, 5.0, 4.0], [2.0, 3.0, 3.0], [3.0, 1.0, 2.0], [0.0, 1.0, 2.0, 3.0]]}
    assert choice(trial) == (3.5, 2, 1.5)
    assert choice({**trial, "algorithm": "lbfgs"})[:2] == (3.0, 3)


def test_words_are_chunks():
    assert words(list("BMESSBE")) == ["B-W", "I-W", "I-W", "B-W", "B-W", "B-W", "I-W"]
    assert words(list("MEMSM")) == ["B-W", "I-W", "B-W", "B-W", "B-W"]


def test_passes_are_timed_without_batches(monkeypatch):
    asked = []

    def learn(self, task, train, algorithm, options, seed):
        asked.append((algorithm, options))
        return None, [{"cpu": 2.0}, {"cpu": 1.0}], []

    monkeypatch.setattr(Runs, "_learn", learn)
    runs = Runs(Raw(Path("raw")), Path("work"), quick=True)
    first = {"algorithm": "sgd", "options": {"l2": 1, "passes": 9}, "seed": 1, "template": "t"}
    second = {"algorithm": "perceptron", "options": {"batch_size": 6, "passes": 9}, "seed": 1, "template": "t"}
    assert runs.pace(tasks.NP_PLAIN, first, second)["fastest"] == [1.0, 1.0]
    assert asked == 3 * [("sgd", {"l2": 1, "passes": 3}), ("perceptron", {"passes": 3})]
    assert len(asked) == 6 and runs.pace(tasks.NP_PLAIN, first, second) and len(asked) == 6


# --- Pages from made results ------------------------------------------------------------------------------------------

ROWS = [Row("sgd", "sgd", grid={"l2": (0.04, 0.25, 1), "rate": (0.05,)}), Row("lbfgs", "lbfgs", grid={"l2": (0.04, 0.25, 1)})]
TABLE = study.Table(tasks.NP_PLAIN, ROWS, ("development", "score", "passes"), (better("sgd", "lbfgs"),), ())
PAPER = study.Paper("made", "Made", "Numbers that nobody measured.", [TABLE])


class Made(Runs):
    def trial(self, task, algorithm, options):
        return self._made("trial", task, algorithm, options, 0, scores=[[80 + options["l2"], 90.0, 70.0]], seconds=[[1.0]])

    def test(self, task, algorithm, options, seed):
        return self._made(
            "test", task, algorithm, options, seed, cpu=1.0, pass_cpu=[1.0], warm_up=0, weight=0.0,
            counts={"gold": 1000, "found": 1000, "correct": 900 + seed}, tokens=1000, correct_tokens=950,
        )

    def compare(self, task, first, second):
        asked = {"kind": "compare", "task": task.name, "first": first["seed"], "second": second["seed"]}
        return self.raw.find(asked) or self.raw.add({**asked, "p": {"f1": 0.01, "accuracy": 1.0}, "commit": "abc", "machine": "a"})

    def _made(self, kind, task, algorithm, options, seed, **found):
        asked = {"kind": kind, "task": task.name, "template": task.template_name, "algorithm": algorithm, "options": options, "seed": seed}
        return self.raw.find(asked) or self.raw.add({**asked, **found, "commit": "abc", "machine": "a"})


def page(raw):
    runs = Made(raw, Path("work"), start=False)
    report.write([(PAPER, [(TABLE, *study.outcomes(runs, TABLE))])], runs, Path("out"))
    return Path("out/made.md").read_text(encoding="utf-8")


def test_five_seeds_and_their_deviation():
    text = page(Raw(Path("raw")))
    records = log_lines("raw/conll2000-np-plain.jsonl")
    assert [record["seed"] for record in records if record["kind"] == "test" and record["algorithm"] == "sgd"] == [1, 2, 3, 4, 5]
    assert [record["seed"] for record in records if record["kind"] == "test" and record["algorithm"] == "lbfgs"] == [1]
    assert "| sgd | 90.00 | 90.30 ± 0.16 | 2 |" in text and "| lbfgs | 70.00 | 90.10 | 1 |" in text
    assert "*Reproduced* are 1 of 1 verdicts, *tie* 0, *contradicted* 0: " in text and "(index.md#made)" in text
    assert Path("out/protocol.md").read_text(encoding="utf-8").startswith("# How the results")


def test_what_is_no_claim_of_the_paper_is_not_counted():
    runs = Made(Raw(Path("raw")), Path("work"), start=False)
    claims = (better("sgd", "lbfgs"), better("lbfgs", "sgd", own=True))
    table = study.Table(tasks.NP_PLAIN, ROWS, ("score", "pr"), claims, ())
    found, lacking = study.outcomes(runs, table)
    [row] = report.rows([(table, found)], runs)
    assert (row[0], *row[3:]) == ("sgd is better than lbfgs", "90.30 ± 0.16 and 90.10, p = 0.010", REPRODUCED)
    report.write([(study.Paper("made", "Made", "", [table]), [(table, found, lacking)])], runs, Path("out"))
    text = Path("out/made.md").read_text(encoding="utf-8")
    assert "Beside the claims of the paper:\n\n* Contradicted: lbfgs is better than sgd (90.10 and 90.30 ± 0.16, p = 0.010).\n\n" in text and "| lbfgs is better than sgd | " not in text and "| sgd | 90.30 ± 0.16 | 90.30 / 90.30 |" in text


def test_the_costs_of_two_rows():
    runs = Made(Raw(Path("raw")), Path("work"), start=False)
    found, _ = study.outcomes(runs, TABLE)
    rule = "reproduced: at most 0.9, contradicted: at least 1.1"
    assert fewer("sgd", "lbfgs").verdict(found, runs) == (TIE, f"1 and 1: 1 times; {rule}")
    assert costs("sgd", "lbfgs", 0.9, 1.1, "", in_all=True).verdict(found, runs) == (TIE, f"1 s and 1 s: 1 times; {rule}")
    assert report.short(1237.8) == "1,238" and report.short(0.37133) == "0.371"


def test_passes_over_separate_parts_are_those_of_one_part():
    """Tests of four data sets have the passes of all four, one after the other; those of warm-ups, too."""
    record = {"warm_up": 160, "pass_cpu": [0.1] * 80}
    four = Outcome(Row("lbfgs", "lbfgs"), tasks.SENTIMENT, {}, True, None, None, [record], [], None, None)
    one = replace(four, task=tasks.NP_PLAIN)
    assert (four.passes, four.all_passes) == ("40 + 20", 60) and (one.passes, one.all_passes) == ("160 + 80", 240)
    trained = replace(four, options={"passes": 20}, tests=[{**record, "warm_up": 0}])
    assert (trained.passes, trained.all_passes) == ("20", 20)


def test_each_number_is_that_of_a_line():
    page(Raw(Path("raw")))
    path = Path("raw/conll2000-np-plain.jsonl")
    lines = log_lines(path)
    for record in lines:
        if record["kind"] == "test" and record["seed"] == 3:
            record["counts"]["correct"] = 703
    path.write_text("".join(json.dumps(record) + "\n" for record in lines))
    before = path.read_bytes()
    assert re.search(r"\| sgd \| 90.00 \| 86.30 ± 8.9\d \|", page(Raw(Path("raw")))) and path.read_bytes() == before


def test_what_is_missing_is_said():
    raw = Raw(Path("raw"))
    found, lacking = study.outcomes(Runs(raw, Path("work"), start=False), TABLE)
    assert not found and lacking == ["sgd", "lbfgs"]
    assert TABLE.claims[0].verdict(found, Runs(raw, Path("work"), start=False)) == (MISSING, "")


def test_a_line_that_was_cut_short_is_dropped_and_its_run_made_again():
    """Counts are kept as any characters: U+0085 ends a line for str.splitlines, and takes two bytes."""
    path = Path("raw/counts.jsonl")
    first, second = ({"run": run, "counts": ["\x851", "", "\x7f\x85"]} for run in (1, 2))
    journal = Journal(path, "run")
    assert [journal.of({"run": one["run"]}, lambda one=one: one) for one in (first, second)] == [first, second]
    whole = path.read_bytes()
    kept = whole.index(b"\n") + 1
    assert whole.count(b"\n") == 2
    for end in range(kept, len(whole)):
        path.write_bytes(whole[:end])
        journal = Journal(path, "run")
        assert [*journal.known.values()] == [first] and path.read_bytes() == whole[:kept]
        assert journal.of({"run": 1}, dict) == first and journal.of({"run": 2}, lambda: second) == second
        assert path.read_bytes() == whole


RUN = {"algorithm": "sgd", "options": {}, "seed": 1, "template": ""}


def test_runs_of_two_commits_do_not_mix():
    Path("raw").mkdir()
    Path("raw/one.jsonl").write_text('{"kind": "test", "commit": "another"}\n')
    runs = Runs(Raw(Path("raw")), Path("work"))      # goes as long as nothing is missing
    for start in (lambda: runs.test(tasks.NP_PLAIN, "sgd", {}, 1), lambda: runs.compare(tasks.NP_PLAIN, RUN, RUN), lambda: runs.pace(tasks.NP_PLAIN, RUN, RUN)):
        with pytest.raises(SystemExit, match="another"):
            start()
    assert Runs(Raw(Path("raw"), fresh=True), Path("work")).raw.records == []


def test_a_commit_has_a_longer_name_once_there_are_more_of_them(monkeypatch):
    """Git shortens names to as many digits as tell all objects of the repository apart."""
    raw = Raw(Path("raw"))
    raw.add({"kind": "test", "task": "one", "commit": "8362d58"})
    runs = Runs(raw, Path("work"))
    monkeypatch.setattr(runs, "_tested", lambda *_: {})
    runs.commit = "8362d589"
    assert runs.test(tasks.NP_PLAIN, "sgd", {}, 1)["commit"] == "8362d58" and runs.raw.commits == ["8362d58"]
    for other in ("8362d589-dirty", "8362e589"):
        runs.commit = other
        with pytest.raises(SystemExit, match=other):
            runs.test(tasks.NP_PLAIN, "sgd", {}, 2)


def test_a_line_that_was_cut_short_is_dropped():
    raw = Raw(Path("raw"))
    raw.add({"kind": "test", "task": "one", "seed": 1, "commit": "a"})
    whole = Path("raw/one.jsonl").read_bytes()
    Path("raw/one.jsonl").write_bytes(whole + b'{"kind": "te')
    assert Raw(Path("raw")).records == raw.records and Path("raw/one.jsonl").read_bytes() == whole


def test_an_output_that_is_made_again_adds_no_line(monkeypatch):
    """The comparison needs outputs; scores and seconds stay those of the first run."""
    raw = Raw(Path("raw"))
    asked = {"task": "conll2000-np-plain", "template": tasks.NP_PLAIN.template_name, "algorithm": "sgd", "options": {"passes": 1}, "commit": "a"}
    tests = [raw.add({"kind": "test", "seed": seed, "cpu": 1.0, **asked}) for seed in (1, 2)]
    runs = Runs(raw, Path("work"), start=False, quick=True)
    runs.start, runs.commit = True, "a"
    asked = []

    def tested(record, task, algorithm, options, seed):
        asked.append(seed)
        runs._output(record, task, [(["B-NP", "I-NP"], ["B-NP", "O"])])
        return {"cpu": 2.0}

    monkeypatch.setattr(runs, "_tested", tested)
    assert runs.compare(tasks.NP_PLAIN, *tests)["p"]["f1"] == 1 and asked == [1, 2]
    kinds = [record["kind"] for record in log_lines("raw/conll2000-np-plain.jsonl")]
    assert kinds == ["test", "test", "compare"] and runs.raw.find({**tests[0], "kind": "test"})["cpu"] == 1.0
    with Path("raw/conll2000-np-plain.jsonl").open("a") as file:
        file.write(json.dumps({**tests[0], "cpu": 3.0}) + "\n")
    assert Raw(Path("raw")).find(tests[0])["cpu"] == 1.0


def test_scores_are_added_up_the_same_by_every_python():
    """Python 3.12's sum() of floats is exacter than that of 3.11: ten times 0.1 is less than 1 there."""
    assert choice({"algorithm": "sgd", "scores": [[0.1]] * 10}) == (0.1, 1, 0.1)


BENJAMINI_HOCHBERG = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
"""The example of their paper, in which four of fifteen stay."""


def test_all_tests_together():
    assert together.limit(BENJAMINI_HOCHBERG[::-1]) == 0.0095
    assert together.limit([0.04] * 3) == 0.04 and together.limit([0.04, 0.9]) == 0 and together.limit([]) == 0


def test_the_index_tells_what_would_become_a_tie():
    rows = [[f"claim {k}", "task", "", f"1.00 and 2.00, p = {p:.4f}", REPRODUCED if p < 0.05 else TIE] for k, p in enumerate(BENJAMINI_HOCHBERG)]
    costs = ["faster", "task", "", "1 s and 2 s", REPRODUCED]
    sections = [("a paper", "page", rows[:7]), ("another", "other", [*rows[7:], costs])]
    text = "\n".join(together.lines(sections))
    assert "15 tests" in text and "4 of the 9 stay, with p up to 0.009" in text and "other 5 would be ties: †" in text
    assert together.marks(sections) == {("task", row[3]): " †" for row in rows[4:9]}
    assert together.chance(rows[0][3] + ", seeds disagree") == 1 and together.chance("1 and 2, p < 0.001") == 0.001 and together.chance(costs[3]) is None
    assert together.lines([("a paper", "page", [costs])]) == [] and together.marks([("a paper", "page", [costs])]) == {}


def test_a_test_under_two_papers_counts_once():
    row = ["one", "task", "", "1.00 and 2.00, p = 0.010", REPRODUCED]
    text = "\n".join(together.lines([("a paper", "page", [row]), ("another", "other", [["the same", *row[1:]], ["one", "another task", *row[2:]]])]))
    assert "2 tests stand" in text and "2 of the 2 stay" in text and "None becomes a tie" in text


def test_the_index_tells_which_verdicts_rest_on_few_seeds():
    """Five numbers with the standard deviation s have a 95 % interval of 2.776 s / sqrt(5) on each side of their mean."""
    numbers = {"wide": "92.00 ± 1.00 and 91.00 ± 0.01", "narrow": "92.00 ± 0.70 and 91.00 ± 0.10", "beside one run": "90.00 and 91.20 ± 1.00", "without seeds": "error 1.00 and 2.00"}
    rows = [[claim, "task", "", f"{one}, p = 0.001", REPRODUCED] for claim, one in numbers.items()]
    rows.append(["a tie", "task", "", "92.00 ± 9.00 and 91.00 ± 9.00, p = 0.040", TIE])
    rows.append(["alike, as in the paper", "task", "", "92.00 ± 1.00 and 92.00 ± 1.00, p = 0.900", REPRODUCED])
    text = "\n".join(together.lines([("a paper", "page", rows)]))
    marks = together.marks([("a paper", "page", rows)])
    assert [(row[0], marks[row[1], row[3]]) for row in rows if (row[1], row[3]) in marks] == [("wide", " ‡"), ("beside one run", " ‡")]
    assert "Of the verdicts with p < 0.05 that are no ties" in text and "zero in 2: ‡" in text
    assert together.interval(rows[0][3]) == (pytest.approx(1), pytest.approx(2.776 * (1.0001 / 5) ** 0.5))


def test_the_index_lists_verdicts_that_other_seeds_might_change():
    """Where the means of five seeds differ by less than 2.776 standard errors. One run alone has no spread, and a tie is unsure anyway."""
    numbers = {
        "unsure": "1.00 ± 1.00 and 2.00 ± 0.50", "sure": "1.00 ± 0.10 and 2.00 ± 0.50", "unsure of one side": "1.00 ± 0.81 and 2.00",
        "sure of one side": "1.00 and 2.00 ± 0.80", "of one run each": "1.00 and 2.00",
    }
    rows = [[claim, "task", "", f"{found}, p = 0.010", REPRODUCED] for claim, found in numbers.items()]
    rows.append(["a tie", "task", "", "1.00 ± 1.00 and 2.00 ± 1.00, p = 0.010", TIE])
    text, marks = "\n".join(together.lines([("a paper", "page", rows)])), together.marks([("a paper", "page", rows)])
    assert "covers zero in 2: ‡" in text and [row[0] for row in rows if "‡" in marks.get((row[1], row[3]), "")] == ["unsure", "unsure of one side"]
