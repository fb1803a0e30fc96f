"""The Python side of evaluation: schemes, what they make of odd labels, and significance."""

import io
import os

import numpy
import pytest
from liars import liar

from crfkit.errors import DataError, FileError, OptionError
from crfkit.evaluation.evaluate import Count, Outputs, evaluate, read_lexicon
from crfkit.evaluation.schemes import marks_chunks


def chunks(labels, scheme="auto", strict=False):
    return evaluate([labels.split()], [labels.split()], scheme, strict).chunks


@pytest.mark.parametrize("labels", ["B-NP I-NP O", "I-PER O", "E-A I-A", "B M E S", "B I", "S-A O", "U-A", "B-A -X- NN"])
def test_labels_that_mark_chunks(labels):
    assert marks_chunks(labels.split())


@pytest.mark.parametrize("labels", ["NN VB -LRB-", "PER O", "early late", "b- B-", "N-SG S V", "- B I O"])
def test_labels_that_mark_none(labels):
    assert not marks_chunks(labels.split())


@pytest.mark.parametrize(("labels", "conlleval", "auto"), [
    ("O I-A", 1, 1),
    ("I-A I-A", 1, 1),
    ("I-A B-A", 2, 2),
    ("B-A I-B", 2, 2),
    ("E-A E-A", 2, 2),
    ("E-A I-A", 2, 2),
    ("I-A E-A I-A", 2, 2),
    ("B-A E-A B-A E-A", 1, 2),
    ("S-A S-A", 1, 2),
    ("B-A E-A S-A", 1, 2),
    ("B-A S-A", 1, 2),
    ("S-A I-A", 1, 2),
    ("U-A U-A", 1, 2),
    ("B-A L-A B-A L-A", 1, 2),
    ("B-A-X I-A-Y", 2, 2),
    ("NP NP", 0, 0),
    ("B B", 2, 2),
])
def test_what_schemes_make_of_labels(labels, conlleval, auto):
    assert chunks(labels, "bio") == Count(conlleval, conlleval, conlleval)
    assert chunks(labels) == Count(auto, auto, auto)


ERROR = None


@pytest.mark.parametrize(("labels", "lenient", "iob1", "iob2", "ioe1", "ioe2", "iobes"), [
    ("I-A I-A O", "A0-2", "A0-2", "", "A0-2", "", ""),
    ("B-A B-A", "A0-1 A1-2", "A1-2", "A0-1 A1-2", ERROR, ERROR, ""),
    ("B-A I-A O", "A0-2", "A1-2", "A0-2", ERROR, ERROR, ""),
    ("B-A I-B", "A0-1 B1-2", "B1-2", "A0-1", ERROR, ERROR, ""),
    ("I-A B-A", "A0-1 A1-2", "A0-1 A1-2", "A1-2", ERROR, ERROR, ""),
    ("I-A E-A E-A", "A0-2 A2-3", ERROR, ERROR, "A0-2", "A0-2 A2-3", ""),
    ("B-A E-A S-A", "A0-2 A2-3", ERROR, ERROR, ERROR, ERROR, "A0-2 A2-3"),
    ("S-A I-A", "A0-1 A1-2", ERROR, ERROR, ERROR, ERROR, "A0-1"),
    ("B-A S-A", "A0-1 A1-2", ERROR, ERROR, ERROR, ERROR, "A1-2"),
])
def test_strict_and_lenient_readings(labels, lenient, iob1, iob2, ioe1, ioe2, iobes):
    labels = labels.split()
    assert_spans(labels, "iobes", False, lenient)
    for scheme, spans in {"iob1": iob1, "bio": iob2, "ioe1": ioe1, "ioe2": ioe2, "iobes": iobes}.items():
        if spans is ERROR:
            with pytest.raises(DataError, match=f"is not one of the scheme {scheme}: expected the prefix") as fault:
                evaluate([labels], [labels], scheme, strict=True)
            assert fault.value.path is fault.value.line is None
        else:
            assert_spans(labels, scheme, True, spans)


