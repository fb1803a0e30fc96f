"""Programs that call public functions in any order, with any objects in place of sentences, labels and options.

A call gives a result or one of crfkit's own errors, and afterwards every tagger answers as before. `make sanitize` runs this
with every access to memory checked.
"""

import copy
import pickle
from contextlib import contextmanager

import numpy
import pytest
from commands import limit
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from liars import liar
from models import model, sentences

import crfkit
from crfkit.errors import CrfkitError
from crfkit.options import TRAINERS

ROWS = [[row[:-1] for row in rows] for rows in sentences("chunking")[:6]]
LABELS = [[row[-1] for row in rows] for rows in sentences("chunking")[:6]]
TEMPLATE = "U:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB\n"
OPTIONS = ["l2", "min_freq", "dev", "init", "seed", "threads", "select"]


class Mine(Exception):
    """An exception of the caller's own objects, which crfkit passes on."""


class Emptied:
    """A number whose conversion empties the list, or mapping, that is being read."""

    def __init__(self, target):
        self.target = target

    def __float__(self):
        self.target.clear()
        return 1.0


def raising(items):
    yield from items
    raise Mine


def asking(items):
    """An iterator that tags other sentences between its items."""
    for item in items:
        TAGGERS["lbfgs"].tag(ROWS[1])
        yield item


def emptied_list(items):
    names = [*map(str, items), "behind"]
    names[0] = ("a", Emptied(names))
    return names


def emptied_mapping(items):
    names = dict.fromkeys(map(str, range(len(items))), 1.0)
    names["last"] = Emptied(names)
    return names


ATOMS = st.sampled_from(
    [None, True, 0, 1, -1, 2**31, 2**63, 10**400, 1.5, float("nan"), float("inf"), -1e300, 1j, "", "a", "O", "B-NP", "a\tb", "\n", "\0", "\ud800", "x" * 5000,
     "B\n", "U:%x[0,9]", "auto", b"", b"\xff", memoryview(b"ab"), object(), int, len, numpy.array(3), numpy.array([]), numpy.array([["a", "b"]]), numpy.str_("w")]
)
CONTAINERS = [
    list, tuple, iter, raising, asking, emptied_list, emptied_mapping, lambda items: liar(10**6, items), lambda items: liar(0, items),
    lambda items: {"name": items, 3: items}, lambda items: dict(enumerate(items)),
]


def containers(inner):
    return st.builds(lambda make, items: make(items), st.sampled_from(CONTAINERS), st.lists(inner, min_size=1, max_size=3))


ANYTHING = st.recursive(st.one_of(ATOMS, st.sampled_from([rows[0] for rows in ROWS])), containers, max_leaves=6)
SENTENCES = st.one_of(st.sampled_from(ROWS), st.builds(lambda make, rows: make(rows), st.sampled_from(CONTAINERS), st.sampled_from(ROWS)), ANYTHING)
SOME_LABELS = st.one_of(st.sampled_from(LABELS), ANYTHING)
COUNTS = st.one_of(st.sampled_from([1, 2, 3]), ATOMS)


def trained():
    rows = [[(row[:1], label) for row, label in zip(*both, strict=True)] for both in zip(ROWS, LABELS, strict=True)]
    items = crfkit.learn(rows, format="crfsuite", algorithm="sgd", passes=2, rate=0.1)
    columns = model("chunking")
    return {
        "lbfgs": columns.tagger(),
        "limited": columns.tagger("bio"),
        "lookahead": model("chunking", "lookahead").tagger(),
        "items": items.tagger(),
    }


TAGGERS = trained()
GOOD = {name: [[row[0]] for row in ROWS[0]] if name == "items" else ROWS[0] for name in TAGGERS}
EXPECTED = {name: tagger.tag(GOOD[name]) for name, tagger in TAGGERS.items()}


@contextmanager
def own_errors():
    """Allow only crfkit's errors, one line of bounded length each, and exceptions of the caller's own objects."""
    try:
        yield
    except CrfkitError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000
    except Mine:
        pass
    except RuntimeError as error:
        assert str(error) == "dictionary changed size during iteration"


