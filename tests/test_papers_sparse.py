"""The scripts on sparse CRFs run, and what they count is right."""

import itertools
import json
import math
import random
import re
from pathlib import Path
from types import SimpleNamespace

import judging
import numpy as np
import pytest
import simulated
import simulated_pattern
import study
from commands import paper
from hypothesis import given
from hypothesis import strategies as st

import crfkit
from crfkit.evaluation.evaluate import Outputs


@pytest.mark.long
def test_simulated_data():
    text = Path(paper("simulated", "--quick").stdout.strip()).read_text(encoding="utf-8")
    assert all(re.search(rf"^\| M{k} \|", text, re.M) for k in range(1, 9)) and "one weight at a time" in text
    raw = Path("out/simulated.jsonl").read_bytes()
    paper("simulated", "--quick")
    assert Path("out/simulated.jsonl").read_bytes() == raw  # all of it was finished


def test_penalties_at_an_end_of_the_grid_are_counted():
    draws = [{"M1": {"l2": a}, "M2": {"l2": b}} for a, b in ((0.003, 1.0), (30.0, 0.3), (3.0, 30.0))]
    assert simulated._at_ends(draws) == "for M1 in 2 of 3 draws and for M2 in 1 of 3 draws"


NODES = {(0, None, 0), (1, None, 1), (2, None, 2), (3, None, 3), (4, None, 4), (4, None, 5)}
PAIRS = {(4, 0, 4), (4, 1, 5)}
OTHERS = [(4, "start", 4), (0, "start", 0), (4, 2, 4), (4, 3, 5), (0, 0, 4), (1, None, 0), (4, 1, 4), (4, 0, 5)]


def test_the_structure_of_the_simulation_model():
    assert simulated_pattern.structure(simulated.HMM()) == NODES | PAIRS


@pytest.mark.parametrize(
    "active, right",
    [
        (NODES | PAIRS, True),
        (NODES | PAIRS | set(OTHERS[:7]), True),
        (NODES | PAIRS | set(OTHERS), False),               # only half of what is active is structure
        (NODES | PAIRS - {(4, 1, 5)}, False),               # only half of the pairs
        (PAIRS | set(sorted(NODES, key=str)[:4]), True),
        (PAIRS | set(sorted(NODES, key=str)[:3]), False),   # only half of the nodes
        (set(), False),
    ],
)
def test_patterns_that_are_related_to_the_structure(active, right):
    assert simulated_pattern.related(active, NODES | PAIRS) == right


def test_the_verdict_on_patterns_counts_draws():
    good, bad = [list(map(list, weights)) for weights in (NODES | PAIRS | {OTHERS[2]}, NODES | {OTHERS[0]})]
    verdict = simulated_pattern.verdict(simulated.HMM(), [good, bad, good])
    assert (verdict.word, verdict.here) == ("reproduced", "in 2 of 3 draws; 6.0 of its 6 nodes and 1.3 of its 2 pairs are active on average, of 6.0 and 2.3 in all")
    assert simulated_pattern.verdict(simulated.HMM(), [good, bad]).word == "contradicted"
    assert simulated_pattern.verdict(simulated.HMM(), []).word == "not measured yet"


def test_recorded_patterns_have_as_many_weights_as_the_models_of_the_study():
    records = list(map(json.loads, (study.RESULTS / "simulated.jsonl").read_text(encoding="utf-8").splitlines()))
    models, patterns = ({(one["sentences"], one["draw"]): one["found"] for one in records if one["kind"] == kind} for kind in ("models", "pattern"))
    assert len(patterns) == simulated.DRAWS * len(simulated.SIZES)
    counts = {draw: [sum((weight[1] is None) == node for weight in found) for node in (True, False)] for draw, found in patterns.items()}
    assert counts == {draw: [found["M7"]["node"], found["M7"]["pair"]] for draw, found in models.items()}


def test_active_weights_are_those_that_are_not_zero():
    features = [("*00:4", None, "4", 1.5), ("*00:4", "0", "4", -0.1), ("*00:3", None, "4", 0.0), ("*00:3", "1", "5", 0.0), ("U09:s2", None, "2", 0.3), ("U09:s1", None, "2", 0.0)]
    assert simulated_pattern.active_weights(SimpleNamespace(features=lambda: features)) == [(4, None, 4), (4, 0, 4), (2, "start", 2)]


