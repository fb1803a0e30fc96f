"""Tagger from Python: answers against enumeration, input that does not fit, threads, pickling."""

import array
import pickle
import re
from itertools import pairwise, product

import numpy
import pytest
from commands import python
from hypothesis import given
from hypothesis import strategies as st
from models import ROOT, SMALL, model, names, problem, sentences, short

import crfkit
from crfkit import CRF
from crfkit.decode.constraints import constraints_of
from crfkit.errors import CrfkitWarning, DataError, FileError, ModelFileError, UnsupportedError
from crfkit.model import Model
from crfkit.parallel import in_order
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template


@pytest.mark.parametrize(("corpus", "k"), SMALL)
def test_all_answers_agree_with_enumeration(corpus, k):
    trained, rows = model(corpus), short(corpus, k)
    tagger, oracle = Tagger(trained), problem(trained, rows)
    score, path = oracle.best()
    assert tagger.tag(rows) == names(trained, path)
    assert tagger.score(rows, names(trained, path)) == pytest.approx(score)
    best = tagger.nbest(rows, 6)
    assert [labels for _, labels in best] == [names(trained, path) for _, path in oracle.top(6)]
    assert [p for p, _ in best] == pytest.approx([oracle.probability(path) for _, path in oracle.top(6)])
    nodes = oracle.node_marginals()
    assert tagger.marginals(rows) == pytest.approx(numpy.array(nodes), abs=1e-9)
    edges = tagger.edge_marginals(rows)
    for t in range(1, len(rows)):
        assert edges[t - 1] == pytest.approx(numpy.array(oracle.pair_marginals(t)), abs=1e-9)
    worst = oracle.paths[-1][1]
    assert tagger.probability(rows, names(trained, worst)) == pytest.approx(oracle.probability(worst))
    assert tagger.tag(rows, posterior=True) == names(trained, [max(range(len(row)), key=row.__getitem__) for row in nodes])


def test_n_best_exhausts_all_labellings():
    tagger, rows = Tagger(model("segmentation")), short("segmentation", 3)[:3]
    found = tagger.nbest(rows, 1000)
    assert {tuple(labels) for _, labels in found} == set(product("BEMS", repeat=3))
    assert sum(p for p, _ in found) == pytest.approx(1)


@given(st.data())
def test_allowed_labels_are_a_condition(data):
    trained, rows = model("segmentation"), short("segmentation", data.draw(st.integers(0, 50)))
    allowed = [
        data.draw(st.one_of(st.none(), st.sampled_from("BEMS"), st.sets(st.sampled_from("BEMS"), min_size=1))) for _ in rows
    ]
    mask = [[int(choice is None or label in choice) for label in trained.labels] for choice in allowed]
    tagger, oracle = Tagger(trained), problem(trained, rows, mask)
    assert tagger.tag(rows, allowed=allowed) == names(trained, oracle.best()[1])
    assert tagger.marginals(rows, allowed=allowed) == pytest.approx(numpy.array(oracle.node_marginals()), abs=1e-9)
    edges = tagger.edge_marginals(rows, allowed=allowed)
    for t in range(1, len(rows)):
        assert edges[t - 1] == pytest.approx(numpy.array(oracle.pair_marginals(t)), abs=1e-9)
    free = tagger.tag(rows)
    expected = oracle.probability([trained.labels.index(label) for label in free])
    assert tagger.probability(rows, free, allowed=allowed) == pytest.approx(expected, abs=1e-9)


