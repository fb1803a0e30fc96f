"""Tagging: a model at work on sentences and files.

A sentence is a list of rows, a row a list of columns (str): those that the model's template reads; further columns
are passed over. For a model trained on attribute lines (format "crfsuite") a row lists attributes: their names, or
pairs (name, value). Arrays, tuples and iterators are as good as lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from math import exp
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from crfkit.decode.bias import Bias, bias_of, by_number
from crfkit.decode.decoder import Decoder
from crfkit.decode.scratch import Scratch, gold_labels
from crfkit.decode.sentence import OneSentence
from crfkit.text.items import fill_rows
from crfkit.text.rows import Rows

from .decoding import Decoding
from .errors import DataError, OptionError, UnsupportedError
from .header import Described, SearchOptions, check_columns, label_name
from .parallel import THREADS, in_order, threads_of
from .text.faults import list_of
from .values import Expected, added_to, copied, plural, shown

if TYPE_CHECKING:
    import numpy

    from crfkit.decode.constraints import Constraints, ConstraintSource
    from crfkit.features.tables import Features
    from crfkit.text.block import Block
    from crfkit.weights.layout import Layout

    from .explaining import Explainer, Explanation

R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)


class Collection(Protocol[T_co]):
    """A list, a tuple, an array, a mapping and the like; not a str, whose items are of its own kind."""

    def __contains__(self, value: object, /) -> bool: ...
    def __iter__(self) -> Iterator[T_co]: ...


Row = Collection[Any] | Iterator[Any]
Sentence = Collection[Row] | Iterator[Row]
Labels = Collection[str] | Iterator[str]
Allowed = Collection[str | Labels | None] | Iterator[str | Labels | None]
Question = Callable[[OneSentence], R]

TOKENS_AT_ONCE = 1500  # so many go to a thread: about a millisecond or more, and threads have work where sentences are few but long
COUNT = Expected(int, low=1)

# What a tagger makes of its model by itself. Other attributes are those of a subclass, and are pickled.
_OWN = {"model", "_constraints", "_bias", "_header", "decoding", "_everyday", "explainer"}

_PARTS = ("verified", "index", "layout", "weights")  # of a model


class Prints(Protocol[T_co]):
    """What makes something of a labelled block: crfkit.decode.printing.Printer makes bytes."""

    def text(self, x: Scratch, rows: Rows, /) -> T_co: ...


class Trained(Protocol):
    """What a tagger needs of a model."""

    name: str
    verified: bool
    index: Any
    layout: Any
    weights: Any

    @property
    def header(self) -> dict[str, Any]: ...


class Tagger(Described):
    """A model, ready to label sentences. Any number of threads may use one tagger at once.

    `constraints` forbids sequences of labels. It is a scheme (bio, iobes, ...), "auto" for that of the model's labels,
    the path of a file of pairs, its text, or the pairs themselves: [("B", "I"), ...]; see crfkit.decode.constraints.

    `bias` maps labels to numbers, which are added to their scores at each token: {"O": -1} makes every other label more
    probable. Probabilities are those with the bias; see docs/tuning.md.

    The methods for one sentence take `allowed`: for each row None, a label, or several labels. All other labels become
    impossible, and probabilities are conditional on that.
    """

    def __init__(self, model: Trained | Tagger, constraints: ConstraintSource | None = None, bias: Bias | None = None):
        trained = model.model if isinstance(model, Tagger) else model
        if not all(hasattr(trained, part) for part in _PARTS):
            raise OptionError(f"model: found {shown(model)}, expected a Model; crfkit.load opens a file and returns a Tagger or a Parser")
        self.model: Any = trained
        self._header = header = trained.header
        self._constraints: Constraints | None = None
        if constraints is not None:
            from crfkit.decode.constraints import constraints_of

            self._constraints = constraints_of(constraints, header["labels"])
        self._bias = bias_of(bias)
        search = SearchOptions.of(header) or SearchOptions(-1, False)
        decoder = Decoder(
            trained.index, trained.layout, trained.weights, header["labels"], verified=trained.verified, constraints=self._constraints,
            depth=search.depth, backward=search.backward, rest=getattr(trained, "rest", None),
            bias=None if self._bias is None else by_number(self._bias, header["labels"]),
        )
        self.decoding = Decoding(decoder, header)
        # All threads may ask it; it says so while it is at work. A plain attribute: Python looks for what a property keeps in three places.
        self._everyday: OneSentence | None = None

    @classmethod
    def of_parts(cls, header: Mapping[str, Any], index: Features, layout: Layout, weights: Any) -> Tagger:
        """A tagger of weights that are still being learned."""
        parts = SimpleNamespace(name="", header=copied(dict(header)), index=index, layout=layout, weights=weights, verified=True)
        self = cls(parts)
        self.model = None
        return self

    def __reduce__(self):
        if self.model is None:
            raise TypeError("a tagger of a model in training cannot be pickled")
        return _again, (type(self), self.model, self._constraints, self._bias), added_to(self, _OWN)

    def __repr__(self) -> str:
        name = self.model.name if self.model is not None else "in training"
        limits = "" if self.constraints is None else f", constraints {self.constraints.name}"
        limits += "" if self.bias is None else f", bias {shown(self.bias)}"
        return f"<{type(self).__name__} {name}: {self._header['algorithm']}, {len(self._header['labels'])} labels{limits}>"

    @property
    def constraints(self) -> Constraints | None:
        """What forbids sequences of labels."""
        return self._constraints

    @property
    def bias(self) -> dict[str, float] | None:
        """The numbers that are added to the scores of labels; a copy."""
        return copied(self._bias)

    @property
    def loose(self) -> bool:
        """Whether data are read as another program reads them: true for models of CRFsuite, CRF++ and Wapiti."""
        return self.decoding.loose

    def need_probabilities(self, wanted: str) -> None:
        """UnsupportedError unless the model has them."""
        if not self.has_probabilities:
            raise UnsupportedError(
                f"{wanted} asks for probabilities, which a model trained by {self._header['algorithm']} does not have: "
                "its scores only say which labels are best. Train with another algorithm, such as lbfgs or sgd"
            )

    # One sentence

    def tag(self, rows: Sentence, *, allowed: Allowed | None = None, posterior: bool = False) -> list[str]:
        """The most probable sequence of labels. With `posterior`, the labels of highest marginal probability; if there are
        constraints, the allowed sequence with the greatest sum of them."""
        if allowed is None and not posterior:  # the common case, in the fewest steps
            if self._everyday is None:
                self._everyday = self.decoding.new_scratch()
            labels = self._everyday.label(rows)
            if labels is not None:
                return labels
        if posterior:
            self.need_probabilities("posterior=True")
        return self._one(rows, allowed, lambda scratch: scratch.best_labels(posterior))

    def nbest(self, rows: Sentence, n: int, *, allowed: Allowed | None = None, log: bool = False) -> list[tuple[float, list[str]]]:
        """The n best sequences of labels with their probabilities, best first; fewer if there are no more.

        log: give logarithms of the probabilities, for long sentences whose probabilities are 0.0 in a float.
        """
        return self._one(rows, allowed, self._paths(COUNT.take("n", n), log))

    @overload
    def marginals(self, rows: Sentence, *, allowed: Allowed | None = None, named: Literal[False] = False) -> numpy.ndarray: ...
    @overload
    def marginals(self, rows: Sentence, *, allowed: Allowed | None = None, named: Literal[True]) -> list[dict[str, float]]: ...
    @overload
    def marginals(self, rows: Sentence, *, allowed: Allowed | None = None, named: bool) -> Any: ...
    def marginals(self, rows: Sentence, *, allowed: Allowed | None = None, named: bool = False) -> Any:
        """The probability of label j at row t, as an array [t, j]; with `named`, as a dict {label: probability} per row."""
        return self._one(rows, allowed, self._nodes(named))

    def edge_marginals(self, rows: Sentence, *, allowed: Allowed | None = None) -> numpy.ndarray:
        """The probability of label i at row t and label j at row t+1, as an array [t, i, j]."""
        self.need_probabilities("edge_marginals")
        width = len(self._header["labels"])
        return self._one(rows, allowed, lambda scratch: _filled(scratch.fill_edges, max(scratch.length - 1, 0), width, width))

    def probability(self, rows: Sentence, labels: Labels, *, allowed: Allowed | None = None) -> float:
        """The probability of a sequence of labels; 0.0 if it is too small for a float, see `log_probability`."""
        self.need_probabilities("probability")
        return exp(self.log_probability(rows, labels, allowed=allowed))

    def log_probability(self, rows: Sentence, labels: Labels, *, allowed: Allowed | None = None) -> float:
        """The natural logarithm of the probability of a sequence of labels; -inf if it is impossible."""
        self.need_probabilities("log_probability")
        return self._one(rows, allowed, lambda scratch: scratch.score_of(self._ids(scratch, labels)) - scratch.log_z())

    def log_z(self, rows: Sentence, *, allowed: Allowed | None = None) -> float:
        """The natural logarithm of the sum of exp(score) over all sequences of labels: log_probability is score - log_z."""
        self.need_probabilities("log_z")
        return self._one(rows, allowed, lambda scratch: scratch.log_z() + scratch.level)

    def score(self, rows: Sentence, labels: Labels) -> float:
        """The score of a sequence of labels: the sum of the weights of its features, and of the bias; -inf if it is forbidden."""
        return self._one(rows, None, lambda scratch: scratch.score_of(self._ids(scratch, labels)) + scratch.level)

    def explain(self, rows: Sentence, top: int = 10, *, allowed: Allowed | None = None) -> list[Explanation]:
        """Why each token got its label: its rival, and the `top` strongest reasons for either. The rival is the best
        labelling of the sentence in which the token has another label."""
        self.need_labellings("explain")
        top = COUNT.take("top", top)
        return [self.explainer.explanation(found) for found in self._one(rows, allowed, lambda scratch: scratch.explain(top))]

    @cached_property
    def explainer(self) -> Explainer:
        """Knows the names of attributes; made when first asked for."""
        from .explaining import Explainer

        return Explainer(self.decoding.decoder.index, self._header["labels"])

    # Many sentences, on threads (0: one for each processor)

    def tag_many(self, sentences: Iterable[Sentence], threads: int = 0, *, posterior: bool = False) -> list[list[str]]:
        """The labels of each sentence, as from `tag`."""
        threads = THREADS.take("threads", threads)
        if posterior:
            self.need_probabilities("posterior=True")
        given = list_of(sentences, "sentences")
        if len(given) == 1:  # as services ask; not self.tag: that of a subclass may call this
            return [Tagger.tag(self, given[0], posterior=posterior)]
        rows = self._parsed(given)
        return self._labels_of(rows, self.decoding.key(rows.n_columns, None), threads, posterior)

    def nbest_many(self, sentences: Iterable[Sentence], n: int, threads: int = 0, *, log: bool = False) -> list[list[tuple[float, list[str]]]]:
        """The n best sequences of labels of each sentence, as from `nbest`."""
        n = COUNT.take("n", n)
        return self._each(sentences, threads, self._paths(n, log), n)

    def marginals_many(self, sentences: Iterable[Sentence], threads: int = 0, *, named: bool = False) -> list[Any]:
        """The marginal probabilities of each sentence, as from `marginals`."""
        return self._each(sentences, threads, self._nodes(named))

    def tag_with_gold(self, data: Any, threads: int = 0, *, comments: bool = False) -> tuple[list[list[str]], list[list[str]]]:
        """The labels that stand in the data (a path, paths, or sentences with the label last), and the model's.

        comments: lines of a file that begin with '#' are no tokens."""
        from crfkit.text.sources import listed, parsed_blocks

        threads = THREADS.take("threads", threads)
        gold: list[list[str]] = []
        predicted: list[list[str]] = []
        form, label, names = self._header["format"], label_name(self._header), self._header["column_names"]
        last = names[-1] if names is not None and len(names) == self._header["columns"] else None
        for rows, columns in parsed_blocks(listed(data), form, label, last, comments, self.loose):
            by_place = label is None and (last is None or columns.names is None)
            if by_place and form == "columns" and columns.n_cols not in (0, self._header["columns"]):
                expected = f"expected {self._header['columns']} as in the training data, the label last"
                raise DataError(f"found {plural(columns.n_cols, 'column')}, {expected}", columns.path, columns.line)
            gold += gold_labels(rows)
            predicted += self._labels_of(rows, self.decoding.key(columns.n_cols, columns), threads)
        return gold, predicted

    def text(
        self, blocks: Iterable[Block], printer: Prints[R], *, partial: bool = False, fill: bool = False, threads: int = 0
    ) -> Iterator[R]:
        """Blocks of the model's format, labelled; in order, and the same for any number of threads. fill: the printer writes into the
        column that the model predicts."""
        from crfkit.text.sources import label_column

        check_columns(self.labels)
        form = self._header["format"]
        label = label_name(self._header) if fill or (partial and form == "conllu") else None

        def work(block: Block) -> R:
            rows = Rows(form, None if label is None else label_column(label, block.columns, form))
            rows.parse(block)
            key = self.decoding.key(block.columns.n_cols, block.columns, behind=int(partial and label is None and form == "columns"))
            with self.decoding.scratch(key) as scratch:
                return printer.text(scratch, rows)

        return in_order(work, blocks, threads_of(threads))

    # Questions

    def _paths(self, n: int, log: bool) -> Question[list[tuple[float, list[str]]]]:
        self.need_probabilities("nbest")

        def answer(scratch: OneSentence) -> list[tuple[float, list[str]]]:
            paths = scratch.best_paths(n)
            log_z = scratch.log_z()
            return [(score - log_z if log else exp(score - log_z), labels) for score, labels in paths]

        return answer

    def _nodes(self, named: bool) -> Question[Any]:
        self.need_probabilities("marginals")
        width = len(self._header["labels"])
        return OneSentence.marginals if named else lambda scratch: _filled(scratch.fill_nodes, scratch.length, width)

    def _one(self, rows: Sentence, allowed: Allowed | None, question: Question[R]) -> R:
        scratch = self.decoding.borrow()  # `with` takes longer, which is to be seen in short sentences
        try:
            scratch.read(rows)
            if allowed is not None:
                scratch.restrict(self.decoding.flags(allowed, scratch.length))
            return question(scratch)
        finally:
            self.decoding.give_back(scratch)

    def _each(self, sentences: Iterable[Sentence], threads: int, question: Question[R], labellings: int = 1) -> list[R]:
        threads = THREADS.take("threads", threads)
        given = list_of(sentences, "sentences")
        if len(given) == 1:
            return [self._one(given[0], None, question)]
        parsed = self._parsed(given)
        key = self.decoding.key(parsed.n_columns, None)

        def answers(first: int, last: int) -> list[R]:
            found = []
            with self.decoding.scratch(key) as scratch:
                for place in range(first, last):
                    scratch.score_sentence(parsed, place)
                    found.append(question(scratch))
            return found

        return in_pieces(parsed, answers, threads, labellings)

    # Inside

    def _parsed(self, given: list[Any]) -> Rows:
        """Sentences, parsed together, so that an error says which of them it is."""
        rows = Rows(self._header["format"])
        rows.loose = self.loose
        fill_rows(rows, given)
        return rows

    def _labels_of(self, rows: Rows, key: tuple[int, ...] | None, threads: int, posterior: bool = False) -> list[list[str]]:
        def labels(first: int, last: int) -> list[list[str]]:
            with self.decoding.scratch(key) as scratch:
                return scratch.labels_of(rows, first, last, posterior)

        return in_pieces(rows, labels, threads)

    def _ids(self, scratch: OneSentence, labels: Labels) -> list[int]:
        found = list_of(labels, "labels")
        if len(found) != scratch.length:
            raise DataError(f"found {plural(len(found), 'label')}, expected {scratch.length}: one for each row")
        return self.decoding.decoder.label_ids(found)


def in_pieces(rows: Rows, work: Callable[[int, int], list[R]], threads: int, labellings: int = 1) -> list[R]:
    """What work(first, last) finds of the sentences of these numbers, a few of them at a time. The more labellings of each are looked for,
    the fewer sentences are a piece of work."""
    pieces = rows.pieces(TOKENS_AT_ONCE // labellings)
    threads = threads_of(threads) if len(pieces) > 1 else 1  # counting processors takes longer than a short sentence
    return [one for part in in_order(lambda piece: work(*piece), pieces, threads) for one in part]


def _filled(fill: Callable[[numpy.ndarray], Any], *shape: int) -> numpy.ndarray:
    """An array of this shape that is filled in."""
    import numpy

    array = numpy.empty(shape)
    fill(array)
    return array


def _again(cls: type[Tagger], model: Any, constraints: Constraints | None, bias: Bias | None = None) -> Tagger:
    """A tagger that was pickled; what its class adds comes with its state."""
    tagger = cls.__new__(cls)
    Tagger.__init__(tagger, model, constraints, bias)
    return tagger