@pytest.mark.parametrize(
    ("name", "scheme", "labels"),
    [("IOB2", "bio", "B-A I-A I-B"), ("bioes", "iobes", "B-A E-A S-A"), ("Biluo", "bilou", "B-A L-A U-A"), ("bioul", "bilou", "U-A U-A"),
     ("NONE", "none", "x x"), ("AUTO", "auto", "B-A I-A")],
)
def test_other_names_of_schemes(name, scheme, labels):
    for strict in {False, scheme != "none"}:
        assert evaluate([labels.split()], [labels.split()], name, strict) == evaluate([labels.split()], [labels.split()], scheme, strict)
    file = "".join(f"{label} {label}\n" for label in labels.split()).encode()
    assert Outputs(io.BytesIO(file), name).scores[0].scheme == ("bio" if scheme == "auto" else scheme)  # which is detected


def assert_spans(labels, scheme, strict, spans):
    spans = spans.split()
    assert evaluate([labels], [labels], scheme, strict).chunks.gold == len(spans)
    for span in spans:
        start, end = map(int, span[1:].split("-"))
        clean = ["O"] * len(labels)
        clean[start:end] = [f"{'SBIE'[role_in_chunk(i, start, end, scheme)]}-{span[0]}" for i in range(start, end)]
        assert evaluate([labels], [clean], scheme, strict).chunks.correct == 1


def role_in_chunk(i, start, end, scheme):
    """The role of a token in a chunk, as an index into SBIE."""
    if scheme in ("iob1", "ioe1"):
        return 2
    if scheme == "bio":
        return 1 if i == start else 2
    if scheme == "ioe2":
        return 3 if i == end - 1 else 2
    return 0 if end - start == 1 else 1 if i == start else 3 if i == end - 1 else 2


@pytest.mark.parametrize(("labels", "lenient", "strict"), [
    ("B-A I-A O", "bio", "bio"),
    ("I-A O", "bio", "iob1"),
    ("I-A B-A O I-A O", "bio", "iob1"),  # as in CoNLL-2003
    ("I-A B-A O B-A O", "bio", "bio"),
    ("I-A E-A O", "bio", "ioe2"),
    ("B-A E-A O", "iobes", "iobes"),
    ("S-A O", "iobes", "iobes"),
    ("B-A L-A O", "bilou", "bilou"),
    ("U-A", "bilou", "bilou"),
    ("B M E S", "iobes", None),
    ("S N V U", "bio", None),  # parts of speech
    ("O O", "bio", "bio"),
])
def test_the_scheme_is_found(labels, lenient, strict):
    labels = labels.split()
    assert evaluate([labels], [labels]).scheme == lenient
    if strict:
        assert evaluate([labels], [labels], strict=True).scheme == strict


@pytest.mark.parametrize(("second", "strict", "scheme"), [("S-A", False, "iobes"), ("S-A", True, "iobes"), ("I-A", True, "iob1"), ("B-A", True, "bio")])
def test_all_files_have_the_scheme_of_all_labels(second, strict, scheme):
    assert outputs("w B-A B-A\n", f"w {second} {second}\n\n" * 2, strict=strict).scheme == scheme


def test_the_gold_labels_decide_the_scheme():
    scores = evaluate([["S-A", "S-A"]], [["S-A", "what-A"]])
    assert (scores.scheme, scores.chunks) == ("iobes", Count(2, 1, 1))
    assert evaluate([["B-A", "I-A", "O"]], [["S-A", "I-A", "O"]]).scheme == "iobes"  # unless they say nothing
    assert scores.merged == Count(1, 1, 1) and scores.as_dict()["conlleval"] == scores.merged.as_dict()


