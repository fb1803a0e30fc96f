"""Workers that are processes: they die, stall and answer nonsense, and none is left behind."""

import array
import os
import queue
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import limit, python, start
from workers import TEMPLATE, bytes_of, corpus, on_one_machine, use_local_workers, with_workers

import crfkit
from crfkit.cluster.messages import encode
from crfkit.cluster.processes import Processes, _Worker
from crfkit.errors import FileError, UnsupportedError

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


def test_a_process_that_cannot_be_started(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with pytest.raises(FileError, match="a worker process cannot be started: No such file or directory"):
        Processes(2, "none")


def test_a_program_that_is_its_own_executable_starts_no_workers(monkeypatch):
    """Each of them would be that program again."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(UnsupportedError, match=r"^a program in one file, .*: leave out workers, or give cluster$"):
        Processes(2, "none")


class Killed(Processes):
    """Processes of which some are killed as soon as they have been asked for something."""

    moments: frozenset[int] = frozenset()
    number = signal.SIGKILL
    delay = staticmethod(lambda: 0.0)

    def __init__(self, *arguments):
        self.requests = 0
        super().__init__(*arguments)

    def send(self, worker, request):
        super().send(worker, request)
        self.requests += 1
        if self.requests in self.moments:
            time.sleep(self.delay())
            os.kill(self.all[worker].process.pid, self.number)


@pytest.mark.steady
def test_killed_while_they_work(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 500)
    one = on_one_machine(train, TEMPLATE, "lbfgs", max_iter=4)
    kind = type("Some", (Killed,), {"moments": frozenset({3, 9, 20})})
    many, workers = with_workers(monkeypatch, train, TEMPLATE, "lbfgs", kind=kind, max_iter=4)
    assert many == one
    assert workers.started == 5
    assert not workers.all


@pytest.mark.steady
def test_killed_while_they_are_idle(tmp_path, monkeypatch):
    """As after a pass, whose weights the driver mixes: it finds out when it next asks them."""
    train = corpus(tmp_path / "train.txt", 300)
    made, told = use_local_workers(monkeypatch, kind=Processes), []

    def kill(record):
        if record["pass"] in (1, 3, 5):
            for worker in made[0].all.values():
                os.kill(worker.process.pid, signal.SIGKILL)
            told.append(record["pass"])

    model = crfkit.learn(train, TEMPLATE, "perceptron", passes=5, workers=2, progress=kill)
    assert bytes_of(model) == bytes_of(crfkit.learn(train, TEMPLATE, "perceptron", passes=5, workers=1))
    assert made[0].started == 2 + 2 * 2 and not made[0].all and told == [1, 3, 5]  # after the last pass nobody asks


def test_a_worker_without_a_thread():
    code = (
        "import threading; from crfkit.cluster.processes import main\n"
        "def refused(_): raise RuntimeError(\"can't start new thread\")\n"
        "threading.Thread.start = refused; main('crfkit.tagfiles:Service')"
    )
    said = python(code, stdin=subprocess.PIPE, code=1).stderr
    assert said == "crfkit: a worker cannot start: RuntimeError: can't start new thread\n"


def test_modules_do_not_come_from_the_current_folder(tmp_path, monkeypatch):
    """It may hold whatever data came with."""
    Path("queue.py").write_text("raise SystemExit('not that of Python')\n")
    monkeypatch.setattr("sys.path", [entry for entry in sys.path if entry])
    train = corpus(tmp_path / "train.txt", 50)
    assert crfkit.learn(train, TEMPLATE, "perceptron", passes=1, workers=1).labels


@pytest.mark.steady
@pytest.mark.long
def test_a_stalled_worker_is_replaced(tmp_path, monkeypatch):
    train = corpus(tmp_path / "train.txt", 300)
    one = on_one_machine(train, TEMPLATE, "owlqn", max_iter=2)
    kind = type("Some", (Killed,), {"moments": frozenset({14}), "number": signal.SIGSTOP})
    assert with_workers(monkeypatch, train, TEMPLATE, "owlqn", kind=kind, max_iter=2, worker_timeout=2)[0] == one


def test_a_thread_holds_no_message_while_it_waits():
    """All weights may be in it."""
    worker = _Worker.__new__(_Worker)
    worker.name, worker.events = "one", queue.SimpleQueue()
    sent = bytearray(b"".join(bytes(piece) for piece in encode(array.array("d", [1.5]))))
    body = bytearray(8)
    waiting = [memoryview(body)]

    def get():
        if waiting:
            return waiting.pop()
        _, found = worker.events.get()
        answer = found.obj
        del found
        answer.close()  # BufferError if somebody has it
        return None

    def read(room):
        body.clear()  # as above
        n = min(len(room), len(sent))
        room[:n] = sent[:n]
        del sent[:n]
        return n

    worker.requests = SimpleNamespace(get=get)
    worker.process = SimpleNamespace(stdout=SimpleNamespace(readinto=read), stdin=SimpleNamespace(write=len))
    worker._talk()
    assert worker.events.get() == ("one", None) and not body and not sent


class Babbling(Processes):
    def replace(self):
        name = self.service
        self.service = "crfkit.cluster.absent:Absent" if self.started == 0 else name
        try:
            return super().replace()
        finally:
            self.service = name


@pytest.mark.steady
def test_workers_that_write_nonsense_or_cannot_start(tmp_path, monkeypatch, capfd):
    train = corpus(tmp_path / "train.txt", 100)
    one = on_one_machine(train, TEMPLATE, "owlqn", max_iter=2)
    assert with_workers(monkeypatch, train, TEMPLATE, "owlqn", kind=Babbling, max_iter=2)[0] == one
    capfd.readouterr()


def children(pid):
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def gone(pids):
    """Wait until none of these is there; whether that is so."""
    for _ in range(600):
        if not any(Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text() for pid in pids):
            return True
        time.sleep(0.1)
    return False


@linux
@pytest.mark.steady
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_no_worker_is_left_behind(tmp_path, number):
    train = corpus(tmp_path / "train.txt", 300)
    Path("template").write_text(TEMPLATE)
    run = start("learn", "--workers", 2, "-a", "perceptron", "--passes", 1000000, "template", train, "model")
    for line in run.stderr:
        if line.startswith("pass"):
            break
    workers = children(run.pid)
    assert len(workers) == 2
    run.send_signal(number)
    run.communicate(timeout=120)
    assert gone(workers)
    assert run.returncode == (-number if number == signal.SIGKILL else 130)
    assert Path("model").exists() == (number == signal.SIGINT)


@pytest.mark.long
@linux
@pytest.mark.steady
def test_errors_are_one_line(tmp_path):
    name = corpus(tmp_path / "train.txt", 300)
    with open(name, "a") as file:
        file.write("too few\n")
    Path("template").write_text(TEMPLATE)
    run = start("learn", "-q", "--workers", 2, "template", name, "model")
    _, said = run.communicate(timeout=120)
    lines = Path(name).read_text().count("\n")
    assert run.returncode == 1
    assert said.startswith(f"crfkit: error: {name}:{lines}: ") and said.count("\n") == 1


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn", "perceptron"])
def test_killed_at_random_moments(tmp_path, monkeypatch, algorithm):
    train = corpus(tmp_path / "train.txt", 2500)
    passes = limit(algorithm, 8, 25)
    one = bytes_of(crfkit.learn(train, TEMPLATE, algorithm, workers=1, **passes))
    rng = random.Random(5)
    for kills in (4, 3):
        moments = frozenset(rng.sample(range(1, 40), kills))
        kind = type("Some", (Killed,), {"moments": moments, "delay": staticmethod(lambda: rng.random() * 0.05)})
        assert with_workers(monkeypatch, train, TEMPLATE, algorithm, kind=kind, **passes)[0] == one


@pytest.mark.parametrize("shards", [16, 17, 18, 64, 500])
def test_more_shards_than_bytes(monkeypatch, shards):
    Path("train").write_text("a X\nb Y\n\nc X\nd Y\n")
    assert with_workers(monkeypatch, "train", "U:%x[0,0]\nB\n", "lbfgs", 1, shards=shards)[0] == on_one_machine("train", "U:%x[0,0]\nB\n", "lbfgs")