def test_constraints_forbid_what_enumeration_forbids():
    trained = model("segmentation")
    tagger = Tagger(trained, "auto")
    limits, width = constraints_of("auto", trained.labels), len(trained.labels)
    assert limits == constraints_of("iobes", trained.labels)
    transitions = [list(limits.transitions[i * width : (i + 1) * width]) for i in range(width)]
    changed = 0
    for k in range(30):
        rows = short("segmentation", k)
        ends = [[1] * width for _ in rows]
        ends[0] = [a & b for a, b in zip(ends[0], limits.starts, strict=True)]
        ends[-1] = [a & b for a, b in zip(ends[-1], limits.ends, strict=True)]
        oracle = problem(trained, rows, ends, transitions)
        assert tagger.tag(rows) == names(trained, oracle.best()[1])
        assert [labels for _, labels in tagger.nbest(rows, 5)] == [names(trained, path) for _, path in oracle.top(5)]
        assert tagger.marginals(rows) == pytest.approx(numpy.array(oracle.node_marginals()), abs=1e-9)
        voted = tagger.tag(rows, posterior=True)
        nodes = oracle.node_marginals()
        gains = {tuple(path): sum(nodes[t][j] for t, j in enumerate(path)) for _, path in oracle.paths}
        assert gains[tuple(trained.labels.index(label) for label in voted)] == pytest.approx(max(gains.values()))
        changed += tagger.tag(rows) != Tagger(trained).tag(rows)
    assert changed, "the constraints did not make a difference: the test shows nothing"


@pytest.mark.parametrize("in_file", [False, True])
def test_constraints_may_name_labels_that_a_fold_lacks(in_file, tmp_path):
    """Nothing else changes: a label that is not there does not stand at the beginning of any sentence, either."""
    X, pairs = [[["a"], ["b"]]] * 3, [("A", "A"), ("A", "C"), ("C", "B"), ("B", "B"), ("<start>", "B"), ("<start>", "C")]
    source = tmp_path / "pairs"
    source.write_text("".join(f"{before} {after}\n" for before, after in pairs))
    crf = CRF("perceptron", constraints=source if in_file else pairs).fit(X, [["A", "B"]] * 3)
    where = f"{re.escape(str(source))}:2: " if in_file else "constraints: pair 2: "
    with pytest.warns(CrfkitWarning, match=f"^{where}the model has no label 'C'$") as warned:
        assert crf.predict(X) == [["B", "B"]] * 3
    assert len(warned) == 1 and warned[0].filename == __file__
    with pytest.warns(CrfkitWarning), pytest.raises(DataError, match="the constraints leave no labels"):
        crf.set_params(constraints=[("A", "B"), ("<start>", "C")]).predict(X)
    with pytest.raises(DataError, match="the model has no label 'C'"):
        crf.model_.tagger(pairs)


def test_labels_that_are_not_allowed_get_no_votes():
    """The label z would join the likely beginning to the likely end, which never go together: it stands between them without a vote."""
    ways = [*("xxm" + 2 * other for other in "abc"), *(2 * other + "nyy" for other in "abc")]
    rows = [[str(t)] for t in range(5)]
    trained = crfkit.learn([[[*row, label] for row, label in zip(rows, way, strict=True)] for way in [*ways, "zzzzz"]], "U:%x[0,0]\nB\n", max_iter=30)
    steps = (["<start>", *way, "<end>"] for way in [*ways, "xxzyy"])
    tagger = trained.tagger([pair for way in steps for pair in pairwise(way)])
    allowed = [None, None, ["m", "n"], None, None]
    nodes = tagger.marginals(rows, allowed=allowed, named=True)
    votes = {way: sum(node[label] for node, label in zip(nodes, way, strict=True)) for way in [*ways, "xxzyy"]}
    voted = "".join(tagger.tag(rows, allowed=allowed, posterior=True))
    assert max(votes, key=votes.get) == "xxzyy" and votes[voted] == pytest.approx(max(votes[way] for way in ways))


def test_impossible_constraints():
    tagger = Tagger(model("chunking"), "bio")
    with pytest.raises(DataError, match="the constraints leave no labels"):
        tagger.tag([["a", "DT"]], allowed=["I-NP"])
    for ask in (tagger.marginals, lambda rows, **kw: tagger.nbest(rows, 2, **kw)):
        with pytest.raises(DataError, match="the constraints leave no labels"):
            ask([["a", "DT"]], allowed=["I-NP"])
    assert tagger.score([["a", "DT"]], ["I-NP"]) == float("-inf")
    assert tagger.probability([["a", "DT"]], ["I-NP"]) == 0


