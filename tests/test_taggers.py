"""What taggers answer besides labels, and how they are made, copied and held to constraints."""

import array
import copy
import io
import pickle
import re
from itertools import product
from math import exp, fsum, inf, log

import numpy
import pytest
from models import SMALL, model, names, problem, sentences, short
from trainers.twins import forward, log_sum

from crfkit import parallel, tagging
from crfkit.decode.constraints import constraints_of
from crfkit.decode.printing import Printer
from crfkit.errors import DataError, FileError, OptionError
from crfkit.model import Model
from crfkit.tagging import Tagger
from crfkit.text.reading import Source


@pytest.mark.parametrize(("corpus", "k"), SMALL)
def test_logarithms_agree_with_enumeration(corpus, k):
    trained, rows = model(corpus), short(corpus, k)
    tagger, oracle = trained.tagger(), problem(trained, rows)
    scores = [score for score, _ in oracle.paths]
    log_z = max(scores) + log(fsum(exp(score - max(scores)) for score in scores))
    assert log_sum(forward(oracle)[-1]) == pytest.approx(log_z)
    assert tagger.log_z(rows) == pytest.approx(log_z)
    for score, path in (oracle.paths[0], oracle.paths[-1]):
        assert tagger.log_probability(rows, names(trained, path)) == pytest.approx(score - log_z)
    found = tagger.nbest(rows, 5, log=True)
    assert [p for p, _ in found] == pytest.approx([score - log_z for score, _ in oracle.top(5)])
    assert [labels for _, labels in found] == [labels for _, labels in tagger.nbest(rows, 5)]


def test_logarithms_of_a_thousand_tokens():
    """Where probabilities are too small for a float."""
    trained = model("segmentation")
    tagger = trained.tagger()
    rows = [row[:-1] for sentence in sentences("segmentation", "train") for row in sentence][:1000]
    assert len(rows) == 1000
    oracle = problem(trained, rows)
    log_z = log_sum(forward(oracle)[-1])  # too long to enumerate
    labels = tagger.tag(rows)
    worse = ["S" if label == "B" else label for label in labels]
    assert tagger.log_z(rows) == pytest.approx(log_z, rel=1e-12)
    for some in (labels, worse):
        expected = oracle.score([trained.labels.index(label) for label in some]) - log_z
        assert tagger.log_probability(rows, some) == pytest.approx(expected, rel=1e-9)
    assert tagger.probability(rows, worse) == 0.0
    (first, best), (second, _) = tagger.nbest(rows, 2, log=True)
    assert best == labels and first > second and first == pytest.approx(tagger.log_probability(rows, labels))
    assert tagger.log_probability(rows[:2], ["B", "B"], allowed=["S", "S"]) == -inf


@pytest.mark.parametrize("corpus", ["chunking", "reals"])
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_many_sentences_at_once(monkeypatch, corpus, threads):
    monkeypatch.setattr(tagging, "TOKENS_AT_ONCE", 60)
    tagger = model(corpus).tagger()
    if corpus == "reals":
        some = [[{"a": 1.0, "b": 2}], [], [["a", "c"], [("a", 0.5)]], []]
    else:
        some = [[], *([row[:-1] for row in sentence] for sentence in sentences("chunking")[:20]), []]
    for posterior in (False, True):
        assert tagger.tag_many(iter(some), threads, posterior=posterior) == [tagger.tag(rows, posterior=posterior) for rows in some]
    assert tagger.nbest_many(iter(some), 3, threads) == [tagger.nbest(rows, 3) for rows in some]
    assert tagger.nbest_many(some, 2, threads, log=True) == [tagger.nbest(rows, 2, log=True) for rows in some]
    for found, rows in zip(tagger.marginals_many(some, threads), some, strict=True):
        assert numpy.array_equal(found, tagger.marginals(rows))
    assert tagger.marginals_many(some, threads, named=True) == [tagger.marginals(rows, named=True) for rows in some]


@pytest.fixture
def handed_over(monkeypatch):
    """The sentences (first, behind the last) that threads are given together, for each question asked."""
    given = []

    def record(work, items, threads):
        given.append(list(items))
        return map(work, given[-1])

    monkeypatch.setattr(tagging, "in_order", record)
    return given


