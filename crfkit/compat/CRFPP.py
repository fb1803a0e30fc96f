"""CRF++'s module for Python, and pycrfpp: the same calls, on models of CRF++ and of crfkit.

    tagger = CRFPP.Tagger("-m MODEL -v 3 -n 2")
    tagger.add("He PRP")
    tagger.add("reckons VBZ")
    tagger.parse()
    tagger.y2(0), tagger.prob(0)
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from itertools import takewhile
from math import exp
from typing import TYPE_CHECKING, Any

import click

from crfkit.decode.sentence import OneSentence
from crfkit.errors import CrfkitError
from crfkit.header import template_of
from crfkit.values import shown

from .crfpp.arguments import real, text_of, unsigned, whole, within
from .crfpp.crf_test import crf_test, scaled, tagger_of

if TYPE_CHECKING:
    from .crfpp.costs import Costs

__all__ = ["VERSION", "Model", "Tagger", "crfpp_learn", "crfpp_test"]

_cells = re.compile(r"[^ \t]+").findall
_words = re.compile(r"[^ \t-\r]+").findall  # not str.split, for which the blanks of other scripts are blanks, too: names of files have them

VERSION = "0.59"
"""The release of CRF++ whose calls these are."""

_ALL_WANTED = 1000  # labellings of a sentence: who asks for no more than that takes all of them


def crfpp_learn(argv: Iterable[str | bytes]) -> int:
    """Call crf_learn with the arguments of its command line, the program's name first. Returns the exit code; 0 is success."""
    from .crfpp.crf_learn import crf_learn

    return _run(crf_learn, argv)


def crfpp_test(argv: Iterable[str | bytes]) -> int:
    """Call crf_test in the same way. Both functions print what the programs print."""
    return _run(crf_test, argv)


def _run(command: click.Command, argv: Iterable[str | bytes]) -> int:
    program, *words = [text_of(word, "argv") for word in argv] or ["CRFPP"]
    code = 0
    try:
        command.main(words, program)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    if code > 128:  # a signal has ended the command, and was for the program that calls
        signal.raise_signal(code - 128)
    return code


def _given(arg: str | bytes) -> dict[str, Any]:
    """Parse a string of crf_test's options; RuntimeError says what is wrong."""
    try:
        with crf_test.make_context("CRFPP", _words(text_of(arg, "arg"))) as context:
            return context.params
    except click.ClickException as error:
        raise RuntimeError(error.format_message()) from None
    except click.exceptions.Exit:
        raise RuntimeError("--help and --version are for crfkit-crf-test") from None


class Model:
    """A model that many taggers can share: `Model("-m MODEL -v 1")`, with crf_test's options."""

    def __init__(self, arg: str | bytes):
        given = _given(arg)
        try:
            self._tagger = tagger_of(given["model"])
        except CrfkitError as error:
            raise RuntimeError(str(error)) from None
        self._settings = {name: given[name] for name in ("verbose", "nbest", "cost_factor")}

    def createTagger(self) -> Tagger:
        """A tagger, with the options of this model."""
        return Tagger(self)

    def getTemplate(self) -> str:
        """The lines of the template."""
        template = template_of(self._tagger.header)
        return "" if template is None else template.text

    def what(self) -> str:
        """The last error message: always empty, as a model that cannot be opened raises RuntimeError."""
        return ""


