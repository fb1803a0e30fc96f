"""The parser against its slow twin: states, search, learning, and what is written."""

import random
from collections import Counter

import pytest
from commands import invoked, text_of
from hypothesis import given
from hypothesis import strategies as st
from parser.twin import GAP, State, Twin, can_wait, correct_action
from xoshiro import Random

import crfkit
from crfkit.cli import cli
from crfkit.errors import DataError
from crfkit.evaluation.attachment import GoldTrees, evaluate_heads
from crfkit.learning.judging import judge
from crfkit.learning.parser import Trees, blocks
from crfkit.learning.progress import Progress
from crfkit.parser.statetables import StateTables
from crfkit.parser.trainer import ParserTrainer
from crfkit.template.parsing import Template
from crfkit.testing import heads_in

TEMPLATE = """\
P01:%x[s0,form]
P02:%x[s0,upos]/%x[s1,upos]
P03:%X[s1,form]/%x[q0,upos]/%d[s0,s1]
P04:%x[s0.l,upos]/%x[s1.r,form]
P05:%p[q1,form,2]/%S[s2,form]
P06:%=[s0,upos,s1,upos]/%x[q2,upos]
P07:%=[s0,form,q0,upos]
P08:%t[s1.l,form,"^b"]/%s[s0.r,form,1]
P09
P10:%x[s0.l2,upos]/%x[s1.r.l,form]/%v[s0.r]
P11:%v[s1.l]/%d[s0,s2.r]/%x[s2.l,upos]/%=[s2,form,s0.r2.r,form]
"""
NAMES = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def random_tree(rng, n):
    heads = [0] * n

    def attach(low, high, head):
        while low < high:
            root = rng.randrange(low, high)
            cut = rng.randrange(root + 1, high + 1) if head else high
            heads[root] = head
            attach(low, root, root + 1)
            attach(root + 1, cut, root + 1)
            low = cut

    attach(0, n, 0)
    return heads


def sentence(rng, n, relations=("nsubj", "obj", "det")):
    heads = random_tree(rng, n)
    rows = []
    for t, head in enumerate(heads):
        form, tag = rng.choice(["a", "B", "bc", "Noun", "noun"]), rng.choice(["X", "Noun", "V"])
        rows.append([str(t + 1), form, "_", tag, "_", "_", str(head), rng.choice(relations) if head else "root", "_", "_"])
    return rows


def corpus(seed, n=6, longest=7):
    rng = random.Random(seed)
    return [sentence(rng, rng.randrange(1, longest + 1)) for _ in range(n)]


def tree_of(rows, labels):
    return [(int(row[6]), row[7] if labels and row[6] != "0" else None) for row in rows]


def resolved(text=TEMPLATE):
    return Template.parse(text, columns={name: number for number, name in enumerate(NAMES)})


def trained(data, depth, margin, labels, passes, average, oracle="either"):
    """The trainer after some passes, and its twin."""
    _, options, _ = judge("lookahead", {"depth": depth, "margin": margin, "labels": labels, "passes": passes, "average": average, "oracle": oracle, "dropout": 0.0, "format": "conllu"})
    trees = Trees(data, Template.parse(TEMPLATE), labels, Progress(quiet=True))
    trainer = ParserTrainer(trees.bank, StateTables(trees.template, max(len(trees.relations), 1)), options)
    relations = trees.relations if labels else None
    twin = Twin(resolved(), relations, depth, margin, oracle)
    losses = []
    for _ in range(passes):
        losses.append(trainer.run_pass()["loss"])
        before = twin.loss
        for s in trainer.sentence_order():
            twin.learn(data[s], tree_of(data[s], labels))
        assert losses[-1] == twin.loss - before
    return trainer, twin, trees


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_learning_and_parsing_are_those_of_the_twin(depth, labels):
    data, test = corpus(depth, 4 if depth == 2 else 6), corpus(99, 4, 6)
    for rows in data:  # relations that roots have are no actions
        for row in rows:
            row[7] = "root" if row[6] == "0" else row[7]
    _, twin, _ = trained(data, depth, 3.0, labels, 2, True)
    actions = {f"{side}:{relation}" if relation else side: (side, relation) for side, relation in
               [("shift", None), ("left", None), ("right", None), *((s, r) for s in ("left", "right") for r in twin.relations if r)]}
    for average in (True, False):
        model = crfkit.learn(data, TEMPLATE, "lookahead", format="conllu", depth=depth, margin=3.0, labels=labels, passes=2, average=average, dropout=0.0)
        found = {(text, actions[action]): weight for text, _, action, weight in model.features()}
        expected = twin.weights(average)
        assert found.keys() == expected.keys()
        assert all(found[key] == pytest.approx(expected[key], rel=1e-6, abs=1e-7) for key in found)
    for rows in test:  # with weights that are not averaged, and so exact
        parsed = model.tagger().tag(rows)
        of_twin = twin.parse(rows)
        if labels:
            assert parsed == [(head, relation if head else "root") for head, relation in of_twin]
        else:
            assert parsed == [head for head, _ in of_twin]


