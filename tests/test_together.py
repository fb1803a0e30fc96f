"""Everything at once, on threads that share what may be shared. Every answer is that of one thread, also of an interpreter without a lock.

Sentences that are kept, sequences that are appended, lines of rows and lists that change can only be disturbed where there is no such lock."""

import functools
import io
import sys
import threading

import pytest
from commands import SMALL, limit, python
from compat.kept import appended
from inputs import filled
from models import model, sentences
from parser.test_parser import TEMPLATE, corpus

import crfkit
import crfkit.compat.CRFPP
import crfkit.compat.pycrfsuite
import crfkit.compat.wapiti
from crfkit.compat.pycrfsuite.groups import Groups
from crfkit.decode.printing import Printer
from crfkit.errors import DataError
from crfkit.text.items import read_sentence
from crfkit.text.reading import Source
from crfkit.text.rows import Rows

pytestmark = pytest.mark.steady

THREADS = 8


@pytest.fixture(autouse=True)
def frequent_switching():
    """Where there is a lock, it changes hands as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*works):
    """What each function gives, called at the same time on a thread each; their first error is raised."""
    started, found, errors = threading.Barrier(len(works)), [None] * len(works), []

    def do(place):
        started.wait()
        try:
            found[place] = works[place]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=do, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


def check(*works, rounds=1):
    """Each function gives on many threads at once, which begin with another one each, what it gives alone."""
    expected = [work() for work in works]

    def all_from(first):
        places = [(first + k) % len(works) for k in range(len(works))] * rounds
        return [(place, works[place]()) for place in places]

    for found in together(*(functools.partial(all_from, number) for number in range(THREADS))):
        assert [place for place, answer in found if answer != expected[place]] == []


def rows_without_labels(name, n):
    return [[row[:-1] for row in rows] for rows in sentences(name)[:n]]


def test_every_question_to_one_tagger():
    tagger, data = model("chunking").tagger(), rows_without_labels("chunking", 12)
    strict = model("chunking").tagger(constraints="auto", bias={"O": -1})
    text = "".join("".join(" ".join(row) + "\n" for row in rows) + "\n" for rows in data).encode()
    allowed = [[None if k % 3 else tagger.labels[k % 5 : k % 5 + 3] for k in range(len(rows))] for rows in data]

    def written(one, **how):
        return b"".join(one.text(Source(io.BytesIO(text), "columns", block_size=200), Printer(**how), threads=2))

    check(
        lambda: [tagger.tag(rows) for rows in data],
        lambda: [tagger.tag(rows, posterior=True) for rows in data],
        lambda: [tagger.tag(rows, allowed=some) for rows, some in zip(data, allowed, strict=True)],
        lambda: [tagger.marginals(rows).tobytes() for rows in data],
        lambda: [tagger.edge_marginals(rows).tobytes() for rows in data],
        lambda: [tagger.marginals(rows, named=True) for rows in data[:4]],
        lambda: [tagger.nbest(rows, 4) for rows in data],
        lambda: [tagger.explain(rows, 3) for rows in data],
        lambda: [(tagger.log_probability(rows, tagger.labels[:1] * len(rows)), tagger.log_z(rows)) for rows in data],
        lambda: tagger.tag_many(data, threads=3),
        lambda: [strict.tag(rows) for rows in data],
        lambda: [strict.nbest(rows, 3) for rows in data],
        lambda: strict.tag_many(data, threads=2),
        lambda: [found.tobytes() for found in tagger.marginals_many(data, threads=2)],
        lambda: written(tagger),
        lambda: written(strict, probability=True),
        lambda: written(tagger, nbest=2, verbose=2),
        lambda: tagger.model.dump(top=50),
        rounds=2,
    )


def test_first_questions_to_a_new_tagger():
    """What it makes when it is first asked for, it makes on several threads at once."""
    trained, data = model("chunking"), rows_without_labels("chunking", 3)

    def answers(tagger):
        return [tagger.explain(rows, 2) for rows in data], tagger.model.dump(top=3)

    expected = answers(trained.tagger())
    for _ in range(5):
        assert together(*[functools.partial(answers, crfkit.load(trained.to_bytes()))] * THREADS) == [expected] * THREADS


def test_learning_loading_and_labelling(tmp_path):
    """Models are learned, kept in files, opened, converted and closed, side by side, with every kind of trainer."""
    train, data = sentences("chunking", "train")[:25], rows_without_labels("chunking", 4)
    model("chunking").save(tmp_path / "model")

    def learned(algorithm, **more):
        made = crfkit.learn(train, template=SMALL, algorithm=algorithm, **more)
        return made.tagger().tag_many(data), made.dump()

    def opened():
        with open(tmp_path / "model", "rb") as file:
            one = crfkit.load(file)
        return one.tag_many(data), crfkit.load(tmp_path / "model", verify=False).tag(data[0]), one.model.dump(top=5)

    names = "lbfgs", "owlqn", "sbcd", "sgd", "adf", "sapo", "perceptron", "mira", "arow", "cw", "lookahead"
    check(
        *(functools.partial(learned, name, **limit(name, 2, 3)) for name in names),
        functools.partial(learned, "lbfgs", max_iter=3, threads=3),
        functools.partial(learned, "perceptron", passes=2, dev=train[:5]),
        opened,
        lambda: model("chunking").tagger().tag_with_gold(sentences("chunking")[:20], threads=2),
    )


def test_a_parser():
    parser, data = crfkit.learn(corpus(5, 20), TEMPLATE, "lookahead", format="conllu", passes=1, depth=1).tagger(), corpus(7, 20)
    check(
        lambda: parser.tag_many(data, threads=2),
        lambda: [parser.tag(rows) for rows in data],
        lambda: parser.model.dump(),
        rounds=4,
    )


def test_models_and_interfaces_of_other_programs(tmp_path):
    data = [[[item.partition(":")[0] for item in row[1:]] for row in rows] for rows in sentences("reals")[:6]]
    content = model("reals").to_bytes()
    tagger = crfkit.compat.pycrfsuite.Tagger()
    tagger.open_inmemory(content)
    path = tmp_path / "model"
    model("chunking").save(path)
    lines = [[" ".join(row) for row in rows] for rows in rows_without_labels("chunking", 6)]
    parsed, wapiti = crfkit.compat.CRFPP.Model(f"-m {path} -n 2 -v 1"), crfkit.compat.wapiti.Model(model=str(path))
    packed = [crfkit.compat.pycrfsuite.ItemSequence(rows) for rows in data]

    def in_turn():
        own = crfkit.compat.pycrfsuite.Tagger()
        own.open_inmemory(content)
        found = []
        for rows in data:
            own.set(rows)
            found.append((own.tag(), own.probability(own.tag()), own.marginal(own.labels()[0], 0)))
        own.close()
        return found

    def as_crfpp():
        own = parsed.createTagger()
        return [own.parse("\n".join(rows) + "\n") for rows in lines]

    check(
        lambda: [tagger.tag(rows) for rows in data],
        lambda: [tagger.tag(rows) for rows in packed],
        lambda: [crfkit.compat.pycrfsuite.ItemSequence(rows).items() for rows in data],
        in_turn,
        as_crfpp,
        lambda: [wapiti.label_sequence("\n".join(rows)) for rows in lines],
        rounds=4,
    )


def test_sentences_that_are_kept():
    """Each is read into rows that are used again, by one thread at a time."""
    data = [[{f"{name}{k}{size}": k + size / 3 for k in range(size)} for size in range(9)] for name in "abcdefgh"]

    def kept(rows):
        return [number for number in range(2000) if read_sentence(rows).attributes(True) != rows]

    assert together(*(functools.partial(kept, rows) for rows in data)) == [[]] * len(data)


def test_sequences_that_are_appended():
    """To one trainer's data, which are divided and given back meanwhile: each sequence is there once, and whole."""
    begun = threading.Barrier(THREADS + 1)
    groups, rounds = Groups(), 1000

    def append(number):
        given = [([{f"a{number}": 1, f"b{k}": 2.5}, {f"c{number}": k + 2, "d": 1}], [f"X{number}", f"Y{k}"]) for k in range(rounds)]
        begun.wait()
        for one, labels in given:
            groups.add(one, labels, number)

    def divide():
        begun.wait()
        for _ in range(20):
            data, _, names, _ = groups.divided(-1)
            assert len(names) >= data.n_u
            groups.give_back(data)

    together(*(functools.partial(append, number) for number in range(THREADS)), divide)
    found = sorted(map(repr, appended(groups)))
    assert found == sorted(
        repr(([b"X%d" % number, b"Y%d" % k], [[(b"a%d" % number, 1.0), (b"b%d" % k, 2.5)], [(b"c%d" % number, k + 2.0), (b"d", 1.0)]]))
        for number in range(THREADS) for k in range(rounds)
    )
    assert sorted(groups.groups) == sorted(list(range(THREADS)) * rounds)


