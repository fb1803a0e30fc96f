"""Tagging: a model at work on sentences and files.

A sentence is a list of rows (an iterator of them will do), a row a list of columns (str): those that the model's template reads; further columns
are passed over. For a model trained on attribute lines (format "crfsuite") a row lists attributes: their names, or
pairs (name, value).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, islice
from math import exp
from typing import TYPE_CHECKING, Any, TypeVar

from crfkit.decode.decoder import Decoder, Scratch, gold_labels
from crfkit.decode.printing import Printer
from crfkit.template.parsing import Template
from crfkit.text.rows import Rows

from .errors import DataError, OptionError, TemplateError, UnsupportedError
from .model import Search, template_of
from .options import MOST_THREADS, WITHOUT_PROBABILITIES, plain, shown

if TYPE_CHECKING:
    import numpy

    from crfkit.features.tables import Features
    from crfkit.text.reading import Block
    from crfkit.text.reading import Layout as Columns
    from crfkit.weights.layout import Layout

    from .model import Model

T = TypeVar("T")
R = TypeVar("R")
Sentence = Sequence[Sequence[Any]]
Allowed = Sequence["str | Iterable[str] | None"]

SENTENCES_AT_ONCE = 64


class Tagger:
    """A model, ready to label sentences. One tagger may serve any number of threads at once.

    `constraints` forbids sequences of labels: a scheme (bio, iobes, ...), "auto" for that of the model's labels, or
    the path of a file of pairs; see crfkit.constraints.

    The methods on one sentence take `allowed`: for each row None, a label, or several labels. All else is then
    impossible, and probabilities are conditional on that.
    """

    def __init__(self, model: Model, constraints: str | os.PathLike[str] | None = None):
        self.model: Model | None = model
        self.constraints = constraints
        self._set_up(model.header, model.index, model.layout, model.weights, model.verified)

    @classmethod
    def of_parts(cls, header: Mapping[str, Any], index: Features, layout: Layout, weights: Any) -> Tagger:
        """A tagger of weights that are still being learned."""
        self = cls.__new__(cls)
        self.model = self.constraints = None
        self._set_up(header, index, layout, weights, True)
        return self

    def _set_up(self, header: Mapping[str, Any], index: Features, layout: Layout, weights: Any, verified: bool) -> None:
        limits = None
        if self.constraints is not None:
            from crfkit.decode.constraints import constraints

            limits = constraints(self.constraints, header["labels"])
        self.header = header
        self._needs = max(index.plan.columns, default=-1) + 1
        search = Search.of(header) or Search(-1, False)
        decoder = Decoder(
            index, layout, weights, header["labels"],
            verified=verified, constraints=limits, depth=search.depth, backward=search.backward,
        )  # fmt: skip
        self._scratches: dict[tuple[int, ...] | None, list[Scratch]] = {None: []}
        self._decoders: dict[tuple[int, ...] | None, Decoder] = {None: decoder}

    @cached_property
    def _template(self) -> Template | None:
        return template_of(self.header)

    def __reduce__(self):
        if self.model is None:
            raise TypeError("a tagger of weights that are being learned cannot be pickled")
        return type(self), (self.model, self.constraints)

    def __repr__(self) -> str:
        name = self.model.name if self.model is not None else "in training"
        return f"<Tagger {name}: {self.header['algorithm']}, {len(self.labels)} labels>"

    @property
    def labels(self) -> list[str]:
        """The labels, in bytewise order."""
        return list(self.header["labels"])

    @property
    def has_probabilities(self) -> bool:
        """Whether scores are logarithms of unnormalised probabilities."""
        return self.header["algorithm"] not in WITHOUT_PROBABILITIES

    def need_probabilities(self, wanted: str) -> None:
        """UnsupportedError unless the model has them."""
        if not self.has_probabilities:
            raise UnsupportedError(
                f"{wanted} asks for probabilities, which a model trained by {self.header['algorithm']} does not have: "
                "its scores only say which labels are best. Train with another algorithm, such as lbfgs or sgd"
            )

    # One sentence

    def tag(self, rows: Sentence, *, allowed: Allowed | None = None, posterior: bool = False) -> list[str]:
        """The most probable sequence of labels; with `posterior` the labels of highest marginal probability, or, where
        there are constraints, those of the greatest sum of them."""
        if posterior:
            self.need_probabilities("posterior=True")
        rows = _listed(rows, "a sentence")
        if len(rows) == 0:
            return []
        with self._taken(rows, allowed) as (scratch, parsed):
            return scratch.best_labels(parsed, posterior)

    def nbest(self, rows: Sentence, n: int, *, allowed: Allowed | None = None) -> list[tuple[float, list[str]]]:
        """The n best sequences of labels with their probabilities, best first; fewer if there are no more."""
        n = plain(n)
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n < 2**31:
            raise OptionError(f"n: expected a whole number of at least 1, found {n!r}")
        self.need_probabilities("nbest")
        rows = _listed(rows, "a sentence")
        if len(rows) == 0:
            return [(1.0, [])]
        with self._taken(rows, allowed) as (scratch, parsed):
            paths = scratch.best_paths(parsed, n)
            log_z = scratch.log_z(parsed)
            return [(exp(score - log_z), labels) for score, labels in paths]

    def marginals(self, rows: Sentence, *, allowed: Allowed | None = None) -> numpy.ndarray:
        """Probability of label j at row t, as an array [t, j]."""
        import numpy

        self.need_probabilities("marginals")
        rows = _listed(rows, "a sentence")
        array = numpy.empty((len(rows), len(self.labels)))
        if len(rows):
            with self._taken(rows, allowed) as (scratch, parsed):
                scratch.log_z(parsed)
                scratch.fill_nodes(array)
        return array

    def edge_marginals(self, rows: Sentence, *, allowed: Allowed | None = None) -> numpy.ndarray:
        """Probability of label i at row t and label j at row t+1, as an array [t, i, j]."""
        import numpy

        self.need_probabilities("edge_marginals")
        rows = _listed(rows, "a sentence")
        array = numpy.empty((max(len(rows) - 1, 0), len(self.labels), len(self.labels)))
        if len(rows) > 1:
            with self._taken(rows, allowed) as (scratch, parsed):
                scratch.log_z(parsed)
                scratch.fill_edges(array)
        return array

    def probability(self, rows: Sentence, labels: Sequence[str], *, allowed: Allowed | None = None) -> float:
        """The probability of a sequence of labels."""
        self.need_probabilities("probability")
        rows = _listed(rows, "a sentence")
        ids = self._ids(rows, labels)
        if len(rows) == 0:
            return 1.0
        with self._taken(rows, allowed) as (scratch, parsed):
            score = scratch.score_of(ids)
            return exp(score - scratch.log_z(parsed))

    def score(self, rows: Sentence, labels: Sequence[str]) -> float:
        """The score of a sequence of labels: the sum of the weights of its features; -inf if it is forbidden."""
        rows = _listed(rows, "a sentence")
        ids = self._ids(rows, labels)
        if len(rows) == 0:
            return 0.0
        with self._taken(rows, None) as (scratch, _):
            return scratch.score_of(ids)

    # Many sentences

    def tag_many(self, sentences: Iterable[Sentence], threads: int = 0) -> list[list[str]]:
        """The labels of each sentence. threads 0: one for each processor."""
        sentences = [_listed(sentence, "a sentence") for sentence in _listed(sentences, "sentences")]
        _check_threads(threads)
        rows = self._parsed([sentence for sentence in sentences if len(sentence)])
        found = iter(self._labels_of(rows, self._key(rows.n_columns, None), threads))
        return [next(found) if len(sentence) else [] for sentence in sentences]

    def tag_with_gold(self, data: Any, threads: int = 0) -> tuple[list[list[str]], list[list[str]]]:
        """The labels that stand in the data (a path, paths, or sentences with the label last), and the model's."""
        from crfkit.text.sources import listed, parsed_blocks

        _check_threads(threads)
        gold: list[list[str]] = []
        predicted: list[list[str]] = []
        label, names = self.header["label_column"], self.header["column_names"]
        last = names[-1] if names is not None and len(names) == self.header["columns"] else None
        for rows, layout in parsed_blocks(listed(data), self.header["format"], None if label is None else names[label], last):
            by_place = label is None and (last is None or layout.names is None)
            if by_place and self.header["format"] == "columns" and layout.n_cols not in (0, self.header["columns"]):
                expected = f"expected {self.header['columns']} as in the training data, the label last"
                raise DataError(f"found {layout.n_cols} columns, {expected}", layout.path, layout.line)
            gold += gold_labels(rows)
            predicted += self._labels_of(rows, self._key(layout.n_cols, layout), threads)
        return gold, predicted

    def text(self, blocks: Iterable[Block], printer: Printer, *, partial: bool = False, threads: int = 0) -> Iterator[bytes]:
        """Blocks of the model's format, labelled; in order, and the same for any number of threads."""
        form = self.header["format"]
        label = self.header["label_column"] if partial and form == "conllu" else None

        def work(block: Block) -> bytes:
            rows = Rows(form, label)
            rows.parse(block)
            with self._scratch(self._key(block.layout.n_cols - (partial and form == "columns"), block.layout)) as scratch:
                return printer.text(scratch, rows)

        return in_order(work, blocks, threads or available_cpus())

    # Inside

    @contextmanager
    def _scratch(self, key: tuple[int, ...] | None = None) -> Iterator[Scratch]:
        """A scratch that no other thread uses meanwhile."""
        free = self._scratches[key]
        try:
            scratch = free.pop()
        except IndexError:
            scratch = Scratch(self._decoders[key])
        try:
            yield scratch
        finally:
            free.append(scratch)

    @contextmanager
    def _taken(self, rows: Sentence, allowed: Allowed | None) -> Iterator[tuple[Scratch, Rows]]:
        """A scratch with the scored sentence."""
        parsed = self._parsed([rows])
        mask = None if allowed is None else self._mask(allowed, len(rows))
        with self._scratch(self._key(parsed.n_columns, None)) as scratch:
            scratch.take(parsed, mask)
            yield scratch, parsed

    def _parsed(self, sentences: list[Sentence]) -> Rows:
        rows = Rows(self.header["format"])
        if self.header["format"] == "crfsuite":
            from crfkit.text.items import attribute_lines
            from crfkit.text.reading import Block

            rows.parse(Block(attribute_lines(sentences)))
        else:
            rows.fill(sentences)
        return rows

    def _labels_of(self, rows: Rows, key: tuple[int, ...] | None, threads: int) -> list[list[str]]:
        def work(first: int) -> list[list[str]]:
            with self._scratch(key) as scratch:
                return scratch.labels_of(rows, first, min(first + SENTENCES_AT_ONCE, len(rows)))

        starts = range(0, len(rows), SENTENCES_AT_ONCE)
        return [labels for part in in_order(work, starts, min(threads or available_cpus(), len(starts))) for labels in part]

    def _key(self, n_columns: int, layout: Columns | None) -> tuple[int, ...] | None:
        """Which decoder reads these columns: None if they stand where they stood in training. DataError if the
        model needs columns that are not there."""
        own = self.header["column_names"]
        names = None if layout is None else layout.names
        if own is not None and names is not None:
            return self._reordered(own, names, layout)
        if n_columns < self._needs and n_columns:
            where = (None, None) if layout is None else (layout.path, layout.line)
            raise DataError(f"found {n_columns} column{'s' * (n_columns != 1)}, expected {self._needs} or more: {self._reader(n_columns)}", *where)
        return None

    def _reader(self, n_columns: int) -> str:
        """Which line of the template needs more columns."""
        try:
            if self._template is not None:
                self._template.check(n_columns)
        except TemplateError as error:
            return f"line {error.line} of the model's template has {error.reason.split(' uses ')[0]}"
        return "the model's template uses them"

    def _reordered(self, own: list[str], names: Sequence[str], layout: Any) -> tuple[int, ...] | None:
        """The decoder for columns that have the names of training, but maybe other places."""
        used = self._decoders[None].index.plan.columns
        places = {name: number for number, name in enumerate(names)}
        for column in used:
            if own[column] not in places:
                raise DataError(f"the model's template uses column '{own[column]}'; the columns are {' '.join(names)}", layout.path, 1)
        key = tuple(places[own[column]] for column in used)
        if list(key) == used:
            return None
        if key not in self._decoders:
            self._scratches[key] = []
            self._decoders[key] = self._decoders[None].with_columns(key)
        return key

    def _ids(self, rows: Sentence, labels: Sequence[str]) -> list[int]:
        labels = _listed(labels, "labels")
        if len(labels) != len(rows):
            raise DataError(f"found {len(labels)} labels, expected {len(rows)}: one for each row")
        return self._decoders[None].label_ids(labels)

    def _mask(self, allowed: Allowed, n: int) -> bytes:
        allowed = _listed(allowed, "allowed labels for each row")
        if len(allowed) != n:
            raise DataError(f"allowed: found {len(allowed)} entries, expected {n}: one for each row")
        width = len(self.labels)
        mask = bytearray(n * width)
        for t, labels in enumerate(allowed):
            if labels is None:
                mask[t * width : (t + 1) * width] = b"\1" * width
            else:
                for j in self._decoders[None].label_ids([labels] if isinstance(labels, str) else _listed(labels, "labels")):
                    mask[t * width + j] = 1
        return bytes(mask)


