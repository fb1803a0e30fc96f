"""Files labelled by workers are those of one process, even if workers die."""

import gzip
import lzma
import os
from pathlib import Path

import pytest
from commands import crfkit, error
from workers import TEMPLATE, LocalWorkers, corpus

import crfkit as library
from crfkit.cluster import processes
from crfkit.replacing import refuse_overwriting
from crfkit.tagfiles import Service


@pytest.fixture
def files(tmp_path):
    library.learn(corpus(tmp_path / "train.txt", 200), TEMPLATE, "perceptron", passes=2).save("model")
    names = []
    for number in range(12):
        corpus(tmp_path / f"{number}.txt", 5, number)
        names.append(f"{number}.txt")
    with gzip.open("z.gz", "wb") as file:
        file.write(Path(names.pop()).read_bytes())
    with lzma.open("y.xz", "wb") as file:
        file.write(Path(names.pop()).read_bytes())
    return [*names, "z.gz", "y.xz"]


def expected(files, *options):
    return {name.removesuffix(".gz").removesuffix(".xz"): crfkit("tag", *options, "model", name).stdout_bytes for name in files}


def written():
    return {path.name: path.read_bytes() for path in Path("out").iterdir()}


def test_into_a_folder(files):
    crfkit("tag", "--output-dir", "out", "model", *files)
    assert written() == expected(files)


def test_each_request_is_answered_with_its_own_model(files):
    library.learn([[["a", "N", "X"], ["b", "N", "Y"]]], TEMPLATE, "perceptron").save("other")
    flags = dict.fromkeys(("probability", "posterior", "comments", "fill", "partial", "unbuffered"), False)
    others = dict.fromkeys(("gold", "nbest", "explain", "separator", "constraints", "bias"))
    service, options = Service(), {**flags, **others, "verbose": 0, "threads": 1}
    for model in ("model", "other", "model"):
        service.tag(model, files[0], "found", options)
        assert Path("found").read_bytes() == crfkit("tag", model, files[0]).stdout_bytes


def test_files_to_read_and_to_write_are_looked_at_once_each(monkeypatch):
    """Not each beside each of the others: there may be thousands."""
    looked = []
    monkeypatch.setattr(os.path, "realpath", lambda path: looked.append(path) or path)
    refuse_overwriting("--output-dir", map(str, range(100)), *(f"out/{number}" for number in range(100)))
    assert len(looked) == 200
    with pytest.raises(library.CrfkitError, match="output_dir: 7 has another use here"):
        refuse_overwriting("--output-dir", map(str, range(100)), "out/7", "7")


def test_by_workers_some_of_which_die(files, monkeypatch):
    made, faults = [], {2: {"value": 5}, 5: {"value": [[], 5]}, 6: "dies", 7: "after"}

    def workers(n, service):
        made.append(LocalWorkers(n, service, lambda _, verb, step: faults.get(step)))
        return made[0]

    monkeypatch.setattr(processes, "Processes", workers)
    crfkit("tag", "-q", "--workers", 3, "--output-dir", "out", "model", *files)
    assert written() == expected(files)
    assert made[0].started == 3 + len(faults)


def test_what_dead_workers_were_writing_is_removed(files, monkeypatch):
    """The folder contains only the files that were to be written."""
    left = Path("out", ".crfkit-0123456789abcdef.tmp")

    def on_step(_, verb, step):
        if step == 5:
            left.write_bytes(b"half a file")
            return "dies"
        return None

    monkeypatch.setattr(processes, "Processes", lambda n, service: LocalWorkers(n, service, on_step))
    crfkit("tag", "-q", "--workers", 2, "--output-dir", "out", "model", *files)
    assert written() == expected(files)


def test_by_processes(files):
    crfkit("tag", "--workers", 2, "--output-dir", "out", "--constraints", "bio", "--separator", " ", "model", *files)
    assert written() == expected(files, "--constraints", "bio", "--separator", " ")


@pytest.mark.parametrize("more", [[], ["--workers", 3]])
def test_a_warning_of_the_model_is_told_once(files, monkeypatch, more):
    """By who asks for the work: nobody may hear workers."""
    monkeypatch.setattr(processes, "Processes", LocalWorkers)
    ask = ("tag", *more, "--constraints", "iobes", "--output-dir", "out", "model", *files[:4])
    assert crfkit(*ask).stderr.count("crfkit: warning: constraints iobes: ") == 1
    assert crfkit(*ask, "-q").stderr == ""


def test_workers_share_the_processors(files, monkeypatch):
    asked = []
    monkeypatch.setattr(processes, "Processes", LocalWorkers)
    monkeypatch.setattr("crfkit.cluster.crew.available_cpus", lambda: 8)
    monkeypatch.setattr("crfkit.cli.tag.tag_files", lambda *given: asked.append((len(given[4].all), given[3]["threads"])))
    for n, some in ((2, files), (4, files[:2]), (16, files)):
        crfkit("tag", "--workers", n, "--output-dir", "out", "model", *some)
    assert asked == [(2, 4), (2, 4), (12, 1)]


def test_the_first_fault_is_told(files):
    Path("3.txt").write_text("a D O\nb\n")
    Path("7.txt").write_text("b\n\n")
    for how in ([], ["--workers", 2]):
        assert error("tag", *how, "--output-dir", "out", "model", *files).startswith("3.txt:2: ")
    assert "3.txt" not in written()


@pytest.mark.parametrize("more", [[], ["--workers", 2]])
def test_an_empty_folder_is_not_left_behind(files, more):
    Path("wrong").write_text("a D O\nb\n")
    for model, name in (("missing", "0.txt"), ("model", "wrong"), ("model", "missing")):
        error("tag", *more, "--output-dir", "new/er", model, name)
    assert not Path("new").exists()


@pytest.mark.parametrize(("arguments", "words"), [
    (["--workers", "2", "model", "0.txt"], "need --output-dir"),
    (["--cluster", "tcp://h:1", "model", "0.txt"], "need --output-dir"),
    (["--cluster", "", "model", "0.txt"], "need --output-dir"),
    (["--workers", "2", "--cluster", "tcp://h:1", "--output-dir", "out", "model", "0.txt"], "exclude each other"),
    (["--output-dir", "out", "-o", "x", "model", "0.txt"], "exclude each other"),
    (["--output-dir", "out", "--worker-timeout", "600", "model", "0.txt"], "--worker-timeout needs --workers or --cluster"),
    (["--output-dir", "out", "--unbuffered", "model", "0.txt"], "--unbuffered is of no use with --output-dir"),
    (["--output-dir", "out", "model"], "needs FILEs"),
    (["--output-dir", "out", "model", "0.txt", "./0.txt"], "two files would be written"),
    (["--output-dir", ".", "model", "0.txt"], "would be overwritten"),
])
def test_impossible_combinations_of_options_are_refused(files, arguments, words):
    assert words in error("tag", *arguments, code=2)