@pytest.mark.parametrize(("lengths", "pieces"), [
    ([1] * 1000, [(0, 1000)]),
    ([2] * 3000, [(0, 750), (750, 1500), (1500, 2250), (2250, 3000)]),
    ([4000] * 3, [(0, 1), (1, 2), (2, 3)]),
    ([1] * 900 + [1000] * 5, [(0, 901), (901, 903), (903, 905)]),  # as where data are sorted by length
    ([0] * 2000 + [1499, 0, 1, 0], [(0, 2003), (2003, 2004)]),
    ([0] * 2000, [(0, 2000)]),
    ([], []),
])
def test_threads_are_given_about_as_many_tokens(handed_over, lengths, pieces):
    """Short sentences are not handed over one by one, nor do long ones wait for each other."""
    tagger = model("chunking").tagger()
    rows = [[["a", "DT"]] * n for n in lengths]
    assert list(map(len, tagger.tag_many(rows))) == list(map(len, tagger.marginals_many(rows))) == lengths
    assert len(tagger.nbest_many(rows, 1)) == len(lengths)
    assert handed_over == [pieces] * 3


def test_threads_are_given_fewer_sentences_of_which_many_labellings_are_asked_for(handed_over):
    """A thousand of them take a hundred times as long as one."""
    tagger = model("chunking").tagger()
    rows = [[["a", "DT"]] * 10] * 32
    asked = [1, 10, 100, 2000]
    for n in asked:
        assert len(tagger.nbest_many(rows, n)) == len(rows)
    assert [len(pieces) for pieces in handed_over] == [1, 3, 16, 32]


def test_processors_are_counted_where_several_threads_would_have_work(monkeypatch):
    counted = []
    monkeypatch.setattr(parallel, "available_cpus", lambda: counted.append(1) or 2)
    tagger, rows = model("chunking").tagger(), [["a", "DT"]]
    for some, times in ([rows], 0), ([rows] * 9, 0), ([rows] * 5000, 1):
        for ask in (tagger.tag_many, tagger.marginals_many, lambda some: tagger.nbest_many(some, 1)):
            counted.clear()
            assert len(ask(some)) == len(some)
            assert len(counted) == times


class Lowering(Tagger):
    def tag(self, rows, **options):
        return self.tag_many([[[cell.lower() for cell in row] for row in rows]], **options)[0]


def test_one_of_many():
    tagger, own, rows = model("chunking").tagger(), Lowering(model("chunking")), short("chunking", 0)
    for posterior in (False, True):
        assert tagger.tag_many(iter([iter(rows)]), posterior=posterior) == [tagger.tag(rows, posterior=posterior)]
        lowered = [[cell.lower() for cell in row] for row in rows]
        assert own.tag(rows, posterior=posterior) == tagger.tag(lowered, posterior=posterior)
    for ask in (tagger.tag_many, tagger.marginals_many, lambda some: tagger.nbest_many(some, 2)):
        with pytest.raises(DataError, match=r"^sentence 1, token 2: found int 1, expected a str$"):
            ask([[["a", "DT"], ["b", 1]]])


def test_an_error_says_which_of_many_sentences():
    tagger = model("chunking").tagger()
    for ask in (tagger.tag_many, tagger.marginals_many, lambda some: tagger.nbest_many(some, 2)):
        with pytest.raises(DataError, match=r"^sentence 3, token 2: found int 1, expected a str$"):
            ask([[["a", "DT"]], [], [["a", "DT"], ["b", 1]]])


def test_marginals_by_name():
    tagger, rows = model("chunking").tagger(), short("chunking", 0)
    array, named = tagger.marginals(rows), tagger.marginals(rows, named=True)
    assert [list(row) for row in named] == [tagger.labels] * len(rows)
    assert numpy.array_equal([list(row.values()) for row in named], array)


def test_a_model_makes_its_tagger_and_both_tell_what_they_are():
    trained = model("chunking")
    rows = short("chunking", 0)
    assert trained.tagger("bio").tag(rows) == Tagger(trained, "bio").tag(rows)
    assert Tagger(trained.tagger()).model is trained
    assert re.fullmatch(r"<Model model: lbfgs, \d+ labels, [\d,]+ features>", repr(trained))
    assert re.fullmatch(r"<Tagger model: lbfgs, \d+ labels, constraints bio>", repr(trained.tagger("bio")))
    for wrong in ("m.model", None, 3):
        with pytest.raises(OptionError, match=r"^model: found .*, expected a Model; crfkit.load opens a file and returns a Tagger or a Parser$"):
            Tagger(wrong)


