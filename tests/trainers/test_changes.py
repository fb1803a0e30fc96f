"""Steps with rich attributes as changes of the matrix that all steps share: to the last bit what matrices of their own give."""

from __future__ import annotations

from array import array
from random import Random

import pytest
from inputs import filled
from trainers.twins import Built, Corpus, Sample

import crfkit
from crfkit import options
from crfkit.decode.decoder import Decoder
from crfkit.decode.sentence import OneSentence
from crfkit.errors import ModelFileError
from crfkit.model import Model
from crfkit.tagging import Tagger
from crfkit.testing import change_steps, forms_of, value_at
from crfkit.trainers.batch.objective import Objective

RULES = "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB0:%x[0,0]\nB1:%x[0,0]/%x[1,0]\nB2:%x[-1,0]\n"  # two attributes may have the same pair
RNG = Random(3)


def made(n: int) -> list[list[list[str]]]:
    """Sentences whose labels depend on the letter, the label before, and chance."""
    rows = []
    for _ in range(n):
        letters = RNG.choices("abcdefg", k=RNG.randint(1, 9))
        rows.append([[letter, f"{letter if RNG.random() < 0.7 else 'x'}{k % 2}"] for k, letter in enumerate(letters)])
    return rows


TRAIN, TEXT = made(60), made(15)


@pytest.fixture
def both():
    """A function that says what another one returns with matrices, and with changes."""
    before = change_steps(1 << 40, 1)

    def run(work):
        found = []
        for labels in (1 << 40, 1):
            change_steps(labels, 1)
            found.append(work())
        return found

    yield run
    change_steps(*before)


BATCH = ("lbfgs", "owlqn", "sbcd")
GIVEN = [(name, more) for name in options.TRAINERS for more in ({}, {"features": "all"}, *([{"threads": 2}] if name in BATCH else []))]


@pytest.mark.parametrize(("algorithm", "more"), GIVEN)
def test_training(both, algorithm, more):
    given = {"max_iter": 6} if algorithm in BATCH else {"passes": 3}
    matrices, changes = both(lambda: list(crfkit.learn(TRAIN, RULES, algorithm, **given, **more).features()))
    assert matrices == changes
    assert any(weight for *_, weight in matrices)


@pytest.mark.parametrize("spread", [1.0, 400.0])
def test_gradients(both, spread):
    """Of weights so far apart, too, that potentials are out of range, and the sums are those of logarithms."""
    rng, samples = Random(4), []
    for length in range(1, 30):
        tokens = range(length)
        rich = [[(rng.randrange(4), 1.0), (rng.randrange(4), 1.0)] for _ in tokens]
        samples.append(Sample([rng.randrange(3) for _ in tokens], [[(rng.randrange(2), 1.0)] for _ in tokens], rich))
    built = Built(Corpus(samples, 3, 2, 4))
    weights = built.to_cells({feature: rng.gauss(0, spread) for feature in sorted(built.corpus.features())}, "d")
    matrices, changes = both(lambda: value_at(Objective(built.dataset, built.layout, 0.0, 1), weights))
    assert matrices == changes


