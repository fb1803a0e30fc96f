"""Learning with lookahead: step by step against a twin that walks the whole tree, and end to end."""

from itertools import pairwise, product
from random import Random
from warnings import catch_warnings, simplefilter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import thorough
from trainers.twins import Built, Corpus, Sample, corpora, passes_of_both, weighted
from trainers.twins_lookahead import Lookahead

import crfkit
from crfkit.options import trainers as options
from crfkit.trainers.online.lookahead import Lookahead as Trainer

FEW_LABELS = st.integers(1, 4)


@st.composite
def histories(draw, labels=FEW_LABELS):
    """Corpora with attributes that look at one or two labels before; all tokens may have the last one, or have it twice, or some may lack it."""
    corpus = draw(corpora(labels=labels))
    if corpus.n_b and draw(st.booleans()):
        corpus.reach = draw(st.lists(st.integers(0, 3), min_size=corpus.n_b, max_size=corpus.n_b))
        if draw(st.booleans()):
            corpus.reach.append(draw(st.integers(1, 3)))
            own, gap = [(corpus.n_b, 1.0)] * draw(st.integers(1, 2)), draw(st.sampled_from([0, 3]))
            for sample in corpus.samples:
                for t, items in enumerate(sample.bigrams):
                    items += own if gap == 0 or t % gap else []
            corpus.n_b += 1
    assume(corpus.features())
    return corpus


def shared(built):
    """The last attribute, as often as tokens have it that do not lack it."""
    last, reach = built.corpus.n_b - 1, built.corpus.reach
    counts = {[b for b, _ in items].count(last) for s in built.corpus.samples for items in s.bigrams} | {0}
    return [built.b_new[last]] * max(counts) if reach is not None and reach[last] and len(counts) <= 2 else []


@thorough
@given(histories(), st.integers(0, 4), st.sampled_from([0.0, 0.5, 2.0]), st.integers(1, 3), st.booleans(), st.data())
def test_every_pass_is_that_of_the_twin(corpus, depth, margin, passes, average, data):
    built = Built(corpus)
    start = weighted(data.draw, corpus.features())
    chosen = options.Lookahead(depth=depth, margin=margin, average=average)
    seed = data.draw(st.integers(0, 9))
    trainer = Trainer(built.dataset, built.layout, chosen, initial=built.to_cells(start), seed=seed, shared=shared(built))
    twin = Lookahead(corpus, dict(start), depth, margin)
    for loss, weights, expected_loss, expected in passes_of_both(built, trainer, twin, passes, average):
        assert loss == expected_loss
        assert weights == (pytest.approx(expected, rel=1e-5, abs=1e-6) if average else expected)  # sums of fractions of two: exact
    assert trainer.decisions == twin.decisions


@settings(max_examples=12)
@given(histories(labels=st.sampled_from([9, 17])), st.integers(0, 2), st.integers(0, 9))
def test_more_labels_than_a_vector_holds(corpus, depth, seed):
    built = Built(corpus)
    trainer = Trainer(built.dataset, built.layout, options.Lookahead(depth=depth, margin=1.0, average=False), seed=seed, shared=shared(built))
    twin = Lookahead(corpus, dict.fromkeys(corpus.features(), 0.0), depth, 1.0)
    for loss, weights, *expected in passes_of_both(built, trainer, twin, 2):
        assert [loss, weights] == expected