def test_scores_of_a_small_example():
    gold = [["B-A", "I-A", "O"], ["B-B", "O"], ["O"]]
    found = [["B-A", "I-A", "O"], ["B-A", "B-A"], ["O"]]
    scores = evaluate(iter(gold), iter(found))
    assert scores.chunks == Count(gold=2, found=3, correct=1)
    assert (scores.precision, scores.recall, scores.f1) == (1 / 3, 1 / 2, 0.4)
    assert scores.types == {"A": Count(1, 3, 1), "B": Count(1, 0, 0)}
    assert scores.labels == {
        "B-A": Count(1, 3, 1),
        "B-B": Count(1, 0, 0),
        "I-A": Count(1, 1, 1),
        "O": Count(3, 2, 2),
    }
    assert scores.confusion == {("B-B", "B-A"): 1, ("O", "B-A"): 1}
    assert (scores.tokens, scores.correct_tokens, scores.accuracy) == (6, 4, 4 / 6)
    assert scores.inside_accuracy == 2 / 3
    assert (scores.sentences, scores.correct_sentences, scores.sentence_accuracy) == (3, 2, 2 / 3)
    assert str(scores).splitlines()[0] == "processed 6 tokens with 2 phrases; found: 3 phrases; correct: 1."
    assert scores.as_dict()["types"]["A"]["precision"] == 1 / 3


def test_no_sentences_give_zeros():
    scores = evaluate([], [])
    assert (scores.tokens, scores.f1, scores.accuracy, scores.inside_accuracy, scores.sentence_accuracy) == (0,) * 5
    assert evaluate([[]], [[]]).sentences == 0


def test_without_chunks_each_token_is_one():
    scores = evaluate([["NN", "NN", "-"]], [["NN", "VB", "-"]], "none", outside="-")
    assert scores.chunks == Count(2, 2, 1)
    assert scores.outside == {"O"}
    assert evaluate([["O", "O"]], [["O", "O"]], "none").malformed_chunks == 0


@pytest.mark.parametrize(("gold", "predicted", "message"), [
    ([["O"]], [["O", "O"]], "sentence 1: 1 gold label, but 2 predicted"),
    ([["O"], ["O"]], [["O"]], "1 predicted sentence, but more gold ones"),
    ([["O"]], [["O"], ["O"]], "1 gold sentence, but more predicted ones"),
    ([["O"]], [["O"], None], "1 gold sentence, but more predicted ones"),
    ([["O"], ["O"]], [["O"], None], "labels where sentences were expected"),
    (["O"], ["O"], "labels where sentences were expected"),
    ([["O", ""]], [["O", "O"]], "sentence 1: a label is empty"),
    ([["O", 3]], [["O", "O"]], "sentence 1: the label 3 is not a str"),
    ([["O", numpy.array([])]], [["O", "O"]], r"sentence 1: the label array\(\[\], dtype=float64\) is not a str"),
    ([numpy.array([["B-X", "O"]])], [["O"]], "sentence 1: the label array.* is not a str"),
    ([["O", "\ud800"]], [["O", "O"]], "is not valid UTF-8"),
    (None, [], "gold: found None, expected a list of lists of labels"),
    ([], 3, "predicted: found 3, expected a list of lists of labels"),
    ([3], [3], "labels where sentences were expected"),
    ([b"O"], [b"O"], "labels where sentences were expected"),
    (numpy.array(3), [], r"gold: found array\(3\), expected a list of lists of labels"),
    ([numpy.array(3)], [["O"]], "labels where sentences were expected"),
])
def test_what_cannot_be_compared_is_an_error(gold, predicted, message):
    with pytest.raises(DataError, match=message):
        evaluate(gold, predicted)


def test_an_outside_label_that_no_file_can_have():
    assert evaluate([["O", "B-x"]], [["O", "B-x"]], outside="\udc80").f1 == 1


@pytest.mark.parametrize(("how", "message"), [
    ({"scheme": numpy.array(["bio", "bio"])}, r"unknown scheme array\(.*\); expected one of auto, bio.*"),
    ({"scheme": "iob3"}, "unknown scheme 'iob3'; expected one of auto, bio.*"),
    ({"strict": "no"}, "strict: expected true or false, found 'no'"),
    ({"outside": None}, "outside: expected a label, found None"),
    ({"scheme": "none", "strict": True}, "strict needs a scheme with chunks"),
])
def test_options_that_evaluate_refuses(how, message):
    with pytest.raises(OptionError, match=f"^{message}$"):
        evaluate([], [], **how)


