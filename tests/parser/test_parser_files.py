"""What a parser reads and writes: damaged trees, hostile models, checkpoints, options that make no sense."""

import json
import pickle
import random
from functools import partial
from pathlib import Path

import pytest
from commands import crfkit as run
from commands import log_lines, text_of, write
from hypothesis import given, settings
from hypothesis import strategies as st
from parser.test_parser import TEMPLATE, corpus

import crfkit
from crfkit import modelfile
from crfkit.errors import CrfkitError, DataError, ModelFileError, OptionError, TemplateError, UnsupportedError
from crfkit.parser.model import Parser, ParserModel


def learned(**options):
    options = {"format": "conllu", "passes": 2, "depth": 1, **options}
    return crfkit.learn(corpus(5, 8), TEMPLATE, "lookahead", **options)


by_tabs = partial(text_of, separator="\t")


GOOD = "1\ta\t_\tX\t_\t_\t2\tnsubj\t_\t_\n2\tb\t_\tV\t_\t_\t0\troot\t_\t_\n3\tc\t_\tX\t_\t_\t2\tobj\t_\t_\n\n"


@pytest.mark.parametrize(("old", "new", "message"), [
    ("2\tnsubj", "7\tnsubj", ":1: HEAD is '7', expected a number from 0 to 3"),
    ("2\tnsubj", "-1\tnsubj", ":1: HEAD is '-1'"),
    ("2\tnsubj", "x\tnsubj", ":1: HEAD is 'x'"),
    ("2\tnsubj", "_\tnsubj", ":1: HEAD is missing, expected a number from 0 to 3"),
    ("2\tnsubj", "\tnsubj", ":1: column 7 (head) is empty: expected a label"),
    ("2\tnsubj", "99999999999999999999\tnsubj", ":1: HEAD is '99999999999999999999'"),
    ("2\tnsubj", f"{2**64 + 2}\tnsubj", f":1: HEAD is '{2**64 + 2}'"),
    ("2\tnsubj", "0\tnsubj", ":2: a second root: HEAD of word 1 is 0 already"),
    ("2\tnsubj", "1\tnsubj", ":1: HEAD 1 is part of a cycle"),
    ("0\troot", "3\troot", "is part of a cycle"),
    ("2\tnsubj\t_\t_\n2\tb\t_\tV\t_\t_\t0", "0\tnsubj\t_\t_\n2\tb\t_\tV\t_\t_\t3", ":2: HEAD 3 is part of a cycle"),
    ("\t0\troot", "", ":2: found 8 columns, expected 10"),
    ("3\tc", "4\tc", ":3: ID is '4', expected 3"),
    ("3\tc", "3x\tc", ":3: the first column of CoNLL-U must be a number"),
    ("2\tobj", "2\t_", ":3: DEPREL is missing"),
    ("2\tobj", "2\to\rbj", r":3: DEPREL 'o\rbj' holds a tab, a line end or a zero byte"),
])
def test_damaged_trees_are_refused_with_their_line(old, new, message):
    write(t=TEMPLATE, train=("# c\n" + GOOD + GOOD.replace(old, new, 1)).encode())
    for labels in [["--labels"]] if "DEPREL" in message else [[], ["--labels"]]:
        done = run("learn", "-a", "lookahead", "--format", "conllu", *labels, "t", "train", "m", code=1)
        (line,) = [line for line in done.stderr.splitlines() if "error" in line]
        number = message.split(":")[1] if message[0] == ":" else None
        assert message.split(":", 2)[-1] in line if number else message in line
        if number:
            assert f"train:{int(number) + 5}:" in line


def test_a_parser_is_made_of_a_parser_s_model():
    assert Parser(MODEL).tag(corpus(5, 1)[0]) == Parser(MODEL.tagger()).tag(corpus(5, 1)[0])
    for other in (3, None, crfkit.learn([[["a", "X"], ["b", "Y"]]], "U:%x[0,0]\n", "perceptron")):
        with pytest.raises(OptionError, match=r"^model: found .*, expected a parser's model"):
            Parser(other)
        with pytest.raises(OptionError, match=r"^model: found .*, expected a Model"):
            crfkit.Tagger(other if isinstance(other, int) else MODEL)


