"""Objects are set up as they are made, and once; of data without labels and of trainers at their end an exception, whatever is asked of them."""

import array

import pytest
from trainers.samples import sentences, template

from crfkit.data.dataset import Dataset
from crfkit.data.possible import Possible
from crfkit.data.tallies import ambiguity_in
from crfkit.decode.decoder import Decoder
from crfkit.decode.lookahead import LookaheadSearch
from crfkit.decode.sentence import OneSentence
from crfkit.features.builder import TableBuilder
from crfkit.features.index import Index
from crfkit.features.walk import Extractor
from crfkit.learning.corpus import read_corpus
from crfkit.learning.reader import Reader
from crfkit.options import Run, make
from crfkit.template.patterns import Patterns
from crfkit.trainers.batch.owlqn import Owlqn
from crfkit.weights.growing import Growing
from crfkit.weights.layout import Layout, pairs_in


def chunking():
    return read_corpus(Reader(sentences("chunking", limit=10), template("chunking"), Run()))


@pytest.mark.parametrize("kind", [Decoder, Extractor, Growing, Index, Layout, LookaheadSearch, OneSentence, Patterns, Possible, TableBuilder])
def test_what_is_set_up_as_it_is_made(kind):
    with pytest.raises(TypeError, match=r"arguments?"):
        kind.__new__(kind)


def test_a_data_set_without_data():
    empty = Dataset.__new__(Dataset)
    assert empty.n_incidences == (0, 0) and empty.arrays() == Dataset().arrays()
    Dataset().extend(empty)
    empty.fill_in(True, True)
    assert empty.has_values and empty.n_tokens == 0
    one = Dataset([0, 1], [0, 0])
    one.__init__([0, 9])
    assert one.n_tokens == 1


@pytest.mark.parametrize("offsets", [([], [0]), ([0, 1], None)])
def test_a_data_set_without_offsets(offsets):
    with pytest.raises(ValueError, match="no offsets"):
        Dataset(*offsets)


@pytest.mark.parametrize("asked", [
    Dataset.label_counts, ambiguity_in, Dataset.first_label, lambda data: data.relabel(array.array("i", [0]), ["a"]),
    lambda data: Dataset().extend(data), lambda data: data.extend(Dataset()), lambda data: pairs_in(data, 2),
    lambda data: Layout.build(data, 2, 1, b"\1", b""), lambda data: Owlqn(data, chunking().layout, make("owlqn", {})),
])
def test_a_data_set_without_labels(asked):
    with pytest.raises(ValueError, match="without labels"):
        asked(Dataset([0, 2], [0, 1, 1], [0], n_u=1))


@pytest.mark.parametrize(("arrays", "numbers"), [
    (([0, -1],), {}), (([0, 1, 0],), {}), (([1, 1], [0, 0]), {}), (([0, 1], [0]), {}), (([0, 1], [0, 2], [0]), {"n_u": 1}), (([0, 1], [0, 1], [1]), {"n_u": 1}),
    (([0, 1], [0, 1], [-1]), {"n_u": 1}), (([0, 2], [0, 2, 1], [0]), {"n_u": 1}), (([0, 1], [0, 1], [0]), {"n_u": 1, "u_val": []}), (([0, 1], [0, 0]), {"label": []}),
    (([0, 1], [0, 0]), {"seq_weight": [1, 1]}), (([0, 1], [0, 0]), {"b_ptr": [0]}), (([0, 1], [0, 0]), {"b_ptr": [0, 1], "b_id": [5], "n_b": 5}), (([0, 2**40],), {}),
])
def test_arrays_that_are_no_data_set(arrays, numbers):
    with pytest.raises(ValueError):
        Dataset(*arrays, **numbers)


def test_labels_without_names():
    with pytest.raises(ValueError, match="label 1 of 1"):
        Dataset([0, 1], [0, 0], label=[1], labels=["a"]).label_counts()


def test_a_trainer_at_its_end():
    corpus = chunking()
    trainer = Owlqn(corpus.dataset, corpus.layout, make("owlqn", {"l1": 1}))
    trainer.finish()
    for asked in (lambda: trainer.set_l1(3.0), trainer.run_pass):
        with pytest.raises(TypeError, match="after the end"):
            asked()