@pytest.mark.parametrize(("how", "message"), [
    ({"strict": "no"}, "strict: expected true or false, found 'no'"),
    ({"scheme": "none", "segments": True}, "segments needs a scheme that knows prefixes"),
    ({"lexicon": {b"a"}}, "lexicon is of use with segments only"),
    ({"format": "crfsuite", "delimiter": ","}, "delimiter and lexicon are for format='columns'"),
    ({"format": "crfsuite", "lexicon": {b"a"}, "segments": True}, "delimiter and lexicon are for format='columns'"),
    ({"lexicon": {b"a"}, "segments": True, "label": "a"}, "label and lexicon exclude each other.*"),
    ({"lexicon": ["ab"], "segments": True}, "lexicon: expected a set of words, or a file, found a list"),
    ({"lexicon": ("ab",), "segments": True}, "lexicon: expected a set of words, or a file, found a tuple"),
    ({"lexicon": {"ab": 1}, "segments": True}, "lexicon: expected a set of words, or a file, found a dict"),
    ({"lexicon": {"a", 3}, "segments": True}, "lexicon: found 3, expected words"),
    ({"format": "conllu", "comments": True}, "comments is of no use with CoNLL-U.*"),
    ({"outside": ""}, "outside needs a label"),
])
def test_options_that_outputs_refuse(how, message):
    with pytest.raises(OptionError, match=f"^{message}$"):
        Outputs([], **how)


def outputs(*texts, **options):
    return Outputs([io.BytesIO(text.encode()) for text in texts], **options)


@pytest.mark.parametrize(("delimiter", "text"), [
    ("\\t", "a b\tB-A\tB-A\n"),
    ("\t", "a b\tB-A\tB-A\n"),
    (",", "a b,B-A,B-A\r\n\r\n"),
    (" ", " a B-A B-A \n"),
    ("\\s+", "a\t b  B-A\tB-A\n"),
    ("|", "a|B-A|B-A\n"),
    (" *;+ *", "a ; B-A;; B-A\r\n"),
    ("::", "a b::B-A::B-A"),
    (",", "a,B-A,B-A,,"),  # Perl's split, too, drops what is empty in the end
    ("::", "a::B-A::B-A::"),
    ("[;|]", "a;b;B-\x1f;B-\x1f"),
    ("[、|]", "a、B-〇|B-〇"),
    ("、", "a、B-A、B-A"),
])
def test_delimiters(delimiter, text):
    (scores,) = outputs(text, delimiter=delimiter).scores
    assert (scores.tokens, scores.chunks) == (1, Count(1, 1, 1))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_carriage_return_ends_what_a_pattern_looks_at(end):
    assert outputs(f"a;O;O;{end}", delimiter=";(?=.)").scores[0].confusion == {("O", "O;"): 1}


@pytest.mark.parametrize("text", ["a\tX \tX \nb\tO\tO\n", "a\tX \tX\nb\tO\tO\n", "a|X |X \nb|O|O\n"])
def test_blanks_behind_labels_do_not_count(text):
    """`tag` copies those of the gold label, and those of the predicted one end the line."""
    (scores,) = outputs(text, delimiter="|" if "|" in text else None).scores
    assert scores.labels["X"] == Count(1, 1, 1)


def test_blanks_behind_labels_in_the_midst_of_a_gold_file_do_not_count():
    (scores,) = outputs("# columns = tag word\nX \ta\tX\nO\tb\tO\n", label="tag", gold=io.BytesIO(b"# columns = tag word\nX \ta\nO\tb\n")).scores
    assert scores.labels["X"] == Count(1, 1, 1)


def test_no_byte_is_taken_for_what_a_pattern_matches():
    (scores,) = Outputs(io.BytesIO(b"a\xff \x1f B-A B-A\n"), delimiter="[ ;]").scores
    assert scores.chunks == Count(1, 1, 1)
    with pytest.raises(DataError, match=r"1: the label .* is not valid UTF-8"):
        Outputs(io.BytesIO(b"a B\xffB B-A\n"), delimiter="[ ;]")


