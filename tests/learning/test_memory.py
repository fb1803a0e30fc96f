"""Memory: sizes, the estimate against what is really used, and the limit."""

import json
import mmap
import random
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
from array import array
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import BATCH, crfkit, error, limit, memory_told, plain_build, python, write, write_part
from workers import use_local_workers

from crfkit import options
from crfkit.constants import BLOCK_SEQUENCES, CHUNK_TOKENS
from crfkit.data.dataset import Dataset
from crfkit.errors import TrainingError
from crfkit.lattice.forms import bytes_of_steps, bytes_of_tables
from crfkit.learning import memory
from crfkit.learning.corpus import read_corpus
from crfkit.learning.learn import learn
from crfkit.learning.local import Local
from crfkit.learning.memory import check_memory, in_use, lattice_bytes, threads_with_work
from crfkit.learning.reader import Reader
from crfkit.template.parsing import Template
from crfkit.trainers import trainer_class
from crfkit.values import size
from crfkit.weights.layout import Layout

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, sys
from crfkit.learning import learn as learning
from crfkit.learning import memory
found = {}
class Said(learning.Progress):
    def summary(self, counts):
        found["expected"] = counts["memory"]
learning.learn(sys.argv[1], sys.argv[2] or None, sys.argv[3], progress=Said(quiet=True), **json.loads(sys.argv[4]))
print(found["expected"], memory.in_use()[1])
"""


def estimate_and_peak(train, template, algorithm, **given):
    command = [sys.executable, "-c", PROGRAM, str(train), str(template), algorithm, json.dumps(given)]
    done = subprocess.run(command, cwd=tempfile.gettempdir(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return map(int, done.stdout.split())


def near(expected, peak):
    """Within a factor of two, which the estimate guarantees. How close it is depends on the allocator, too."""
    return peak / 2 < expected < 2 * peak


@pytest.mark.long
@memory_told
@plain_build
@pytest.mark.parametrize("features", ["observed", "all"])
@pytest.mark.parametrize("algorithm", options.TRAINERS)
def test_the_estimate_is_near_the_peak(algorithm, features):
    files = (ROOT / "data/letters.train.txt", ROOT / "templates/letter-to-sound.txt")
    expected, peak = estimate_and_peak(*files, algorithm, features=features, threads=2, **limit(algorithm, 7 if algorithm in BATCH else 1))
    assert near(expected, peak)


@pytest.mark.long
@memory_told
@plain_build
@pytest.mark.parametrize(("algorithm", "given"), [("lbfgs", {}), ("perceptron", {}), ("perceptron", {"average": False})])
def test_the_estimate_with_workers(algorithm, given, items):
    """Their answers, as large as all weights, are here at once."""
    files = (items / "values", "")
    expected, peak = estimate_and_peak(*files, algorithm, format="crfsuite", features="all", workers=6, **given, **limit(algorithm, 2))
    assert near(expected, peak)


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """Attribute lines: with values and many attributes, and with many labels."""
    source, folder = random.Random(1), tmp_path_factory.mktemp("items")
    for name, sequences, tokens, labels, attributes in (("values", 1500, 8, 40, 12), ("labels", 700, 2, 700, 2)):
        lines = []
        for _ in range(sequences):
            for _ in range(tokens):
                label = source.randrange(labels)
                numbers = [label * source.randrange(1000) % 40000 for _ in range(attributes)]
                lines.append("\t".join([f"l{label}", *(f"a{k}:{source.random():.4f}" if name == "values" else f"a{k % 100}" for k in numbers)]))
            lines.append("")
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.long
@memory_told
@plain_build
@pytest.mark.parametrize(("name", "threads"), [("values", 1), ("values", 2), ("labels", 1), ("labels", 2)])
@pytest.mark.parametrize("algorithm", options.TRAINERS)
def test_the_estimate_for_values_and_labels(algorithm, name, threads, items):
    """With checkpoints, and with development data on one thread: how much is in use at once by several depends on chance."""
    chosen = {"passes": 1, "max_iter": 7, "warm_up": 2, "rate": 0.1}
    chosen = {option: value for option, value in chosen.items() if hasattr(options.TRAINERS[algorithm], option)}
    chosen.update(dev=str(ROOT / "data/reals.test.txt") if threads == 1 else None, checkpoint=str(items / f"{algorithm}-{name}-{threads}"))
    expected, peak = estimate_and_peak(items / name, "", algorithm, format="crfsuite", threads=threads, **chosen)
    assert near(expected, peak)


@pytest.mark.long
@memory_told
@plain_build
@pytest.mark.parametrize("algorithm", ["perceptron", "sgd", "lbfgs"])
def test_the_estimate_where_steps_with_features_are_lists(algorithm, tmp_path):
    """As with hundreds of labels, of which few follow each other."""
    source, lines = random.Random(2), []
    for _ in range(100):
        label = source.randrange(700)
        for _ in range(60):
            label = (label * 3 + source.randrange(4)) % 700
            lines.append(f"w{label // 7} l{label}")
        lines.append("")
    write(train="\n".join(lines) + "\n", template="U:%x[0,0]\nB:%x[0,0]\nB\n")
    assert near(*estimate_and_peak(tmp_path / "train", tmp_path / "template", algorithm, threads=1, **limit(algorithm, 2)))


@pytest.mark.long
@memory_told
@plain_build
@pytest.mark.parametrize("template", ["U:%x[0,0]\n", "U:%x[0,0]\nB\n", "U:%x[0,0]\nB:%x[0,0]\n"])
@pytest.mark.parametrize(("algorithm", "labels"), [*((name, 2000) for name in ("perceptron", "lookahead", "sapo", "sgd", "lbfgs")), ("perceptron", 4001), ("sgd", 4001)])
def test_the_estimate_with_thousands_of_labels(algorithm, labels, template, tmp_path):
    """Of which no pair is a feature, or few are: hardly any of the tables of all pairs is touched. 4,001 labels need padding in each row."""
    text = "".join(f"w{(n * n) % 997} l{n % labels}\n" + "\n" * (n % 10 == 9) for n in range(2 * labels))
    write(train=text, template=template)
    chosen = {"rate": 0.1} if hasattr(options.TRAINERS[algorithm], "rate") else {}
    assert near(*estimate_and_peak(tmp_path / "train", tmp_path / "template", algorithm, threads=1, **chosen, **limit(algorithm, 2)))


@pytest.mark.parametrize(("pairs", "known", "expected"), [
    (10_000, True, 100 * 32), (850, False, 2 * 100 * 104 * 8), (700, False, 800 * 24 + (2 * 104 + 800 + 3) * 4),
    (700, True, 893 * 24 + (2 * 104 + 893 + 3) * 4), (750, True, 100 * 32),
])
def test_what_a_step_with_features_takes(pairs, known, expected):
    """Changes of a shared matrix, or of a shared list that has all pairs, and eight a change. If not, it is a list, or a matrix if that is too long."""
    labels = 100
    layout = Layout(labels, True, 0, array("q", [0]), array("H"), array("q", [0, labels]), array("H", range(labels)), array("H", range(labels)))
    layout.tell_absent(bytes(j < labels and (i * labels + j < pairs or (known and i == j)) for i in range(labels) for j in range(104)))
    assert bytes_of_steps(layout, 7, 1) == 7 * expected


@pytest.mark.parametrize(("summed", "known", "expected", "tables"), [
    (False, True, 2 * 100 * 104 * 8, 5 * 100 * 104 * 8), (True, False, 2 * 100 * 104 * 8, 5 * 100 * 104 * 8), (True, True, 3 * 100 * 32, 0),
])
def test_trainers_that_only_sum_have_changes_of_longer_lists(summed, known, expected, tables):
    """Of up to a quarter of all pairs, if that has all of theirs, and touch no table of all pairs then. Of a matrix, so many changes would not
    pay."""
    layout = Layout(100, True, 0, array("q", [0]), array("H"), array("q", [0, 100]), array("H", range(100)), array("H", range(100)))
    layout.tell_absent(bytes(j < 20 or (known and i == j) for i in range(100) for j in range(104)))
    assert bytes_of_steps(layout, 7, 3, summed) == 7 * expected
    assert bytes_of_tables(layout, summed) == tables
    data = SimpleNamespace(labels=range(100), longest=9, n_incidences=(9, 21), n_tokens=9, n_sequences=2)
    assert lattice_bytes(SimpleNamespace(layout=layout, dataset=data), summed) == 9 * 6 * 104 * 8 + 9 * expected


@pytest.mark.parametrize("labels", [46_336, 46_344])
def test_no_tables_where_no_pair_is_a_feature(labels):
    """Places in lists have 32 bits, which does not matter where there are none: with more labels than these tell apart, too."""
    layout = Layout(labels, False, 0, array("q", [0]), array("H"), array("q", [0]), array("H"), array("H"))
    assert bytes_of_tables(layout, True) == 0


@pytest.mark.parametrize(("labels", "bytes_a_step"), [(40, 2 * 40 * 40 * 8), (48, 2 * 3 * 32)])
def test_steps_with_few_features_take_a_few_places_with_many_labels(labels, bytes_a_step):
    """Scores and potentials of all pairs of labels, or for each of the features of two attributes a pair, its score and its potential."""
    layout = Layout(labels, True, 0, array("q", [0]), array("H"), array("q", [0, 3]), array("H", [0, 0, 1]), array("H", [0, 1, 0]))
    assert bytes_of_steps(layout, 10, 2) == 10 * bytes_a_step


@pytest.mark.parametrize("value", [1.0, 0.5])
def test_lbfgs_takes_what_owlqn_takes_but_its_pseudo_gradient(value):
    data = Dataset([0, 2], [0, 1, 2], [0, 1], [value, value], label=[0, 1], labels=["X", "Y"], n_u=2)
    layout = Layout.build(data, 2, 1, bytes([2, 2]), b"")[0]
    chosen = {"warm_up": 0, "l2": 1.0}
    lbfgs, owlqn = (trainer_class(name).expected_bytes(data, layout, options.make(name, chosen), 2) for name in ("lbfgs", "owlqn"))
    assert owlqn - lbfgs == 8 * layout.n_cells > 0


def test_arow_holds_one_copy_of_the_weights_while_it_chooses_r():
    """The estimate counts one, which the model takes later."""
    rows = [[([f"a{20 * n + k}" for k in range(20)], "XY"[n % 2])] for n in range(1000)]
    corpus = read_corpus(Reader(rows, None, options.Run(format="crfsuite", features="all")))
    tracemalloc.start()
    try:
        trainer = trainer_class("arow")(corpus.dataset, corpus.layout, options.make("arow", {"passes": 1}))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert trainer.r > 0 and 1 <= most / (4 * corpus.layout.n_cells) < 1.5


@pytest.mark.parametrize(("algorithm", "copies"), [("lbfgs", 3), ("owlqn", 3), ("perceptron", 2), ("arow", 2)])
def test_weights_are_scored_while_the_best_are_kept(algorithm, copies, monkeypatch):
    """With development data three copies of the weights are held: the best, the last, and the decoder's, which are aligned. That for the
    model is made when batch trainers have freed as much."""
    rows = [[([f"a{20 * n + k}" for k in range(20)], "XY"[n % 2])] for n in range(1000)]
    corpus = read_corpus(Reader(rows, None, options.Run(format="crfsuite", features="all")))
    monkeypatch.setattr(memory, "in_use", lambda: (1 << 20, 0))
    chosen = options.make(algorithm, {"l2": 1.0} if algorithm in BATCH else {})
    before, after = (memory.expected_memory(corpus, algorithm, chosen, 1, taggers) for taggers in (0, 1))
    assert 0 <= after - before - copies * 4 * corpus.layout.n_cells < 4096 < corpus.layout.n_cells


def test_taggers_without_label_pairs_have_no_tables_of_all_pairs(monkeypatch):
    rows = [[[f"w{n % 7}", f"l{n % 1000}"]] for n in range(1000)]
    monkeypatch.setattr(memory, "in_use", lambda: (1 << 20, 0))
    more = []
    for template in ("U:%x[0,0]\n", "U:%x[0,0]\nB\n"):
        corpus = read_corpus(Reader(rows, Template.parse(template), options.Run()))
        chosen = options.make("perceptron", {})
        before, after = (memory.expected_memory(corpus, "perceptron", chosen, 1, taggers) for taggers in (0, 1))
        more.append(after - before)
    assert more[0] < 1_000_000 < 3 * 8 * 1000**2 < more[1]


def test_each_thread_and_each_tagger_has_room_for_the_longest_sentence(monkeypatch):
    """Among others for its scores, and forward and backward sums. And what was once in use is taken, whatever is needed now."""
    corpus = read_corpus(Reader([[["a", "XY"[n % 2]] for n in range(5000)]], Template.parse("U:%x[0,0]\n"), options.Run()))
    for peak in (0, 1 << 40):
        monkeypatch.setattr(memory, "in_use", lambda peak=peak: (1 << 20, peak))
        for numbers in ((1, 1), (1, 3)), ((1, 0), (3, 0)):
            one, three = (memory.expected_memory(corpus, "lbfgs", options.make("lbfgs", {"l2": 1.0}), threads, taggers) for threads, taggers in numbers)
            assert one == three == peak if peak else three - one > 2 * 3 * 8 * 5000 * 8


@pytest.mark.parametrize(("dev", "taggers"), [(None, 0), ("dev", 3)])
def test_as_many_taggers_as_threads_label_development_data(dev, taggers, monkeypatch):
    monkeypatch.setattr(memory, "in_use", lambda: (1 << 20, 0))
    corpus = read_corpus(Reader([[["a", "XY"[n % 2]] for n in range(50)]], Template.parse("U:%x[0,0]\n"), options.Run()))
    chosen = options.make("perceptron", {})
    place = Local("perceptron", options.Run(dev=dev, threads=3), ambiguity=False, resumed=False)
    assert place.expected_memory(corpus, chosen) == memory.expected_memory(corpus, "perceptron", chosen, 1, taggers)


@pytest.mark.parametrize(("algorithm", "needed"), [("lbfgs", [1, 6]), ("sgd", [1, 4])])
def test_threads_have_as_much_to_do_as_they_take_at_once(algorithm, needed):
    """Batch trainers take tokens, online trainers sequences: with less data, some threads would have nothing."""
    sizes = [(1, 10), (3 * BLOCK_SEQUENCES, 5 * CHUNK_TOKENS)]
    corpora = [SimpleNamespace(dataset=SimpleNamespace(n_sequences=sequences, n_tokens=tokens)) for sequences, tokens in sizes]
    for most in (8, 2):
        assert [threads_with_work(corpus, options.TRAINERS[algorithm](), most) for corpus in corpora] == [min(n, most) for n in needed]


def test_sizes_have_binary_units():
    assert [size(text) for text in ("1", 5000, "1K", "800M", "2G", "2GB", "1.5G", "1T")] == [
        1, 5000, 1 << 10, 800 << 20, 2 << 30, 2 << 30, 3 << 29, 1 << 40,
    ]
    for text in ("", "G", "-1", "2 G", "2g", 0, "0M", True, 1.5, "1e9", [1], 10**30):
        assert size(text) is None


@memory_told
def test_memory_in_use():
    """Pages of our own, as an allocator may have room left."""
    before, _ = in_use()
    with mmap.mmap(-1, SIZE := 64 << 20) as pages:
        for at in range(0, SIZE, mmap.PAGESIZE):
            pages[at] = 1
        now, peak = in_use()
    after, still = in_use()
    assert now - before > SIZE // 2 and now - after > SIZE // 2
    assert min(peak, still) - before > SIZE // 2


def test_max_memory_refuses_training_that_would_take_more(tmp_path, monkeypatch):
    use_local_workers(monkeypatch)
    (tmp_path / "template").write_text("U:%x[0,1]\nB\n")  # few attributes: the dual variables of a warm-up take more than they do
    write_part(tmp_path / "train", "chunking", 30)
    files = ("template", "train", "model")
    crfkit("learn", "-q", "--max-memory", "50G", "--max-iter", 2, *files)
    (tmp_path / "model").unlink()
    said = error("learn", "--max-memory", "1M", *files)
    assert said.startswith("training would take about ")
    advice = "use an online trainer such as sgd or perceptron, take --warm-up 0, raise --min-freq, or keep fewer attributes with --select"
    assert said.endswith(f"more than --max-memory 1M: {advice}")
    assert error("learn", "--max-memory", "1M", "--threads", 100, *files).endswith(advice)  # of which small data need few
    without = "use an online trainer such as sgd or perceptron, raise --min-freq, or keep fewer attributes with --select"
    crfkit("learn", "-q", "--max-iter", 2, "template", "train", "first")
    # no warm-up: not wanted, without a penalty, from other weights, on small data; or it takes no more than what follows it
    for chosen in (("--warm-up", 0), ("--l2", 0), ("--init", "first"), ("-a", "owlqn"), ("--data-dir", "data")):
        assert error("learn", "--max-memory", "1M", *chosen, *files).endswith(f"more than --max-memory 1M: {without}")
    assert error("learn", "--max-memory", "1M", "--workers", 1, "-a", "sgd", *files).endswith("more than --max-memory 1M: raise --min-freq")
    said = error("learn", "--max-memory", "1M", "--workers", 1, "-a", "owlqn", *files)  # which has no warm-up there
    assert said.endswith("more than --max-memory 1M: use an online trainer such as sgd or perceptron, or raise --min-freq")
    assert not (tmp_path / "model").exists()
    assert "--max-memory: expected a size such as 800M or 2G, found 'much'" in error("learn", "--max-memory", "much", *files, code=2)


@pytest.mark.parametrize(("limit", "most"), [("1M", 1 << 20), ("2G", 2 << 30)])
def test_what_takes_just_the_limit_is_no_more_than_it(limit, most):
    chosen, run = options.TRAINERS["sgd"](), options.Run(max_memory=limit)
    check_memory(most, chosen, run, lambda: ["raise --min-freq"])
    with pytest.raises(TrainingError, match=f"more than max_memory {limit}: raise min_freq$"):
        check_memory(most + 1, chosen, run, lambda: ["raise --min-freq"])


@pytest.mark.parametrize(("most", "limit", "warned"), [(1 << 20, None, True), (1 << 20, "50G", False), (1 << 50, None, False), (0, None, False)])
def test_what_takes_more_than_the_machine_has_is_a_warning(monkeypatch, most, limit, warned):
    """Before training: a machine that has no memory left ends it without a word. Whoever gives a limit has thought of that."""
    monkeypatch.setattr(memory, "of_machine", lambda: most)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        learn([[["a", "X"], ["b", "Y"]]] * 3, "U:%x[0,0]\nB\n", "perceptron", passes=1, max_memory=limit)
    said = [str(one.message) for one in heard if "memory" in str(one.message)]
    assert len(said) == warned and all(text.startswith("training would take about ") for text in said)
    assert all(text.endswith(" more than the 1 MB of this machine: raise min_freq, or keep fewer attributes with select") for text in said)


def test_the_memory_of_the_machine(monkeypatch):
    """The less of what there is and of what the groups of the process may take; systems that tell neither."""
    found, pages, limits = [], {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}, {}
    monkeypatch.setattr(memory.os, "sysconf", lambda name: pages[name] if pages else int("no such name"))
    monkeypatch.setattr(memory, "memory_limits", lambda: list(limits["of groups"]))
    for limits["of groups"] in [], [1 << 62], [1 << 62, 3 << 20]:
        found.append(memory.of_machine())
    pages = {}
    for limits["of groups"] in [3 << 20], []:
        found.append(memory.of_machine())
    assert found == [4096000, 4096000, 3 << 20, 3 << 20, 0]


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="no such file of the system's")
def test_a_process_may_have_any_name():
    """The system cuts names after fifteen bytes, in the midst of a letter too."""
    program = "from crfkit.learning.memory import in_use; open('/proc/self/comm', 'wb').write(b'caf\\xc3'); print(in_use()[0] > 0)"
    done = python(program)
    assert (done.stdout, done.stderr) == ("True\n", "")
