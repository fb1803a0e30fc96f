"""Objects that were made and never set up, and trainers that are at their end: an exception, whatever is asked of them."""

import pytest
from trainers.samples import sentences, template

from crfkit.data.dataset import Dataset
from crfkit.decode.decoder import Decoder
from crfkit.decode.sentence import OneSentence
from crfkit.features.index import Index
from crfkit.learning.corpus import read_corpus
from crfkit.learning.reader import Reader
from crfkit.options import Run, make
from crfkit.trainers.batch.owlqn import Owlqn
from crfkit.weights.growing import Growing


@pytest.mark.parametrize(
    ("kind", "name", "arguments"),
    [
        (Decoder, "label_ids", [["O"]]),
        (OneSentence, "best_labels", []),
        (Index, "attributes", []),
    ],
)
def test_objects_that_were_never_set_up_raise_type_errors(kind, name, arguments):
    with pytest.raises(TypeError, match="not set up"):
        getattr(kind.__new__(kind), name)(*arguments)


def test_growing_features_are_set_up_as_they_are_made():
    with pytest.raises(TypeError, match="arguments"):
        Growing.__new__(Growing)


def test_a_data_set_without_data():
    empty = Dataset.__new__(Dataset)
    assert empty.n_incidences == (0, 0) and not any(empty.arrays().values())


def test_a_trainer_at_its_end():
    corpus = read_corpus(Reader(sentences("chunking", limit=10), template("chunking"), Run()))
    trainer = Owlqn(corpus.dataset, corpus.layout, make("owlqn", {}))
    trainer.finish()
    for asked in (lambda: trainer.set_l1(3.0), trainer.run_pass):
        with pytest.raises(TypeError, match="after the end"):
            asked()