class TestConstraintFiles:
    def test_pairs_starts_and_ends(self, tmp_path):
        file = tmp_path / "pairs"
        file.write_text("A B\r\n\nB\tA\n<start> A\n")
        limits = constraints_of(file, ["A", "B", "C"])
        assert limits.transitions == bytes([0, 1, 0, 1, 0, 0, 0, 0, 0])
        assert (limits.starts, limits.ends) == (bytes([1, 0, 0]), bytes([1, 1, 1]))
        file.write_text("A <end>\n")
        assert constraints_of(file, ["A", "B"]).ends == bytes([1, 0])

    @pytest.mark.parametrize(("text", "message"), [
        ("A A\nA X\n", ":2: the model has no label 'X'"),
        ("A\n", ":1: found 1 label, expected two"),
        ("\n \n", ": lists no labels: expected a pair in each line, such as B-NP I-NP"),
        ("A B A\n", ":1: found 3 labels, expected two"),
        ("A <start>\n", ":1: expected LABEL LABEL, <start> LABEL or LABEL <end>"),
        ("<start> <end>\n", ":1: expected LABEL LABEL"),
    ])
    def test_faults_have_file_and_line(self, tmp_path, text, message):
        file = tmp_path / "pairs"
        file.write_text(text)
        with pytest.raises(DataError) as error:
            constraints_of(file, ["A", "B"])
        assert message in str(error.value) and str(file) in str(error.value)

    def test_constraints_by_the_name_of_a_scheme(self):
        for label in ("NN", "-LRB-", "BI-A"):
            with pytest.raises(DataError, match=f"'{label}' is not one of bio"):
                constraints_of("bio", [label])
            with pytest.raises(DataError, match=f"'{label}' is of no chunk scheme"):
                constraints_of("auto", [label, "O"])
        assert constraints_of("auto", ["B-A", "I-A", "O"]) == constraints_of("bio", ["B-A", "I-A", "O"])
        assert constraints_of("auto", ["I-A", "I-B", "B-A", "O"]) == constraints_of("iob1", ["I-A", "I-B", "B-A", "O"])
        assert constraints_of("auto", ["B-A", "L-A", "U-A", "O"]) == constraints_of("bilou", ["B-A", "L-A", "U-A", "O"])
        assert constraints_of("iob2", ["B-A", "O"]) == constraints_of("bio", ["B-A", "O"])
        bio = constraints_of("bio", ["B-A", "B-B", "I-A", "O"])
        assert bio.transitions == bytes([1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1])
        assert bio.starts == bytes([1, 1, 0, 1])


# Many sentences


def test_gold_and_predicted_labels():
    trained = model("chunking")
    path = ROOT / "data/chunking.dev.txt"
    rows = sentences("chunking", "dev")
    gold, predicted = Tagger(trained).tag_with_gold(path)
    assert gold == [[row[-1] for row in sentence] for sentence in rows]
    assert predicted == Tagger(trained).tag_many(rows)
    assert Tagger(trained).tag_with_gold(rows, threads=1) == (gold, predicted)
    assert Tagger(trained).tag_with_gold([path, path])[0] == gold + gold
    assert crfkit.evaluate(gold, predicted).f1 > 0.8
    with pytest.raises(DataError, match="found 2 columns, expected 3 as in the training data"):
        Tagger(trained).tag_with_gold([[row[:-1] for row in sentence] for sentence in rows])


