"""Methods and functions of compiled classes with arguments that belong to something else: an exception, whatever is given."""

import array
from functools import partial

import models
import pytest
from inputs import filled
from trainers.samples import options_of, sentences, template, trainer_of, with_passes

from crfkit.compat.wapiti.layout import LinePrinter
from crfkit.data.dataset import Dataset
from crfkit.decode.decoder import Decoder
from crfkit.decode.sentence import OneSentence
from crfkit.errors import DataError
from crfkit.features.builder import TableBuilder
from crfkit.features.indexing import IndexBuilder
from crfkit.features.strings import StringTable
from crfkit.foreign.chunks import state_lines
from crfkit.learning.corpus import read_corpus
from crfkit.learning.reader import Reader
from crfkit.options import Run
from crfkit.parser.statetables import StateTables
from crfkit.parser.trees import check_ids
from crfkit.template import dialects
from crfkit.text.block import Block, Columns
from crfkit.text.items import fill_rows
from crfkit.text.reading import CONLLU
from crfkit.text.rows import Rows
from crfkit.threads import Threads, _Work
from crfkit.trainers.base import Trainer, mistakes
from crfkit.trainers.batch.blocks import Occurrences
from crfkit.trainers.batch.dual import DualAscent
from crfkit.trainers.batch.edges import Edges
from crfkit.trainers.batch.nests import Nests, Survey, inner_first
from crfkit.trainers.batch.objective import Objective
from crfkit.trainers.batch.proximal import Proximal
from crfkit.trainers.batch.sharded import Sharded, Share
from crfkit.trainers.batch.steps import History
from crfkit.trainers.batch.visits import Visits
from crfkit.weights.evidence import Evidence
from crfkit.weights.growing import Growing
from crfkit.weights.layout import Layout
from crfkit.weights.observed import Observed
from crfkit.weights.pruning import frequent


def read(name, limit):
    return read_corpus(Reader(sentences(name, limit=limit), template(name), Run()))


SMALL, LARGE, OTHER = read("chunking", 3), read("chunking", 10), read("segmentation", 4)
ALGORITHMS = ["lbfgs", "owlqn", "sbcd", "sgd", "adf", "sapo", "perceptron", "mira", "arow", "cw", "lookahead"]
MORE_LABELS = Dataset([0, 1], [0, 0], label=[1], labels=["a", "b"])
MORE_ATTRIBUTES = Dataset([0, 1], [0, 1], [0], label=[0], labels=["a"], n_u=1)
MORE_OF_PAIRS = Dataset([0, 2], [0, 0, 0], b_ptr=[0, 0, 1], b_id=[0], label=[0, 0], labels=["a"], n_b=1)


def of_one_label():
    return Layout.build(Dataset([0, 1], [0, 0], label=[0], labels=["a"]), 1, 1, b"", b"")[0]


def as_in_a_file():
    """The small layout without the record of its features that only training needs."""
    parts = SMALL.layout.arrays()
    return Layout(SMALL.layout.labels, SMALL.layout.has_tau, SMALL.layout.hot, *(parts[name] for name in ("u_ptr", "u_label", "b_ptr", "b_prev", "b_label")))


@pytest.mark.parametrize("kind", [Objective, History, Trainer, *(type(trainer_of(name, SMALL)) for name in ALGORITHMS)])
def test_shares_of_work_are_asked_for_by_their_owner_alone(kind):
    for name in ("walk_parts", "do_parts", "take_share", "run", "work"):
        assert not hasattr(kind, name)


def test_work_without_an_owner():
    with pytest.raises(TypeError, match="without an owner"):
        Threads(1).run(_Work(), [(0, 0, 1), (0, 1, 2)])


@pytest.mark.parametrize("made", [
    lambda data, layout: Trainer(data, layout, None), lambda data, layout: mistakes(data, layout, array.array("f", [0]) * layout.n_cells), Visits, Nests, Edges,
    lambda data, layout: frequent(layout, data, 1.0), lambda data, layout: Objective(data, layout, 1.0, 1), lambda data, layout: Share(layout, 1, False).add(data),
])
def test_data_of_another_layout(made):
    for data, layout in ((LARGE.dataset, SMALL.layout), *((data, of_one_label()) for data in (MORE_LABELS, MORE_ATTRIBUTES, MORE_OF_PAIRS))):
        with pytest.raises(ValueError, match=r"another layout|^label [0-9]+ of [0-9]+$"):
            made(data, layout)