MACROS = st.one_of(
    st.from_regex(r"%x\[[sq][0-2],(form|upos)\]", fullmatch=True),
    st.from_regex(r"%x\[s[0-2](\.[lr][2-3]?){1,3},form\]", fullmatch=True),
    st.from_regex(r"%v\[s[0-2](\.[lr][2-3]?)?\.[lr]\]", fullmatch=True),
    st.from_regex(r"%d\[s[0-2]\.[lr][2-3]?,[sq][0-1]\]", fullmatch=True),
    st.from_regex(r"%=\[s[0-2]\.[lr][2-3]?,form,s[0-1]\.[lr],upos\]", fullmatch=True),
)


@pytest.mark.filterwarnings("ignore::crfkit.errors.CrfkitWarning")  # of a single word nothing is learned
@given(st.integers(0, 10**9), st.lists(st.lists(MACROS, max_size=3), min_size=1, max_size=4), st.integers(0, 2))
def test_features_of_any_places_are_those_of_the_twin(seed, lines, depth):
    text = "".join(f"P{k}:" + "/".join(line) + "\n" for k, line in enumerate(lines))
    data = corpus(seed, 1, 10)
    model = crfkit.learn(data, text, "lookahead", format="conllu", depth=depth, margin=1e6, passes=1, average=False, dropout=0.0)
    twin = Twin(resolved(text), None, depth, 1e6)
    twin.learn(data[0], tree_of(data[0], False))
    assert {(name, (action, None)): weight for name, _, action, weight in model.features()} == twin.weights(False)


@pytest.mark.parametrize("oracle", ["either", "first"])
@given(st.integers(0, 10**9), st.integers(0, 1), st.booleans())
def test_left_arcs_that_may_wait_or_not(oracle, seed, depth, labels):
    trainer, twin, _ = trained(corpus(seed, 3, 8), depth, 24.0, labels, 2, False, oracle)
    weights = trainer.state()["weights"]
    assert sorted(weight for weight in weights if weight) == sorted(twin.weights(False).values())


@given(st.integers(0, 10**9), st.integers(0, 1), st.sampled_from([None, 0.02, 0.4]))
def test_some_values_and_lines_are_left_out(seed, depth, dropout):
    """Each value once in n + 1 times, where n words have it; and by default one line of ten."""
    data, text = corpus(seed, 3, 8), "".join(f"P{k}:%x[s0,form]/%x[s{k % 3},upos]/%d[s0,s1]\n" for k in range(12))
    _, options, _ = judge("lookahead", {"depth": depth, "margin": 24.0, "passes": 3, "average": True, "dropout": dropout, "format": "conllu"})
    trees = Trees(data, Template.parse(text), False, Progress(quiet=True))
    trainer, twin = ParserTrainer(trees.bank, StateTables(trees.template, 1), options, seed=seed), Twin(resolved(text), None, depth, 24.0)
    rng, order = Random(seed), list(range(len(data)))
    count = Counter((column, row[column]) for rows in data for row in rows for column in (1, 3))
    for _ in range(3):
        loss, before = trainer.run_pass()["loss"], twin.loss
        rng.shuffle(order)
        for s in order:
            chances = [rng.fraction() for _ in data[s]]
            twin.left_out = {line for line in range(12) if rng.fraction() < (dropout or 0.1)}
            rows = [[GAP if chance * (1 + count[pair]) < 1 else pair[1] for pair in enumerate(row)] for chance, row in zip(chances, data[s], strict=True)]
            twin.learn(rows, tree_of(data[s], False))
        assert loss == twin.loss - before
    weights = [weight for weight in trainer.weights() if weight]
    assert sorted(weights) == pytest.approx(sorted(twin.weights(True).values()), rel=1e-6, abs=1e-7)


def builds(state, heads):
    """Whether any series of actions leads from this state to the tree."""
    if any(heads[child] != head + 1 for head, child, _ in state.arcs):
        return False
    if state.ended:
        return [head for head, _ in state.heads()] == heads
    return any(builds(state.after(action), heads) for action in state.actions([None]))


