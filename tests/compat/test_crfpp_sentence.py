"""What CRF++'s calls from Python ask of the sentence that they hold."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import crfkit
from crfkit.compat import CRFPP
from crfkit.decode.sentence import OneSentence

QUESTIONS = ("read", "shift", "best_labels", "best_paths", "score_of", "log_z", "marginal", "fill_scores")


@pytest.fixture
def tagger(tmp_path):
    crfkit.learn([[["w", "A"], ["é", "B"], ["v", "C"], ["w", "B"]]], "U:%x[0,0]\nB\n", l2=1).save(tmp_path / "model")
    tagger = CRFPP.Tagger(f"-m {tmp_path / 'model'}")
    for word in "wévw":
        tagger.add(word)
    return tagger


def watch(tagger, kind):
    """Have it hold a sentence of this kind."""
    decoding = tagger._model.decoding
    tagger._sentence = kind(decoding.decoder, None, "columns", decoding.columns, decoding.refuse, decoding.loose)


class Asked(OneSentence):
    """Notes how many labellings are searched at once."""

    searched: list[int]

    def best_paths(self, n):
        type(self).searched.append(n)
        return super().best_paths(n)


@pytest.mark.parametrize(("nbest", "searched"), [(0, [8, 16, 32, 64]), (30, [30, 60]), (1000, [1000]), (1000000, [8, 16, 32, 64])])
def test_few_labellings_are_searched_before_they_are_asked_for(tagger, nbest, searched):
    tagger.set_nbest(nbest)
    watch(tagger, Asked)
    Asked.searched = []
    assert all(tagger.next() for _ in range(40)) and Asked.searched == searched


class Watched(OneSentence):
    """Notes for each question whether another thread could meanwhile have had the next sentence read."""

    open_to_others: dict[str, bool]

    def __getattribute__(self, name):
        if name in QUESTIONS:
            with ThreadPoolExecutor(1) as other:
                type(self).open_to_others[name] = other.submit(super().__getattribute__("label"), []).result() is not None
        return super().__getattribute__(name)


def test_threads_that_share_a_tagger_ask_one_by_one(tagger):
    """A sentence whose arrays grow must not be looked at meanwhile."""
    tagger.set_penalty(0, 0, 0.5)
    Watched.open_to_others = {}
    watch(tagger, Watched)
    assert tagger.parse() and tagger.next() and tagger.prob() <= 1 and tagger.prob(0, 0) <= 1 and tagger.Z() and tagger.alpha(0, 0)
    assert set(Watched.open_to_others) == set(QUESTIONS)
    assert not any(Watched.open_to_others.values())
