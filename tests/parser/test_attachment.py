"""Scores of trees against a scorer of a few lines, and what the scores cannot be told from."""

import io
import json
import random
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from commands import crfkit as run
from commands import write
from parser.test_parser import TEMPLATE, sentence
from parser.test_parser_files import by_tabs, learned

import crfkit
from crfkit.errors import DataError
from crfkit.evaluation.attachment import evaluate_heads
from crfkit.text.reading import Source

GOLD = [("Dogs", "NOUN", "2", "nsubj"), ("bark", "VERB", "0", "root"), ("loudly", "ADV", "2", "advmod"), (".", "PUNCT", "2", "punct")]


def rows_of(words):
    return [[str(k), form, "_", tag, "_", "_", head, relation, "_", "_"] for k, (form, tag, head, relation) in enumerate(words, 1)]


def changed(word, **cells):
    """The gold tree, with other cells of one word."""
    names = ("form", "tag", "head", "relation")
    return [tuple(cells.get(name, cell) for name, cell in zip(names, row, strict=True)) if k == word else row for k, row in enumerate(GOLD, 1)]


def scored(found, gold, code=0):
    write(found=by_tabs(map(rows_of, found)), gold=by_tabs(map(rows_of, gold)))
    return run("eval", "--format", "conllu", "--heads", "--json", "--gold", "gold", "found", code=code)


@pytest.mark.parametrize("seed", range(40))
def test_scores_are_those_of_a_simple_scorer(seed):
    """Of random heads: several roots, cycles. Also if every relation is right."""
    rng = random.Random(seed)

    def tree(relations="ab"):
        n = rng.randrange(1, 8)
        return [(rng.choice(["a", "?!", "$"]), rng.choice(["NOUN", "PUNCT", "_"]), str(rng.randrange(n + 1)), rng.choice(relations)) for _ in range(n)]

    gold = [tree() for _ in range(rng.randrange(1, 4))]
    found = [[(*word[:2], rng.choice([word[2], "0"]), rng.choice(["a", word[3]]) if seed % 2 else word[3]) for word in words] for words in gold]
    pairs = [(word, true) for words, trees in zip(found, gold, strict=True) for word, true in zip(words, trees, strict=True)]
    others = [pair for pair in pairs if pair[0][1] != "PUNCT" and not (pair[0][1] == "_" and all(unicodedata.category(c)[0] == "P" for c in pair[0][0]))]

    def shares(words):
        heads, both = (sum(word[2:last] == true[2:last] for word, true in words) / max(len(words), 1) for last in (3, 4))
        return {"words": len(words), "unlabelled": heads, "labelled": both}

    scores = json.loads(scored(found, gold).stdout)
    assert {name: scores[name] for name in ("words", "unlabelled", "labelled")} == shares(pairs)
    assert scores["without_punctuation"] == shares(others)


def test_a_wrong_head_with_the_right_relation():
    done = scored([changed(3, head="4")], [GOLD])
    assert json.loads(done.stdout)["labelled"] == 0.75
    assert done.stderr.endswith("found: all relations are those of the gold file: if the parser gives none, it left them, and the labelled score says nothing\n")
    nothing = [(*word[:3], "_") for word in GOLD]
    assert "all relations are" not in scored([[(*word[:3], "_") for word in changed(3, head="4")]], [nothing]).stderr
    for found in (GOLD, changed(3, relation="x"), changed(3, head="4", relation="x")):
        assert scored([found], [GOLD]).stderr == ""


def test_without_relations_there_is_no_labelled_score():
    without = [(*word[:3], "_") for word in GOLD]
    for found, gold in (without, GOLD), (GOLD, without), (without, without):
        done = scored([found], [gold])
        scores = json.loads(done.stdout)
        assert (scores["unlabelled"], scores["labelled"], scores["without_punctuation"]["labelled"]) == (1.0, None, None)
        assert done.stderr.endswith("found: the parser gave no relations, or the gold trees have none: there is no labelled score\n")
    assert scored([GOLD], [GOLD]).stderr == ""
    learned().save("m")
    write(out=run("tag", "m", "gold").stdout_bytes)
    assert evaluate_heads("out").as_dict()["labelled"] is None