class Programs(RuleBasedStateMachine):
    @rule(name=st.sampled_from(sorted(TAGGERS)), rows=SENTENCES, allowed=st.one_of(st.none(), SOME_LABELS), posterior=st.booleans())
    def tag(self, name, rows, allowed, posterior):
        with own_errors():
            assert set(TAGGERS[name].tag(rows, allowed=allowed, posterior=posterior)) <= set(TAGGERS[name].labels)

    @rule(name=st.sampled_from(sorted(TAGGERS)), given=st.lists(SENTENCES, max_size=3) | ANYTHING, threads=COUNTS)
    def tag_many(self, name, given, threads):
        with own_errors():
            TAGGERS[name].tag_many(given, threads)

    @rule(name=st.sampled_from(sorted(TAGGERS)), rows=SENTENCES, n=COUNTS, log=st.booleans())
    def nbest(self, name, rows, n, log):
        with own_errors():
            assert len(TAGGERS[name].nbest(rows, n, log=log)) <= n

    @rule(name=st.sampled_from(sorted(TAGGERS)), rows=SENTENCES, top=COUNTS, allowed=st.one_of(st.none(), SOME_LABELS))
    def explain(self, name, rows, top, allowed):
        with own_errors():
            assert all(len(found.reasons) <= top for found in TAGGERS[name].explain(rows, top, allowed=allowed))

    @rule(name=st.sampled_from(sorted(TAGGERS)), rows=SENTENCES, allowed=st.one_of(st.none(), SOME_LABELS))
    def marginals(self, name, rows, allowed):
        with own_errors():
            assert TAGGERS[name].marginals(rows, allowed=allowed).sum(axis=1) == pytest.approx(1)

    @rule(name=st.sampled_from(sorted(TAGGERS)), rows=SENTENCES, labels=SOME_LABELS)
    def score(self, name, rows, labels):
        with own_errors():
            TAGGERS[name].score(rows, labels)

    @rule(name=st.sampled_from(sorted(TAGGERS)), how=st.sampled_from([copy.copy, copy.deepcopy, lambda tagger: pickle.loads(pickle.dumps(tagger))]))
    def replace(self, name, how):
        TAGGERS[name] = how(TAGGERS[name])

    @rule(source=st.one_of(st.builds(lambda size: model("chunking").to_bytes()[:size], st.integers(0, 5000)), ANYTHING), limits=ANYTHING, verify=st.booleans())
    def load(self, source, limits, verify):
        with own_errors():
            crfkit.load(source, constraints=limits, verify=verify)

    @rule(gold=st.lists(SOME_LABELS, max_size=2) | ANYTHING, predicted=st.lists(SOME_LABELS, max_size=2) | ANYTHING, scheme=ATOMS, outside=ATOMS)
    def evaluate(self, gold, predicted, scheme, outside):
        with own_errors():
            crfkit.evaluate(gold, predicted, scheme, outside=outside)

    @rule(
        algorithm=st.sampled_from(sorted(TRAINERS)), template=st.sampled_from([TEMPLATE, None]), X=st.lists(SENTENCES, min_size=1, max_size=3),
        y=st.lists(SOME_LABELS, min_size=1, max_size=3), threads=COUNTS,
    )
    def fit(self, algorithm, template, X, y, threads):
        crf = crfkit.CRF(algorithm, template, threads=threads, **limit(algorithm, 2))
        with own_errors():
            crf.fit(X, y).predict(X)

    @rule(train=ANYTHING, template=ANYTHING, options=st.dictionaries(st.sampled_from(OPTIONS), ATOMS, max_size=2))
    def learn(self, train, template, options):
        with own_errors():
            crfkit.learn(train, template, max_iter=1, **options)

    @invariant()
    def answers_are_as_before(self):
        for name, tagger in TAGGERS.items():
            assert tagger.tag(GOOD[name]) == EXPECTED[name]


Programs.TestCase.settings = settings(
    deadline=None, max_examples=settings().max_examples, stateful_step_count=20, suppress_health_check=list(HealthCheck)
)
TestPrograms = pytest.mark.filterwarnings("ignore::crfkit.errors.CrfkitWarning")(Programs.TestCase)