@pytest.mark.parametrize("times", [[1], [2], [0, 1, 1]], ids=["once", "twice", "not always"])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("reach", [1, 2, 3])
def test_bounds_hold_while_weights_fall(reach, depth, times):
    """Within a long sequence the weights of an attribute of all tokens change again and again. Where one falls, that of another label before
    may not have, and it bounds the value of both. Tokens lack such an attribute with --dropout, and have it twice where a line of the template
    stands twice."""
    random = Random(reach)
    labels = [random.randrange(3) for _ in range(60)]
    corpus = Corpus([Sample(labels, [[(random.randrange(2), 1.0)] for _ in labels], [[(0, 1.0)] * n for n in times * (60 // len(times))])], 3, 2, n_b=1, reach=[reach])
    built = Built(corpus)
    trainer = Trainer(built.dataset, built.layout, options.Lookahead(depth=depth, margin=1.0, average=False), shared=shared(built))
    twin = Lookahead(corpus, dict.fromkeys(corpus.features(), 0.0), depth, 1.0)
    for loss, weights, *expected in passes_of_both(built, trainer, twin, 3):
        assert [loss, weights] == expected


@pytest.mark.parametrize("line", ["U1:%y[-1]", "T"])
def test_a_line_that_stands_twice_counts_twice_in_tagging(line):
    """With enough depth the labels found are the best of all."""
    random = Random(1)
    data = [[[random.choice("abc"), random.choice("XYZ")] for _ in range(4)] for _ in range(40)]
    tagger = crfkit.learn(data, template=f"U0:%x[0,0]\n{line}\n{line}\n", algorithm="lookahead", depth=3, passes=3, margin=1, average=False).tagger()
    for sentence in data:
        rows = [row[:1] for row in sentence]
        assert tagger.score(rows, tagger.tag(rows)) == max(tagger.score(rows, labels) for labels in product("XYZ", repeat=4))


@pytest.mark.parametrize("margin", [0.0, 5.0])
def test_once_all_is_right_by_the_margin_nothing_changes(margin):
    built = Built(Corpus([Sample([j, 2 - j], [[(j, 1.0)], [(2 - j, 1.0)]], [[], []]) for j in range(3)], 3, 3, u_all={0, 1, 2}))
    trainer = Trainer(built.dataset, built.layout, options.Lookahead(average=False, margin=margin))
    weights = None
    while weights != trainer.weights():
        weights = trainer.weights()
        loss = trainer.run_pass()["loss"]
    assert loss == 0
    most = max(map(abs, weights))
    assert most <= 2 if margin == 0 else most >= 2


def chained(stay, sequences=40, length=30, seed=3):
    """Labels of which each follows itself with its own probability; the word goes with the label at four tokens of ten."""
    random = Random(seed)
    texts = []
    for _ in range(sequences):
        label, rows = random.choice([*stay]), []
        for _ in range(length):
            word = label.lower() if random.random() < 0.4 else random.choice([*stay]).lower()
            rows.append([word, label])
            label = label if random.random() < stay[label] else random.choice([other for other in stay if other != label])
        texts.append(rows)
    return texts


def follows_itself(texts):
    """How often, on average of all labels."""
    pairs = [(before[1], after[1]) for rows in texts for before, after in pairwise(rows)]
    shares = [[after == label for before, after in pairs if before == label] for label in {before for before, _ in pairs}]
    return sum(sum(share) / len(share) for share in shares) / len(shares)


@pytest.mark.parametrize(("stay", "more", "warned"), [
    ({"A": 0.95, "B": 0.9}, {}, True),
    ({"A": 0.95, "B": 0.9}, {"sequences": 17}, False),  # too few tokens to tell it by
    ({"A": 0.95, "B": 0.9}, {"length": 1, "sequences": 1200}, False),
    ({"O": 0.97, "X": 0.3, "Y": 0.3}, {}, False),  # as names, although nearly all labels repeat the one before
    ({"A": 0.3, "B": 0.4, "C": 0.2}, {}, False),
    ({"A": 0.8, "B": 0.8, "C": 0.8}, {}, False),
])
def test_labels_that_seldom_change(stay, more, warned):
    """Where the warning is due, L-BFGS is far ahead."""
    texts = chained(stay, **more)
    with catch_warnings(record=True) as heard:
        simplefilter("always")
        model = crfkit.learn(texts, "U:%x[0,0]\nU1:%x[1,0]\nB\n", "lookahead", passes=5)
    said = [str(one.message).partition(" times")[0] for one in heard]
    if not warned:
        assert said == []
    else:
        assert said == [f"labels seldom change: each follows itself {100 * follows_itself(texts):.0f}"] and follows_itself(texts) >= 0.85
        others = chained(stay, seed=4)
        best = crfkit.learn(texts, "U:%x[0,0]\nU1:%x[1,0]\nB\n")
        assert accuracy_of(model, others) < accuracy_of(best, others) - 0.05


def accuracy_of(model, texts):
    pairs = [(label, row[1]) for rows in texts for label, row in zip(model.tagger().tag([row[:1] for row in rows]), rows, strict=True)]
    return sum(found == true for found, true in pairs) / len(pairs)


def test_nothing_is_said_where_labels_seldom_change_of_other_trainers_and_without_pairs():
    texts = chained({"A": 0.95, "B": 0.9})
    with catch_warnings():
        simplefilter("error")
        crfkit.learn(texts, "U:%x[0,0]\nB\n", "perceptron", passes=2)
        crfkit.learn(texts, "U:%x[0,0]\n", "lookahead", passes=2)