def test_trees_of_other_words_are_not_compared():
    said = scored([GOLD, changed(3, form="softly")], [GOLD, GOLD], code=1).stderr
    assert said.endswith("found:6: word 3 of the sentence is 'softly', expected 'loudly' as in gold:6\n")


def test_a_fault_is_told_with_its_line():
    assert "found:2: HEAD is '9', expected a number from 0 to 4" in scored([changed(2, head="9")], [GOLD], code=1).stderr


def test_of_several_faults_the_first_is_named():
    """Trees are compared as they are read, not when all are in memory."""
    said = scored([changed(1, form="Cats"), changed(2, head="9")], [GOLD, GOLD], code=1).stderr
    assert said.endswith("found:1: word 1 of the sentence is 'Cats', expected 'Dogs' as in gold:1\n")


def test_the_gold_file_says_what_punctuation_is():
    """The parts of speech in the other one may be predicted, and differ from parser to parser."""
    scores = json.loads(scored([[*changed(2, tag="PUNCT")[:3], (".", "X", "1", "punct")]], [GOLD]).stdout)
    assert scores["without_punctuation"] == {"words": 3, "unlabelled": 1.0, "labelled": 1.0}


def carrying(sentences, *comments):
    return io.BytesIO((by_tabs(map(rows_of, sentences)) + "".join(line + "\n" for line in comments)).encode())


RIGHT = "# gold 2:nsubj\t0:root\t2:advmod\t2:punct"


def test_gold_trees_behind_the_last_sentence():
    """Not of every sentence; with comments and blank lines around them; of sentences of more than nine words; with a blank at the end of a
    relation. The text says what punctuation is."""
    found = evaluate_heads(carrying([GOLD, changed(3, head="4")], "# x", "# gold", "", RIGHT, "# end", "", " ")).as_dict()
    assert (found["sentences"], found["words"], found["unlabelled"], found["labelled"]) == (1, 4, 0.75, 0.75)
    assert found["without_punctuation"] == {"words": 3, "unlabelled": 2 / 3, "labelled": 2 / 3}
    blank = [*GOLD[:3], (".", "PUNCT", "2", "punct ")]
    assert evaluate_heads(carrying([blank], RIGHT + " ")).as_dict()["labelled"] == 1
    chain = [("a", "X", str(k), "dep") for k in range(12)]
    assert evaluate_heads(carrying([chain], "# gold " + "\t".join(f"{k}:dep" for k in range(12)))).as_dict()["labelled"] == 1


@pytest.mark.parametrize("seed", range(5))
def test_gold_trees_behind_the_text_are_those_of_the_file(seed):
    """Whatever characters their relations have. The parser has learned them."""
    rng = random.Random(seed)
    trees = [sentence(rng, rng.randrange(1, 7), ("a:b", " a", "a ", "#", "0:a", "# gold 1:a", "\u2028")) for _ in range(6)]
    write(gold=by_tabs(trees))
    crfkit.learn(trees, TEMPLATE, "lookahead", format="conllu", labels=True, passes=5, dropout=0).save("m")
    write(out=run("tag", "m", "gold").stdout_bytes)
    assert evaluate_heads("out").as_dict() == evaluate_heads("out", "gold").as_dict()


@pytest.mark.parametrize("heads", ["_1", "0_", "03", "0x", "02"])
def test_heads_that_are_none_are_no_gold_tree(heads):
    """A head that is missing, or beyond the sentence, whatever stands before it. The next sentence keeps its own."""
    sentences = ["".join(f"{t}\ta\t_\tX\t_\t_\t{head}\tr\t_\t_\n" for t, head in enumerate(these, 1)) for these in (heads, "20")]
    write(trees="\n".join(sentences))
    blocks = learned().tagger().text(Source("trees", "conllu"))
    assert b"".join(gold for _, _, gold, _ in blocks) == (b" 0\t2\n" if heads == "02" else b"\n") + b" 2\t0\n"