def test_nothing_is_said_of_a_lock_that_is_turned_on():
    """An interpreter without a lock turns it on for the first compiled module that does not say that it needs none, and warns."""
    program = """
import sys
from importlib.machinery import ExtensionFileLoader
from warnings import warn

locked, exec_module = [], ExtensionFileLoader.exec_module

def executed(self, module):
    if module.__name__.startswith("crfkit.") and not locked:
        locked.append(module.__name__)
        warn(f"The global interpreter lock (GIL) has been enabled to load module '{module.__name__}', which has not declared", RuntimeWarning)
    exec_module(self, module)

ExtensionFileLoader.exec_module, sys._is_gil_enabled = executed, lambda: bool(locked)
import crfkit.tagging
print(locked)
"""
    assert python(program, flags=("-W", "error")).stdout == "['crfkit.threads']\n"


def test_lines_of_shared_rows():
    rows = Rows("columns")
    (block,) = Source(io.BytesIO(b"a X\n\n" * 300), "columns")
    rows.parse(block)
    places = list(range(300))

    def lines(step):
        return [t for _ in range(100) for t in places[::step] if rows.line_of(t) != 2 * t + 1]

    assert together(*(functools.partial(lines, step) for step in (1, -1, 7, -7, 2, -2, 3, -3))) == [[]] * 8


def test_lists_that_change_while_they_are_read():
    """What is read is what stood there at some time, or the list is refused: never memory of something else."""
    names = [f"name{k}" for k in range(40)]
    item, sentence, done = list(names), [], threading.Event()
    sentence += [item, [*names], item]

    def change():
        while not done.is_set():
            del item[3:], sentence[1:]
            item.append(("pair", 2))
            item.extend(names * 5)
            sentence.extend([item, [*names]])

    def read():
        try:
            for _ in range(3000):
                try:
                    (tokens,) = filled([sentence], "crfsuite").attributes()
                except (DataError, IndexError):
                    continue
                assert {name for token in tokens for name, _ in token} <= {*map(str.encode, names), b"pair"}
        finally:
            done.set()

    together(change, change, read, read)
