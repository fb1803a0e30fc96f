"""Parsers: a trained model, and its use on sentences and files.

The file's header has the kind "parser". Its sections hold the index that numbers the values of cells
(features/packing.pyx), and the features of states: `line.I`, `rows`, `actions`, `weights` (statetables.pyx).
docs/model-format.md describes them.
"""

from __future__ import annotations

import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from crfkit import modelfile
from crfkit.decoding import places_of_used
from crfkit.errors import ModelFileError, OptionError, TemplateError, UnsupportedError
from crfkit.header import Described, check_fields, misfits_column, template_of
from crfkit.model import Stored, made
from crfkit.options import make
from crfkit.parallel import THREADS, in_order, threads_of
from crfkit.tagging import in_pieces
from crfkit.text.faults import list_of
from crfkit.text.items import fill_rows
from crfkit.text.reading import BYTE_ORDER_MARK, CONLLU
from crfkit.text.rows import Rows
from crfkit.values import copied, legible, shown
from crfkit.version import __version__

from .places import COUNT, DISTANCE, EQUAL, MOST_RELATIONS, StateFeatures
from .search import Scratch, packed_values
from .statetables import StateTables
from .trees import TreeColumns, check_ids

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from crfkit.model import Model
    from crfkit.tagging import Tagger
    from crfkit.text.block import Block, Columns

EMPTY = "_B-1"  # the value of a macro at a place without a token
MOST_DEPTH = 10  # each further lookahead step triples the search
MOST_SCORES = 1 << 24  # scores of actions that a search keeps

_FIELDS: dict[str, Any] = {
    "algorithm": str, "column_names": list, "columns": int, "crfkit": str, "features": int, "format": str, "options": dict,
    "relations": list, "root_relation": int, "template": str,
}


Heads = list[int] | list[tuple[int, str]]


def checked(header: dict[str, Any]) -> dict[str, Any]:
    """Return the header; ModelFileError if a field is missing or invalid."""
    check_fields(header, _FIELDS)
    names, relations = header["column_names"], header["relations"]
    if not all(isinstance(name, str) for name in (*names, *relations)) or len(set(names)) < len(names):
        raise ModelFileError("the header's column names are not different strings")
    if len(set(relations)) < len(relations) or any(map(misfits_column, relations)):
        raise ModelFileError("the header's relations are not different names")
    if not 0 <= header["root_relation"] < max(len(relations), 1) or len(relations) > MOST_RELATIONS:
        raise ModelFileError(f"the header has more than {MOST_RELATIONS:,} relations, or no relation of the root")
    if header["format"] != "conllu" or not {"id", "head", "deprel"} <= set(names):
        raise ModelFileError("the header is not of a parser of CoNLL-U with columns id, head and deprel")
    return header


def actions(relations: Sequence[str]) -> list[str]:
    """The names of a parser's actions, in the order of their numbers; `relations` are those that it predicts."""
    sides = ("left", "right")
    return ["shift", *(f"{side}:{name}" for side in sides for name in relations)] if relations else ["shift", *sides]


def check_search(depth: int, relations: int) -> None:
    """OptionError if a search would take too long, or too much memory."""
    if depth > MOST_DEPTH:
        raise OptionError(
            f"--depth: a parser looks at most {MOST_DEPTH} actions ahead, each takes three times as long as the one before"
        )
    if 3**depth * (1 + 2 * relations) > MOST_SCORES:
        raise OptionError(f"--depth {depth} with {relations} relations takes too much memory: lower --depth")


