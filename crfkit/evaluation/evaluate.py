"""Scores of predicted labels against gold labels: chunks as conlleval counts them, tokens, words.

    crfkit.evaluate(gold, predicted)                      two lists of sentences, each a list of labels
    Outputs(["a.out", "b.out"]).scores                    files, gold and predicted label in the last two columns
    Outputs(["a.out", "b.out"], keep=True).compare(0, 1)  is the difference significant?

Labels are interned and counted block by block (counting.pyx), so that memory does not grow with the input. The
scheme `auto` is decided when all labels are known: until then the counts of every candidate are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import zip_longest
from typing import Any

from crfkit.constants import COMMENTS_OF_CONLLU, FORMATS
from crfkit.errors import DataError, OptionError, refuse
from crfkit.text.block import Marks
from crfkit.text.opening import path_of
from crfkit.text.reading import Source
from crfkit.values import LARGEST, Expected, lists, plain, plural, shown

from .aligning import Sentence, aligned
from .counting import Tally
from .files import Labelled
from .mistakes import Mistakes
from .schemes import SCHEMES, SEGMENT_PREFIXES, WORD_STARTS, candidates, detect, scheme_called
from .scores import JUDGED, Comparison, Count, Scores

__all__ = ["Comparison", "Count", "Outputs", "Scores", "evaluate", "read_lexicon"]

SCHEME_NAMES = ("auto", *SCHEMES)


def evaluate(
    gold: Iterable[Sequence[str]],
    predicted: Iterable[Sequence[str]],
    scheme: str = "auto",
    strict: bool = False,
    *,
    outside: str = "O",
    intervals: bool = False,
    mistakes: bool = False,
) -> Scores:
    """Score sentences of predicted labels against sentences of gold labels.

    scheme is one of auto, bio, iob1, ioe1, ioe2, iobes, bilou, none, or another name of one of them, such as IOB2. With strict,
    only well-formed chunks count, and a label outside the scheme is an error. outside is the label of tokens in no chunk.
    With intervals, Scores.intervals has half the width of the 95 % interval of precision, recall, f1 and accuracy.
    With mistakes, Scores.mistakes says what is wrong with the chunks that are wrong.
    """
    scheme, strict, tables = _asked(scheme, strict)
    if not isinstance(outside, str):
        raise OptionError(f"outside: expected a label, found {shown(outside)}")
    for name, given in (("gold", gold), ("predicted", predicted)):
        if not isinstance(given, str) and not lists(given):
            raise DataError(f"{name}: found {shown(given)}, expected a list of lists of labels")
    intervals = Expected(bool).take("intervals", intervals)
    mistakes = Expected(bool).take("mistakes", mistakes)
    tally = Tally(tables, strict, keep=intervals, mistakes=mistakes, raw=scheme == "none", outside=outside.encode(errors="surrogatepass"))
    end: Any = object()
    for n, (sentence, guess) in enumerate(zip_longest(gold, predicted, fillvalue=end)):
        if sentence is end or guess is end:
            fewer, more = ("gold", "predicted") if sentence is end else ("predicted", "gold")
            raise DataError(f"{plural(n, f'{fewer} sentence')}, but more {more} ones")
        if not lists(sentence) or not lists(guess):
            raise DataError("labels where sentences were expected: pass lists of lists of labels")
        tally.add(sentence, guess)
    tally.finish()
    chosen = _chosen([tally], scheme, strict)
    return _scores(tally, chosen, strict, intervals)


class Outputs:
    """Labelled files, read and counted, all by the same scheme.

    `inputs`: a file or a list of files, which are paths, '-' or open binary files. Gold and predicted labels are the last two columns.
    `label`: the column of gold labels by name, with format "conllu" and where the first line of a file names the columns. With
    "crfsuite" gold labels are the first column, and nothing has a name.
    `gold`: a file with the gold labels and the same sentences. They are in the column `label`, else in the last one (with "crfsuite"
    in the first). The predicted labels are then in the column `label` of the inputs, or in the last one if a column was added.
    `delimiter`: a character or a regular expression. Without it columns end at tabs, or at blanks where a line has no tab.
    `segments`: count words, too; `lexicon` says which of them are known: a set of str or bytes, or a file that read_lexicon reads.
    `comments`: lines that begin with '#' and stand before a sentence are no tokens.
    `keep`: what `compare` needs. `intervals`: estimate those of the scores. `mistakes`: say what is wrong with chunks.
    """

    def __init__(
        self,
        inputs: Any,
        scheme: str = "auto",
        strict: bool = False,
        *,
        outside: str = "O",
        format: str = "columns",
        label: str | None = None,
        delimiter: str | None = None,
        segments: bool = False,
        lexicon: Any = None,
        keep: bool = False,
        intervals: bool = False,
        mistakes: bool = False,
        comments: bool = False,
        gold: Any = None,
    ):
        scheme, self.strict, tables = _asked(scheme, strict)
        _check_together(scheme, outside, format, label, delimiter, segments, lexicon, gold, comments)
        known = None if lexicon is None else _words(lexicon) if isinstance(lexicon, Set) else read_lexicon(lexicon)
        self.marks = Marks()
        files, entries = Labelled(format, label, delimiter, comments), Source(inputs).inputs
        right: Iterable[Sentence] | None = None if gold is None else files.sentences(gold, self.marks)
        if right is not None and len(entries) > 1:
            right = list(right)
        how = {
            "tables": tables, "strict": self.strict, "word_starts": WORD_STARTS if segments else None, "lexicon": known, "keep": keep or intervals, "mistakes": mistakes,
            "raw": scheme == "none", "outside": outside.encode(errors="surrogatepass"), "separator": files.separator, "form": format, "comments": comments,
        }
        self._tallies = [self._counted(entry, files, right, gold, how) for entry in entries]
        if segments:
            for tally in self._tallies:
                _check_labels(tally, SEGMENT_PREFIXES, "a word segmentation")
        self.scheme = _chosen(self._tallies, scheme, self.strict)
        self.scores = [_scores(tally, self.scheme, self.strict, intervals) for tally in self._tallies]
        self.met = [tally.first_lines.keys() for tally in self._tallies]  # the labels of each file, also those that count as others

    def _counted(self, entry: Any, files: Labelled, right: Iterable[Sentence] | None, gold: Any, how: dict[str, Any]) -> Tally:
        """The counts of a file that has both labels, or beside the sentences with the right ones, which the file `gold` has. `how`: arguments of Tally."""
        if right is None:
            columns, blocks = files.blocks(entry)
            tally = Tally(path=path_of(entry), **how, **files.places(columns))
            for data, line in blocks:
                tally.feed(data, line)
        else:
            tally = Tally(path=path_of(entry), **how)
            for sentence, true in aligned(files.sentences(entry, self.marks, answers=True), right, tally.path, path_of(gold)):
                tally.add(true.words, sentence.words, sentence.line)
        tally.finish()
        self.marks.add(*tally.lines.marks)
        return tally

    def compare(self, first: int, second: int, *, shuffles: int = 10000, seed: int = 1) -> Comparison:
        """Compare two of the files by two-sided approximate randomisation; their gold labels must be the same."""
        for name, number, low, high in (
            ("first", first, 0, len(self._tallies) - 1), ("second", second, 0, len(self._tallies) - 1),
            ("shuffles", shuffles, 1, LARGEST), ("seed", seed, 0, 2**64 - 1),
        ):
            Expected(int, low=low, high=high).take(name, number)
        from .significance import shuffle

        a, b = self._tallies[first], self._tallies[second]
        extreme = shuffle(a, b, _table(self.scheme, self.strict), shuffles, seed)
        x, y = self.scores[first], self.scores[second]
        return Comparison(
            first=x.path,
            second=y.path,
            sentences=x.sentences,
            shuffles=shuffles,
            seed=seed,
            differences={name: getattr(y, name) - getattr(x, name) for name in JUDGED},
            p={name: (n + 1) / (shuffles + 1) for name, n in zip(JUDGED, extreme, strict=True)},
        )


def read_lexicon(path: Any) -> frozenset[bytes]:
    """The words of a file: the first field of each line."""
    words = (line.split(maxsplit=1) for block in Source(path, allow_empty=True) for line in block.data.splitlines())
    return frozenset(fields[0] for fields in words if fields)


def _words(lexicon: Set[str | bytes]) -> frozenset[bytes]:
    """The words of a set as they stand in files."""
    for word in lexicon:
        if not isinstance(word, (str, bytes)):
            raise OptionError(f"lexicon: found {shown(word)}, expected words")
    return frozenset(word.encode(errors="surrogatepass") if isinstance(word, str) else word for word in lexicon)


def _asked(scheme: Any, strict: Any) -> tuple[str, bool, list[bytes]]:
    """The scheme that is asked for, or "auto"; whether it is to be strict; and the tables to count by."""
    scheme = plain(scheme)
    found = scheme_called(scheme) if isinstance(scheme, str) else None
    if found not in SCHEME_NAMES:
        raise OptionError(f"unknown scheme {shown(scheme)}; expected one of {', '.join(SCHEME_NAMES)}")
    strict = Expected(bool).take("strict", strict)
    if strict and found == "none":
        raise OptionError("--strict needs a scheme with chunks")
    return found, strict, [_table(name, strict) for name in candidates(found, strict)]


def _check_together(
    scheme: str, outside: Any, format: Any, label: str | None, delimiter: Any, segments: bool, lexicon: Any, gold: Any, comments: bool
) -> None:
    """OptionError for arguments of Outputs that are invalid, or contradict each other."""
    if not isinstance(format, str) or format not in FORMATS:
        raise OptionError(f"format: expected {', '.join(FORMATS)}, found {shown(format)}")
    for name, text in (("outside", outside), ("delimiter", "" if delimiter is None else delimiter)):
        Expected(str).take(name, text)
    named, known, separate = label is not None, lexicon is not None, gold is not None
    words = isinstance(lexicon, Set) or hasattr(lexicon, "read") or not lists(lexicon)
    refuse(
        (known and not segments, "--lexicon is of use with --segments only"),
        (segments and scheme == "none", "--segments needs a scheme that knows prefixes"),
        (format != "columns" and (delimiter is not None or known), "--delimiter and --lexicon are for --format columns"),
        (named and format == "crfsuite", "--label is of no use with --format crfsuite, whose columns have no names"),
        (named and known, "--label and --lexicon exclude each other: with a lexicon the words stand first, and both labels last"),
        (separate and known, "--gold and --lexicon exclude each other: with a lexicon, both labels are in one file"),
        (lists(gold) and not hasattr(gold, "read"), "gold: expected one file, found a list"),
        (not words, f"lexicon: expected a set of words, or a file, found a {type(lexicon).__name__}"),
        (comments and format == "conllu", COMMENTS_OF_CONLLU),
        (not outside, "--outside needs a label"),
    )


def _table(scheme: str, strict: bool) -> bytes:
    """The table of a scheme, by which a Tally knows its counters: lenient iobes and bilou share one."""
    return SCHEMES[scheme].strict if strict else SCHEMES[scheme].lenient


def _chosen(tallies: Sequence[Tally], scheme: str, strict: bool) -> str:
    """The scheme to report; with strict, all labels must belong to it."""
    if scheme == "auto":
        gold: set[str] = set()
        predicted: set[str] = set()
        for tally in tallies:
            prefixes = tally.prefixes()
            for label, (in_gold, in_predicted, _) in tally.label_counts().items():
                gold.update(prefixes[label] * bool(in_gold))
                predicted.update(prefixes[label] * bool(in_predicted))
        scheme = detect(gold, predicted, strict)
        if strict and scheme == "bio":  # iob1 has the same prefixes: the one with more gold chunks
            scheme = max(("bio", "iob1"), key=lambda name: sum(tally.counters[_table(name, strict)].totals[0] for tally in tallies))
    if strict:
        for tally in tallies:
            _check_labels(tally, SCHEMES[scheme].prefixes, f"the scheme {scheme}")
    return scheme


def _check_labels(tally: Tally, allowed: str, what: str) -> None:
    for label, prefix in tally.prefixes().items():
        if prefix not in allowed:
            raise DataError(
                f"the label {shown(label)} is not one of {what}: expected the prefix {', '.join(allowed)}",
                tally.path,
                tally.first_lines[label] if tally.path is not None else None,
            )


def _intervals(tally: Tally, table: bytes) -> dict[str, float]:
    from .significance import half_widths

    return dict(zip(JUDGED, half_widths(tally, table), strict=True))


def _mistakes(tally: Tally, table: bytes) -> Mistakes:
    judge, types = tally.judges[table], tally.types
    gold, found = ({name: counts[name] for name in sorted(counts)} for counts in (judge.counts(False, types), judge.counts(True, types)))
    return Mistakes(gold, found, dict(sorted(judge.confusion(types).items(), key=lambda item: (-item[1], item[0]))))


def _scores(tally: Tally, scheme: str, strict: bool, intervals: bool) -> Scores:
    table, first = _table(scheme, strict), next(iter(tally.counters))
    counter = tally.counters[table]
    labels = {label: Count(*counts) for label, counts in sorted(tally.label_counts().items())}
    prefixes = tally.prefixes()
    gold, found, correct, unknown, unknown_correct = tally.word_counts
    return Scores(
        tokens=tally.tokens,
        sentences=tally.sentences,
        correct_sentences=tally.sentences_correct,
        scheme=scheme,
        strict=strict,
        chunks=Count(*counter.totals),
        types={name: Count(*counts) for name, counts in sorted(counter.counts(tally.types).items())},
        labels=labels,
        confusion=dict(sorted(tally.confusion.items(), key=lambda item: (-item[1], item[0]))),
        outside=frozenset(label for label in labels if prefixes[label] == "O"),
        merged=Count(*tally.counters[first].totals) if table != first and not strict else None,
        words=Count(gold, found, correct) if tally.word_starts is not None else None,
        unknown_words=Count(unknown, 0, unknown_correct) if tally.lexicon is not None else None,
        intervals=_intervals(tally, table) if intervals else None,
        mistakes=_mistakes(tally, table) if tally.judges else None,
        path=tally.path,
    )