@pytest.mark.parametrize("made", [
    lambda data, layout: Trainer(data, layout, None), lambda data, layout: DualAscent(data, layout, options_of("lbfgs")), Edges,
    lambda data, layout: frequent(layout, data, 1.0), lambda data, layout: Objective(data, layout, 1.0, 1),
])
def test_a_layout_without_the_record_of_its_features(made):
    with pytest.raises(ValueError, match="not made for learning"):
        made(SMALL.dataset, as_in_a_file())


def test_an_ascent_is_set_up_as_it_is_made_and_once():
    for kind, name in ((Proximal, "owlqn"), (DualAscent, "lbfgs")):
        made, ascent = (make(SMALL.dataset, SMALL.layout, options_of(name)) for make in (kind, partial(kind.__new__, kind)))
        ascent.__init__(LARGE.dataset, LARGE.layout, options_of(name))
        assert ascent.run_pass() == made.run_pass() and ascent.weights() == made.weights()


def test_a_warm_up_that_goes_on_after_the_end():
    trainer = trainer_of("lbfgs", LARGE)
    warm_up = trainer.prepare()
    next(warm_up)
    trainer.finish()
    for records in (warm_up, trainer.prepare()):
        with pytest.raises(TypeError, match="after the end"):
            list(records)


def test_an_order_that_is_refused_leaves_the_trainer_as_it_was():
    trainer, twin = trainer_of("arow", SMALL, regularization=1.0), trainer_of("arow", SMALL, regularization=1.0)
    order = array.array("i", [2**31 - 1] * 3)
    with pytest.raises(ValueError, match="order"):
        trainer.restore({**trainer.state(), "order": order})
    assert trainer.run_pass() == twin.run_pass() and trainer.weights() == twin.weights()


def test_a_leader_of_another_kind_or_of_other_data():
    sgd = trainer_of("sgd", SMALL)
    for kind, corpus in (("adf", SMALL), ("sgd", LARGE)):
        with pytest.raises(ValueError, match="a leader of another kind, or of other data"):
            type(trainer_of(kind, SMALL))(corpus.dataset, corpus.layout, options_of(kind), leader=sgd)


def test_parts_of_several_objects_that_do_not_belong_together():
    with pytest.raises(ValueError, match="attributes"):
        Occurrences(LARGE.dataset, 1, False)
    with pytest.raises(ValueError, match="survey of another"):
        Nests(SMALL.dataset, SMALL.layout, Survey(OTHER.layout, OTHER.dataset.nesting))
    with pytest.raises(ValueError, match="objective of another layout"):
        type(trainer_of("lbfgs", SMALL))(SMALL.dataset, SMALL.layout, options_of("lbfgs"), objective=Objective(LARGE.dataset, LARGE.layout, 1.0, 1))


def test_an_objective_of_no_data_or_layout():
    for data, layout in ((None, SMALL.layout), (SMALL.dataset, None)):
        for chunks in (None, array.array("q", [0, SMALL.dataset.n_sequences])):
            with pytest.raises(TypeError, match="got NoneType"):
                Objective(data, layout, 1.0, 1, chunks=chunks)


def test_an_objective_is_made_once():
    objective, sharded = Objective(SMALL.dataset, SMALL.layout, 1.0, 1), Sharded(SMALL.layout, 1.0, 1, 1, 1)
    with pytest.raises(TypeError, match="once"):
        objective.__init__(LARGE.dataset, LARGE.layout, 1.0, 1)
    with pytest.raises(TypeError, match="once"):
        sharded.__init__(LARGE.layout, 1.0, 1, 1, 1)
    with pytest.raises(TypeError, match="nobody asked"):
        sharded.add(array.array("d", [1.0]), array.array("q", [0]))


def test_a_data_set_that_still_grows():
    builder, rows = IndexBuilder(template("chunking")), Rows(label=-1)
    fill_rows(rows, sentences("chunking", limit=3), True)
    builder.add(rows)
    data = builder.dataset
    assert sum(data.counts(False)) == data.n_incidences[0] == len(data.arrays()["u_id"])
    assert data.n_tokens == rows.n_tokens and data.longest == max(rows.lengths())


def test_lines_that_lie_within_themselves():
    assert inner_first([-1, 0, 1]) == [2, 1, 0]
    for within in ([0], [1, 0], [1, 2, 1], [5], [-1, 2**40]):
        with pytest.raises(ValueError, match="within itself"):
            inner_first(within)


