"""Data in files: the same models, less memory, clear errors, nothing left behind."""

import errno
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from commands import crfkit, error, limit, limit_flags, memory_told, plain_build, python, start, trained, write_part
from workers import use_local_workers

import crfkit as library
from crfkit import options
from crfkit.data import ordered
from crfkit.errors import FileError, TrainingError
from crfkit.learning import memory
from crfkit.learning.progress import Progress
from crfkit.learning.shards.service import Service

DATA = Path(__file__).resolve().parents[2] / "data"
TEMPLATE = "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[1,0]\nU03:%x[-1,0]/%x[0,0]\nU04:%x[0,1]\nB\nB01:%x[0,1]\n"
TRAINERS = [name for name in options.TRAINERS if name != "sbcd"]


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Online trainers need only a few sequences at a time."""
    monkeypatch.setattr(ordered, "WINDOW_BYTES", 5000)
    (tmp_path / "template").write_text(TEMPLATE)
    write_part(tmp_path / "train", "chunking", 60)
    write_part(tmp_path / "dev", "chunking", 20, skip=60)
    return tmp_path


@pytest.mark.parametrize("folder", ["m", "./m/", "m/data"])
@pytest.mark.parametrize(("what", "given"), [("MODEL", ["m"]), ("--log", ["--log", "m", "other"]), ("--checkpoint", ["--checkpoint", "m", "other"])])
def test_a_folder_is_not_in_the_place_of_a_file(work, what, given, folder, monkeypatch):
    """That was seen when the model was to be saved."""
    monkeypatch.chdir(work)
    *options, model = given
    said = crfkit("learn", "--data-dir", folder, *options, "template", "train", model, code=2).stderr
    assert f"Error: {what}: m is to be a folder, for --data-dir {folder}: give another name to one of them\n" in said and not Path("m").exists()


def both(folder, *arguments, **how):
    """The model trained on data in memory, which must equal the one trained on data in files."""
    model = trained(folder, *arguments, **how)
    assert trained(folder, *arguments, "--data-dir", "data", **how) == model
    assert not (folder / "data").exists()
    return model


@pytest.mark.parametrize("algorithm", TRAINERS)
def test_the_same_bytes(algorithm, work):
    both(work, "-a", algorithm, *limit_flags(algorithm, 3))


@pytest.mark.parametrize("chosen", [
    "-a lbfgs --features all --max-iter 4 --train-accuracy",
    "-a lbfgs --warm-up 0 --threads 2 --max-iter 4",
    "-a owlqn --path 1,0.3 --dev dev --max-iter 3",
    "-a sgd --dev dev --patience 1 --passes 5 --crf-loss",
    "-a perceptron --min-freq 2 --batch-size 7 --dropout 0.2 --passes 4",
    "-a perceptron --select mi:300 --passes 4",
    "-a sapo --batch-size 7 --dev dev --passes 4",
    "-a adf --window 5 --passes 4",
    pytest.param("-a lbfgs --workers 2 --max-iter 3", marks=pytest.mark.long),  # by processes; below in this one
    "-a mira --shrinking 3 --passes 6",
    "-a lookahead --direction backward --passes 4",
])
def test_with_other_options(chosen, work):
    both(work, *chosen.split())


def test_workers_that_mix_their_weights(work, monkeypatch):
    use_local_workers(monkeypatch)
    both(work, "-a", "sgd", "--workers", 2)


@pytest.mark.parametrize(("algorithm", "window"), [("lbfgs", 5000), ("sgd", 5000), ("perceptron", 1 << 20)])
def test_attributes_with_values(algorithm, window, work, monkeypatch):
    monkeypatch.setattr(ordered, "WINDOW_BYTES", window)
    (work / "train").write_bytes((DATA / "reals.train.txt").read_bytes().replace(b"early", b"@weight:2\nearly") * 5)
    arguments = ("-q", "--format", "crfsuite", "-a", algorithm, *limit_flags(algorithm, 3))
    crfkit("learn", *arguments, "train", "a")
    crfkit("learn", *arguments, "--data-dir", "data", "train", "b")
    assert (work / "a").read_bytes() == (work / "b").read_bytes()


def test_from_python(work):
    rows = [[("a", "X"), ("b", "Y")], [("b", "Y"), ("c", "X")]] * 5
    models = [library.learn(rows, template="U:%x[0,0]\nB", algorithm="sapo", passes=2, data_dir=folder) for folder in (None, work / "new" / "er")]
    models[0].save("a")
    models[1].save("b")
    assert (work / "a").read_bytes() == (work / "b").read_bytes()
    assert not (work / "new").exists()


def test_a_caller_goes_to_another_folder(work, monkeypatch):
    """What is there under the same name is not the folder for data."""
    (work / "elsewhere" / "data").mkdir(parents=True)

    library.learn("train", "template", "perceptron", passes=1, data_dir="data", progress=lambda _: monkeypatch.chdir("elsewhere"))
    assert not (work / "data").exists() and (work / "elsewhere" / "data").exists()


@pytest.mark.parametrize("algorithm", ["owlqn", "sapo"])
def test_a_run_is_resumed(algorithm, work):
    """A run may be resumed with its data in memory or in files."""
    whole = trained(work, "-a", algorithm, *limit_flags(algorithm, 4))
    crfkit("learn", "-q", "-a", algorithm, *limit_flags(algorithm, 2), "--checkpoint", "c", "--data-dir", "data", "template", "train", "half")
    # that run is finished: only the limit on its passes ended it
    assert trained(work, "-a", algorithm, *limit_flags(algorithm, 4), "--checkpoint", "c", "--resume", "--data-dir", "data", target="other") == whole


def test_the_folder_is_of_no_use(work):
    learn = ("learn", "-q", "-a", "perceptron", "--data-dir")
    files = ("template", "train", "model")
    assert error(*learn, "train", *files) == "train: is a file, expected a folder for data"
    assert error(*learn, "train/in", *files) == "train/in: cannot keep data there: Not a directory"
    with pytest.raises(library.CrfkitError, match="not a file name"):
        library.learn("train", template="template", data_dir="no\0name")
    assert not (work / "model").exists()


def test_the_disk_has_room_for_folders_only(work, monkeypatch):
    def full(**_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    (work / "data").mkdir()
    for folder in ("data", "data/new", "new/er"):
        assert error("learn", "-q", "--data-dir", folder, "template", "train", "model") == f"{folder}: cannot keep data there: No space left on device"
    assert (work / "data").exists() and not [*(work / "data").iterdir()] and not (work / "new").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_the_folder_is_write_protected(work):
    (work / "data").mkdir(mode=0o500)
    said = error("learn", "-q", "-a", "perceptron", "--data-dir", "data", "template", "train", "model")
    assert said == "data: cannot keep data there: Permission denied"


def test_other_files_in_the_folder_stay(work):
    (work / "data").mkdir()
    (work / "data" / "mine").write_text("mine")
    trained(work, "-a", "perceptron", "--data-dir", "data")
    assert [path.name for path in (work / "data").iterdir()] == ["mine"]


def test_trainers_without_data_dir_refuse_it(work):
    files = ("template", "train", "model")
    assert "--data-dir does not go with sbcd" in error("learn", "-a", "sbcd", "--data-dir", "data", *files, code=2)
    stream = (work / "train").read_bytes()
    said = error("learn", "-a", "adf", "--passes", 1, "--data-dir", "data", "template", "-", "model", stdin=stream)
    assert said.endswith("or leave out --data-dir")


def limited(what, size, *arguments):
    """Run a command under a limit; its standard error."""
    program = f"import resource, sys; sys.dont_write_bytecode = True; resource.setrlimit(resource.{what}, ({size}, {size})); from crfkit.cli import cli; cli()"
    said = python(program, *arguments, code=1).stderr
    assert said.count("\n") == 1, said
    return said


@pytest.mark.parametrize("fault", ["missing", "ragged", "--checkpoint=nowhere/c", "--max-memory=1M"])
def test_no_folder_is_left_by_a_run_that_fails(work, fault):
    (work / "ragged").write_bytes((work / "train").read_bytes() + b"one\n")
    (work / "old").mkdir()
    more = [fault] if fault.startswith("--") else []
    for folder in ("new/er", "old", "old/new"):
        error("learn", "-q", "-a", "perceptron", *more, "--data-dir", folder, "template", "train" if more else fault, "model")
    assert not (work / "new").exists() and not list((work / "old").iterdir())


def test_a_limit_on_memory_where_the_system_tells_less_of_it(work, monkeypatch):
    """As macOS and Linux before 4.5 do."""
    monkeypatch.setattr(memory, "_status", lambda name: 0)
    with pytest.raises(TrainingError, match="more than max_memory 1M"):
        library.learn("train", template="template", algorithm="perceptron", data_dir="data", max_memory="1M")


def test_the_folder_is_removed_by_another_run(work, monkeypatch):
    """Each file that is made makes the folder, if it is missing."""
    make = tempfile.TemporaryFile

    def gone_before(**how):
        found = make(**how)
        os.rmdir(how["dir"])
        return found

    monkeypatch.setattr("tempfile.TemporaryFile", gone_before)
    both(work, "-a", "perceptron")


@plain_build
def test_the_disk_is_full(work):
    """A limit on the size of files simulates the full disk."""
    said = limited("RLIMIT_FSIZE", 50_000, "learn", "-q", "-a", "perceptron", "--data-dir", "data", "template", "train", "model")
    assert said == "crfkit: error: data: no room for 65,536 bytes of data: File too large\n"
    assert not (work / "data").exists() and not (work / "model").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_behind(how, work):
    process = start("learn", "--progress", "never", "-a", "perceptron", "--passes", 1_000_000, "--data-dir", "data", "template", "train", "model")
    for line in process.stderr:
        if line.startswith("pass "):
            break
    process.send_signal(how)
    process.communicate()
    assert process.returncode == {signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}[how]
    assert not list((work / "data").glob("*"))


MEMORY = """
import json, resource, sys
from pathlib import Path
import crfkit
from crfkit.data import ordered