def test_gold_labels_are_found_by_the_name_of_their_column(tmp_path):
    """The last column of the training data has a name, so that is where the labels are, wherever it stands."""
    rows = sentences("chunking")[:50]

    def write(columns):
        path = tmp_path / columns.replace(" ", "-")
        lines = [f"# columns = {columns}"]
        for sentence in rows:
            cells = [dict(zip(("word", "pos", "chunk", "no"), [*row, "-"], strict=True)) for row in sentence]
            lines += [" ".join(cell[name] for name in columns.split()) for cell in cells] + [""]
        path.write_text("\n".join(lines))
        return path

    train = write("word pos chunk")
    tagger = Tagger(crfkit.learn(train, Template.parse("U:%x[0,word]\nU1:%x[-1,pos]\nB"), max_iter=20))
    gold, predicted = tagger.tag_with_gold(train)
    assert gold == [[row[-1] for row in sentence] for sentence in rows]
    assert tagger.tag_with_gold(write("chunk no word pos")) == (gold, predicted)
    assert tagger.tag_with_gold(rows) == (gold, predicted)
    with pytest.raises(DataError, match="there is no column 'chunk': the columns are word pos"):
        tagger.tag_with_gold(write("word pos"))


def test_labels_that_the_model_has_never_seen_are_gold_all_the_same():
    gold, _ = Tagger(model("chunking")).tag_with_gold([[["dog", "NN", "B-XX"]]])
    assert gold == [["B-XX"]]


def test_results_in_order_and_errors_in_their_place():
    def work(n):
        if n == 5:
            raise ValueError("five")
        return n

    def broken(n=4):
        yield from range(n)
        raise ValueError("four")

    for threads in (1, 2, 3):
        assert list(in_order(lambda n: -n, range(50), threads)) == [-n for n in range(50)]
        for items, n, message in ((range(50), 5, "five"), (broken(4), 4, "four"), (broken(1), 1, "four")):
            seen = []
            with pytest.raises(ValueError, match=message):
                for result in in_order(work, items, threads):
                    seen.append(result)
            assert seen == list(range(n))


# Models


@pytest.mark.parametrize("algorithm", ["perceptron", "lookahead"])
def test_models_without_probabilities(algorithm):
    trained = model("chunking", algorithm)
    tagger, rows = Tagger(trained), short("chunking", 0)
    if algorithm == "perceptron":
        assert tagger.tag(rows) == names(trained, problem(trained, rows).best()[1])
    assert not tagger.has_probabilities
    for ask in (
        lambda: tagger.marginals(rows),
        lambda: tagger.edge_marginals(rows),
        lambda: tagger.nbest(rows, 2),
        lambda: tagger.probability(rows, tagger.tag(rows)),
        lambda: tagger.tag(rows, posterior=True),
        lambda: tagger.log_probability(rows, tagger.tag(rows)),
        lambda: tagger.log_z(rows),
    ):
        with pytest.raises(UnsupportedError, match=f"trained by {algorithm} does not have"):
            ask()


@pytest.mark.parametrize(("direction", "step"), [("forward", 1), ("backward", -1)])
def test_scores_of_models_that_look_ahead(direction, step):
    rules = "U:%x[0,0]\nU1:%x[0,1]/%y[-1]\nU2:%y[-2]\nB\n"
    learned = crfkit.learn(ROOT / "data/chunking.train.txt", template=rules, algorithm="lookahead", passes=1, direction=direction)
    weights = {(name, before, label): float(weight) for name, before, label, weight in map(str.split, learned.dump().replace(" ", "+").splitlines())}
    rows, tagger = short("chunking", 0), learned.tagger()
    for labels in product(learned.labels[3::4], repeat=len(rows)):
        order, expected = list(labels[::step]), 0.0
        lasts, others = ["#+_B-1", *order], ["_B-2+#", "_B-1+#", *(f"{label}+#" for label in order)]
        for (word, tag), label, last, other in zip(rows[::step], order, lasts, others, strict=False):
            features = [(f"U:{word}", "#"), (f"U1:{tag}/%y[-1]", last), ("U2:%y[-2]", other), ("*", last)]
            expected += sum(weights.get((*feature, label), 0) for feature in features)
        assert tagger.score(rows, labels) == pytest.approx(expected, abs=1e-5)