def test_words_in_python_are_numbered_as_in_files():
    model = learned()
    model.save("m")
    rows = [list(row) for row in corpus(1)[0]]
    rows[1][0] = "3"
    with pytest.raises(DataError, match=r"^sentence 2, token 2: ID is '3', expected 2: words are numbered one by one$"):
        model.tagger().tag_many([corpus(1)[0], rows])
    assert "ID is '3', expected 2: words are numbered one by one" in run("tag", "m", stdin=by_tabs([rows]), code=1).stderr


def test_comments_are_always_known():
    learned().save("m")
    write(a=by_tabs(corpus(8, 2)), t="U:%x[0,form]\n")
    for words in (("tag", "m"), ("eval", "--format", "conllu", "--label", "xpos"), ("learn", "--format", "conllu", "t", "a", "n")):
        assert "--comments is of no use with CoNLL-U" in run(words[0], "--comments", *words[1:], stdin="", code=2).stderr


@pytest.mark.parametrize("option", ["--partial", "--fill", "--separator=x"])
def test_options_of_columns_are_of_no_use(option):
    learned().save("m")
    assert f"{option.partition('=')[0]} is of no use with a parser" in run("tag", option, "m", stdin="", code=2).stderr


def test_fewer_columns_than_the_tree_needs():
    with pytest.raises(DataError, match="sentence 1, token 1: found 3 columns, expected at least 7"):
        crfkit.learn([[["1", "a", "_"]]], "P:%x[s0,form]", "lookahead", format="conllu")


@pytest.mark.parametrize(("options", "message"), [
    ({"algorithm": "perceptron"}, "only the trainer lookahead"),
    ({"format": "columns"}, "add format='conllu'"),
    ({"label": "upos"}, "label is of no use to a parser"),
    ({"outside": "_", "dev": __file__}, "outside is of no use to a parser"),
    ({"features": "all"}, "features='all' is of no use"),
    ({"min_freq": 2}, "min_freq is of no use"),
    ({"select": "mi:3"}, "select is of no use"),
    ({"workers": 2}, "workers is of no use"),
    ({"cluster": "tcp://127.0.0.1:9"}, "cluster is of no use"),
    ({"direction": "backward"}, "direction backward is of no use"),
    ({"depth": 11}, "at most 10 actions ahead"),
])
def test_options_that_make_no_sense(options, message):
    options = {"format": "conllu", "algorithm": "lookahead", **options}
    with pytest.raises((OptionError, TemplateError), match=message):
        crfkit.learn(corpus(0), TEMPLATE, **options)


def test_options_of_taggers_and_unknown_columns_are_refused():
    for option in ({"labels": True}, {"oracle": "first"}):
        with pytest.raises(OptionError, match=f"{next(iter(option))} is for parsers"):
            crfkit.learn([[["a", "X"], ["b", "Y"]]], "U:%x[0,0]\nB", "lookahead", **option)
    with pytest.raises(TemplateError, match="uses column 'head', which the parser predicts"):
        crfkit.learn(corpus(0), "P:%x[s0,head]", "lookahead", format="conllu")
    with pytest.raises(TemplateError, match="names column 'nothing'"):
        crfkit.learn(corpus(0), "P:%x[s0,nothing]", "lookahead", format="conllu")
    with pytest.raises(TemplateError, match="template:1: 17 macros in a P line"):
        crfkit.learn(corpus(0), "P" + "%x[s0,form]" * 17, "lookahead", format="conllu")
    with pytest.raises(TemplateError, match="takes no @observed"):
        crfkit.learn(corpus(0), "P:%x[s0,form] @observed", "lookahead", format="conllu")
    with pytest.raises(DataError, match="no tree without crossing arcs"):
        heads = ["3", "4", "0", "3"]
        crfkit.learn([[[str(t + 1), "w", "_", "X", "_", "_", head, "r", "_", "_"] for t, head in enumerate(heads)]], TEMPLATE, "lookahead", format="conllu")


@pytest.mark.parametrize("labels", [False, True])
def test_a_model_is_its_file(labels):
    model = learned(labels=labels)
    model.save("m")
    opened = crfkit.load("m")
    assert isinstance(opened, Parser) and isinstance(opened.model, ParserModel)
    assert opened.model.to_bytes() == model.to_bytes() == learned(labels=labels).to_bytes()
    test = corpus(77, 20)
    heads = model.tagger().tag_many(test)
    for parser in (opened, pickle.loads(pickle.dumps(opened)), crfkit.load(model.to_bytes(), verify=False)):
        assert parser.tag_many(test, threads=2) == heads == [parser.tag(rows) for rows in test]
    assert sorted(opened.model.features()) == sorted(model.features())
    assert run("dump", "m").stdout == model.dump()
    assert len(model.dump().splitlines()) == model.header["features"]
    assert run("dump", "--labels", "m").stdout.split() == model.labels
    assert json.loads(run("dump", "--header", "m").stdout)["relations"] == model.header["relations"]
    assert opened.tag([]) == []


