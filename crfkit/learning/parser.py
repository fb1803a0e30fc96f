"""Training a parser: a template with P lines makes one of trees in CoNLL-U."""

from __future__ import annotations

import array
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from crfkit.errors import DataError, OptionError
from crfkit.features.strings import StringTable
from crfkit.foreign import load_any
from crfkit.modelfile import check_header
from crfkit.parser.model import ParserModel, actions, build, check_search
from crfkit.parser.places import MOST_RELATIONS, VALUE, features_of
from crfkit.parser.statetables import StateTables
from crfkit.parser.trees import TokenValues, Treebank, TreeColumns
from crfkit.template.parsing import line_fault
from crfkit.text.reading import CONLLU
from crfkit.text.sources import listed, parsed_blocks
from crfkit.values import counted, plural, shown

from .development import unknown_warning
from .divergence import Divergence
from .judging import not_default
from .passes import Passes

if TYPE_CHECKING:
    from crfkit.options import Run
    from crfkit.template.parsing import Template

    from .checkpoint import Checkpoint
    from .progress import Progress, StopRequest


def check_options(template: Template, algorithm: str, options: Any, run: Run) -> None:
    """OptionError or TemplateError for what a parser cannot be trained with; before data are read."""
    if algorithm != "lookahead":
        raise line_fault(template, template.lines[0], "P lines make a parser, which only the trainer lookahead can train")
    if run.format != "conllu":
        raise OptionError("a template with P lines makes a parser: its data are trees in CoNLL-U, add --format conllu")
    of_run = not_default(run, "label", "outside", "features", "min_freq", "select", "max_memory", "data_dir", "workers", "cluster", "weights")
    for name in chain(of_run, not_default(options, "direction")):
        raise OptionError(f"{name} is of no use to a parser, which a template with P lines makes: leave it out")
    check_search(options.depth, 0)
    for line in template.lines:
        if line.rule is not None or line.min_freq is not None:
            raise line_fault(template, line, "a P line takes no @observed, @all or @minfreq: its features are created while they are learned")


class Trees:
    """Trees as numbers, with what made them numbers: values of cells and relations."""

    def __init__(self, train: Any, template: Template, with_relations: bool, progress: Progress):
        from crfkit.features.indexing import IndexBuilder

        started = time.perf_counter()
        self.table = StringTable() if with_relations else None
        self.bank: Any = None
        for rows, names, path in blocks(train):
            if self.bank is None:
                self.names, self.n_columns = list(names), rows.n_columns
                self.template = fitted(template, self.names)
                self.features = features_of(self.template)
                self.builder = IndexBuilder(self.features.symbols)
                self.values = TokenValues(self.builder, self.features.compared)
                self.bank = Treebank(self.builder, self.values)
            self.bank.add(rows, TreeColumns(names, path), self.table)
            progress.reading(rows.n_tokens, len(rows))
        if self.bank is None:
            raise DataError("no tokens to learn from")
        if not self.bank.n_sequences:
            raise DataError("no tree without crossing arcs to learn from")
        self.relations = [] if self.table is None else [name.decode() for name in self.table]
        if len(self.relations) > MOST_RELATIONS:
            raise DataError(f"{len(self.relations)} different relations in column deprel, expected at most {MOST_RELATIONS:,}")
        self.seconds = time.perf_counter() - started

    def digest(self) -> str:
        """Tells trees, template and relations from others."""
        from xxhash import xxh3_128

        text = repr((self.template.text, self.names, self.relations))
        return xxh3_128((self.bank.checksum() + text).encode()).hexdigest()

    def header(self) -> dict[str, Any]:
        """What a model says of the data."""
        return {
            "column_names": self.names, "columns": self.n_columns, "format": "conllu", "relations": self.relations,
            "root_relation": self.bank.root_relation(), "sequences": self.bank.n_sequences, "template": self.template.text,
            "tokens": self.bank.n_tokens, "skipped": self.bank.n_crossing,
        }


def blocks(data: Any) -> Iterator[tuple[Any, tuple[str, ...], str | None]]:
    """Rows of every block of the data with the names of their columns, and where they are from."""
    for rows, columns in parsed_blocks(data, "conllu", "head"):
        if rows.n_tokens:
            yield rows, columns.names or CONLLU[: rows.n_columns], columns.path


def fitted(template: Template, names: list[str]) -> Template:
    """The template with the numbers of its columns."""
    template = template.resolve({name: number for number, name in enumerate(names)})
    template.check(len(names), names)
    for line in template.lines:
        for macro in line.macros:
            for column in (macro.column, macro.column2):
                if column >= 0 and names[column] in ("head", "deprel"):
                    raise line_fault(template, line, f"{macro.text} uses column '{names[column]}', which the parser predicts")
    return template


