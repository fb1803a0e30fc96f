"""Decoders, scratches and printers where Python touches them: what does not fit is refused."""

import array
from functools import cache
from itertools import product
from math import exp, fsum, inf, log
from mmap import PAGESIZE
from random import Random
from types import SimpleNamespace

import numpy
import pytest
from commands import memory_promised, memory_told, plain_build
from hypothesis import given
from hypothesis import strategies as st
from inputs import filled
from models import model, sentences
from problems import thorough

from crfkit import learn
from crfkit.data.dataset import Dataset
from crfkit.decode.decoder import Decoder
from crfkit.decode.printing import Printer
from crfkit.decode.scratch import gold_labels
from crfkit.decode.sentence import OneSentence
from crfkit.errors import DataError, ModelFileError
from crfkit.features.indexing import IndexBuilder
from crfkit.learning.memory import in_use
from crfkit.template.parsing import Template
from crfkit.testing import forms_of
from crfkit.text.rows import Rows
from crfkit.trainers.base import best_labels
from crfkit.weights.layout import Layout


def decoder(name="segmentation", **options):
    trained = model(name)
    return Decoder(trained.index, trained.layout, trained.weights, trained.labels, **options)


def test_parts_that_do_not_belong_together():
    trained, other = model("segmentation"), model("chunking")
    with pytest.raises(ValueError, match="of another layout"):
        Decoder(trained.index, trained.layout, other.weights, trained.labels)
    with pytest.raises(ValueError, match="of another layout"):
        Decoder(trained.index, trained.layout, trained.weights, other.labels)
    with pytest.raises(ValueError, match="an index of another layout"):
        Decoder(other.index, trained.layout, trained.weights, trained.labels)
    with pytest.raises(ValueError, match="'B' comes twice"):
        Decoder(trained.index, trained.layout, trained.weights, ["B", "B", "M", "S"])
    with pytest.raises(ValueError, match="constraints on other labels"):
        decoder(constraints=SimpleNamespace(transitions=b"", starts=b"", ends=b""))
    with pytest.raises(TypeError):
        decoder(constraints=SimpleNamespace(transitions="x" * 16, starts=b"1234", ends=b"1234"))
    for cls in (Decoder, OneSentence):
        with pytest.raises(TypeError):
            cls()


def test_a_sentence_that_cannot_be_scored_is_none():
    """There is no room for its labels: to write them nevertheless would spoil memory."""
    trained = model("segmentation")
    damaged = array.array("f", trained.weights)
    damaged[trained.layout.cell(0, 0)] = inf
    scratch = OneSentence(Decoder(trained.index, trained.layout, damaged, trained.labels, verified=False))
    with pytest.raises(ModelFileError, match="not a finite number"):
        for rows in sentences("segmentation"):
            scratch.read([row[:-1] for row in rows])
    assert (scratch.length, scratch.best_labels(), scratch.log_z()) == (0, [], 0.0)


def test_set_up_once():
    one, trained = decoder(), model("segmentation")
    scratch = OneSentence(one)
    scratch.read([["a"]])
    scratch.__init__(decoder())
    one.__init__(one.index, one.layout, array.array("f", [0.0]), [])
    assert (scratch.length, one.labels, len(scratch.best_labels())) == (1, trained.labels, 1)


def test_weights_anywhere_in_memory():
    trained = model("segmentation")
    rows = filled([[row[:1] for row in sentence] for sentence in sentences("segmentation")])
    expected = OneSentence(decoder()).labels_of(rows, 0, len(rows))
    space = array.array("f", bytes(4 * (len(trained.weights) + 16)))
    for offset in range(16):
        moved = memoryview(space)[offset : offset + len(trained.weights)]
        moved[:] = array.array("f", trained.weights.tolist())
        other = Decoder(trained.index, trained.layout, moved, trained.labels)
        assert OneSentence(other).labels_of(rows, 0, len(rows)) == expected


@plain_build
@memory_told
@memory_promised
@pytest.mark.parametrize(("n", "pages"), [(65_528, 0), (20_001, 2 * 20_001)])
def test_tens_of_thousands_of_labels_without_pairs(n, pages):
    """Tables of all pairs would take two hundred gigabytes, or 19; even where the system gave them, none of it is touched but the padding at the end of
    each row, if there is any."""
    layout = Layout(n, False, 0, array.array("q", [0]), array.array("H"), array.array("q", [0]), array.array("H"), array.array("H"))
    bias = array.array("d", [label in (7, 9) for label in range(n)])
    before, _ = in_use()
    scratch = OneSentence(Decoder(IndexBuilder(None, crfsuite=True), layout, array.array("f"), [str(label) for label in range(n)], bias=bias))
    scratch.read([["a"], ["b"]])
    assert scratch.best_labels() == ["7", "7"]
    assert scratch.log_z() == pytest.approx(2 * log(n - 2 + 2 * exp(1)))
    learned = Layout(n, False, 0, array.array("q", [0, 1]), array.array("H", [9]), array.array("q", [0]), array.array("H"), array.array("H"))
    data = Dataset(u_ptr=[0, 1, 2], u_id=[0, 0], label=[9, 8], seq_ptr=[0, 2], n_u=1)
    assert list(best_labels(data, learned, array.array("f", [1.0]) * learned.n_cells)) == [9, 9]
    assert in_use()[0] - before < 50_000_000 + pages * PAGESIZE


