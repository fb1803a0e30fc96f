"""The gap to the optimum that batch trainers report: compared with dual objectives by enumeration, and with optima found otherwise."""

import io
from itertools import pairwise
from math import fsum, inf, log
from random import Random

import pytest
from trainers.samples import with_passes
from trainers.test_owlqn import random_corpus
from trainers.twins import Built, Corpus, Sample, objective, path_features, problem, value
from trainers.twins_owlqn import sign

from crfkit import options
from crfkit.learning.learn import learn
from crfkit.learning.progress import certificate
from crfkit.trainers import trainer_class

PENALTIES = [("lbfgs", 0.0, 0.5), ("lbfgs", 0.0, 3.0), ("owlqn", 0.0, 1.0), ("owlqn", 0.3, 0.0), ("owlqn", 0.3, 0.5), ("sbcd", 0.3, 0.0), ("sbcd", 0.5, 0.7)]


def trainer_of(built, algorithm, l1, l2, initial=None, **chosen):
    if algorithm == "lbfgs":
        chosen = {"warm_up": 0, **chosen}
    else:
        chosen["l1"] = l1
    return trainer_class(algorithm)(built.dataset, built.layout, options.make(algorithm, {"l2": l2, **chosen}), initial=initial)


class Distributions:
    """Those of a model over the paths of all samples, shrunk towards the observed ones, path by path."""

    def __init__(self, corpus, weights, part=1.0):
        self.entropy, self.surplus = 0.0, dict.fromkeys(corpus.features(), 0.0)
        for sample in corpus.samples:
            p = problem(weights, sample, corpus.n_labels)
            for _, path in p.paths:
                share = part * p.probability(path) + (1 - part) * (path == sample.labels)
                self.entropy -= sample.weight * share * log(share) if share else 0.0
                for feature, v in path_features(sample, path):
                    if feature in self.surplus:
                        self.surplus[feature] += sample.weight * share * v
            for feature, v in path_features(sample, sample.labels):
                self.surplus[feature] -= sample.weight * v

    def objective(self, l1, l2):
        """The dual objective: the entropy, minus the convex conjugate of the penalty at the surplus of expected values."""
        excess = [max(abs(g) - l1, 0.0) for g in self.surplus.values()]
        if l2:
            return self.entropy - fsum(x * x for x in excess) / (2 * l2)
        return self.entropy if max(excess) < 1e-6 else -inf


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(("algorithm", "l1", "l2"), PENALTIES)
def test_the_gap_is_that_of_a_dual_point(algorithm, l1, l2, seed):
    """The best of the points looked at so far. With l1 alone, what is taken for its entropy is less than that."""
    random = Random(seed)
    corpus = random_corpus(random)
    built = Built(corpus)
    start = {feature: random.choice([0.0, 0.5, -0.25]) for feature in sorted(corpus.features(), key=str)}
    trainer = trainer_of(built, algorithm, l1, l2, built.to_cells(start), epsilon=0.0)
    best = 0.0
    for passed in range(4):
        record = trainer.run_pass() if passed else {}
        dual = Distributions(corpus, built.to_weights(trainer.weights()))
        known = dual.objective(l1, l2)
        if l1 and (most := max(map(abs, dual.surplus.values()))) > l1:
            shrunk = l1 / most * dual.entropy
            assert shrunk <= Distributions(corpus, built.to_weights(trainer.weights()), l1 / most).objective(l1, l2)
            known = max(known, shrunk)
        best = max(best, known)
    if best:
        assert record["objective"] - record["gap"] == pytest.approx(best, rel=1e-5)
    else:
        assert "gap" not in record


@pytest.mark.parametrize(("algorithm", "l1", "l2"), PENALTIES)
def test_the_bound_does_not_fall(algorithm, l1, l2):
    """Dual objectives do, from one point to the next."""
    trainer = trainer_of(Built(random_corpus(Random(3))), algorithm, l1, l2, epsilon=0.0, delta=0.0)
    records = [trainer.run_pass() for _ in range(12)]
    bounds = [record["objective"] - record["gap"] for record in records if "gap" in record]
    assert len(bounds) > 5 and all(later >= bound * (1 - 1e-12) for bound, later in pairwise(bounds))


