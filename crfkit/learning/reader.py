"""Training data as they are read: the template fitted to their columns, attributes numbered in the order they come
in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crfkit.errors import DataError
from crfkit.header import misfits_column
from crfkit.template.parsing import Template, line_fault
from crfkit.template.regex_syntax import misread
from crfkit.text.block import NO_ATTRIBUTE
from crfkit.text.sources import label_column, listed, parsed_blocks
from crfkit.values import as_bytes, shown
from crfkit.weights.layout import MAX_LABELS

from .progress import Progress

if TYPE_CHECKING:
    from crfkit.options import Run
    from crfkit.text.rows import Rows

# In the text of a template. What a name ends with, or what is a name in whole, is none: U1:caps[0,0]=%x[0,0], U2:x[0,0]=%x[0,0].
_MEANT = re.compile(rb"(?<![%\w])[xXtTmMpsSCN=]\[[-+]?[0-9]+,[^]]*\](?![=:])|@(?:observed|all|minfreq)\b")


class Reader:
    """Data that are read once. `direction` is that of a trainer that can use labels given before; with "backward" those behind the token.
    `as_seen`: labels keep the order of their first occurrence."""

    def __init__(
        self,
        train: Any,
        template: Template | None,
        run: Run,
        progress: Progress | None = None,
        direction: str | None = None,
        as_seen: bool = False,
    ):
        self.train, self.run, self.progress = listed(train), run, progress or Progress(quiet=True)
        self.template = template
        self.direction, self.backward, self.as_seen = direction, direction == "backward", as_seen
        self.columns: Any = None
        self.builder: Any = None
        self.tokens = 0
        self.first: tuple[str | None, int | None] = (None, None)
        if direction is None and template is not None and template.history_line is not None:
            line = template.history_line
            what = "T lines see" if line.kinds == "T" else "%y macros see"
            raise line_fault(template, line, f"{what} labels given before, which only the trainer lookahead can use")

    def blocks(self) -> Iterator[Rows]:
        """The rows of one block after the other; the caller adds them to the builder."""
        attributes: Counter[str | None] = Counter()
        run = self.run
        loose = self.template is not None and self.template.dialect is not None
        for rows, columns in parsed_blocks(
            self.train, run.format, run.label, comments=run.comments, loose=loose, warn=self.progress.warn
        ):
            self.columns = columns
            if not rows.n_tokens:
                continue
            if self.builder is None:
                self.begin()
                self.first = rows.where(0)
            yield rows
            self.tokens += rows.n_tokens
            attributes[rows.where(0)[0]] += rows.n_attributes
            self.progress.reading(rows.n_tokens, len(rows))
        if self.builder is None:
            raise DataError("no tokens to learn from", None if self.columns is None else self.columns.path)
        self.check_attributes(attributes)

    def check_attributes(self, found: Mapping[str | None, int]) -> None:
        """DataError if the lines of a file, by its name, have no attributes at all where they should name them."""
        for path, n in found.items():
            if self.run.format == "crfsuite" and not n:
                raise DataError(NO_ATTRIBUTE, path)

    def begin(self) -> None:
        """Fit the template to the columns of the first block, and get ready for its rows."""
        from crfkit.features.indexing import IndexBuilder

        if self.template is not None:
            self.template = self._fitted(self.template)
            told: dict[str, str] = {}
            for kind, line, words in _doubts(self.template, self.run.format == "conllu" and self.columns.names[0] == "id"):
                told.setdefault(kind, f"{self.template.path or 'template'}:{line}: {words}")
            for warning in told.values():
                self.progress.warn(warning)
        self.builder = IndexBuilder(
            self.template, crfsuite=self.run.format == "crfsuite", backward=self.backward, folder=self.run.data_dir
        )

    def _fitted(self, template: Template) -> Template:
        """The template with column names resolved, checked against the columns of the data."""
        columns = self.columns
        if columns.names is not None:
            template = template.resolve({name: number for number, name in enumerate(columns.names)})
        elif template.column_names:
            template = template.numbered()
        label = label_column(self.run.label, columns, self.run.format)
        if label is None and columns.n_cols < 2:
            raise DataError(
                f"found {columns.n_cols} column, expected at least two, with tabs or blanks between, not commas or semicolons: features, and the label last",
                columns.path,
                columns.line,
            )
        template.check(columns.n_cols - (label is None), columns.names, columns.n_cols - 1 if label is None else label)
        return template

    @property
    def path(self) -> str | None:
        """What messages on all data name: the file, if it is the only one."""
        return self.columns.path if len(self.train) == 1 else None

    def finish(self) -> Any:
        """The data set of all that the builder holds, with labels that a model can have."""
        dataset, path = self.builder.finish(self.as_seen), self.path
        if self.run.partial:
            _divide(dataset, unknown_labels(self.run.format), path)
        for label in dataset.labels:
            if misfits_column(label):
                raise DataError(f"the label {shown(label)} holds a tab, a line end or a zero byte", path)
        if len(dataset.labels) < 2:
            self.progress.warn(f"only one label, {shown(dataset.labels[0])}: the model will give it to every token")
        return dataset

    def names_warning(self, dataset: Any) -> str | None:
        """What to say of a first line that seems to name the columns: no other token has its label, unless all files begin with
        such a line, and hardly any label is as rare."""
        path, line = self.first
        dialect = self.template is not None and self.template.dialect  # the other programs know no such names
        if path is None or self.run.format != "columns" or self.columns.names is not None or self.backward or dialect:
            return None
        label, times, rare = dataset.first_label()
        if times not in (1, len(self.train)) or 100 * rare > dataset.n_tokens:
            return None
        where = "nowhere else" if times == 1 else "once for each file"
        return f"{path}:{line}: the label {shown(label)} of this line occurs {where}: if the line names the columns, begin it with '# columns ='"

    def header(self) -> dict[str, Any]:
        """What a model says of the data that it was learned from."""
        names = self.columns.names
        return {
            "columns": self.columns.n_cols,
            "column_names": None if names is None else list(names),
            "format": self.run.format,
            "label_column": label_column(self.run.label, self.columns, self.run.format),
            "template": None if self.template is None else self.template.text,
            "tokens": self.tokens,
            **({} if self.template is None or self.template.dialect is None else {"dialect": self.template.dialect}),
        }


def unknown_labels(form: str) -> tuple[str, ...]:
    """What stands for any label in data of this format."""
    return ("?", "_") if form == "conllu" else ("?",)


def _divide(dataset: Any, unknown: Sequence[str], path: str | None) -> None:
    """Make choices of labels of those that list several, or that are unknown ones. Labels are sorted bytewise."""
    listed = [None if label in unknown else label.split("|") for label in dataset.labels]
    for label, names in zip(dataset.labels, listed, strict=True):
        fault = next((name for name in names or () if name in ("", *unknown)), None)
        if fault is not None:
            what = f"{fault} among others" if fault else "an empty one"
            raise DataError(f"the label {shown(label)} lists {what}: expected labels with | between, or ? for any", path)
    every = sorted({name for names in listed if names is not None for name in names}, key=as_bytes)
    if not every:
        raise DataError("no token has a label: all of them are ?", path)
    if len(every) > MAX_LABELS:
        raise DataError(f"{len(every)} labels; at most {MAX_LABELS} are supported", path)
    number = {name: place for place, name in enumerate(every)}
    dataset.divide([None if names is None else tuple(sorted({number[name] for name in names})) for names in listed], every)


def _doubts(template: Template, ids: bool) -> Iterator[tuple[str, int, str]]:
    """What to say of the lines of a template: of each doubt its kind, the number of the line, and the words. `ids`: column 0 numbers the tokens, and is
    not the word as in most other files. Of crfkit's own templates, expressions that other programs would read in another way, and text that
    is written like a macro without its percent sign, or like an annotation."""
    own = template.dialect is None
    for line in template.lines:
        for macro in line.macros:
            if ids and macro.kind != "y" and macro.column == 0 and macro.column_name is None:
                yield "id", line.number, f"{macro.text} is the number of a token in CoNLL-U; words are in column 1, or form"
            if own and (part := misread(macro.pattern)) is not None:
                meant = f"the character {part[1]!r}" if len(part) == 2 else "no kind of characters"
                yield "regex", line.number, f"{part} in {macro.text} is {meant} here; kinds are \\d \\a \\w \\l \\u \\p \\s"
        for text in line.literals if own else ():
            if (found := _MEANT.search(text)) is not None:
                expected = "a macro begins with %" if found[0].endswith(b"]") else "an annotation is the last word of a line, as in U:%x[0,0] @minfreq=2"
                yield "text", line.number, f"{shown(found[0].decode())} is plain text here: {expected}"