def test_ranges_of_sentences():
    rows = filled([[["a"]], [], [["b"], ["c"]]])
    scratch = OneSentence(decoder())
    assert [len(labels) for labels in scratch.labels_of(rows, 0, 3)] == [1, 0, 2]
    assert scratch.labels_of(rows, 1, 1) == [] and scratch.labels_of(rows, 1, 2) == [[]]
    for first, last in ((-1, 1), (0, 4), (2, 1)):
        with pytest.raises(IndexError):
            scratch.labels_of(rows, first, last)


def test_one_sentence_at_a_time():
    scratch, rows = OneSentence(decoder()), filled([[["a"], ["b"]]])
    for sentence in (-1, 1):
        with pytest.raises(IndexError):
            scratch.score_sentence(rows, sentence)
    scratch.score_sentence(rows, 0)
    with pytest.raises(ValueError, match="flags of another sentence"):
        scratch.restrict(b"1")
    for t, j in ((-1, 0), (2, 0), (0, -1), (0, 4)):
        with pytest.raises(IndexError):
            scratch.marginal(t, j)
    with pytest.raises(ValueError, match="labels of another sentence"):
        scratch.score_of([0])
    for label in (-1, 4):
        with pytest.raises(ValueError, match=f"label {label}"):
            scratch.score_of([0, label])
    for shape in ((2, 3), (1, 4), (3, 4)):
        with pytest.raises(ValueError, match="another shape"):
            scratch.fill_nodes(numpy.empty(shape))
    for shape in ((2, 4, 4), (1, 4, 3), (1, 3, 4)):
        with pytest.raises(ValueError, match="another shape"):
            scratch.fill_edges(numpy.empty(shape))
    for nodes, steps in (((2, 3), (1, 4, 4)), ((1, 4), (1, 4, 4)), ((2, 4), (2, 4, 4)), ((2, 4), (1, 3, 4)), ((2, 4), (1, 4, 3))):
        with pytest.raises(ValueError, match="another shape"):
            scratch.fill_scores(numpy.empty(nodes), numpy.empty(steps))
    for shape in ((2, 3), (1, 4), (3, 4)):
        with pytest.raises(ValueError, match="scores of another sentence"):
            scratch.shift(numpy.zeros(shape))


def test_a_sentence_without_tokens_has_one_path():
    scratch = OneSentence(decoder())
    scratch.score_sentence(filled([[["a"]]]), 0)
    scratch.score_sentence(filled([[]]), 0)
    assert scratch.length == 0 and scratch.best_labels() == [] and scratch.best_paths(2) == [(0.0, [])]
    assert scratch.score_of([]) == 0 == scratch.log_z() and scratch.marginals() == []
    scratch.restrict(b"")
    scratch.fill_nodes(numpy.empty((0, 4)))
    scratch.fill_edges(numpy.empty((0, 4, 4)))
    scratch.fill_scores(numpy.empty((0, 4)), numpy.empty((0, 4, 4)))
    scratch.shift(numpy.empty((0, 4)))


def test_a_sentence_from_python_is_one_of_rows():
    scratch = OneSentence(decoder(), columns=1)
    scratch.score_sentence(filled([[["a"], ["b"]]]), 0)
    expected = scratch.marginals()
    scratch.read([["a"], ["b"]])
    assert scratch.marginals() == expected
    refused = []
    OneSentence(decoder(), columns=2, refuse=refused.append).read([["a"]])
    assert refused == [1]
    with pytest.raises(DataError):
        scratch.read([[3]])
    assert scratch.length == 0 and scratch.best_labels() == [] and scratch.log_z() == 0


def test_gold_labels():
    assert gold_labels(filled([[["a", "X"], ["b", "é"]], [], [["c", ""]]])) == [["X", "é"], [], [""]]


@pytest.mark.parametrize("options", [{}, {"verbose": 1}, {"nbest": 2}, {"probability": True}])
def test_printing_needs_tokens(options):
    printer, scratch = Printer(**options), OneSentence(decoder())
    assert printer.text(scratch, Rows()) == b""
    with pytest.raises(ValueError, match="an empty sentence has no scores"):
        printer.text(scratch, filled([[]]))


