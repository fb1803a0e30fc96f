"""The decoder of a model, and scratch for each order of columns that data came with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from crfkit.decode.decoder import Decoder
from crfkit.decode.sentence import OneSentence

from .errors import DataError, TemplateError
from .header import template_of
from .text.faults import list_of
from .values import plural, shown

if TYPE_CHECKING:
    from crfkit.text.block import Columns


def places_of_used(wanted: Sequence[str], names: Sequence[str], columns: Columns | None) -> tuple[int, ...]:
    """The numbers, among columns with these names, of those that a model's template uses; DataError for one that is not there."""
    for name in wanted:
        if name not in names:
            where = () if columns is None else (columns.path, 1)
            raise DataError(f"the model's template uses column '{name}'; the columns are {' '.join(names)}", *where)
    return tuple(map(names.index, wanted))


def refuse_rows(header: Mapping[str, Any], least: int, found: int, *where: Any, behind: int = 0) -> NoReturn:
    """DataError for rows with so few columns that the model cannot be used on them. `behind` of them are for another use."""
    expected, template = f"expected {least + behind} or more", template_of(header)
    try:
        if template is not None:
            template.check(found - behind)
    except TemplateError as error:
        expected += f": line {error.line} of the model's template has {error.reason.split(' uses ')[0]}"
    raise DataError(f"found {plural(found, 'column')}, {expected}" + ", and labels stand in the last column" * behind, *where)


class Decoding:
    """A decoder, and scratch for any number of threads by the places of the columns that the model uses, None for those of training."""

    def __init__(self, decoder: Decoder, header: Mapping[str, Any]):
        self.decoder, self._header = decoder, header
        self.columns = max(decoder.index.plan.columns, default=-1) + 1  # that rows must have
        self.refuse = partial(refuse_rows, header, self.columns)  # scratches have it, too: it must not lead back to them
        self._free: dict[tuple[int, ...] | None, list[OneSentence]] = {None: []}

    @property
    def loose(self) -> bool:
        """Whether data are read as by the program that the model comes from: in any encoding, with columns between tabs and blanks alike."""
        return self._header.get("dialect") is not None or self._header["algorithm"] in ("crfsuite", "wapiti")

    def new_scratch(self, key: tuple[int, ...] | None = None, spelled: bool = False) -> OneSentence:
        """For several questions about one sentence. It serves one thread at a time. spelled: a str is a list of its characters."""
        return OneSentence(self.decoder, key, self._header["format"], self.columns, self.refuse, self.loose, spelled)

    def borrow(self, key: tuple[int, ...] | None = None) -> OneSentence:
        """A scratch that no other thread uses until it is given back."""
        try:
            return self._free[key].pop()
        except IndexError:
            return self.new_scratch(key)

    def give_back(self, scratch: OneSentence, key: tuple[int, ...] | None = None) -> None:
        """Others may borrow it."""
        self._free[key].append(scratch)

    @contextmanager
    def scratch(self, key: tuple[int, ...] | None) -> Iterator[OneSentence]:
        """A borrowed scratch."""
        scratch = self.borrow(key)
        try:
            yield scratch
        finally:
            self.give_back(scratch, key)

    def flags(self, allowed: Any, n: int) -> bytes:
        """Flags [n][labels] of what is allowed: for each of n rows None, a label, or several labels."""
        entries = list_of(allowed, "allowed labels for each row")
        if len(entries) != n:
            raise DataError(f"allowed: found {len(entries)} {'entry' if len(entries) == 1 else 'entries'}, expected {n}: one for each row")
        width = len(self._header["labels"])
        mask = bytearray(n * width)
        for t, entry in enumerate(entries):
            if entry is None:
                mask[t * width : (t + 1) * width] = b"\1" * width
                continue
            labels = [entry] if isinstance(entry, str) else list_of(entry, "labels")
            if not labels:
                raise DataError(f"allowed: entry {t + 1} has no labels: expected one or more, or None for any label")
            for j in self.decoder.label_ids(labels, f"allowed: entry {t + 1}: label"):
                mask[t * width + j] = 1
        return bytes(mask)

    def key(self, n_columns: int, columns: Columns | None, behind: int = 0) -> tuple[int, ...] | None:
        """Where these columns have those of the model: None if they stand where they stood in training. DataError if the
        model needs columns that are not there, the last `behind` left aside; of no columns there are no rows."""
        own = self._header["column_names"]
        names = None if columns is None else columns.names
        if own is not None and names is not None:
            return self._reordered(own, names, columns, behind)
        if 0 < n_columns < self.columns + behind:
            self.refuse(n_columns, *(() if columns is None else (columns.path, columns.line)), behind=behind)
        return None

    def _reordered(self, own: list[str], names: Sequence[str], columns: Any, behind: int) -> tuple[int, ...] | None:
        """The places of columns that have the names of training."""
        used = self.decoder.index.plan.columns
        key = places_of_used([own[column] for column in used], names, columns)
        if behind and columns.n_cols - 1 in key:
            reason = f"the model's template uses the last column, {shown(names[columns.n_cols - 1])}, where possible labels are expected"
            raise DataError(reason, columns.path, columns.line)
        if list(key) == used:
            return None
        self._free.setdefault(key, [])
        return key
