"""Every variant of the loops gives the same bits, whatever processor it was compiled for."""

import os
import subprocess
import sys
import tempfile

import pytest
from commands import python

PROGRAM = """
import hashlib, random
import crfkit
from crfkit import options
from crfkit.loops.kernels import variant
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template
from crfkit.testing_lattices import OpenLattice, OpenSearch

digest = hashlib.sha256()
search = OpenSearch()

def add(value):
    digest.update(repr(value).encode())  # which tells all numbers apart

for labels in (1, 7, 8, 9, 17, 33, 65):
    for length, spread, forbid in ((1, 1, 0), (2, 3, 0), (9, 3, 1), (9, 500, 0), (25, 3, 0), (25, 3, 1)):
        if labels * length > 425:
            continue
        rng = random.Random(labels * length)
        matrix = lambda rows: [[rng.gauss(0, spread) for _ in range(labels)] for _ in range(rows)]
        lattice = OpenLattice(labels)
        lattice.load(matrix(length), matrix(labels), {t: matrix(labels) for t in range(1, length, 4)})
        if forbid:
            lattice.forbid([[i == j or rng.random() < 0.8 for j in range(labels)] for i in range(labels)])
        add(lattice.viterbi())
        add(search.nbest(lattice, 4))
        add(lattice.expect())
        add([lattice.nodes(), lattice.pair_sums(), [lattice.pair(t) for t in range(1, min(length, 3))]])
        for lists in ("rows", "changes", "listed", "shared", "all"):
            lattice.use_lists(lists)
            add([lattice.viterbi(), lattice.expect(), lattice.nodes(), lattice.pair_sums()])

# short runs of all trainers
rows = [[[rng.choice("abcdef"), rng.choice("XYZ")] for _ in range(rng.randint(1, 9))] for _ in range(30)]
rules = Template.parse("U0:%x[0,0]\\nU1:%x[-1,0]/%x[0,0]\\nB\\nB1:%x[0,0]\\n")
for algorithm, kind in options.TRAINERS.items():
    chosen = {"passes": 2} if hasattr(kind, "passes") else {"max_iter": 5}
    add([weight for *_, weight in crfkit.learn(rows, rules, algorithm, **chosen, **{"l1": 0.5} if hasattr(kind, "l1") else {}).features()])

# where the label pairs with a weight are kept as lists
names = [f"l{k:03d}" for k in range(130)]
rows = [[[rng.choice("abc"), name] for name in rng.choices(names, k=8)] for _ in range(40)] + [[["a", name]] for name in names]
for algorithm, chosen in (("lbfgs", {"max_iter": 3}), ("lbfgs", {"max_iter": 3, "warm_up": 0}), ("sgd", {"passes": 1, "rate": 0.5})):
    model = crfkit.learn(rows, rules, algorithm, **chosen)
    add([weight for *_, weight in model.features()])
    tagger = Tagger(model)
    sentence = [[rng.choice("abcd")] for _ in range(9)]
    add([names.index(label) for label in tagger.tag(sentence)])
    add([[probability, *map(names.index, labels)] for probability, labels in tagger.nbest(sentence, 4)])
    add(tagger.marginals(sentence).tolist())
print(variant(), digest.hexdigest())
"""


def run(name):
    environment = {**os.environ, "CRFKIT_SIMD": name}
    # Away from the sources, which would hide an installed crfkit; fixtures of a module run before tests change folder.
    return python(PROGRAM, env=environment, cwd=tempfile.gettempdir(), code=None)


@pytest.fixture(scope="module")
def plain():
    done = run("base")
    assert done.returncode == 0, done.stderr
    name, digest = done.stdout.split()
    assert name == "base"
    return digest


@pytest.mark.parametrize("name", ["avx2", "avx512"])
def test_same_bits(name, plain):
    done = run(name)
    if done.returncode and "no such variant" in done.stderr:
        pytest.skip(f"this processor has no {name}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [name, plain]


@pytest.mark.long  # it is one of those above
def test_the_variant_chosen_by_itself(plain):
    assert run("").stdout.split()[1] == plain


def test_unknown_variant():
    done = run("mmx")
    assert done.returncode == 1
    assert "CRFKIT_SIMD=mmx: no such variant on this processor" in done.stderr
    for program in (["-m", "crfkit", "tag", "model"], ["-c", "from crfkit.programs import crf_test; crf_test()"]):
        command, environment = [sys.executable, *program], {**os.environ, "CRFKIT_SIMD": "mmx"}
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "crfkit: error: CRFKIT_SIMD=mmx: no such variant on this processor; leave it unset, or use base\n")
    assert "CRFKIT_SIMD=\\udcff: no such variant on this processor" in run("\udcff").stderr