@pytest.mark.parametrize(("comments", "message"), [
    ([RIGHT], "found 1 gold tree for 2 sentences"),
    (["# gold", "# gold 2:nsubj\t0:root\t9:x\t2:punct"], r":6: the gold tree of this sentence has the head '9', expected a number from 0 to 4$"),
    (["# gold", "# gold 2:nsubj\t0:root"], ":6: the sentence has 4 words, expected 2 as in the comment with its gold tree$"),
    (["# gold", f"# gold {5000 * '0'}:x\t0:x\t0:x\t0:x"], "has the head '000"),
    (["# golden"], "the gold trees are not known"),
])
def test_gold_trees_that_do_not_fit(comments, message):
    with pytest.raises(DataError, match=message):
        evaluate_heads(carrying([GOLD, GOLD], *comments))


def test_files_joined_after_they_were_parsed():
    """The gold trees of all but the last are in the middle, and not looked for; also if they are read in other pieces."""
    for between in ("", "\n# " + (1 << 20) * "x" + "\n"):
        one = carrying([GOLD], RIGHT).getvalue()
        with pytest.raises(DataError, match="found 1 gold tree for 2 sentences"):
            evaluate_heads(io.BytesIO(one + between.encode() + one))


def test_files_that_were_parsed_before_keep_their_gold_trees():
    """What is behind the sentences of a file that was parsed with others is not of these alone."""
    learned(labels=True).save("m")
    first, last = (by_tabs([rows_of(words)]) for words in (GOLD[:2], GOLD))
    write(first=first, last=last)
    for name, files in (("one", ["last"]), ("both", ["first", "one"]), ("all", ["both", "one"]), ("after", ["first", "both"])):
        write(**{name: run("tag", "m", *files).stdout_bytes})
    for name, gold in (("both", [first, last]), ("all", [first, last, last]), ("after", [first, first, last])):
        write(gold="".join(gold))
        assert evaluate_heads(name).as_dict() == evaluate_heads(name, "gold").as_dict()
    assert Path("all").read_text().count("# gold") == (1 + 2) + 1 + 3
    write(comments="# gold 2:x\t0:y\n")  # a file without sentences goes on with what was before it
    assert run("tag", "m", "first", "comments").stdout.endswith("\n\n# gold 2:x\t0:y\n")


def test_a_parsed_file_that_was_cut_keeps_its_gold_trees():
    """They stand behind its last part, and the columns of the others have the parser's."""
    rng = random.Random(5)
    learned(labels=True).save("m")
    write(gold=by_tabs([sentence(rng, length, ("x", "y")) for length in (3, 1, 4, 2, 5)]))
    write(parsed=run("tag", "m", "gold").stdout_bytes)
    *sentences, comments = Path("parsed").read_text().split("\n\n")
    expected = evaluate_heads("parsed", "gold").as_dict()
    assert expected["unlabelled"] < 1
    for cuts in ((2,), (1, 3), (4,)):
        names = []
        for number, (begin, end) in enumerate(pairwise((0, *cuts, 5))):
            names.append(f"part{number}")
            write(**{names[-1]: "".join(f"{one}\n\n" for one in sentences[begin:end]) + comments * (end == 5)})
        write(again=run("tag", "m", *names).stdout_bytes)
        assert Path("again").read_text() == Path("parsed").read_text()
        assert evaluate_heads("again").as_dict() == {**expected, "file": "again"}


def test_trees_in_columns_of_other_names():
    text = "# global.columns = ID HEAD FORM UPOS DEPREL\n1\t0\ta\tX\troot\n2\t1\t!\t_\tpunct\n3\t1\t\t\tx\n4\t1\t?\t\tx\n\n"
    found = evaluate_heads(io.BytesIO(text.encode()), io.BytesIO(text.replace("2\t1", "2\t3").encode())).as_dict()
    assert (found["words"], found["unlabelled"], found["without_punctuation"]["words"]) == (4, 3 / 4, 2)
    with pytest.raises(DataError, match=r"1: there is no column 'deprel': the columns are id head form upos x$"):
        evaluate_heads(io.BytesIO(text.replace("DEPREL", "X").encode()))