@given(st.integers(0, 10**9), st.integers(1, 6))
def test_which_actions_are_correct(seed, n):
    """Compared with all series of actions: besides `correct_action` only shift may be correct, while a left arc can wait."""
    rng = random.Random(seed)
    heads = random_tree(rng, n)
    tree = [(head, None) for head in heads]
    state = State(n)
    while not state.ended:
        correct = {correct_action(state, tree)}
        if ("left", None) in correct and can_wait(state, tree):
            correct.add(("shift", None))
        assert correct == {action for action in state.actions([None]) if builds(state.after(action), heads)}
        state = state.after(rng.choice(sorted(correct)))


@given(st.integers(0, 10**9), st.integers(1, 12))
def test_the_correct_actions_build_every_projective_tree(seed, n):
    heads = random_tree(random.Random(seed), n)
    state = State(n)
    while not state.ended:
        state = state.after(correct_action(state, [(head, None) for head in heads]))
    assert [head for head, _ in state.heads()] == heads
    rows = [[str(t + 1), "w", "_", "X", "_", "_", str(head), "r" if head else "root", "_", "_"] for t, head in enumerate(heads)]
    _, options, _ = judge("lookahead", {"format": "conllu"})
    trees = Trees([rows], Template.parse(TEMPLATE), True, Progress(quiet=True))
    assert trees.bank.n_crossing == 0 and heads_in(trees.bank, 0) == heads
    trainer = ParserTrainer(trees.bank, StateTables(trees.template, len(trees.relations)), options)
    trainer.run_pass()
    assert trainer.decisions == 2 * n - 1


@given(st.integers(0, 10**9), st.integers(1, 9))
def test_trees_with_crossing_arcs_are_left_out(seed, n):
    """Compared with the definition of projectivity: every word between a head and its child descends from the head."""
    rng = random.Random(seed)
    order = list(range(1, n + 1))
    rng.shuffle(order)
    heads = [0] * n
    for k, word in enumerate(order):
        heads[word - 1] = rng.choice(order[:k]) if k else 0

    def descends(word, head):
        while word not in (0, head):
            word = heads[word - 1]
        return word == head

    arcs = [(head, word) for word, head in enumerate(heads, 1) if head]
    crossing = any(not descends(between, head) for head, word in arcs for between in range(min(head, word) + 1, max(head, word)))
    rows = [[str(t + 1), "w", "_", "X", "_", "_", str(head), "r", "_", "_"] for t, head in enumerate(heads)]
    other = [["1", "w", "_", "X", "_", "_", "0", "r", "_", "_"]]
    trees = Trees([rows, other], Template.parse(TEMPLATE), False, Progress(quiet=True))
    assert trees.bank.n_crossing == crossing


@given(st.integers(0, 10**9), st.integers(0, 3), st.booleans())
def test_what_comes_out_is_a_tree(seed, depth, labels):
    model = crfkit.learn(corpus(1), TEMPLATE, "lookahead", format="conllu", depth=depth, labels=labels, passes=1)
    (rows,) = corpus(seed, 1, 12)
    heads = [entry[0] if labels else entry for entry in model.tagger().tag(rows)]
    assert heads.count(0) == 1
    for word in range(1, len(heads) + 1):
        steps = 0
        while word:
            word = heads[word - 1]
            steps += 1
            assert steps <= len(heads)


def test_a_block_has_the_names_of_its_columns():
    ((rows, names, path),) = blocks([corpus(0)[0]])
    assert (names, path) == (NAMES, None) and rows.n_tokens


def test_everything_but_the_heads_comes_out_byte_for_byte(tmp_path):
    text = (
        b"\xef\xbb\xbf# sent_id = 1\r\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\r\n1\tde\t_\tX\t_\t_\t_\t_\t_\tA=b\r\n2\tle\t_\tV\t_\t_\t_\t_\t_\t_\r\n"
        b"2.1\te\t_\tV\t_\t_\t_\t_\t2:x\t_\r\n\r\n \n\n# two\n1\ta b\t_\tNoun\t_\t_\t_\tkept\t_\t_"
    )
    model = crfkit.learn(corpus(2), TEMPLATE, "lookahead", format="conllu", passes=1)
    model.save(tmp_path / "m")
    (tmp_path / "in").write_bytes(text)
    written = run_tag(tmp_path, "m", "in")
    heads = model.tagger().tag([[str(t), form, "_", tag, *"______"] for t, form, tag in ((1, "de", "X"), (2, "le", "V"))])
    expected = text.replace(b"de\t_\tX\t_\t_\t_", b"de\t_\tX\t_\t_\t%d" % heads[0]).replace(b"le\t_\tV\t_\t_\t_", b"le\t_\tV\t_\t_\t%d" % heads[1])
    assert written == expected.replace(b"Noun\t_\t_\t_\tkept", b"Noun\t_\t_\t0\tkept")


