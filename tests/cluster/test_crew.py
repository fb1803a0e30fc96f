"""The assignment of jobs to workers, with simulated workers."""

from collections import deque

import pytest

from crfkit.cluster import crew
from crfkit.errors import FileError, TrainingError


class Workers:
    """Two simulated workers with a clock of their own. They answer at once, or never."""

    def __init__(self, silent=()):
        self.all, self.silent, self.answers, self.now = ["one", "two"], silent, deque(), 0.0

    def workers(self):
        return list(self.all)

    def send(self, worker, request):
        if worker not in self.silent:
            self.answers.append((worker, {"value": worker}))

    def wait(self, seconds):
        if self.answers:
            return self.answers.popleft()
        self.now += seconds
        return None

    def drop(self, worker):
        self.all.remove(worker)

    def replace(self):
        return False

    def close(self):
        pass


def run(monkeypatch, workers, jobs, takes, keeps=True):
    """Which worker did which job, if the driver takes so many seconds for each answer; and its messages."""
    monkeypatch.setattr(crew.time, "monotonic", lambda: workers.now)
    done, said = {}, []

    def accept(own, answer):
        workers.now += takes
        done.update(dict.fromkeys(own, answer if keeps else None))

    crew.Crew(workers, 10, said.append).run(range(jobs), lambda memory, own: [["do", {}]], accept)
    return done, said


def test_an_answer_that_waits_for_the_driver_is_one(monkeypatch):
    assert run(monkeypatch, Workers(), 4, takes=60) == ({0: "one", 1: "two", 2: "one", 3: "two"}, [])


def test_jobs_for_any_worker_are_not_looked_through_each_time():
    """There may be a hundred thousand files to label."""
    looked = []

    class Job(int):
        def __hash__(self):
            looked.append(self)
            return int(self)

    done = []
    crew.Crew(Workers(), 10, done.append).run([Job(n) for n in range(500)], lambda memory, own: [], lambda own, answer: done.extend(own), bound=False)
    assert done == list(range(500)) and len(looked) <= 4 * len(done)


def test_no_answer_is_held_while_the_next_one_comes(monkeypatch):
    """All weights may be in it."""
    workers, bodies = Workers(), [bytearray(8), bytearray(8)]
    workers.send = lambda worker, request: workers.answers.append((worker, {"value": memoryview(bodies[len(workers.answers)])}))

    def wait(seconds, wait=workers.wait):
        for body in bodies[: 2 - len(workers.answers)]:
            body.clear()  # BufferError if somebody has it
        return wait(seconds)

    monkeypatch.setattr(workers, "wait", wait)
    assert run(monkeypatch, workers, 2, takes=0, keeps=False)[1] == []
    assert bodies == [bytearray(), bytearray(8)]


def test_workers_that_do_not_answer_are_given_up(monkeypatch):
    assert run(monkeypatch, Workers(silent=["two"]), 3, takes=1) == (dict.fromkeys(range(3), "one"), ["two stalls: another one takes over"])
    with pytest.raises(TrainingError, match=r"^no worker for 10 seconds, except those that stalled: raise worker_timeout if their work takes longer$"):
        run(monkeypatch, Workers(silent=["one", "two"]), 3, takes=1)


def test_where_no_worker_comes_that_is_all_that_is_said(monkeypatch):
    workers = Workers()
    workers.all = []
    with pytest.raises(TrainingError, match=r"^no worker for 10 seconds$"):
        run(monkeypatch, workers, 1, takes=1)


def test_work_that_takes_too_long_is_not_taken_for_a_lack_of_memory(monkeypatch):
    workers, names = Workers(), [str(n) for n in range(9)]
    workers.all, workers.silent = [], names[:]
    workers.replace = lambda: workers.all.append(names.pop()) or True
    with pytest.raises(TrainingError, match=r"^6 workers stalled at the same work, for 10 seconds each: raise worker_timeout if it takes longer$"):
        run(monkeypatch, workers, 1, takes=1)


def test_a_worker_that_is_no_longer_there_has_died(monkeypatch):
    """At once, not after the time that is given to one that stalls."""
    workers = Workers(silent=["two"])
    workers.drop = lambda worker: None

    def wait(seconds):
        if not workers.answers and "two" in workers.all:
            workers.all.remove("two")
        return Workers.wait(workers, seconds)

    monkeypatch.setattr(workers, "wait", wait)
    assert run(monkeypatch, workers, 3, takes=1) == (dict.fromkeys(range(3), "one"), ["two died: another one takes over"])


def test_a_death_now_and_then_is_no_reason_to_end(monkeypatch):
    """Only deaths in a row are."""
    workers, deadly = Workers(), iter([True, False] * 20)
    workers.all = ["0"]
    workers.send = lambda worker, _: workers.answers.append((worker, None if next(deadly) else {"value": worker}))
    workers.replace = lambda: workers.all.append(str(workers.now)) or True
    monkeypatch.setattr(crew.time, "monotonic", lambda: workers.now)
    said, done = [], []
    own = crew.Crew(workers, 10, said.append)
    for _ in range(20):
        workers.now += 1
        own.run([0], lambda memory, jobs: [["do", {}]], lambda jobs, answer: done.append(answer))
    assert len(done) == len(said) == 20


def test_the_error_of_the_first_job_is_raised_and_later_ones_are_not_begun(monkeypatch):
    workers, asked = Workers(), []

    def steps(memory, own):
        asked.extend(own)
        return [["do", {}]]

    workers.send = lambda worker, _: workers.answers.appendleft((worker, {"error": "FileError", "arguments": [worker]}))
    monkeypatch.setattr(crew.time, "monotonic", lambda: workers.now)
    with pytest.raises(FileError, match=r"^one$"):
        crew.Crew(workers, 10, print).run(range(9), steps, None)
    assert asked == [0, 1]


def test_work_behind_a_job_that_failed_is_not_begun_again(monkeypatch):
    """The second worker stalls, and so would others at the same work."""
    workers, names = Workers(), [str(n) for n in range(9)]
    workers.send = lambda worker, _: workers.now or worker == "two" or workers.answers.append((worker, {"error": "FileError", "arguments": ["gone"]}))
    workers.replace = lambda: workers.all.append(names.pop()) or True
    with pytest.raises(FileError, match=r"^gone$"):
        run(monkeypatch, workers, 2, takes=1)
    assert workers.now == 11


def test_idle_workers_share_the_jobs(monkeypatch):
    workers, asked = Workers(), []
    monkeypatch.setattr(crew.time, "monotonic", lambda: workers.now)
    crew.Crew(workers, 10, print).run(range(5), lambda memory, own: asked.append(own) or [["do", {}]], lambda *_: None, grouped=True)
    assert asked == [[0, 1, 2], [3, 4]]