@pytest.mark.parametrize("delimiter", ["[[ ]", "\udcff|[ ]"])
def test_delimiters_that_python_doubts(delimiter):
    """Python's warnings on a pattern are not shown to users; a character outside Unicode text never matches."""
    assert outputs("a B B\n", delimiter=delimiter).scores[0].tokens == 1


@pytest.mark.parametrize("delimiter", ["(a", "x*", "a{99999999999999}", "(?:" * 3000 + ")" * 3000, "(?u)a", "(?L)a"])
def test_delimiters_that_cannot_be(delimiter):
    with pytest.raises(OptionError, match="delimiter"):
        outputs("a B B\n", delimiter=delimiter)


def test_a_lexicon_is_the_first_column_of_a_file(tmp_path):
    path = tmp_path / "words"
    path.write_text("ab\nb 3\n\n  c\td\n", encoding="utf-8")
    assert read_lexicon(path) == {b"ab", b"b", b"c"}
    for lexicon in path, {b"ab", b"c"}, {"ab", "\ud800"}, frozenset(["ab"]):
        (scores,) = Outputs(io.BytesIO(b"a B B\nb E E\nd S S\n"), segments=True, lexicon=lexicon).scores
        assert (scores.words.gold, scores.unknown_words.gold) == (2, 1)
    with pytest.raises(FileError, match="nowhere: cannot be read"):
        Outputs([tmp_path / "nowhere"])


@pytest.mark.parametrize("told", [0, 1, 10_000])
def test_sentences_that_tell_another_length_than_they_have(told):
    labels = ["B-A", "O", "B-A"] * 1000
    scores = evaluate(liar(told, [liar(told, labels)]), [liar(told, labels)])
    assert (scores.tokens, scores.chunks) == (3000, Count(2000, 2000, 2000))
    with pytest.raises(DataError, match=r"^sentence 1: 3000 gold labels, but 2 predicted$"):
        evaluate([liar(told, labels)], [liar(told, ["O", "O"])])


@pytest.mark.parametrize("ask, error, message", [
    (lambda: outputs("a B B\n", "a B B\n").compare(0, 1), OptionError, "^a comparison needs the scores of each sentence: count with keep=True$"),
    (lambda: outputs("a B B\n", keep=True).compare(0, 1), OptionError, "^second: expected a whole number from 0 to 0, found 1$"),
    (lambda: outputs("a B B\n", keep=True).compare(-1, 0), OptionError, "^first: expected"),
    (lambda: outputs("a B B\n", keep=True).compare(0, 0, shuffles=0), OptionError, "^shuffles: expected a whole number from 1"),
    (lambda: outputs("a B B\n", keep=True).compare(0, 0, seed=-1), OptionError, "^seed: expected a whole number from 0 to 18446744073709551615"),
    (lambda: outputs("a B B\n", keep=True).compare(0, 0, seed=2**64), OptionError, "^seed: expected a whole number from 0 to 18446744073709551615"),
    (lambda: outputs("a B B\n", keep=True).compare(0, 0, seed=1.5), OptionError, "^seed: expected .* found 1.5$"),
    (lambda: outputs("a B B\n", format="csv"), OptionError, "^format: expected columns, conllu, crfsuite, found 'csv'$"),
    (lambda: outputs("X\ta\tX\n", format="crfsuite", label="upos"), OptionError, "^label is of no use with format='crfsuite', whose columns"),
    (lambda: outputs("a B B\n", delimiter=3), OptionError, "^delimiter: expected a text, found 3$"),
    (lambda: outputs("a B B\n", outside=None), OptionError, "^outside: expected a text, found None$"),
    (lambda: Outputs("nowhere"), FileError, "^nowhere: cannot be read"),
    (lambda: Outputs([None]), DataError, "found NoneType, expected a path or an open file"),
])
def test_impossible_questions_to_outputs_are_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


def test_a_path_in_bytes_is_named_as_text(tmp_path):
    path = tmp_path / "out"
    path.write_text("a B B\n")
    assert Outputs(os.fsencode(path)).scores[0].path == str(path)