def _listed(found: Any, expected: str) -> Any:
    """A list of it, made once: what tells its length need not give as many."""
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise DataError(f"found {shown(found)}, expected {expected}")
    return list(found)


def _check_threads(threads: Any) -> None:
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
        raise OptionError(f"threads: expected a whole number of at least 0, found {shown(threads)}")


def load(
    path_or_bytes: Any, *, constraints: str | os.PathLike[str] | None = None, verify: bool = True
) -> Tagger:
    """Open a model file, or the bytes of one, for tagging; models of CRFsuite, CRF++ and Wapiti, too. With verify=False that takes no time, whatever the
    size; what is used is checked when it is used."""
    from crfkit import foreign

    return Tagger(foreign.load(path_or_bytes, verify), constraints)


def available_cpus() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """What `work` makes of each item, in the items' order. Several threads work on a few items ahead of what has
    been taken; an error comes after the results before it, as it would with one thread."""
    threads = min(threads, MOST_THREADS)
    if threads <= 1:
        yield from map(work, items)
        return
    failures: list[Exception] = []

    def until_failure() -> Iterator[T]:
        try:
            yield from items
        except Exception as error:
            failures.append(error)

    coming = until_failure()
    first = list(islice(coming, 2))
    if len(first) < 2:  # not worth a thread
        yield from map(work, first)
    else:
        yield from _in_threads(work, chain(first, coming), threads)
    for error in failures:
        raise error


def _in_threads(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    from concurrent.futures import Future, ThreadPoolExecutor

    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
