"""One model and many threads, processes that fork, and lives of models one after the other."""

import gc
import io
import os
import signal
import sys
import threading
import weakref
from pathlib import Path

import leaks
import pytest
from commands import forks, memory_told, python, text_of
from models import model, sentences
from parser.test_parser import TEMPLATE, corpus

import crfkit
import crfkit.compat.CRFPP
import crfkit.compat.pycrfsuite
from crfkit.decode.printing import Printer
from crfkit.text import reading
from crfkit.text.reading import Source

pytestmark = pytest.mark.steady


def questions(tagger, rows):
    return (
        tagger.tag(rows),
        tagger.tag(rows, posterior=True),
        tagger.nbest(rows, 3),
        tagger.explain(rows, 3),
        tagger.marginals(rows).tobytes(),
        tagger.probability(rows, tagger.labels[:1] * len(rows)),
    )


@pytest.fixture
def tagger():
    return crfkit.load(model("chunking").to_bytes())


class Garbage:
    """Unreachable at once, and asks for labels when it is collected."""

    def __init__(self, ask):
        self.ask, self.me = ask, self

    def __del__(self):
        self.ask()


def both_taggers(tagger):
    """How crfkit's and python-crfsuite's interface label a sentence of this model."""
    other = crfkit.compat.pycrfsuite.Tagger()
    other.open_inmemory(tagger.model.to_bytes())
    return tagger.tag, other.tag


def python_crfsuites(path):
    """How python-crfsuite's interface labels a sentence, and what has it read one."""
    tagger = crfkit.compat.pycrfsuite.Tagger()
    tagger.open(path)
    return tagger.tag, tagger.set


def crfpps(path):
    tagger = crfkit.compat.CRFPP.Tagger(f"-m {path}")

    def tag(rows):
        tagger.clear()
        for row in rows:
            tagger.add(" ".join(row))
        assert tagger.parse()
        return [tagger.y2(i) for i in range(tagger.size())]

    def keep(rows):
        tagger._look().__enter__()
        tagger._sentence.read(rows)
        tagger._sentence.__exit__()

    return tag, keep


def test_what_runs_in_the_middle_of_a_call_may_call_again():
    trained = model("chunking")
    data = [[row[:-1] for row in rows] for rows in sentences("chunking")[:12]]
    for tag in both_taggers(crfkit.load(trained.to_bytes())):
        expected = [tag(rows) for rows in data]
        for k, rows in enumerate(data):
            within = []

            def items(rows=rows, within=within, tag=tag):
                for row in rows:
                    within.append([tag(other) for other in data])
                    yield row

            assert tag(items()) == expected[k]
            assert tag([iter(row) for row in items()]) == expected[k]
            assert within == [expected] * (2 * len(rows))


def test_garbage_that_is_collected_in_a_call_may_call_again():
    """It is made when the last row has been read, and is collected when so many more objects are made: one of these is the
    list of labels."""
    trained = model("reals")
    data = [[[item.split(":")[0] for item in row[1:]] for row in rows] for rows in sentences("reals")[:12]]
    before = gc.get_threshold()
    gc.freeze()  # what other tests left need not be looked through each time
    for tag in both_taggers(crfkit.load(trained.to_bytes())):
        expected, seen = [tag(rows) for rows in data], []

        def last(row, k, more, tag=tag, seen=seen):
            yield from row
            gc.disable()
            gc.collect()
            Garbage(lambda: seen.append((k, tag(data[k]))))
            gc.set_threshold(max(gc.get_count()[0] + more, 1), 1, 1)
            gc.enable()

        try:
            for more in range(-2, 5):
                for k, rows in enumerate(data):
                    assert tag([*rows[:-1], last(rows[-1], (k + 1) % 12, more)]) == expected[k]
        finally:
            gc.set_threshold(*before)
        gc.collect()
        assert len(seen) == 7 * 12 and all(labels == expected[k] for k, labels in seen)


@pytest.mark.parametrize("verbose", [0, 2])
def test_garbage_that_is_collected_may_have_another_sentence_read(tmp_path, verbose):
    """In the middle of what is told of the sentence before: its best labellings, or its marginals."""
    model("chunking").save(tmp_path / "model")
    tagger, rows, before = crfkit.compat.CRFPP.Tagger(f"-m {tmp_path / 'model'} -v {verbose}"), ["the DT", "dog NN"] * 60, gc.get_threshold()

    def read(rows):
        tagger.clear()
        for row in rows:
            tagger.add(row)
        tagger.parse()

    def told():
        """At once, and where a collection comes after so many more objects."""
        return tagger._look().marginals() if verbose else tagger._look().best_paths(8)

    read(rows)
    expected, seen = told(), []
    gc.freeze()
    try:
        for more in range(30):
            read(rows)
            gc.disable()
            gc.collect()
            Garbage(lambda: seen.append(read(rows * 40)))
            gc.set_threshold(max(gc.get_count()[0] + more, 1), 1, 1)
            gc.enable()
            found = told()
            assert found == expected or len(found[0][1] if not verbose else found) == 4800
            gc.set_threshold(*before)
            gc.collect()
    finally:
        gc.set_threshold(*before)
    assert len(seen) == 30


def test_the_memory_of_a_tagger_is_freed_with_it():
    """Scratches hold matrices of labels by labels, which must not wait for the next collection of garbage."""
    rows = [row[:-1] for row in sentences("chunking")[0]]
    gc.disable()
    try:
        for ask in (lambda tagger: tagger.tag(rows), lambda tagger: tagger.marginals(rows), lambda tagger: tagger.tag_many([rows])):
            used = model("chunking").tagger()
            ask(used)
            decoding = weakref.ref(used.decoding)
            del used
            assert decoding() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("fault", [b"the\n\n" * 20, b"x" * (1 << 12)], ids=["of threads", "of the input"])