def test_changing_returned_lists_does_not_change_the_tagger():
    trained = model("chunking")
    tagger, rows = trained.tagger(), short("chunking", 0)
    before, data = tagger.marginals(rows), trained.to_bytes()
    for owner in (trained, tagger):
        owner.labels.append("x")
        owner.header["labels"].clear()
        owner.header["options"]["l2"] = 1e9
        owner.header["algorithm"] = "perceptron"
    with pytest.raises(TypeError):
        trained.weights[0] = 1e9
    assert numpy.array_equal(tagger.marginals(rows), before) and numpy.array_equal(trained.tagger().marginals(rows), before)
    assert trained.to_bytes() == data


def test_changing_the_sections_that_a_model_was_made_of_does_not_change_it():
    """Numbers that were checked are read without looking again."""
    trained, rows = model("chunking"), short("chunking", 0)
    arrays = {name: array.array(memoryview(values).format, values) for name, values in trained.sections.items()}
    copied = Model(trained.header, arrays)
    assert copied.to_bytes() == trained.to_bytes()
    for values in arrays.values():
        memoryview(values).cast("B")[:] = b"\x7f" * memoryview(values).nbytes
    assert copied.tagger().tag(rows) == trained.tagger().tag(rows)
    assert Model(trained.header, {name: bytes(values) for name, values in trained.sections.items()}).tagger().tag(rows) == copied.tagger().tag(rows)
    for shared in (trained, trained.quantised("int8"), copied):
        with pytest.raises(TypeError, match="read-only memory"):
            memoryview(shared.sections["layout.u_ptr"])[1] = 1 << 40


class OwnModel(Model):
    pass


class OwnTagger(Tagger):
    pass


def test_copies_keep_the_class_and_what_it_adds():
    made = OwnModel(model("chunking").header, model("chunking").sections, "mine")
    made.note = ["kept"]
    tagger = OwnTagger(made, "bio")
    tagger.threshold = 0.5
    rows = short("chunking", 0)
    for again in (pickle.loads(pickle.dumps(tagger)), copy.copy(tagger), copy.deepcopy(tagger)):
        assert (type(again), again.threshold, type(again.model), again.model.note, again.model.name) == (OwnTagger, 0.5, OwnModel, ["kept"], "mine")
        assert again.nbest(rows, 3) == tagger.nbest(rows, 3)


def test_constraints_are_kept_and_not_read_again(tmp_path):
    trained, rows = model("segmentation"), short("segmentation", 3)
    text = "B E\nE S\nS S\nS B\nE B\n"
    pairs = [tuple(line.split()) for line in text.split("\n") if line]
    (tmp_path / "pairs").write_text(text)
    tagger = Tagger(trained, "pairs")
    expected = tagger.tag(rows)
    (tmp_path / "pairs").write_text("S S\n")
    assert copy.deepcopy(tagger).tag(rows) == expected
    (tmp_path / "pairs").unlink()
    for same in (pickle.loads(pickle.dumps(tagger)), copy.copy(tagger), Tagger(trained, text), Tagger(trained, pairs), Tagger(trained, iter(pairs))):
        assert same.tag(rows) == expected
        assert (same.constraints.transitions, same.constraints.starts) == (tagger.constraints.transitions, tagger.constraints.starts)
    assert {tuple(expected[t : t + 2]) for t in range(len(expected) - 1)} <= set(pairs)


@pytest.mark.parametrize(("limits", "message"), [
    (3, "constraints: found 3, expected a scheme (bio, iob1, "),
    (b"bio", "constraints: found b'bio', expected a scheme"),
    ([("B", "X")], "constraints: pair 1: the model has no label 'X'"),
    ([("B", "E"), ("B",)], "constraints: pair 2: found ('B',), expected two labels"),
    (["BE"], "constraints: pair 1: found 'BE', expected two labels"),
    ([("B", 1)], "constraints: pair 1: found ('B', 1), expected two labels"),
    ([("<end>", "B")], "constraints: pair 1: expected LABEL LABEL"),
    ("B E\nB\n", "constraints:2: found 1 label, expected two"),
    ("IOBES", "IOBES: cannot be read: No such file or directory; expected a scheme (bio, iob1, "),
    ("-", "-: cannot be read: No such file or directory (- is standard input only where data are read); expected a scheme (bio, iob1, "),
])
def test_constraints_that_are_none(limits, message):
    with pytest.raises((DataError, FileError)) as caught:
        Tagger(model("segmentation"), limits)
    assert str(caught.value).startswith(message)