class Development:
    """Trees to score weights on after each pass."""

    def __init__(self, data: Any, trees: Trees, trainer: Any):
        self.trainer, self.with_relations = trainer, trees.table is not None
        self.bank = Treebank(trees.builder, trees.values)
        known, missing = {name.encode() for name in trees.relations}, []
        for rows, names, path in blocks(listed(data)):
            if list(names) != trees.names:
                raise DataError(f"the columns are {' '.join(names)}, expected those of the training data: {' '.join(trees.names)}", path, 1)
            columns = TreeColumns(names, path)
            self.bank.add(rows, columns, trees.table, False)
            if self.with_relations:
                missing += [row[columns.relation].decode() for row in chain(*rows.sentences()) if row[columns.relation] not in known]
        self.warning = unknown_warning("relation", missing)
        if not self.bank.n_tokens:
            raise DataError("no tokens in the development data")

    def contents(self) -> Iterable[bytes]:
        """What a checkpoint has to be told of it."""
        yield self.bank.checksum().encode()

    def scores(self, weights: array.array) -> dict[str, float]:
        """Attachment scores, and under "score" the one to go by: labelled where the parser gives relations."""
        heads, both, whole = self.trainer.parsed(self.bank, weights)
        unlabelled, labelled = heads / self.bank.n_tokens, both / self.bank.n_tokens
        score = labelled if self.with_relations else unlabelled
        return {
            "dev_accuracy": score,
            "dev_sentence_accuracy": whole / self.bank.n_sequences,
            "dev_unlabelled": unlabelled,
            **({"dev_labelled": labelled} if self.with_relations else {}),
            "score": score,
        }


def trained(
    train: Any, template: Template, options: Any, run: Run, start: ParserModel | None, checkpoint: Checkpoint | None, progress: Progress, stop: StopRequest
) -> ParserModel:
    """Train a parser, from the weights of another one if `start` is one."""
    from crfkit.parser.trainer import ParserTrainer

    trees = Trees(train, template, options.labels, progress)
    bank = trees.bank
    check_header(trees.header())
    progress.close()
    relations = [plural(len(trees.relations), "relation")] if options.labels else []
    counts = [counted(bank.n_sequences, "tree"), counted(bank.n_tokens, "token"), *relations, plural(len(trees.template.lines), "line")]
    progress.note(f"{', '.join(counts)}; read in {trees.seconds:.2f} s")
    if bank.n_crossing:
        progress.note(
            f"{bank.n_crossing:,} trees with crossing arcs are left out: no order of shift, left and right builds them"
        )
    check_search(options.depth, len(trees.relations))
    tables = StateTables(trees.template, max(len(trees.relations), 1))
    initial = [] if start is None else list(_taken_over(start, trees, progress))
    resumes = checkpoint is not None and checkpoint.file is not None  # then it has the weights that came of those
    trainer = ParserTrainer(bank, tables, options, run.seed, () if resumes else initial)
    dev = None if run.dev is None else Development(run.dev, trees, trainer)
    if dev is not None:
        progress.warn(dev.warning)
    if checkpoint is not None:
        checkpoint.identify(
            trees.digest(),
            array.array("d", chain.from_iterable((line, *key, *rest) for line, key, *rest in initial)) if initial else None,
            None if dev is None else dev.contents(),
        )
    divergence = Divergence(options, bank.n_tokens, len(actions([])), of_zeros="every word will depend on the last one of its sentence")
    passes = Passes(trainer, divergence, run, dev, checkpoint, progress, stop)  # type: ignore[arg-type]
    ((_, weights),) = passes.all()
    own = {**asdict(options), "prune": run.prune, "seed": run.seed}
    return build(tables, trainer.placed(weights), trees.builder, {**trees.header(), "algorithm": "lookahead", "options": own})


def parser_of(init: Any) -> ParserModel:
    """The parser to start from."""
    found = getattr(init, "model", init)
    if isinstance(init, (str, bytes, bytearray, memoryview, os.PathLike)) or hasattr(init, "read"):
        found = load_any(init)
    if not isinstance(found, ParserModel):
        raise OptionError(f"--init: {getattr(found, 'name', shown(init))} is not a parser, but a template with P lines makes one")
    return found


def _taken_over(model: ParserModel, trees: Trees, progress: Progress) -> Iterator[tuple[int, list[int], int, float]]:
    """The weights to start from: those of lines, values and relations that both have."""
    lines = {line.text: number for number, line in enumerate(trees.template.lines)}
    own = {name: number for number, name in enumerate(actions(trees.relations))}
    taken = 0
    names = model.labels
    for number, row, values, _ in model.attributes():
        line = lines.get(model.template.lines[number].text)
        if line is None:
            continue
        key = []
        for cell, value in zip(trees.features.lines[line], values, strict=True):
            if value is None:
                key.append(0)
            elif cell.kind == VALUE:
                key.append(1 + trees.builder.views[cell.view].strings.find(str(value).encode()))
                if key[-1] == 0:
                    break
            else:
                key.append(1 + int(value) if isinstance(value, int) else 1 + (value == "true"))
        else:
            for place, action in model.tables.cells(row):
                if (place_of := own.get(names[action])) is not None:
                    taken += 1
                    yield line, key, place_of, model.weights[place]
    progress.taken_over(taken, model)