def run_tag(folder, *arguments):
    return invoked(cli, "tag", *(folder / name if not name.startswith("-") else name for name in arguments)).stdout_bytes


def test_gold_trees_stay_what_they_are_when_a_parse_is_parsed_again(tmp_path):
    data = corpus(3, 8)
    crfkit.learn(data[:4], TEMPLATE, "lookahead", format="conllu", passes=1, labels=True).save(tmp_path / "m")
    (tmp_path / "in").write_text(text_of(data, "\t"))
    (tmp_path / "once").write_bytes(run_tag(tmp_path, "m", "in"))
    assert run_tag(tmp_path, "m", "once") == (tmp_path / "once").read_bytes()
    (tmp_path / "both").write_bytes(run_tag(tmp_path, "m", "once", "in"))
    assert (tmp_path / "both").read_bytes() == run_tag(tmp_path, "--no-gold", "m", "once", "in") + 2 * (tmp_path / "once").read_bytes()[len(run_tag(tmp_path, "--no-gold", "m", "in")) :]
    once = evaluate_heads(str(tmp_path / "once")).as_dict()
    for files in (("once", "in"), ("in", "once")):  # those that `once` brings along may stand right before those of both
        (tmp_path / "both").write_bytes(run_tag(tmp_path, "m", *files))
        both = evaluate_heads(str(tmp_path / "both")).as_dict()
        assert (both["sentences"], both["unlabelled"], both["labelled"]) == (16, once["unlabelled"], once["labelled"])


def test_gold_trees_that_come_in_pieces():
    gold = GoldTrees()
    for text, trees in ((b"1\ta\n\n", b" 0\n"), (b"1\tb\n\n# x\n# gold 0:r\n", b" 7\n"), (b"# gold 0:s\n", b"")):
        gold.add(text, trees)
    assert gold.comments() == b""
    gold.add(b"1\tc\n\n", b" 0:t\n")
    assert gold.comments() == b"# gold 0:r\n# gold 0:s\n# gold 0:t\n"
    gold = GoldTrees()
    gold.add(b"# gold 0\n", b"")
    gold.add(b"1\tc\n\n", b"\n")
    assert gold.comments() == b""
    gold.add(b"1\td\n\n", b" 0:u\n")  # not all sentences have a tree
    assert gold.comments() == b"# gold\n# gold 0:u\n"


@pytest.mark.parametrize("comment", [b"# golden rule", b"# gold = 1", b"# gold standard"])
def test_other_comments_at_the_end_are_no_trees(comment):
    gold = GoldTrees()
    gold.add(b"1\ta\n\n" + comment + b"\n", b" 0\n")
    assert gold.comments() == b"# gold 0\n"


def test_gold_trees_go_along_to_eval(tmp_path):
    data = corpus(3, 8)
    model = crfkit.learn(data[:4], TEMPLATE, "lookahead", format="conllu", passes=1, labels=True)
    model.save(tmp_path / "m")
    (tmp_path / "in").write_text(text_of(data, "\t"))
    written = run_tag(tmp_path, "m", "in")
    bare = run_tag(tmp_path, "--no-gold", "m", "in")
    assert written.startswith(bare) and written.count(b"# gold ") == len(data) and b"# gold" not in bare
    (tmp_path / "out").write_bytes(written)
    (tmp_path / "bare").write_bytes(bare)
    by_itself = evaluate_heads(str(tmp_path / "out")).as_dict()
    by_file = evaluate_heads(str(tmp_path / "bare"), str(tmp_path / "in")).as_dict()
    assert {**by_itself, "file": ""} == {**by_file, "file": ""}
    pairs = [(entry, (int(row[6]), row[7])) for rows in data for entry, row in zip(model.tagger().tag(rows), rows, strict=True)]
    assert by_itself["unlabelled"] == sum(found[0] == gold[0] for found, gold in pairs) / len(pairs)
    assert by_itself["labelled"] == sum(found == gold for found, gold in pairs) / len(pairs)
    with pytest.raises(DataError, match="the gold trees are not known"):
        evaluate_heads(str(tmp_path / "bare"))