def test_windows_without_labels():
    class Options:
        l2, rate, alpha = 1.0, 0.1, 0.9

    for data in (Dataset([0, 1], [0, 0], labels=["a"]), Dataset([0, 1], [0, 0], label=[3], labels=["a"])):
        with pytest.raises(ValueError, match="label"):
            Growing(Options, True).borrow(data)


def test_strings_that_no_pattern_made():
    names, rows = StringTable([b"a"]), Rows()
    fill_rows(rows, [[["x", "A"]]])
    patterns = TableBuilder(dialects.parse("u:%x[0,0]\n*:%x[0,0]", dialects.WAPITI, "patterns"))
    patterns.add(rows)
    assert list(patterns.observations()) == [b"u:x", b"*:x"]
    for builder in (TableBuilder(None), patterns):
        builder.adopt(names, True)
        with pytest.raises(TypeError, match="from patterns"):
            builder.observations()


@pytest.mark.parametrize(("attribute", "key"), [(1, 0), (-1, 0), (0, -1), (0, 1 << 48)])
def test_evidence_of_other_attributes(attribute, key):
    found = Evidence(False)
    found.counts, found.parts = array.array("q", [1]), [(array.array("i", [attribute]), array.array("q", [key]))]
    with pytest.raises(ValueError, match="evidence of other attributes, or with labels that do not exist"):
        Observed((found, Evidence(True)), 1, False, b"\1")


def test_a_history_of_more_pairs_than_there_are():
    trainer = with_passes(2, trainer_of("lbfgs", SMALL, warm_up=0))
    state, before = trainer.state(), trainer.weights()
    used, room = state["used"], trainer.options.memory
    for wrong in ({"used": room + 1}, {"newest": used}, {"newest": -1}, {"used": 0, "newest": 1}, {"used": 0, "newest": -2}):
        with pytest.raises(ValueError, match="used, newest"):
            trainer.restore({**state, **wrong})
    assert trainer.weights() == before
    trainer.run_pass()


def test_tables_of_states():
    tables = StateTables(template("parsing").resolve({name: number for number, name in enumerate(CONLLU)}), 1)
    for number in (-1, 10**6):
        with pytest.raises(IndexError, match="line"):
            next(tables.entries(number))
    for row in (-1, 0, 10**6):
        with pytest.raises(IndexError, match="row"):
            tables.cells(row)


def test_a_column_that_rows_do_not_have():
    rows = filled([[["1", "a"]]])
    for column in (-1, 2, 1000):
        with pytest.raises(IndexError, match="column"):
            check_ids(rows, column)


def test_lines_of_wapiti():
    with pytest.raises(ValueError, match="nbest"):
        LinePrinter(nbest=0)
    trained = models.model("chunking")
    scratch = OneSentence(Decoder(trained.index, trained.layout, trained.weights, trained.labels))
    rows = Rows(label=9)
    rows.parse(Block(b"a b c\n\n", path="f", columns=Columns(0, None, "f", 1)))
    for options in ({"check": True}, {"force": True}):
        with pytest.raises(DataError, match="should be in column 9"):
            LinePrinter(**options).text(scratch, rows)
    items = filled([[{"a": 1.0}]], "crfsuite")
    with pytest.raises(ValueError, match="no lines"):
        LinePrinter().text(scratch, items)


def test_attributes_that_do_not_occur():
    data = Dataset([0, 1], [0, 1], [2], n_u=3)
    data.widen(5, 1)
    assert (data.n_u, data.n_b) == (5, 1) and data.counts(False).tolist() == [0, 0, 1, 0, 0]
    for n_u, n_b in ((4, 1), (5, 0), (-1, -1)):
        with pytest.raises(ValueError, match="attributes, the data have"):
            data.widen(n_u, n_b)
    with pytest.raises(AttributeError):
        data.n_u = 1


@pytest.mark.parametrize(("ptr", "label"), [
    ([0, 1], [0, 1]), ([0, 1, 3], [0, 1]), ([0, 2, 1], [0, 1]), ([-1, 1, 2], [0, 1]), ([0, 1, 2], [0]), ([0, 1, 2], [0, 2]),
])
def test_lines_of_features_that_do_not_exist(ptr, label):
    names = StringTable([b"a", b"b"])
    weights = array.array("d", [0.5, -1])
    lines = partial(state_lines, names, weight=weights, labels=[b"A", b"B"])
    assert b"".join(lines(array.array("q", [0, 1, 2]), array.array("H", [0, 1]))) == b"  (0) a --> A: 0.500000\n  (0) b --> B: -1.000000\n"
    with pytest.raises(IndexError):
        list(lines(array.array("q", ptr), array.array("H", label)))