def lowest(corpus, l1, l2, steps=400):
    """The objective that accelerated proximal gradient descent comes to (Beck & Teboulle, 2009), with backtracking, and without
    momentum wherever that leads uphill (O'Donoghue & Candes, 2015)."""
    x = dict.fromkeys(corpus.features(), 0.0)
    ahead, momentum, curvature = x, 1.0, 1.0
    for _ in range(steps):
        f, g = objective(ahead, corpus, l2)
        while True:
            new = {k: ahead[k] - g[k] / curvature for k in x}
            new = {k: sign(v) * max(abs(v) - l1 / curvature, 0.0) for k, v in new.items()}
            way = {k: new[k] - ahead[k] for k in x}
            if value(new, corpus, l2) <= f + sum(g[k] * d + curvature / 2 * d * d for k, d in way.items()) + 1e-12:
                break
            curvature *= 2
        if not any(abs(d) > 1e-6 for d in way.values()):
            break
        if sum(d * (x[k] - new[k]) for k, d in way.items()) > 0:
            momentum = 1.0
        faster = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = {k: new[k] + (momentum - 1) / faster * (new[k] - x[k]) for k in x}
        x, momentum = new, faster
    return value(new, corpus, l2, l1)


@pytest.mark.parametrize("algorithm", ["lbfgs", "owlqn"])
def test_without_a_penalty_nothing_is_known(algorithm):
    assert "gap" not in trainer_of(Built(random_corpus(Random(11))), algorithm, 0.0, 0.0).run_pass()


@pytest.mark.parametrize("algorithm", ["owlqn", "sbcd"])
def test_another_penalty_is_another_gap(algorithm):
    """Lower bounds of the old objective do not hold for the new one."""
    corpus = random_corpus(Random(11))
    trainer = with_passes(10, trainer_of(Built(corpus), algorithm, 3.0, 0.5))
    trainer.set_l1(0.1)
    record = trainer.run_pass()
    assert record["objective"] - record.get("gap", inf) <= lowest(corpus, 0.1, 0.5) * (1 + 1e-6)


@pytest.mark.parametrize(("algorithm", "l1", "l2"), PENALTIES)
def test_a_resumed_run_knows_as_much(algorithm, l1, l2):
    built = Built(random_corpus(Random(3)))
    trainer, other = (trainer_of(built, algorithm, l1, l2, epsilon=0.0) for _ in range(2))
    for _ in range(3):
        trainer.run_pass()
    other.restore(trainer.state())
    assert other.run_pass() == trainer.run_pass()
    while not trainer.converged:
        trainer.run_pass()
    ended = trainer_of(built, algorithm, l1, l2, epsilon=0.0)
    ended.restore(trainer.state())
    assert ended.run_pass() == trainer.run_pass()


@pytest.mark.parametrize(("gap", "said"), [
    (0.0, ", at most 0.0000010 % above the optimum"), (0.00205, ", at most 0.0021 % above the optimum"), (1.0, ", at most 1.1 % above the optimum"),
    (40.0, ", at most 67 % above the optimum"), (50.0, ""), (100.0, ""), (None, ""),
])
def test_the_line_on_the_gap(gap, said):
    record = {"objective": 100.0, **({} if gap is None else {"gap": gap})}
    assert certificate(record) == said


# --- values of very different sizes ---------------------------------------------------------------------------------


def badly_scaled(size, weight):
    """A bias beside values that are so many times as large; every third sequence has this weight."""
    random, samples = Random(1), []
    for _ in range(15):
        labels = random.choices(range(3), k=random.randint(2, 6))
        samples.append(Sample(labels, [[(0, 1.0), *((k, size * random.gauss(0.3 * (y == k - 1), 1)) for k in (1, 2, 3))] for y in labels], [[] for _ in labels]))
    for sample in samples[::3]:
        sample.weight = weight
    return Corpus(samples, 3, 4, u_all={0, 1, 2, 3}, tau_all=True)