def test_saved_loaded_and_pickled(tmp_path):
    trained = model("chunking")
    trained.save(tmp_path / "m")
    rows = short("chunking", 0)
    expected = Tagger(trained, "bio").nbest(rows, 3)
    for tagger in (
        crfkit.load(tmp_path / "m", constraints="bio"),
        crfkit.load((tmp_path / "m").read_bytes(), constraints="bio"),
        crfkit.load(tmp_path / "m", constraints="bio", verify=False),
        pickle.loads(pickle.dumps(Tagger(trained, "bio"))),
    ):
        assert isinstance(tagger, Tagger)
        assert tagger.nbest(rows, 3) == expected
        assert tagger.labels == trained.labels
    with pytest.raises(FileError):
        crfkit.load(tmp_path / "nothing")


def test_damage_to_an_unverified_model_is_an_error_or_an_answer(tmp_path):
    """Never a crash: run in a process of its own, which would die of it."""
    model("segmentation").save(tmp_path / "m")
    program = """
import random, sys
import crfkit
from crfkit.errors import CrfkitError
data = open("m", "rb").read()
rng = random.Random(1)
rows = [["w"], ["a"], ["b"]]
answers = errors = 0
for _ in range(40):
    broken = bytearray(data)
    for _ in range(rng.choice([1, 20, 2000])):
        broken[rng.randrange(4096, len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    try:
        tagger = crfkit.load(bytes(broken), verify=False)
        answers += all(label in tagger.labels for label in tagger.tag(rows))
        tagger.nbest(rows, 3)
        tagger.tag_many([rows] * 3, threads=2)
    except CrfkitError:
        errors += 1
print(answers, errors)
"""
    answers, errors = map(int, python(program).stdout.split())
    assert answers and errors


def test_the_number_of_an_error_in_an_unverified_model_is_no_error(tmp_path):
    """Functions that return attributes return -2 for an exception; no file may make them do so. In a process of its own, as above."""
    data = [[["a", "b", "A"], ["c", "d", "B"], ["e", "f", "A"]]]
    trained = crfkit.learn(data, "U00:%x[0,0]%x[0,1]\nU01\nB", "perceptron", passes=1)
    numbers = memoryview(trained.sections["literal.u.attributes"])
    assert len(numbers) and min(numbers) >= 0
    sections = dict(trained.sections, **{"literal.u.attributes": array.array("i", [-2] * len(numbers))})
    Model(trained.header, sections, verify=False).save(tmp_path / "m")
    program = "import crfkit; tagger = crfkit.load('m', verify=False); print([tagger.tag([row]) for row in (['ab', ''], ['', 'cd'], ['ef', ''])])"
    assert python(program, cwd=tmp_path).stdout == f"{[['A']] * 3}\n"


def test_infinite_weights_are_found_when_they_are_used():
    trained = model("segmentation")
    weights = trained.weights.tolist()
    rows = short("segmentation", 0)
    for bad in (float("nan"), float("inf")):
        for cells in ([bad] * len(weights), [x if x == 0 else bad if k < 8 * 30 else x for k, x in enumerate(weights)]):
            sections = dict(trained.sections, weights=array.array("f", cells))
            with pytest.raises(ModelFileError, match="not a finite number"):
                Tagger(Model(trained.header, sections, verify=False)).tag_many([rows] * 1000)


def test_nothing_heavy_is_imported():
    code = "import sys, crfkit; print([m for m in ('numpy', 'click', 'crfkit.model', 'crfkit.learning.learn') if m in sys.modules])"
    assert python(code).stdout == "[]\n"
    assert {"load", "learn", "evaluate", "Tagger", "CrfkitError"} <= set(dir(crfkit))
    assert all(hasattr(crfkit, name) for name in dir(crfkit))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        crfkit.nothing  # noqa: B018