@pytest.mark.parametrize("spread", [1.0, 400.0])
def test_gradients_over_lists(spread):
    """What matrices give. Steps with few features are changes of the list; others have lists, or, where all pairs may be on these, matrices."""
    rng, samples, labels = Random(5), [], 20
    for length in range(2, 40):
        tokens = range(length)
        rich = [[(2 * b + k, 1.0) for k in range(2)] for b in (rng.choice([0, 1 + rng.randrange(40)]) for _ in tokens)]
        samples.append(Sample([rng.randrange(labels) for _ in tokens], [[(rng.randrange(2), 1.0)] for _ in tokens], rich))
    built = Built(Corpus(samples, labels, 2, 82))
    weights = built.to_cells({feature: rng.gauss(0, spread) for feature in sorted(built.corpus.features())}, "d")
    (value, gradient), (of_matrices, gradient_of_matrices) = (
        value_at(Objective(built.dataset, built.layout, 0.0, 1, recursions=form), weights) for form in ("sparse", "dense"))
    assert value == pytest.approx(of_matrices, rel=1e-10)
    assert list(gradient) == pytest.approx(list(gradient_of_matrices), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(("algorithm", "given"), [("mira", {"nbest": 1}), ("mira", {"nbest": 2}), ("sapo", {"nbest": 3}), ("sapo", {"nbest": 3, "search": "beam"})])
def test_candidates(both, algorithm, given):
    matrices, changes = both(lambda: list(crfkit.learn(TRAIN, RULES, algorithm, passes=3, **given).features()))
    assert matrices == changes


def everything(tagger: Tagger) -> list[object]:
    """What a tagger says of some sentences."""
    said = []
    for sentence in TEXT:
        tokens, labels = [row[:1] for row in sentence], [row[1] for row in sentence]
        said += [tagger.tag(tokens), tagger.tag(tokens, posterior=True), tagger.nbest(tokens, 7), tagger.score(tokens, labels), tagger.explain(tokens)]
        said += [tagger.marginals(tokens).tolist(), tagger.edge_marginals(tokens).tolist()]
    return said


@pytest.mark.parametrize("constrained", [False, True])
def test_tagging(both, constrained):
    model = crfkit.learn(TRAIN, RULES, max_iter=9)
    limits = [(one, other) for one in ["<start>", *model.labels] for other in model.labels if one[0] != other[0] or one == other]
    matrices, changes = both(lambda: everything(Tagger(model, limits if constrained else None)))
    assert matrices == changes


@pytest.mark.parametrize("factor", [25, 3000])
def test_scores_that_lie_far_apart(both, factor):
    """Changes are far above all plain scores; with the greater factor, sums are those of logarithms."""
    model = crfkit.learn(TRAIN, RULES, max_iter=9)
    steep = Model(model.header, {**model.sections, "weights": array("f", [factor * weight for weight in model.weights])})

    def work():
        trained = [crfkit.learn(TRAIN, RULES, algorithm, init=steep, **given) for algorithm, given in (("lbfgs", {"max_iter": 3}), ("sgd", {"passes": 2, "rate": 0.01}))]
        return everything(Tagger(steep)), [list(model.features()) for model in trained]

    matrices, changes = both(work)
    assert matrices == changes


def test_weights_that_are_no_numbers_are_found(both):
    """When they are used: that of the last feature is one of a rich attribute."""
    trained = crfkit.learn(TRAIN, RULES, max_iter=9)
    sections = dict(trained.sections, weights=array("f", [*trained.weights[:-1], float("nan")]))

    def label_all():
        with pytest.raises(ModelFileError, match="a weight is not a finite number"):
            Tagger(Model(trained.header, sections, verify=False)).tag_many([[row[:1] for row in sentence] for sentence in TRAIN])

    both(label_all)


def test_weights_that_are_the_sums_of_two(both):
    """Their steps are always matrices."""
    model = crfkit.learn(TRAIN, RULES, max_iter=9)
    rest = array("f", [weight / 1e7 for weight in model.weights])

    def paths():
        scratch = OneSentence(Decoder(model.index, model.layout, model.weights, model.labels, rest=rest))
        for sentence in TEXT:
            scratch.score_sentence(filled([[row[:1] for row in sentence]]), 0)
            assert set(forms_of(scratch)) <= {"matrix"}
            yield scratch.best_paths(3)

    matrices, changes = both(lambda: list(paths()))
    assert matrices == changes
    scratch = OneSentence(Decoder(model.index, model.layout, model.weights, model.labels))
    scratch.score_sentence(filled([[["a"], ["b"], ["c"]]]), 0)
    assert forms_of(scratch) == ["changes", "changes"]


def test_long_sequences():
    """A matrix for each step of a hundred thousand would take a gigabyte; few labels alone are no reason for changes."""
    names = [f"L{j:02}" for j in range(24)]
    model = crfkit.learn([[["a", name], ["b", name]] for name in names], RULES, "perceptron", passes=2)
    scratch = OneSentence(Decoder(model.index, model.layout, model.weights, model.labels))
    for length, form in ((50, "matrix"), (16000, "changes")):
        scratch.score_sentence(filled([[["c"], ["b"]] * (length // 2)]), 0)
        assert set(forms_of(scratch)) == {form}


@pytest.mark.usefixtures("both")
def test_matrices_of_a_sentence_are_none_of_the_next():
    """That has fewer features at a step."""
    model = crfkit.learn(TRAIN, RULES, max_iter=9)
    decoder = Decoder(model.index, model.layout, model.weights, model.labels)

    def forms(scratch: OneSentence, sentence: list[list[str]]) -> list[str]:
        scratch.score_sentence(filled([sentence]), 0)
        return forms_of(scratch)

    cells, found = 0, {}
    while not {"matrix", "changes"} <= found.keys():
        cells += 1
        change_steps(1, cells)
        found = {form: [[x], [y]] for x in "abcdefg" for y in "abcdefg" for form in forms(OneSentence(decoder), [[x], [y]])}
    scratch = OneSentence(decoder)
    assert [forms(scratch, found[form]) for form in ("matrix", "changes")] == [["matrix"], ["changes"]]