def test_printing_needs_lines():
    with pytest.raises(ValueError, match="have no lines"):
        Printer(cells=True).text(OneSentence(decoder()), filled([[["a"]]], "crfsuite"))


def test_layouts_that_exclude_each_other():
    for options in (
        {"verbose": 1, "probability": True},
        {"nbest": 1, "probability": True},
        {"nbest": 1, "posterior": True},
        {"verbose": 1, "separator": b"x"},
    ):
        with pytest.raises(ValueError, match="exclude each other"):
            Printer(**options)


# --- label pairs as lists -----------------------------------------------------------------------------------------

RICH = "U:%x[0,0]\nB\nB1:%x[0,0]\nB2:%x[-1,0]\n"
UNPAIRED = RICH.replace("B\n", "")  # label pairs alone are no features
ALONE = "U:%x[0,0]\n"


@cache
def with_all_features(labels, template=RICH):
    """A model of that many labels, every feature of which has a weight."""
    names = [f"l{k:02d}" for k in range(labels)]
    rows = [[[letter, name] for letter, name in zip("abba", (one, other, other, one), strict=True)] for one in names[:5] for other in names]
    return learn(rows, Template.parse(template), "sgd", features="all", passes=1, rate=0.1)


def scratches(trained, weights, **chosen):
    return [OneSentence(Decoder(trained.index, trained.layout, weights, trained.labels, recursions=kind, **chosen)) for kind in ("sparse", "dense")]


def take(scratch, rows, mask):
    scratch.score_sentence(rows, 0)
    if mask is not None:
        scratch.restrict(mask)


def everything(scratch, rows, length, mask=None, n=5):
    """All that a scratch says of a sentence: paths, and numbers; None if no path is possible."""
    labels = len(scratch.decoder.labels)
    nodes, edges = numpy.empty((length, labels)), numpy.empty((length - 1, labels, labels))
    take(scratch, rows, mask)
    try:
        log_z = scratch.log_z()
    except DataError:
        with pytest.raises(DataError):
            scratch.best_labels()
        return None
    scratch.fill_nodes(nodes)
    if length > 1:
        scratch.fill_edges(edges)
    take(scratch, rows, mask)
    return scratch.best_labels(), scratch.best_paths(n), log_z, nodes, edges


@thorough
@given(st.data())
def test_lists_say_what_matrices_and_enumeration_say(data):
    labels = data.draw(st.integers(2, 4))
    trained = with_all_features(labels, data.draw(st.sampled_from([RICH, UNPAIRED, ALONE])))
    weight = st.one_of(*[st.just(0.0)] * 3, data.draw(st.sampled_from([st.integers(-2, 2), st.floats(-5, 5, width=32), st.sampled_from([-300, -20, 9, 400])])))
    weights = array.array("f", [data.draw(weight) if w else 0.0 for w in trained.weights])
    letters = data.draw(st.lists(st.sampled_from("abz"), min_size=1, max_size=5))
    rows = filled([[[letter] for letter in letters]])
    flags = st.binary(min_size=1, max_size=1).map(lambda b: bytes([b[0] % 4 > 0]))
    mask = constraints = None
    if data.draw(st.booleans()):
        mask = b"".join(data.draw(st.lists(flags, min_size=len(letters) * labels, max_size=len(letters) * labels)))
    if data.draw(st.booleans()):
        follow = b"".join(data.draw(st.lists(flags, min_size=labels * labels, max_size=labels * labels)))
        constraints = SimpleNamespace(transitions=follow, starts=b"\1" * labels, ends=b"\1" * labels)
    lists, matrices = scratches(trained, weights, constraints=constraints)
    found, expected = everything(lists, rows, len(letters), mask), everything(matrices, rows, len(letters), mask)
    assert (found is None) == (expected is None)
    if found is None:
        return
    assert found[:2] == expected[:2]
    for ours, theirs in zip(found[2:], expected[2:], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    # by the scores of all paths
    take(matrices, rows, mask)
    scores = {path: matrices.score_of(path) for path in product(range(labels), repeat=len(letters))}
    take(lists, rows, mask)
    assert {path: lists.score_of(path) for path in scores} == scores
    top = max(scores.values())
    assert found[2] == pytest.approx(top + log(fsum(exp(score - top) for score in scores.values())), rel=1e-9, abs=1e-9)
    ranked = sorted(scores.values(), reverse=True)
    assert [score for score, _ in found[1]] == pytest.approx([score for score in ranked[:5] if score > -inf], rel=1e-12)
    shares = {path: exp(score - found[2]) for path, score in scores.items()}
    for (t, j), p in numpy.ndenumerate(found[3]):
        assert p == pytest.approx(fsum(share for path, share in shares.items() if path[t] == j), abs=1e-9)


@pytest.mark.parametrize("template", [RICH, UNPAIRED, ALONE])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5])
def test_many_labels_as_lists(share, template):
    """By itself a decoder chooses for each position; nothing tells that."""
    trained, rng = with_all_features(60, template), Random(1)
    weights = array.array("f", [rng.gauss(0, 3) if w and rng.random() < (share if k >= 64 * trained.layout.n_attributes[0] else 1) else 0.0
                                for k, w in enumerate(trained.weights)])
    lists, matrices = scratches(trained, weights)
    chosen = OneSentence(Decoder(trained.index, trained.layout, weights, trained.labels))
    for length in (1, 2, 30):
        rows = filled([[[letter] for letter in rng.choices("abz", k=length)]])
        expected = everything(matrices, rows, length)
        for scratch in (lists, chosen):
            found = everything(scratch, rows, length)
            assert found[:2] == expected[:2]
            for ours, theirs in zip(found[2:], expected[2:], strict=True):
                numpy.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def observed(n):
    """A model of 64 labels, of which few pairs are seen, weights for it, a tenth of them 0, and sentences of `n` tokens."""
    rng = Random(n)
    words = [f"w{k}" for k in range(500)]
    rows = [[[rng.choice(words), f"l{(first + k) % 64}"] for k in range(rng.randint(2, 8))] for first in rng.choices(range(64), k=300)]
    trained = learn(rows, Template.parse(RICH), "sgd", passes=1, rate=0.1)
    weights = array.array("f", [rng.choice([0.0, *9 * [rng.gauss(0, 3)]]) if w else 0.0 for w in trained.weights])
    return trained, weights, [[[rng.choice(words)] for _ in range(n)] for _ in range(5)]