@pytest.mark.parametrize(
    ("size", "weight"),
    [(1e-3, 1.0), (1.0, 1.0), (1e5, 1.0), (1000.0, 1000.0), *(pytest.param(*one, marks=pytest.mark.long) for one in ((100.0, 1.0), (1000.0, 1.0), (1.0, 1000.0)))],
)
def test_the_optimum_is_found_however_large_values_are(size, weight):
    """Compared with SciPy's optimiser on the same problem in other units."""
    optimize = pytest.importorskip("scipy.optimize")
    corpus = badly_scaled(size, weight)
    features = sorted(corpus.features())
    unit = [max(size, 1.0) if kind == "U" and a else 1.0 for kind, a, _ in features]

    def scaled(z):
        f, g = objective({k: x / u for k, x, u in zip(features, z, unit, strict=True)}, corpus, 1.0)
        return f, [g[k] / u for k, u in zip(features, unit, strict=True)]

    optimum = optimize.minimize(scaled, [0.0] * len(features), jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8}).fun
    built = Built(corpus)
    for algorithm, chosen in (("lbfgs", {}), ("lbfgs", {"warm_up": 200}), ("owlqn", {})):
        trainer = trainer_of(built, algorithm, 0.0, 1.0, **chosen)
        list(trainer.prepare())
        passes = 0
        while not trainer.converged:
            record, passes = trainer.run_pass(), passes + 1
        assert record["objective"] == pytest.approx(optimum, rel=2e-5)
        assert passes < 60


@pytest.mark.parametrize(("algorithm", "given"), [("lbfgs", {"l2": 0.1}), *(pytest.param(name, given, marks=pytest.mark.long) for name, given in (("lbfgs", {"l2": 0.1, "warm_up": 0}), ("owlqn", {"l1": 0.3, "epsilon": 1e-3})))])
def test_weights_of_sequences_cost_no_more_passes_than_copies(algorithm, given):
    """Where attributes have values; what one is like does not depend on the weights of the sequences that have it."""
    random, weighted, copied = Random(5), "", ""
    for s in range(120):
        labels = random.choices("ABC", k=random.randint(1, 4))
        rows = [f"{y}\tx{y if random.random() < 0.7 else random.choice('ABC')}:{5 * random.random():.3f}\tz{random.randrange(40)}:{3 * random.random():.3f}\n" for y in labels]
        weight = 100 if s % 10 == 3 else 1
        weighted += f"@weight:{weight}\n{''.join(rows)}\n"
        copied += f"{''.join(rows)}\n" * weight
    passes = []
    for text in (weighted, copied):
        passes.append([])
        learn(io.BytesIO(text.encode()), format="crfsuite", algorithm=algorithm, delta=0.0, progress=passes[-1].append, **given)
    assert passes[0][-1]["objective"] == pytest.approx(passes[1][-1]["objective"], rel=1e-3)
    assert len(passes[0]) < 1.5 * len(passes[1])


@pytest.mark.parametrize("given", [{"algorithm": "owlqn", "l1": 0.3}, {"algorithm": "lbfgs", "l2": 1.0, "warm_up": 0}])
def test_a_sequence_of_no_weight_changes_nothing(given):
    """Its own attribute has a value, and no curvature."""
    text = "".join(f"{y}\tx{y}:{k}\tbias\n\n" for k, y in enumerate("ABBABAAB", 1))
    objectives = []
    for more in ("", "@weight:0\nA\town:7\n\n"):
        records = []
        learn(io.BytesIO((text + more).encode()), format="crfsuite", progress=records.append, max_iter=20, **given)
        objectives.append(records[-1]["objective"])
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)