class ParserModel(Stored):
    """A trained parser, read-only. `learn` trains one with a template of P lines, `load` opens one."""

    _own = Stored._own | {"depth", "needs", "parts", "sizes", "tables"}

    def _set_up(self, header: dict[str, Any], sections: Mapping[str, Buffer], name: str, verify: bool) -> None:
        from crfkit.features.index import Index
        from crfkit.trainers.base import all_finite

        self.name, self.sections, self.verified = name, sections, verify
        try:
            self._header = header = checked(copied(header))
            template = template_of(header)
            if template is None or not template.parses:
                raise ModelFileError("its template has no P lines")
            self.template = template
            self.depth: int = make("lookahead", {"depth": header["options"].get("depth")}).depth
            check_search(self.depth, len(header["relations"]))
            self.tables = StateTables(template, max(len(header["relations"]), 1))
            self.parts: StateFeatures = self.tables.features
            self.index = Index(self.parts.symbols, sections, verify=verify)
            own = header["column_names"]
            self.needs = [[own[column] for column in columns] for columns in (self.index.plan.columns, self.parts.compared)]
            self.sizes = [len(view.strings) for view in self.index.views]
            names = ("rows", *(f"line.{number}" for number in range(len(self.parts.lines))))
            tables = {name: modelfile.numbers(sections, name, "int32") for name in names}
            tables["actions"] = modelfile.numbers(sections, "actions", "uint16")
            self.weights = modelfile.numbers(self.sections, "weights", "float32")
            self.tables.map(tables, verify, self.sizes)
            if len(self.weights) != len(tables["actions"]):
                raise ModelFileError("the numbers of weights and of their actions differ")
            if verify and not all_finite(self.weights):
                raise ModelFileError("a weight is not a finite number")
        except (ModelFileError, OptionError, TemplateError) as error:
            raise ModelFileError(f"{name}: {error}") from None

    @property
    def labels(self) -> list[str]:
        """The actions, in the order of their numbers: shift, left, right; with relations `left:nsubj` and so on."""
        return actions(self._header["relations"])

    def tagger(self, constraints: Any = None, bias: Any = None) -> Parser:
        """A parser that uses this model: `model.tagger().tag(rows)`."""
        for name, given in (("constraints", constraints), ("bias", bias)):
            if given is not None:
                raise UnsupportedError(f"a parser takes no {name}, which would apply to labels")
        return Parser(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: depth {self.depth}, {len(self._header['relations'])} relations, {self._header['features']:,} features>"

    def attributes(self) -> Iterator[tuple[int, int, list[int | str | None], str]]:
        """(line, row of weights, cells, name) of each attribute. A cell is a text, a number, or None
        if its place is empty; the name is the line with the macros replaced by the cells."""
        for number, (line, cells) in enumerate(zip(self.template.lines, self.parts.lines, strict=True)):
            for row, key in self.tables.entries(number):
                values: list[int | str | None] = [self._value(cell, of) for cell, of in zip(cells, key, strict=True)]
                text = line.literals[0].decode()
                for value, literal in zip(values, line.literals[1:], strict=True):
                    text += (EMPTY if value is None else str(value)) + literal.decode()
                yield number, row, values, text

    def _value(self, cell: Any, key: int) -> int | str | None:
        if key == 0:
            return None
        if cell.kind in (DISTANCE, COUNT):
            return key - 1
        if cell.kind == EQUAL:
            return "true" if key == 2 else "false"
        return legible(self.index.views[cell.view].strings[key - 1]) if 0 < key <= self.sizes[cell.view] else None

    def features(self) -> Iterator[tuple[str, None, str, float]]:
        """Every feature: (attribute, None, action, weight)."""
        names = self.labels
        for _, row, _, text in self.attributes():
            for place, action in self.tables.cells(row):
                yield text, None, names[action] if action < len(names) else str(action), self.weights[place]


def build(tables: StateTables, weights: Any, index: Any, header: dict[str, Any]) -> ParserModel:
    """A model with trained weights, in the order of the tables' actions. Attributes with zero weights are left out."""
    from crfkit.features.packing import pack

    attributes, sections = tables.pack(weights, [len(view.strings) for view in index.views], partial(packed_values, index))
    sections = {**pack(index, attributes, array.array("i")), **sections}
    header = {
        "kind": modelfile.PARSER, **header, "crfkit": __version__, "features": len(sections["weights"]), "attributes": len(sections["rows"]) // 2,
    }
    return made(ParserModel, header, sections)


class Parser(Described):
    """Parses sentences with a model. Any number of threads may share it.

    A sentence is a list of rows, a row a list of CoNLL-U columns, which must include those that the template uses.
    `model` may be whatever `learn` or `load` gives; OptionError if that is no parser's."""

    def __init__(self, model: ParserModel | Parser | Model | Tagger):
        found = model.model if isinstance(model, Parser) else model
        if not isinstance(found, ParserModel):
            raise OptionError(f"model: found {shown(found)}, expected a parser's model; crfkit.load opens a file and returns a Parser")
        self.model: ParserModel = found

    @property
    def _header(self) -> dict[str, Any]:  # type: ignore[override]  # nobody writes it
        return self.model._header

    def __repr__(self) -> str:
        _, _, rest = repr(self.model).partition(" ")
        return f"<{type(self).__name__} {rest}"

    @property
    def labels(self) -> list[str]:
        """The actions."""
        return self.model.labels

    def nbest(self, rows: Sequence[Sequence[str]], n: int) -> NoReturn:
        """Raises UnsupportedError: a parser finds only the best tree."""
        self.need_probabilities("nbest")

    def marginals(self, rows: Sequence[Sequence[str]]) -> NoReturn:
        """Raises UnsupportedError: a parser has no probabilities."""
        self.need_probabilities("marginals")

    def explain(self, rows: Sequence[Sequence[str]], top: int = 10) -> NoReturn:
        """Raises UnsupportedError: a parser decides action by action."""
        self.need_labellings("explain")

    def probability(self, rows: Sequence[Sequence[str]], labels: Sequence[str]) -> NoReturn:
        """Raises UnsupportedError: a parser has no probabilities."""
        self.need_probabilities("probability")

    def need_probabilities(self, wanted: str) -> NoReturn:
        """Raises UnsupportedError: a parser has no probabilities."""
        raise UnsupportedError(
            f"{wanted} asks for probabilities, which a parser does not have: its scores only say which action is best"
        )

    def need_labellings(self, wanted: str) -> NoReturn:
        """Raises UnsupportedError: a parser decides action by action."""
        raise UnsupportedError(f"{wanted} compares labellings of whole sentences, but a parser decides action by action")

    def tag(self, rows: Sequence[Sequence[str]]) -> Heads:
        """The head of each word, by its number from 1; 0 is the root. Pairs (head, relation), if the model was trained with `labels`."""
        return self.tag_many([rows], threads=1)[0]

    def tag_many(self, sentences: Iterable[Sequence[Sequence[str]]], threads: int = 0) -> list[Heads]:
        """`tag` for several sentences, on this many threads (0: one per processor)."""
        threads = THREADS.take("threads", threads)
        parsed = Rows("conllu")
        fill_rows(parsed, list_of(sentences, "sentences"))
        if not parsed.n_tokens:
            return [[] for _ in range(len(parsed))]
        names = self._header["column_names"][: parsed.n_columns]
        places = self._places(names)
        if "id" in names:
            check_ids(parsed, names.index("id"))

        def heads(first: int, last: int) -> list[Heads]:
            scratch = self._scratch(places)
            return [scratch.heads(parsed, s) for s in range(first, last)]

        return in_pieces(parsed, heads, threads)

    def text(self, blocks: Iterable[Block], threads: int = 0) -> Iterator[tuple[bytes, int, bytes, bool]]:
        """Parse blocks of CoNLL-U. Yields each block with HEAD filled in, and DEPREL if the parser predicts relations; the
        number of bytes appended that the input did not have; and for `GoldTrees` the trees in the input, and whether one begins here."""

        def work(block: Block) -> tuple[bytes, int, bytes, bool]:
            names = block.columns.names or CONLLU
            columns = TreeColumns(names, block.path)
            rows = Rows("conllu")
            rows.parse(block)
            text, gold = self._scratch(self._places(names, block.columns)).text(rows, columns)
            return BYTE_ORDER_MARK * block.mark + text, block.added, gold, block.begins

        return in_order(work, blocks, threads_of(threads))

    def _places(self, names: Sequence[str], columns: Columns | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The indices of the template's columns among these."""
        used, compared = self.model.needs
        return places_of_used(used, names, columns), places_of_used(compared, names, columns)

    def _scratch(self, places: tuple[tuple[int, ...], tuple[int, ...]]) -> Scratch:
        model, header = self.model, self._header
        return Scratch(model.index, model.tables, model.weights, model.depth, *places, header["relations"], header["root_relation"])
