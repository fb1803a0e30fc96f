"""Decoders, scratches and printers where Python touches them: what does not fit is refused."""

import array
from types import SimpleNamespace

import numpy
import pytest
from models import model, sentences

from crfkit.core.columns import Rows
from crfkit.core.decoder import Decoder, Scratch, gold_labels
from crfkit.core.printing import Printer
from crfkit.errors import DataError


def decoder(name="segmentation", **options):
    trained = model(name)
    return Decoder(trained.index, trained.layout, trained.weights, trained.labels, **options)


def filled(texts):
    rows = Rows()
    rows.fill(texts)
    return rows


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
    for cls in (Decoder, Scratch):
        with pytest.raises(TypeError):
            cls()


def test_set_up_once():
    one = decoder()
    scratch = Scratch(one)
    with pytest.raises(TypeError, match="once"):
        scratch.__init__(one)
    with pytest.raises(TypeError, match="once"):
        one.__init__(one.index, one.layout, model("segmentation").weights, one.labels)


def test_weights_anywhere_in_memory():
    trained = model("segmentation")
    rows = filled([[row[:1] for row in sentence] for sentence in sentences("segmentation")])
    expected = Scratch(decoder()).labels_of(rows, 0, len(rows))
    space = array.array("f", bytes(4 * (len(trained.weights) + 16)))
    for offset in range(16):
        moved = memoryview(space)[offset : offset + len(trained.weights)]
        moved[:] = array.array("f", trained.weights.tolist())
        other = Decoder(trained.index, trained.layout, moved, trained.labels)
        assert Scratch(other).labels_of(rows, 0, len(rows)) == expected


def test_ranges_of_sentences():
    rows = filled([[["a"]], [], [["b"], ["c"]]])
    scratch = Scratch(decoder())
    assert [len(labels) for labels in scratch.labels_of(rows, 0, 3)] == [1, 0, 2]
    assert scratch.labels_of(rows, 1, 1) == [] and scratch.labels_of(rows, 1, 2) == [[]]
    for first, last in ((-1, 1), (0, 4), (2, 1)):
        with pytest.raises(IndexError):
            scratch.labels_of(rows, first, last)


def test_one_sentence_at_a_time():
    scratch, rows = Scratch(decoder()), filled([[["a"], ["b"]]])
    for texts in ([], [[]], [[["a"]], [["b"]]]):
        with pytest.raises(ValueError, match="rows of one sentence"):
            scratch.take(filled(texts))
    with pytest.raises(ValueError, match="flags of another sentence"):
        scratch.take(rows, b"1")
    scratch.take(rows)
    with pytest.raises(DataError, match="found 1 labels, expected 2"):
        scratch.score_of([0])
    for label in (-1, 4):
        with pytest.raises(ValueError, match=f"label {label}"):
            scratch.score_of([0, label])
    scratch.log_z(rows)
    for shape in ((2, 3), (1, 4), (3, 4)):
        with pytest.raises(ValueError, match="another shape"):
            scratch.fill_nodes(numpy.empty(shape))
    for shape in ((2, 4, 4), (1, 4, 3), (1, 3, 4)):
        with pytest.raises(ValueError, match="another shape"):
            scratch.fill_edges(numpy.empty(shape))


def test_gold_labels():
    assert gold_labels(filled([[["a", "X"], ["b", "é"]], [], [["c", ""]]])) == [["X", "é"], [], [""]]


@pytest.mark.parametrize("options", [{}, {"verbose": 1}, {"nbest": 2}, {"probability": True}])
def test_printing_needs_tokens(options):
    printer, scratch = Printer(**options), Scratch(decoder())
    assert printer.text(scratch, Rows()) == b""
    if options:
        with pytest.raises(ValueError, match="an empty sentence has no scores"):
            printer.text(scratch, filled([[]]))


def test_layouts_that_exclude_each_other():
    for options in (
        {"verbose": 1, "probability": True},
        {"nbest": 1, "probability": True},
        {"nbest": 1, "posterior": True},
        {"verbose": 1, "separator": b"x"},
    ):
        with pytest.raises(ValueError, match="exclude each other"):
            Printer(**options)