def test_an_error_of_several_threads_holds_nothing_once_it_is_caught(fault, monkeypatch):
    """It leads to the frames of all that was at work, with the model and the file that is read."""
    monkeypatch.setattr(reading, "LONGEST_LINE", 1 << 10)
    text = b"the DT\n\n" * 20 + fault
    for first in (True, False):  # the first time modules are loaded
        gc.disable()
        try:
            used = model("chunking").tagger()
            with pytest.raises(crfkit.CrfkitError):
                list(used.text(Source(io.BytesIO(text), "columns", block_size=16), Printer(), threads=3))
            decoding = weakref.ref(used.decoding)
            del used
            assert first or decoding() is None
        finally:
            gc.enable()


@pytest.fixture
def no_switching():
    """The interpreter takes its lock away from no thread: others run only when a thread gives the lock back."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e6)
    yield
    sys.setswitchinterval(before)


def until_heard(work):
    """What the work gives another thread, again and again until this one goes on meanwhile, at most 500 times."""
    begun, heard, rounds = threading.Event(), threading.Event(), []

    def again():
        begun.set()
        while not heard.is_set() and len(rounds) < 500:
            rounds.append(work())

    thread = threading.Thread(target=again)
    thread.start()
    begun.wait()
    heard.set()
    thread.join()
    return rounds


def test_others_run_while_one_tags(tagger, no_switching):
    """Tagging gives the interpreter's lock back: this thread goes on while the other one tags."""
    text = text_of([row[:-1] for row in rows] for rows in sentences("chunking")).encode()
    rounds = until_heard(lambda: len(b"".join(tagger.text(Source(io.BytesIO(text), "columns"), Printer(), threads=1))))
    assert len(rounds) < 500 and min(rounds) > len(text)


def test_others_run_while_one_parses(no_switching):
    """So does parsing. Long sentences: on one processor the system has to let this thread on while the lock is free."""
    parser, rows = crfkit.learn(corpus(5, 8), TEMPLATE, "lookahead", format="conllu", passes=1, depth=1).tagger(), corpus(5, 60, 300)
    assert len(rounds := until_heard(lambda: parser.tag_many(rows, threads=1))) < 500
    assert rounds == [parser.tag_many(rows)] * len(rounds)


@forks
def test_after_a_fork_both_go_on(tagger):
    data = [[row[:-1] for row in rows] for rows in sentences("chunking")[:20]]
    expected = [questions(tagger, rows) for rows in data]
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            same = [questions(tagger, rows) for rows in data] == expected and tagger.tag_many(data, threads=2) == [found[0] for found in expected]
            os._exit(0 if same else 1)
        children.append(child)
    assert [questions(tagger, rows) for rows in data] == expected
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]


@forks
def test_a_fork_while_threads_tag(tagger):
    """The child, in which these threads are missing, waits for none of them."""
    data = [[row[:-1] for row in rows] for rows in sentences("chunking")[:20]]
    expected = tagger.tag_many(data)
    done = threading.Event()

    def work():
        while not done.is_set():
            assert tagger.tag_many(data, threads=2) == expected

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                signal.alarm(600)  # ends a child that hangs
                os._exit(0 if tagger.tag_many(data, threads=2) == [tagger.tag(rows) for rows in data] == expected else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        for thread in threads:
            thread.join()


@forks
@pytest.mark.parametrize("door", [python_crfsuites, crfpps])
def test_a_fork_while_another_thread_has_the_only_sentence(tagger, door, tmp_path):
    """Other libraries' taggers have one, which that thread will never give back in the child."""
    tagger.model.save(tmp_path / "model")
    tag, keep = door(tmp_path / "model")
    rows = [row[:-1] for row in sentences("chunking")[0]]
    begun, done = threading.Event(), threading.Event()

    def slow():
        begun.set()
        done.wait()
        yield from rows

    expected = tag(rows)
    thread = threading.Thread(target=keep, args=(slow(),))
    thread.start()
    begun.wait()
    try:
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a child that hangs
            os._exit(0 if tag(rows) == tag(rows) == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        thread.join()
    assert tag(rows) == expected


class Busy(str):
    """The name of an attribute. Whoever looks at it is late: another thread sets one more."""

    __slots__ = ("target",)

    def _look(self):
        if hasattr(self, "target"):
            setattr(self.target, f"later{len(vars(self.target))}", None)

    def __hash__(self):
        self._look()
        return super().__hash__()

    def __eq__(self, other):
        return super().__eq__(other)

    def __ne__(self, other):
        self._look()
        return super().__ne__(other)


@pytest.mark.parametrize("kind", ["model", "tagger", "estimator"])
def test_pickled_while_another_thread_uses_it(tagger, kind):
    found = {"model": tagger.model, "tagger": tagger, "estimator": crfkit.CRF()}[kind]
    name = Busy("mine")
    vars(found)[name] = 1
    name.target = found
    assert "mine" in found.__reduce_ex__(4)[2]


@pytest.mark.long
@memory_told
@pytest.mark.parametrize(("cycle", "grows"), [("leaks.cycle", False), ("lambda number, folder: kept.append(bytes([number % 256]) * 40000)", True)])
def test_memory_stays_where_it_was(cycle, grows):
    """In a process of its own: this one has memory to spare. And a leak would be seen."""
    program = f"import leaks; kept = []; print(leaks.growth(250, {cycle}))"
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(Path(leaks.__file__).parent)])
    # a sanitizer keeps back what is freed, to see who uses it still: that is no leak
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    environment = {**os.environ, "PYTHONPATH": path, "ASAN_OPTIONS": sanitizer}
    assert (int(python(program, env=environment).stdout) > leaks.ALLOWED) == grows
