"""Learning with lookahead: step by step against a twin that walks the whole tree, and end to end."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from trainers.samples import read, sentences, template
from trainers.twins import Built, Corpus, Sample, corpora, weighted
from trainers.twins_lookahead import Lookahead

import crfkit
from crfkit import options
from crfkit.template import Template
from crfkit.trainers.lookahead import Lookahead as Trainer


@st.composite
def histories(draw, labels=st.integers(1, 4)):
    """Corpora with attributes that look at one or two labels before; the last attribute may be that of all tokens."""
    corpus = draw(corpora(labels=labels))
    if corpus.n_b and draw(st.booleans()):
        corpus.reach = draw(st.lists(st.integers(0, 3), min_size=corpus.n_b, max_size=corpus.n_b))
        if draw(st.booleans()):
            corpus.reach.append(draw(st.integers(1, 3)))
            for sample in corpus.samples:
                for items in sample.bigrams:
                    items.append((corpus.n_b, 1.0))
            corpus.n_b += 1
    assume(corpus.features())
    return corpus


def shared(built):
    """The attribute of all tokens, if there is one."""
    corpus = built.corpus
    last = corpus.n_b - 1
    everywhere = corpus.reach is not None and all((last, 1.0) in items for s in corpus.samples for items in s.bigrams)
    once = everywhere and all([b for b, _ in items].count(last) == 1 for s in corpus.samples for items in s.bigrams)
    return [built.b_new[last]] if once and corpus.reach[last] else []


@settings(max_examples=300)
@given(histories(), st.integers(0, 4), st.sampled_from([0.0, 0.5, 2.0]), st.integers(1, 3), st.booleans(), st.data())
def test_every_pass_is_that_of_the_twin(corpus, depth, margin, passes, average, data):
    built = Built(corpus)
    start = weighted(data.draw, corpus.features())
    chosen = options.Lookahead(depth=depth, margin=margin, average=average)
    seed = data.draw(st.integers(0, 9))
    trainer = Trainer(built.dataset, built.layout, chosen, initial=built.to_cells(start), seed=seed, shared=shared(built))
    twin = Lookahead(corpus, dict(start), depth, margin)
    for _ in range(passes):
        loss = trainer.run_pass()["loss"]
        assert loss == twin.run_pass(trainer.sequence_order())
        weights = built.to_weights(trainer.weights())
        if average:
            assert weights == pytest.approx(twin.average, rel=1e-5, abs=1e-6)
        else:
            assert weights == twin.weights  # sums of fractions of two: exact
    assert trainer.decisions == twin.decisions