class Tagger:
    """A sentence, added token by token, and its labels. Tokens, columns and labels count from 0; an index out of range is an IndexError.

    As with CRF++, each thread should have its own: a tagger holds one sentence, and threads would add to the same one.
    """

    def __init__(self, arg: str | bytes | Model):
        model = arg if isinstance(arg, Model) else Model(arg)
        self._penalties: dict[tuple[int, int], float] = {}
        self._penalties_in_use: dict[tuple[int, int], float] = {}  # those of the last `parse`
        self._what = ""
        self.set_cost_factor(model._settings["cost_factor"])
        self.set_model(model)
        self.set_vlevel(model._settings["verbose"])
        self.set_nbest(model._settings["nbest"])

    # Options

    def set_model(self, model: Model) -> bool:
        """Switch to another model; the sentence is cleared."""
        if not isinstance(model, Model):
            raise TypeError(f"model: expected a Model, found {shown(model)}")
        self._model, self._factor_in_use = model._tagger, self._cost_factor
        self._sentence: OneSentence | None = None
        header, used = self._model.header, self._model.decoding.columns
        self._labels, self._xsize = header["labels"], used if used and header["algorithm"] != "crf++" else header["columns"] - 1
        self._numbers = {label: number for number, label in enumerate(self._labels)}
        return self.clear()

    def set_vlevel(self, vlevel: int) -> None:
        """What `parse` of a text prints. 0: labels; 1: also their probabilities; 2: the probabilities of all labels."""
        self._vlevel = unsigned(vlevel, "vlevel")

    def vlevel(self) -> int:
        """See set_vlevel."""
        return self._vlevel

    def set_nbest(self, nbest: int) -> None:
        """How many label sequences `parse` of a text prints. It does not limit `next`."""
        self._nbest = unsigned(nbest, "nbest")

    def nbest(self) -> int:
        """See set_nbest."""
        return self._nbest

    def set_cost_factor(self, cost_factor: float) -> None:
        """Multiply all costs by a positive factor, from the next `parse` on."""
        factor = real(cost_factor, "cost_factor")
        if not 0 < factor < float("inf"):
            raise ValueError(f"cost_factor: expected a finite number above 0, found {cost_factor}")
        self._cost_factor = factor

    def cost_factor(self) -> float:
        """See set_cost_factor."""
        return self._cost_factor

    def set_penalty(self, i: int, j: int, penalty: float) -> None:
        """Add to the cost of label j at token i, from the next `parse` on; -inf forbids the label. `clear` keeps penalties, as in CRF++."""
        self._model.need_probabilities("set_penalty")
        more = real(penalty, "penalty")
        if not more < float("inf"):
            raise ValueError(f"penalty: expected a number or -inf, found {penalty}")
        self._penalties[self._place(i, j)] = more

    def penalty(self, i: int, j: int) -> float:
        """See set_penalty; 0 where none is set."""
        place = whole(i, "token"), whole(j, "label")
        if place not in self._penalties:  # one that is kept may be of a longer sentence, or of a label that another model has
            self._place(*place)
        return self._penalties.get(place, 0.0)

    # The sentence

    def add(self, line: str | bytes) -> bool:
        """Add a token: its columns, separated by blanks or tabs. False if there are too few; `what` has the message."""
        text = text_of(line, "line")
        cells = _cells(str.rstrip(text, "\r\n")) or _cells(text)  # a line end alone is a token: programs add the characters of a text
        if len(cells) < self._xsize:
            self._what = f"x is small: size={len(cells)} xsize={self._xsize}"
            return False
        self._rows.append(cells)
        self._result.append(self._labels[0])
        return self._forget()

    def clear(self) -> bool:
        """Start a new sentence."""
        self._rows: list[list[str]] = []
        self._result: list[str] = []
        return self._forget()

    def empty(self) -> bool:
        """Whether the sentence has no tokens."""
        return not self._rows

    def size(self) -> int:
        """The number of tokens."""
        return len(self._rows)

    def xsize(self) -> int:
        """The number of columns that a token must have."""
        return self._xsize

    def ysize(self) -> int:
        """The number of labels of the model."""
        return len(self._labels)

    def dsize(self) -> int:
        """The number of weights of the model. A model that CRF++ did not make may leave out zero weights."""
        dsize: int = self._model.header["options"].get("maxid", self._model.model.layout.n_features)
        return dsize

    def x(self, i: int, j: int) -> str:
        """Column j of token i."""
        row = self._rows[within(i, len(self._result), "token")]
        return row[within(j, len(row), "column")]

    def what(self) -> str:
        """The error message for the last token or sentence that was refused."""
        return self._what

    # Its labels

    def parse(self, text: str | bytes | None = None) -> Any:
        """Label the sentence. True on success; otherwise False, and `what` has the message. Given a text of lines, label its first sentence
        and return it in the layout of crf_test; None on failure."""
        if text is not None:
            return self._of_text(text_of(text, "text"))
        self._forget()
        try:
            self._look()
        except CrfkitError as error:
            self._what = str(error)
            return False
        return True

    def _of_text(self, text: str) -> str | None:
        self.clear()
        lines = takewhile(lambda line: line.strip(" \t\r"), text.split("\n"))
        if not all(map(self.add, lines)) or not self.parse():
            return None
        if self._nbest:
            ranks = takewhile(lambda _: self.next(), range(self._nbest))
            return "".join(f"# {rank} {self.prob():.6f}\n{self._lines()}\n" for rank in ranks)
        return (f"# {self.prob():.6f}\n" if self._vlevel else "") + self._lines() + "\n"

    def _lines(self) -> str:
        shown: Iterable[str] = self._result
        if self._vlevel:
            self._model.need_probabilities("prob")
            with self._look() as sentence:  # all at once, as `prob` is a call for each
                shown = map(self._shown, self._result, sentence.marginals())
        return "".join("\t".join([*row, label]) + "\n" for row, label in zip(self._rows, shown, strict=True))

    def _shown(self, label: str, marginals: dict[str, float]) -> str:
        return "\t".join([f"{label}/{marginals[label]:.6f}", *(f"{name}/{share:.6f}" for name, share in marginals.items() if self._vlevel > 1)])

    def _forget(self) -> bool:
        """Discard the labels and scores of the sentence."""
        if self._factor_in_use != self._cost_factor:
            self._sentence, self._factor_in_use = None, self._cost_factor
        self._paths: list[list[str]] | None = None
        self._rank = 0
        self._costs: Costs | None = None
        self._read = self._held = False  # whether it has been labelled, and whether `_sentence` holds it
        return True

    def _look(self) -> OneSentence:
        """The parsed and labelled sentence. Callers hold it (`with`), as another thread may load the next sentence into it."""
        sentence = self._sentence
        if sentence is None or sentence.deserted:
            sentence = self._sentence = scaled(self._model, self._factor_in_use).decoding.new_scratch()
            self._held = False
        with sentence:
            if not self._read:
                self._penalties_in_use = self._penalties.copy()
            if not (self._read and self._held):
                rows = [row[: self._xsize] for row in self._rows]
                sentence.read(rows)
                if self._penalties_in_use and rows:
                    sentence.shift(self._more(len(rows)))
                self._held = True
            if not self._read:
                self._result = sentence.best_labels()
                self._read = True
        return sentence

    def _more(self, size: int) -> Any:
        import numpy

        more = numpy.zeros((size, self.ysize()))
        for (i, j), penalty in self._penalties_in_use.items():
            if i < size and j < self.ysize():  # a model set later may have fewer labels
                more[i, j] = penalty
        return more

    def next(self) -> bool:
        """Move to the next best label sequence, the first time to the best; False if there is none."""
        sentence = self._look()
        self._model.need_probabilities("next")
        if not self._rows:
            return False
        if self._paths is None or self._rank == len(self._paths) > 0:
            first = self._nbest if self._nbest <= _ALL_WANTED else 0  # a caller that loops over more of them may stop early
            wanted = max(2 * self._rank, first, 8)
            with sentence:
                self._paths = [labels for _, labels in sentence.best_paths(wanted)]
        if self._rank >= len(self._paths):
            return False
        self._result = self._paths[self._rank]
        self._rank += 1
        return True

    def y(self, i: int) -> int:
        """The index of the label of token i."""
        return self._numbers[self.y2(i)]

    result = y

    def y2(self, i: int) -> str:
        """The label of token i."""
        return self._result[within(i, len(self._result), "token")]

    def yname(self, j: int) -> str:
        """Label j of the model."""
        return self._labels[within(j, len(self._labels), "label")]

    def answer(self, i: int) -> int:
        """Always 0, as in CRF++, which knows gold labels only in training."""
        within(i, len(self._result), "token")
        return 0

    # Pickles and copies

    def __getstate__(self) -> dict[str, Any]:
        """They hold the model, the tokens and their labels. CRF++ does not offer this."""
        own = {name: value.copy() for name, value in vars(self).items() if name in ("_rows", "_result", "_penalties")}  # copy.copy shares the rest
        return {**vars(self), **own, "_sentence": None, "_costs": None}

    # Probabilities and costs

    def prob(self, i: int | None = None, j: int | None = None) -> float:
        """The probability of the label sequence; given i, of token i's label; given i and j, of label j at token i."""
        sentence = self._look()
        self._model.need_probabilities("prob")
        with sentence:
            if i is None:
                return exp(sentence.score_of([self._numbers[label] for label in self._result]) - sentence.log_z())
            return sentence.marginal(within(i, len(self._result), "token"), self.y(i) if j is None else within(j, len(self._labels), "label"))

    def Z(self) -> float:
        """The logarithm of the partition function."""
        self._model.need_probabilities("Z")
        with self._look() as sentence:
            return sentence.log_z()

    def _lattice(self) -> Costs:
        from .crfpp.costs import Costs  # which needs numpy

        sentence = self._look()
        self._model.need_probabilities("alpha, beta, or a cost")
        if self._costs is None:
            with sentence:
                self._costs = Costs(sentence, self.ysize())
        return self._costs

    def alpha(self, i: int, j: int) -> float:
        """The forward score of label j at token i: a log sum over paths."""
        return float(self._lattice().alpha[self._place(i, j)])

    def beta(self, i: int, j: int) -> float:
        """The backward score of label j at token i: a log sum over paths."""
        return float(self._lattice().beta[self._place(i, j)])

    def best_cost(self, i: int, j: int) -> float:
        """The cost of the best path to label j at token i."""
        return float(self._lattice().best[self._place(i, j)])

    def emission_cost(self, i: int, j: int) -> float:
        """The cost of label j at token i."""
        return float(self._lattice().emission[self._place(i, j)])

    def next_transition_cost(self, i: int, j: int, k: int) -> float:
        """The cost of the transition from label j at token i to label k at the next token."""
        step = within(i, self.size() - 1, "step behind token")
        return float(self._lattice().steps[step, within(j, self.ysize(), "label"), within(k, self.ysize(), "label")])

    def prev_transition_cost(self, i: int, j: int, k: int) -> float:
        """The cost of the transition from label k at the token before to label j at token i."""
        return self.next_transition_cost(whole(i, "token") - 1, k, j)

    def _place(self, i: int, j: int) -> tuple[int, int]:
        """A token and a label, which are there."""
        return within(i, len(self._result), "token"), within(j, len(self._labels), "label")