def test_constraints_and_probabilities_of_parsers_are_refused():
    parser = learned().tagger()
    with pytest.raises(UnsupportedError, match="takes no constraints"):
        learned().tagger("bio")
    with pytest.raises(UnsupportedError, match="probabilities"):
        parser.need_probabilities("--nbest")
    for ask in (lambda: parser.nbest([["a"]], 2), lambda: parser.marginals([["a"]]), lambda: parser.probability([["a"]], ["shift"]), lambda: parser.explain([])):
        with pytest.raises(UnsupportedError, match=r"which a parser does not have|but a parser decides action by action"):
            ask()
    with pytest.raises(DataError, match="the model's template uses column 'upos'"):
        parser.tag([["1", "a", "_"]])
    with pytest.raises(ModelFileError, match="is a parser"):
        from crfkit.model import load

        load(learned().to_bytes())


@settings(max_examples=2 * settings().max_examples)
@given(st.integers(0, 10**9), st.booleans())
def test_models_that_may_hold_anything(seed, verify):
    """A parser of damaged tables is refused or parses into trees, and never more than that."""
    rng = random.Random(seed)
    file = modelfile.read(MODEL.to_bytes())
    sections = {name: bytearray(values) for name, values in file.contents().items()}
    types = {name: modelfile.DTYPES[entry.dtype][0] for name, entry in file.sections.items()}
    header = json.loads(json.dumps(file.header))
    for _ in range(rng.choice([1, 1, 2, 5])):
        name = rng.choice([name for name in sections if sections[name]])
        at = rng.randrange(len(sections[name]))
        kind = rng.random()
        if kind < 0.6:
            sections[name][at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif kind < 0.8:
            width = memoryview(b"").cast("B").cast(types[name]).itemsize
            del sections[name][len(sections[name]) - width * rng.randrange(1, 4) :]
        else:
            field = rng.choice(["root_relation", "relations", "options", "template", "column_names", "columns"])
            header[field] = rng.choice([0, 5, -1, [], ["a"], ["id", "head", "deprel"], {"depth": 10}, {"depth": -1}, "P", "P:%x[s0,form]", None])
    try:
        data = modelfile.dumps(header, {name: memoryview(bytes(value)).cast(types[name]) for name, value in sections.items()})
        parser = crfkit.load(data, verify=verify)
        for rows in corpus(seed, 3):
            heads = [entry[0] if isinstance(entry, tuple) else entry for entry in parser.tag(rows)]
            assert heads.count(0) == 1 and len(heads) == len(rows)
        parser.model.dump()
    except CrfkitError:
        pass


MODEL = learned(labels=True)


@pytest.mark.parametrize("average", [False, True])
def test_a_run_that_was_interrupted_gives_the_same_model(average):
    """Also with development data, and with features that were created after the best pass."""
    data, dev = by_tabs(corpus(5, 12)), by_tabs(corpus(6, 6))
    write(t=TEMPLATE, train=data, dev=dev)
    options = ["-a", "lookahead", "--format", "conllu", "--average" if average else "--no-average", "--dev", "dev", "-q"]

    def learn(model, *more):
        run("learn", *options, *more, "t", "train", model)
        return Path(model).read_bytes()

    whole = learn("whole", "--passes", "5", "--log", "log")
    learn("part", "--passes", "2", "--checkpoint", "c")
    assert learn("all", "--passes", "5", "--checkpoint", "c", "--resume") == whole
    records = log_lines()
    assert [record["pass"] for record in records] == [1, 2, 3, 4, 5]
    assert all({"loss", "seconds", "elapsed", "active", "mean_abs_weight", "dev_accuracy", "dev_unlabelled"} <= record.keys() for record in records)
    for name, text, message in (("dev", dev, "--dev data"), ("train", data, "training data, template or column of labels")):
        write(**{name: text.replace("bc", "cb")})
        assert f"different {message}" in run("learn", *options, "--passes", "6", "--checkpoint", "c", "--resume", "t", "train", "m", code=1).stderr
        write(**{name: text})


def chains(words):
    """Trees in which every word has its own form, and the previous word as its head."""
    return [[[str(k + 1), f"w{k}", "_", "X", "X", "_", str(k), "root" if k == 0 else "dep", "_", "_"] for k in range(n)] for n in range(1, words)]


@pytest.mark.parametrize("words", range(4, 16))
def test_tables_of_any_fill_are_resumed(words):
    """Also with initial weights: a checkpoint contains their present values."""
    first = crfkit.learn(chains(3), "P:%x[s0,form]\n", "lookahead", format="conllu", passes=1, dropout=0.0)
    for number, init in enumerate((None, first)):
        again = partial(crfkit.learn, chains(words), "P:%x[s0,form]\nP1:%x[q0,form]\n", "lookahead", format="conllu", init=init)
        state = f"state{number}"
        whole = again(passes=2).to_bytes()
        again(passes=1, checkpoint=state)
        assert again(passes=2, checkpoint=state, resume=True).to_bytes() == whole
        assert again(passes=2, checkpoint=state, resume=True).to_bytes() == whole


def test_a_run_is_not_resumed_with_other_weights_to_start_from():
    """Even if they are the same numbers, but of other features."""
    template, found = "P:%x[s0,form]/%x[q0,form]\n", {}
    for name in ("ab", "cd"):
        rows = [[str(k + 1), form, "_", "X", "X", "_", str(k), "dep" if k else "root", "_", "_"] for k, form in enumerate(name)]
        found[name] = crfkit.learn([rows], template, "lookahead", format="conllu", passes=1), rows
    again = partial(crfkit.learn, [rows for _, rows in found.values()], template, "lookahead", format="conllu", checkpoint="state")
    again(init=found["ab"][0], passes=1)
    with pytest.raises(OptionError, match="different init model"):
        again(init=found["cd"][0], passes=2, resume=True)


@pytest.mark.filterwarnings("ignore:one token of the development data has a relation that no training data have:crfkit.errors.CrfkitWarning")
def test_development_scores_are_those_of_the_tagger():
    """Also if roots have relations that the parser does not predict for roots, or does not know, and of trees that it cannot build."""
    crossing = [[str(k), form, "_", "X", "X", "_", head, "obj", "_", "_"] for k, (form, head) in enumerate(zip("abcd", "3403", strict=True), 1)]
    records, dev = [], [*corpus(6, 10), crossing]
    for rows, relation in zip(dev, ["obj", "never seen"], strict=False):
        next(row for row in rows if row[6] == "0")[7] = relation
    model = learned(labels=True, dev=dev, passes=4, progress=records.append)
    best = max(record["dev_labelled"] for record in records)
    pairs = [(entry, (int(row[6]), row[7])) for rows in dev for entry, row in zip(model.tagger().tag(rows), rows, strict=True)]
    right = sum(found == gold for found, gold in pairs)
    assert right / len(pairs) == pytest.approx(best)


def test_weights_to_start_from():
    first = learned(labels=True, average=False)
    again = learned(labels=True, average=False, init=first, margin=0.0, passes=1)
    weights = {feature[:3]: feature[3] for feature in first.features()}
    kept = {feature[:3]: feature[3] for feature in again.features()}
    assert sum(kept.get(key) == weight for key, weight in weights.items()) > len(weights) / 2
    first.save("m")
    assert learned(labels=True, average=False, init="m", margin=0.0, passes=1).to_bytes() == again.to_bytes()
    with pytest.raises(OptionError, match="is not a parser"):
        learned(init=crfkit.learn([[["a", "X"], ["b", "Y"]]], "U:%x[0,0]\nB", "perceptron"))


def test_eval_refuses_what_does_not_belong_together():
    data = corpus(3, 3)
    write(a=by_tabs(data), b=by_tabs(data[:2]), c=by_tabs([*data[:2], data[2] + [[str(len(data[2]) + 1), *data[2][-1][1:6], "1", *data[2][-1][7:]]]]))
    for name, head in (("d", "x"), ("e", "")):
        write(**{name: by_tabs(data).replace("\t0\troot", f"\t{head}\troot", 1)})
    for file, message in (
        ("b", "found 2 sentences, expected 3"), ("c", "words, expected"), ("d", "HEAD is 'x'"), ("e", "HEAD is missing, expected a number"),
    ):
        said = run("eval", "--format", "conllu", "--heads", "--gold", "a", file, code=1).stderr
        assert message in said and said.count("\n") == 1
    run("eval", "--heads", "a", code=2)
    assert "standard input can be read only once" in run("eval", "--format", "conllu", "--heads", "--gold", "-", "-", code=2).stderr
    Path("empty nodes").write_text("4.1" + 9 * "\t_" + "\n\n")
    said = run("eval", "--format", "conllu", "--heads", "empty nodes", code=1).stderr
    assert said.endswith("empty nodes: no words: expected sentences in CoNLL-U\n")
    run("eval", "--format", "conllu", "--gold", "a", "a", code=2)
    run("eval", "--format", "conllu", "--heads", "--tokens", "a", code=2)
    scores = json.loads(run("eval", "--format", "conllu", "--heads", "--gold", "a", "--json", "a").stdout)
    assert scores["unlabelled"] == scores["labelled"] == scores["whole_trees"] == 1.0


def test_punctuation_is_known_by_its_tag_or_characters():
    rows = [["1", "a", "_", "NOUN"], ["2", "?!", "_", "PUNCT"], ["3", "...", "_", "_"], ["4", "$.", "_", "_"], ["5", "-", "_", "SYM"]]
    gold = "".join("\t".join([*row, "_", "_", str(t), "r", "_", "_"]) + "\n" for t, row in enumerate(rows))
    from io import BytesIO

    from crfkit.evaluation.attachment import evaluate_heads

    scores = evaluate_heads(BytesIO(gold.encode()), BytesIO(gold.encode()))
    assert (scores.all_words.words, scores.without_punctuation.words) == (5, 3)


PRINTED = """\
2 sentences, 5 words, 4 without punctuation
                         all words  without punctuation
unlabelled attachment        80.00               100.00
labelled attachment          60.00                75.00
all heads right              50.00
"""


def test_scores_as_they_are_printed():
    """A wrong relation in the second sentence, and a full stop with a wrong head."""
    gold = ["0 r", "1 r", "", "0 r", "1 r", "1 r", ""]
    found = ["0 r", "1 r", "", "0 r", "1 s", "2 r", ""]
    words = [("1", "a"), ("2", "b"), (), ("1", "c"), ("2", "d"), ("3", "."), ()]
    for name, trees in ("gold", gold), ("found", found):
        lines = ["\t".join([*word, *("_" * 4), *tree.split(), "_", "_"]) if word else "" for word, tree in zip(words, trees, strict=True)]
        write(**{name: "\n".join(lines) + "\n"})
    assert run("eval", "--format", "conllu", "--heads", "--gold", "gold", "found").stdout == PRINTED


def test_several_files_stay_apart():
    learned().save("m")
    text = by_tabs(corpus(8, 2))
    write(a=text.rstrip("\n"), b=text)
    one = run("tag", "--no-gold", "m", "b").stdout
    assert run("tag", "--no-gold", "m", "a", "b").stdout == 2 * one
    for name in "ab":
        Path(name + ".windows").write_bytes(Path(name).read_bytes().replace(b"\n", b"\r\n"))
    assert run("tag", "--no-gold", "m", "a.windows", "b.windows").stdout_bytes == 2 * one.encode().replace(b"\n", b"\r\n")
    write(marked="\ufeff" + text)
    assert run("tag", "--no-gold", "m", "marked", "marked").stdout_bytes == ("\ufeff" + 2 * one).encode()  # as it stood at the start
    assert run("tag", "m", stdin=text).stdout == one
    asked_for = run("tag", "--gold", "m", stdin=text).stdout
    assert asked_for == run("tag", "m", "b").stdout
    assert asked_for.startswith(one) and len(asked_for) > len(one)


def test_programs_for_labels_say_that_it_is_a_parser():
    learned().save("m")
    write(text="a X\n\n")
    for code, *arguments in ((1, "convert", "m", "out"), (2, "tag", "--partial", "m", "text"), (1, "tag", "--posterior", "m", "text")):
        said = run(*arguments, code=code).stderr
        assert "parser" in said and "Traceback" not in said
    with pytest.raises(ModelFileError, match="is a parser"):
        from crfkit.foreign import load

        load("m")