@pytest.mark.long
def test_real_data():
    paper("sbcd", "--quick")
    page = Path("out/sbcd.md").read_text(encoding="utf-8")
    assert "Not measured" not in page
    assert all(re.search(row, page, re.M) for row in (r"^\| lbfgs \| 2 ", r"^\| ngrams-5 \|", r"^\| mutual information, 20 \|", r"^\| threshold, 0.6 \|"))
    paper("sbcd", "--quick", "--finished-only")
    assert Path("out/sbcd.md").read_text(encoding="utf-8") == page


@pytest.mark.long
def test_without_corpora_there_is_one_line():
    said = paper("sbcd", "--work", "work", code=1).stderr
    assert "CRFKIT_CORPORA" in said and "Traceback" not in said


@given(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=12).flatmap(lambda gold: st.tuples(st.just(gold), st.permutations(gold))))
def test_chunks_are_those_of_crfkit(both):
    gold, found = map(list, both)
    counts = judging.counted(True, [gold], [found])[0]
    if gold:
        right = crfkit.evaluate([gold], [found], scheme="bio").chunks
        assert tuple(counts) == (right.gold, right.found, right.correct)


@given(st.lists(st.tuples(*[st.integers(0, 200)] * 3), min_size=1))
def test_packed_counts_come_back(counts):
    counts = np.array(counts)
    assert (judging.unpacked(json.loads(json.dumps(judging.packed(counts)))) == counts).all()


def test_chance_is_that_of_eval():
    chance = random.Random(3)
    gold = [[chance.choice("ABC") for _ in range(chance.randrange(1, 9))] for _ in range(80)]
    worse, better = ([[label if chance.random() < share else "X" for label in labels] for labels in gold] for share in (0.7, 0.78))
    for name, found in (("worse", worse), ("better", better)):
        Path(name).write_text("\n\n".join("\n".join(map(" ".join, zip(g, f, strict=True))) for g, f in zip(gold, found, strict=True)) + "\n\n")
    right = Outputs(["worse", "better"], scheme="none", keep=True).compare(0, 1).p["accuracy"]
    packed = [judging.packed(judging.counted(False, gold, found)) for found in (worse, better)]
    assert 0.001 < right < 0.5 and judging.chance(packed[:1], packed[1:]) == pytest.approx(right, abs=0.02)
    assert judging.chance(packed[:1], packed[:1]) == 1


def test_pairs_of_the_other_sign_show_nothing():
    """Four pairs differ by far more than chance, two this way and two that way: their median would look significant."""
    low, high, middle = (judging.packed(np.array([(5, 5, right)] * 200)) for right in (2, 4, 3))
    assert judging.chance([high, high, high, low], [low, low, low, high]) < 0.001
    assert judging.chance([high, high, low, low], [low, low, high, middle]) > 0.5


def test_the_hidden_markov_model():
    hmm = simulated.HMM()
    joint = hmm.joint.reshape(-1, simulated.LENGTH, simulated.LABELS)
    assert np.allclose(joint.sum(axis=(0, 2)), 1)
    x = hmm.inputs[1234]
    right = 0.0     # of the third label 4, by enumeration
    for y in itertools.product(range(simulated.LABELS), repeat=simulated.LENGTH):
        if y[2] == 4:
            steps = math.prod(hmm.step[a, b] for a, b in itertools.pairwise(y))
            right += steps / simulated.LABELS * math.prod(hmm.emit[label, symbol] for label, symbol in zip(y, x, strict=True))
    assert math.isclose(joint[1234, 2, 4], right, rel_tol=1e-9)
    assert math.isclose(hmm.error(hmm.joint.argmax(axis=2)), hmm.bayes)


@pytest.mark.long
@pytest.mark.parametrize("blockwise", [False, True])
def test_both_updates_end_where_crfkit_does(blockwise):
    draw = simulated.HMM().draw(10, 7)
    objectives = []
    model = simulated.learn(draw, simulated.MODELS["M7"][0], "sbcd", l1=1.0, l2=0.001, progress=lambda record: objectives.append(record["objective"]))
    descent = simulated.Descent(draw)
    for number in range(150 if blockwise else 40):
        descent.iterate(blockwise, number)
    assert descent.objective() == pytest.approx(objectives[-1], rel=1e-3)
    inputs = simulated.HMM().inputs[::50]
    assert (descent.best(inputs) == simulated.tag(model, inputs.tolist())).mean() > 0.95