ordered.WINDOW_BYTES = 1 << 20

def train(times, data_dir):
    return crfkit.learn(["train"] * times, template="template", algorithm=sys.argv[1], data_dir=data_dir, **json.loads(sys.argv[2]))

def allowed():
    return next(int(line.split()[1]) << 10 for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData"))

train(400, "data")                # all is loaded, all that does not grow is there
resource.setrlimit(resource.RLIMIT_DATA, (allowed() + (24 << 20), resource.getrlimit(resource.RLIMIT_DATA)[1]))
found = train(2000, "data").header["tokens"]
try:
    train(2000, None)
except MemoryError:
    print(found)
"""


@plain_build
@memory_told
@pytest.mark.parametrize("algorithm", ["lbfgs", "perceptron"])
def test_the_estimate_is_without_the_data(algorithm, work):
    found = []

    class Said(Progress):
        def summary(self, counts):
            found.append(counts["memory"])

    for folder in (None, "data"):
        library.learn(["train"] * 8, template="template", algorithm=algorithm, data_dir=folder, progress=Said(quiet=True), **limit(algorithm, 1))
    tokens = 8 * sum(map(bool, (work / "train").read_text().split("\n")))
    assert 0 < found[1] < found[0] - 20 * tokens


@pytest.mark.long
@plain_build
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the limit counts what is mapped too")
@pytest.mark.parametrize(("algorithm", "given"), [("perceptron", {"passes": 1}), ("lbfgs", {"max_iter": 1, "warm_up": 0, "threads": 1})])
def test_memory_does_not_grow_with_the_data(algorithm, given, work):
    """Memory may grow by a quarter of what the data would take."""
    (work / "template").write_bytes((DATA.parent / "templates" / "chunking.txt").read_bytes())
    assert int(python(MEMORY, algorithm, json.dumps(given)).stdout) > 1_000_000


def test_folders_for_data_are_looked_at_where_the_data_are():
    """By each worker, before it reads."""
    Path("taken").write_text("")
    with pytest.raises(FileError, match="taken: is a file, expected a folder for data"):
        Service().begin(None, {"data_dir": "taken"}, None, [0, None, None, None, ""])