def test_constraints_belong_to_the_labels_they_were_made_for():
    limits = constraints_of("auto", model("segmentation").labels)
    assert Tagger(model("segmentation"), limits).constraints is limits
    with pytest.raises(DataError, match=r"^the constraints are on other labels than those of the model$"):
        Tagger(model("chunking"), limits)


def test_labels_of_constraints_hold_blanks_of_other_kinds():
    """As data do: only blanks and tabs stand between columns."""
    labels = ("a\u00a0b", "c\u3000d\x1c")
    assert constraints_of(f"{labels[0]}  {labels[1]} \r\n", labels).transitions == bytes([0, 1, 0, 0])


@pytest.mark.parametrize("length", [3, 1])
def test_answers_do_not_hang_on_those_before(length):
    """Whatever a sentence has been asked, before and after it was changed, it answers as one that was asked nothing."""
    tagger, rows = model("segmentation").tagger(), short("segmentation", 3)[:length]
    width = len(tagger.labels)

    def edges(sentence):
        found = numpy.empty((length - 1, width, width))
        sentence.fill_edges(found)
        return found.tolist()

    questions = [
        edges,
        lambda sentence: sentence.best_paths(3),
        lambda sentence: sentence.explain(2),
        lambda sentence: sentence.best_labels(),
        lambda sentence: sentence.best_labels(True),
        lambda sentence: sentence.marginals(),
        lambda sentence: sentence.marginal(0, 1),
        lambda sentence: sentence.log_z(),
        lambda sentence: sentence.score_of(range(length)) if length <= width else 0,
    ]
    changes = [
        lambda sentence: None,
        lambda sentence: sentence.restrict(bytes((t + j) % 3 > 0 for t in range(length) for j in range(width))),
        lambda sentence: sentence.shift(numpy.arange(length * width, dtype=float).reshape(length, width) % 5),
    ]

    def answers(change, *asked):
        sentence = tagger.decoding.new_scratch()
        sentence.read(rows)
        for question in asked[:-2]:
            question(sentence)
        change(sentence)
        return [question(sentence) for question in asked[-2:]]

    for change, first, second, third in product(changes, questions, questions, questions):
        assert answers(change, first, second, third) == [*answers(change, second, second)[:1], *answers(change, third, third)[:1]]


def test_no_label_allowed_is_said_as_such():
    tagger, rows = model("segmentation").tagger(), short("segmentation", 3)[:2]
    with pytest.raises(DataError, match=r"^allowed: entry 1 has no labels: expected one or more, or None for any label$"):
        tagger.tag(rows, allowed=[[], None])
    with pytest.raises(DataError, match=r"^allowed: entry 2: label 1: the model has no label 'Z'$"):
        tagger.tag(rows, allowed=[None, "Z"])
    with pytest.raises(DataError, match=r"^allowed: entry 1: label 2: the model has no label '\\ud800'$"):
        tagger.tag(rows, allowed=[[tagger.labels[0], "\ud800"], None])


def test_numbers_of_other_kinds_are_numbers():
    tagger, rows = model("chunking").tagger(), short("chunking", 0)
    assert tagger.tag_many([rows], numpy.int64(2)) == [tagger.tag(rows)]
    with pytest.raises(OptionError, match=r"^threads: expected a whole number of at least 0, found 2\.0$"):
        tagger.tag_many([rows], 2.0)


@pytest.mark.parametrize("verbose", [0, 1])
def test_comments_are_written_as_they_came(verbose):
    tagger = model("chunking").tagger()
    text = b"# columns = word pos\n# sent 12\nthe DT\n# #\ndog NN\n\n#  a lone line\n\n# sent 13\nit PRP\n"
    plain = text.replace(b"# sent 12\n", b"").replace(b"#  a lone line\n\n# sent 13\n", b"")

    def tagged(data, comments):
        source = Source(io.BytesIO(data), comments=comments)
        return b"".join(tagger.text(source, Printer(verbose=verbose))).splitlines()

    found = tagged(text, True)
    assert {b"# sent 12", b"#  a lone line", b"# sent 13"} <= set(found)
    left = [line for line in found if line not in (b"# sent 12", b"#  a lone line", b"# sent 13")]
    assert [line for line in left if line] == [line for line in tagged(plain, False) if line]
