"""The benchmarks run on a few sentences and print their tables. Times are not judged here."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import bench_attributes
import bench_labels
import bench_learn
import bench_measurements
import common
import numpy
import peers
import public_tasks
import pytest
import targets
from commands import plain_build
from compare import Pair, compare
from process import measured
from rows import against, as_markdown, at_least, at_most, growth, rate, shown
from targets import SECTION, write_section

import crfkit

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
TREE = Path(crfkit.__file__).parents[1]
FEW = ("--sentences", "20", "--rounds", "1")


@pytest.fixture(autouse=True)
def small_corpora(monkeypatch):
    monkeypatch.delenv("CRFKIT_CORPORA", raising=False)


def run(*command, code=0, **how):
    """Run a script with the crfkit under test, which must exit with this code."""
    places = os.pathsep.join([str(TREE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": places}, **how)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.long
@pytest.mark.parametrize(
    "script",
    [pytest.param(script, id=script.stem, marks=plain_build if "wapiti" in script.stem else ()) for script in sorted(BENCHMARKS.glob("bench_*.py"))],
)
def test_benchmark(script):
    done = run(script, *FEW)
    assert "commit" in done.stdout and done.stdout.count("\n") >= 5


@pytest.mark.long
def test_bytes_to_and_from_workers_are_counted():
    lines = [line.split() for line in run(BENCHMARKS / "bench_cluster.py", *FEW).stdout.splitlines() if line.startswith(("processes ", "dask "))]
    assert lines and all(float(sent) > 0 < float(got) for *_, sent, got, _ in lines)


@pytest.mark.long
def test_the_way_to_the_objective():
    pytest.importorskip("pycrfsuite")
    done = run(BENCHMARKS / "bench_learn.py", *FEW, "--to-objective")
    assert "CRFsuite ends at" in done.stdout
    assert "lbfgs, 2 threads, within 0.0001" in done.stdout and "not reached" not in done.stdout


def test_models_of_crfsuite_are_compared(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer, model = pycrfsuite.Trainer(verbose=False), tmp_path / "a.crfsuite"
    for words in ("the dog sleeps", "a cat sees the dog", "dogs see"):
        trainer.append([{"w": word, "end": word[-1], "n": len(word)} for word in words.split()], [word[0] for word in words.split()])
    trainer.train(str(model))
    done = run(BENCHMARKS / "crfsuite_models.py", model, "--sentences", "30")
    name, dump, again, sentences, other, ties, *_ = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("|").split("|")]
    assert (name, dump, again, sentences) == ("a.crfsuite", "the same", "the same", "30") and other == ties


@pytest.mark.long
def test_corpora_of_packages_are_learned_and_scored(tmp_path):
    """Of packages that are there already: nothing is fetched."""
    data = tmp_path / public_tasks.TURKISH / "data"
    data.mkdir(parents=True)
    tree = "# text = Ali geldi .\n1\tAli\tali\tNOUN\tNNP\t_\t2\tnsubj\t_\t_\n2-3\tgeldi.\t_\t_\t_\t_\t_\t_\t_\t_\n2\tgeldi\tgel\tVERB\tVB\t_\t0\troot\t_\t_\n3\t.\t.\tPUNCT\t.\t_\t2\tp\t_\t_\n\n"
    for name in ("web", "wiki"):
        (data / f"{name}.conllu").write_text(tree * 20)
    done = run(BENCHMARKS / "public_tasks.py", tmp_path, "--only", "Turkish", "--trainers", "lbfgs,mira -n 5", "--rounds", "2")
    assert "parts of speech, Turkish (turkish-treebanks==1.0.0): 32 and 8 sequences, 3 labels, pos.txt" in done.stdout
    found = dict(re.findall(r"^(lbfgs|mira -n 5|depth \d) +(.*?)  +[0-9.]+$", done.stdout, re.MULTILINE))
    assert found.pop("lbfgs") == "100.00"  # it depends on no seed
    assert set(found.values()) == {"100.00 ± 0.00"} and set(found) == {"mira -n 5", "depth 0", "depth 1"}


@pytest.mark.long
@pytest.mark.parametrize(("more", "figures"), [(("--trainers", "lbfgs,arow"), 2), (("--prepare",), 5)])
def test_measurements_of_packages_are_learned_and_scored(more, figures, tmp_path, monkeypatch):
    """In a package of that name, whose months have two kinds of days."""
    folder = tmp_path / "vega_datasets" / "_data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    lines = [f"2012/{month:02}/{day:02},{9 * (day % 3)},2{day % 3},1{day % 3},3,{'rain' if day % 3 else 'sun'}\n" for month in range(1, 13) for day in range(1, 10)]
    (folder / "seattle-weather.csv").write_text("".join(["date,precipitation,temp_max,temp_min,wind,weather\n", *lines]))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run(BENCHMARKS / "bench_measurements.py", "--only", "weather", *more)
    assert "weather: 8 and 2 sequences" in done.stdout
    assert re.search(rf"^weather( +100\.0){{{figures}}}", done.stdout, re.MULTILINE)


def test_measurements_are_prepared_by_the_part_to_learn_from():
    known = [(numpy.array([[1.0, 7.0], [3.0, 7.0], [numpy.nan, 7.0]]), ["a", "b", "a"])]
    data, row = bench_measurements.Data(["x", "y"], (known, [])), numpy.array([5.0, numpy.nan])
    found = {way: bench_measurements.attributes(data, way, known)([row, numpy.array([2.5, 7.0])]) for way in bench_measurements.WAYS}
    assert found == {
        "as they are": [{"x": 5.0}, {"x": 2.5, "y": 7.0}],
        "standardized": [{"x": 3.0}, {"x": 0.5, "y": 0.0}],
        "standardized, bias": [{"bias": 1.0, "x": 3.0}, {"bias": 1.0, "x": 0.5, "y": 0.0}],
        "bins": [{"x=9": 1.0}, {"x=7": 1.0, "y=0": 1.0}],
        "standardized, bins": [{"x=9": 1.0, "x": 3.0}, {"x=7": 1.0, "x": 0.5, "y=0": 1.0, "y": 0.0}],
    }


def test_columns_are_cut_as_crfkit_cuts_them(tmp_path):
    """A cell may hold an ideographic or a no-break space, or a line separator."""
    path = tmp_path / "rows"
    path.write_text("a\u3000b\tX\nc d\tY\n\ne\u00a0f\u2028 Z\n", encoding="utf-8")
    assert common.rows_of(path) == [[["a\u3000b", "X"], ["c d", "Y"]], [["e\u00a0f\u2028", "Z"]]]
    of_rows, of_file = (crfkit.learn(data, "U:%x[0,0]\n", "perceptron", passes=1) for data in (common.rows_of(path), path))
    assert of_rows.to_bytes() == of_file.to_bytes()


def test_characters_of_words_are_marked():
    assert public_tasks.characters("a") == [["a", "S"]]
    assert public_tasks.characters("abc", "-N") == [["a", "B-N"], ["b", "M-N"], ["c", "E-N"]]


def test_the_threshold_of_lists_says_what_it_measures():
    assert "Up to which share" in run(BENCHMARKS / "sparse_threshold.py", "--help").stdout


# ---------------------------------------------------------------------------------------------- the table of targets


@pytest.mark.long
@plain_build
def test_targets_writes_its_table(tmp_path):
    written = tmp_path / "table.md"
    done = run(BENCHMARKS / "targets.py", *FEW, "--markdown", written)
    text = written.read_text()
    assert "commit" in text and "| what | ours | beside | ratio | target | met |" in text
    for what in ("lbfgs, 1 thread: a pass", "reading and compiling", "crfkit tag, 1 thread", "400 labels", "learn with adf"):
        assert what in text and what in done.stdout
    assert "| sequences | lbfgs | sgd |" in text  # the curve of scaling


def test_calls_from_python_that_decide_stand_in_the_table(monkeypatch):
    works = ("append", "tag", "append 1 at a time", "tag 1 at a time", "tag 3 at a time", "marginals")
    found = [bench_attributes.Found("crfkit", f"{work}, lists", 6000, 2.0, 8.0) for work in works]
    monkeypatch.setattr(bench_attributes, "measure", lambda corpus, rounds: (found, 0.0))
    rows = [(row.what, row.ratio, row.target) for row in targets.attributes(SimpleNamespace(corpus=None, rounds=1))]
    assert rows == [(f"crfkit: {work}, lists: tokens", "4.00 times", f"{target} times") for work, target in targets.PYTHON.items()]


@pytest.mark.long
def test_targets_without_peers():
    code = f"""if True:
        import sys
        import peers
        peers.crfsuite = peers.wapiti = lambda: False
        import targets
        sys.argv = ["targets.py", *{FEW!r}, "--only", "passes", "all-features", "objective", "reading", "tagging"]
        targets.main()
    """
    done = run("-c", code, cwd=BENCHMARKS)
    lines = [line for line in done.stdout.splitlines() if "not installed" in line]
    assert len(lines) == 11
    assert {line.split()[-1] for line in lines if "1/" in line} == {"?"}


def test_the_table_goes_into_its_section(tmp_path):
    path = tmp_path / "document.md"
    path.write_text(f"# Title\n\n{SECTION}\n\nold\n\nolder\n\n## Next\n\ntext\n")
    write_section(path, "new\n")
    assert path.read_text() == f"# Title\n\n{SECTION}\n\nnew\n\n## Next\n\ntext\n"
    write_section(path, "newer\n")
    assert path.read_text() == f"# Title\n\n{SECTION}\n\nnewer\n\n## Next\n\ntext\n"
    path.write_text("# Title\n")
    with pytest.raises(SystemExit, match="no line"):
        write_section(path, "new\n")
    assert path.read_text() == "# Title\n"


def test_a_missing_peer_is_told(capsys):
    assert not peers.installed("no_module_of_this_name", "the package")
    assert "the package is not installed" in capsys.readouterr().out


def test_rows_of_the_table():
    assert against("x", 1.0, "peer", 5.0, 5)[1:] == ("1.000 s", "peer: 5.000 s", "1/5.00", "1/5", "yes")
    assert against("x", 1.01, "peer", 5.0, 5).met == "no"
    assert against("x", 1.0, "peer", 5.0, None)[3:] == ("1/5.00", "", "")
    assert against("x", 1.0, "peer", None, 5)[2:] == ("peer: not installed", "", "1/5", "?")
    assert rate("x", 10.0, "peer", 5.0, 2)[1:] == ("10 /s", "peer: 5 /s", "2.00 times", "2 times", "yes")
    assert rate("x", 9.0, "peer", 5.0, 2).met == "no"
    assert rate("x", 9.0, "peer", None, 2).met == "?"
    assert at_most("x", 0.01, 0.01).met == "yes" and at_most("x", 0.011, 0.01).met == "no"
    assert at_least("x", 2e6, 1e6).met == "yes" and at_least("x", 9e5, 1e6).met == "no"
    assert growth("x", 2.0, "half", 1.0, 2.1).met == "yes" and growth("x", 2.2, "half", 1.0, 2.1).met == "no"
    assert [shown(0.0012, "s"), shown(12.34, "s"), shown(2.5e8, "B"), shown(float("inf"), "s")] == ["1.20 ms", "12.3 s", "250 MB", "not reached"]
    assert as_markdown(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --: |\n| 1 | 2 |\n"


def test_the_way_counts_the_warm_up(tmp_path):
    corpus = common.the_corpus(tmp_path, 50)
    way = bench_learn.own_way(bench_learn.read(corpus), 1, 0.0)
    assert 1 < bench_learn.arrival(way, 1e300) < len(way)  # passes of the warm-up are never at a goal
    seconds = [step.seconds for step in way]
    assert seconds == sorted(seconds) and seconds[0] > 0
    goal = way[-1].objective
    assert bench_learn.seconds_to(way, goal * 1.5) <= bench_learn.seconds_to(way, goal) <= seconds[-1]
    assert bench_learn.arrival(way, 0.0) is None and bench_learn.seconds_to(way, 0.0) == float("inf")


def test_ready_made_features(tmp_path):
    corpus = common.the_corpus(tmp_path, 5)
    rows = common.rows_of(corpus.train)
    found = list(peers.read_ready(corpus.ready))
    assert [items for items, _ in found] == [common.attributes(sentence, common.rules(common.TEMPLATE.name)) for sentence in rows]
    assert [labels for _, labels in found] == [[row[-1] for row in sentence] for sentence in rows]


def test_made_labels():
    sequences = bench_labels.made(100, 800)
    labels = [[line.split()[1] for line in text.splitlines()] for text in sequences]
    assert {len(sequence) for sequence in labels} == {bench_labels.LENGTH}
    assert len({label for sequence in labels for label in sequence}) == 100
    pairs = {pair for sequence in labels for pair in pairwise(sequence)}
    assert len(pairs) == 100 * bench_labels.FOLLOWERS


def test_tasks_by_words_in_their_names_or_by_whole_names():
    names = ["chunks", "chunks, words", "names"]
    found = {only: [name for name in names if common.is_wanted(name, only)] for only in ("", "chunk;name", "chunks, w", "=chunks", "=chunk")}
    assert list(found.values()) == [names, names, ["chunks, words"], ["chunks"], []]


@pytest.mark.parametrize(("n", "end"), [(0, 0), (3, 0), (20, 5), (100, 6)])
def test_the_end_is_held_out(n, end):
    whole = list(range(n))
    assert common.held_out(whole, 6) == (whole[: n - end], whole[n - end :])


def test_draws_are_from_all_that_there_are():
    assert common.sizes_of("50,2,10,9", list(range(9))) == [2, 9]
    assert common.drawn("abc", 3, 1) == common.drawn("abc", 3, 1) and sorted(common.drawn("abc", 3, 1)) == list("abc")


def test_works_are_measured_in_turn():
    calls = []
    works = {"a": lambda: calls.append("a") or [1.0, 5.0], "b": lambda: calls.append("b") or 2.0}
    assert common.in_turn(works, 3) == {"a": 3.0, "b": 2.0}
    assert calls == ["a", "b"] * 3


# ---------------------------------------------------------------------------------------------- processes


@pytest.mark.long
@plain_build
def test_what_a_command_takes():
    ballast = bytearray(300 << 20)  # memory of this process is not that of the command
    small = measured("-c", "print('said')", tree=TREE)
    large = measured("-c", "x = bytearray(200 << 20); sum(range(5_000_000))", tree=TREE)
    del ballast
    assert small.output == b"said\n" and small.peak < 250 << 20
    assert 150 << 20 < large.peak - small.peak < 260 << 20
    assert large.seconds > 0 and large.processor > small.processor


def test_a_command_that_fails():
    with pytest.raises(subprocess.CalledProcessError):
        measured("-c", "raise SystemExit(3)", tree=TREE)
    with pytest.raises(subprocess.CalledProcessError):
        measured("-c", "import os; os.abort()", tree=TREE)


# ---------------------------------------------------------------------------------------------- two versions


@pytest.mark.long
def test_compare_measures_two_trees():
    done = run(BENCHMARKS / "compare.py", TREE, TREE, *FEW, "--threshold", "1000")
    for what in ("crfkit --version", "learn: reading, writing", "a pass of lookahead", "tag -v 1", "eval", "opening, verified"):
        assert f"\n{what} " in done.stdout
    assert "left out" not in done.stderr


@pytest.mark.long
def test_compare_says_what_it_cannot_do(tmp_path):
    assert "neither a folder with crfkit in it nor a revision" in run(BENCHMARKS / "compare.py", tmp_path, TREE, *FEW, code=1).stderr
    (tmp_path / "crfkit").mkdir()
    (tmp_path / "crfkit" / "__init__.py").touch()
    assert "has not been compiled" in run(BENCHMARKS / "compare.py", tmp_path, TREE, *FEW, code=1).stderr
    assert "no measurement begins with nothing" in run(BENCHMARKS / "compare.py", TREE, TREE, *FEW, "--only", "nothing", code=2).stderr


def pair(old, new):
    found = Pair()
    found.old, found.new = old, new
    return found


def test_what_is_slower():
    assert pair([1.0, 1.01, 0.99, 1.0, 1.02], [1.2, 1.19, 1.21, 1.2, 1.2]).slower(0.1)
    assert not pair([1.0, 1.01, 0.99, 1.0, 1.02], [1.08, 1.09, 1.08, 1.07, 1.08]).slower(0.1)  # within the threshold
    assert not pair([1.0, 1.5, 0.9, 1.4, 1.0], [1.2, 0.9, 1.4, 1.3, 1.1]).slower(0.1)  # within the spread
    assert not pair([1.2], [1.0]).slower(0.1)
    assert pair([1.0], [1.2]).slower(0.1)
    assert pair([1.0, 2.0, 4.0], [2.0, 2.0, 2.0]).spread() == "0.50 to 2.00"


def test_what_looks_slower_is_measured_again():
    order = []

    def work(side):
        order.append(side)
        return {"old": 1.0, "new": 1.5 if len(order) <= 6 else 1.0}[side]

    pairs = compare({"work": work}, "old", "new", 2, 0.1)
    # once each to begin with, two rounds in alternating order, and two more
    assert order == ["old", "new", "old", "new", "new", "old", "old", "new", "new", "old"]
    assert not pairs["work"].slower(0.1)


def test_what_only_the_new_version_can_do_is_left_out(capsys):
    def work(side):
        if side == "old":
            raise subprocess.CalledProcessError(2, "crfkit")
        return 1.0

    assert compare({"work": work}, "old", "new", 2, 0.1) == {}
    assert "left out" in capsys.readouterr().err
    with pytest.raises(subprocess.CalledProcessError):  # what the new one cannot do any more is an error
        compare({"work": work}, "new", "old", 2, 0.1)