@pytest.mark.parametrize("n", [1, 2, 12])
@pytest.mark.parametrize("recursions", ["auto", "sparse"])
def test_steps_that_are_changes_of_a_list(n, recursions):
    """Where an attribute is seen with few pairs, all of which are on the list of those that other steps have; some have no weight there."""
    trained, weights, sentences = observed(n)
    listed, matrices = (OneSentence(Decoder(trained.index, trained.layout, weights, trained.labels, recursions=form)) for form in (recursions, "dense"))
    seen = set()
    for sentence in sentences:
        found, expected = (everything(scratch, filled([sentence]), n, n=20) for scratch in (listed, matrices))
        seen.update(forms_of(listed))
        assert found[:2] == expected[:2]
        for ours, theirs in zip(found[2:], expected[2:], strict=True):
            numpy.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
        for scratch in (listed, matrices):
            scratch.read(sentence)
        assert listed.explain(9) == matrices.explain(9)
    assert n == 1 or "changes of a list" in seen


def test_pairs_that_are_too_many_for_a_list_to_have_them_all():
    """Each step still has few; all steps would have to go through those of the others."""
    rng = Random(1)
    rows = [[[f"w{rng.randrange(500)}", f"l{rng.randrange(64)}"] for _ in range(6)] for _ in range(300)]
    trained = learn(rows, Template.parse(RICH), "sgd", passes=1, rate=0.1)
    pairs = {feature[1:3] for feature in trained.features() if None not in feature[:2]}
    scratch = OneSentence(Decoder(trained.index, trained.layout, array.array("f", bytes(4 * len(trained.weights))), trained.labels))
    take(scratch, filled([[["w1"], ["w2"], ["w1"]]]), None)
    assert len(pairs) > 64 * 64 // 32 and set(forms_of(scratch)) == {"list"}


@pytest.mark.parametrize("label", [64, 65535])
@pytest.mark.parametrize("part", ["b_prev", "b_label"])
def test_features_of_labels_that_do_not_exist(part, label):
    """Sentences without them are labelled as before, in a model that nobody has verified; that their pairs have no place on a list is found out."""
    trained, weights, _ = observed(2)
    parts = {name: trained.sections[f"layout.{name}"] for name in ("u_ptr", "u_label", "b_ptr", "b_prev", "b_label")}
    parts[part] = array.array("H", parts[part])
    parts[part][-1] = label
    damaged = Layout(64, True, trained.layout.hot, *parts.values(), verify=False)
    whole, scratch = (OneSentence(Decoder(trained.index, layout, weights, trained.labels, verified=False)) for layout in (trained.layout, damaged))
    refused, seen = 0, set()
    for rows in (filled([[[f"w{k}"], [f"w{k}"]]]) for k in range(500)):
        whole.score_sentence(rows, 0)
        try:
            scratch.score_sentence(rows, 0)
        except ModelFileError:
            refused += 1
        else:
            assert scratch.best_paths(9) == whole.best_paths(9)
            assert "changes of a list" not in forms_of(scratch)
            seen.update(forms_of(whole))
    assert 0 < refused < 9 and "changes of a list" in seen
