"""Wapiti's model files, which are text.

    #mdl#2#weights          0: maxent, a CRF without weights of pairs of labels; 1: memm; any other number, or none: a CRF. Wapiti writes 2
                            for it, old versions no number, and its Ruby library any number; if that is 0, there are weights of pairs
    #rdr#patterns/columns/0 and the patterns; 1 in the place of 0: every line is a sequence (--me)
    #qrk#labels             and the labels
    #qrk#observations       and these: u... has a weight for each label, b... for each pair of labels, *... both
    number=weight           of the weights other than zero

A string stands there as its length, a colon, itself, a comma. Weights are hexadecimal: nothing is lost.
"""

from __future__ import annotations

import array
import re
from collections.abc import Iterator
from itertools import accumulate, islice
from operator import lt
from typing import TYPE_CHECKING

from crfkit.errors import ModelFileError, TemplateError, UnsupportedError
from crfkit.features.strings import StringTable
from crfkit.modelbytes import named_in_faults
from crfkit.template import dialects
from crfkit.template.pattern_syntax import plain_pattern
from crfkit.values import as_bytes, as_text, legible, shown

from .parts import FeatureRows, Parts, Places, labels_of, of_kind, pair_table
from .translating import translated

if TYPE_CHECKING:
    from crfkit.template.parsing import Template

    from .observations import Observations

NAME = "wapiti"
START = b"#mdl#"
MAXENT, MEMM, CRF = 0, 1, 2
LINE_BY_LINE = "line_by_line"  # an option of parts: every line is a sequence

_MODEL = re.compile(rb"#mdl#(?:(-?[0-9]{1,10})#)?([0-9]{1,18})\n")
_READER = re.compile(rb"#rdr#([0-9]{1,9})/([0-9]{1,9})(?:/([0-9]))?\n")
_STRINGS = re.compile(rb"#qrk#([0-9]{1,15})\n")
_SHORTEST = len("0=0\n")  # of the lines of weights
_LENGTH = re.compile(rb"([0-9]{1,10}):")
_WEIGHT = re.compile(rb"([0-9]{1,18})=([-+]?(?:0x[0-9a-f]{1,40}(?:\.[0-9a-f]{0,40})?(?:p[-+]?[0-9]{1,5})?|[0-9.]{1,40}(?:e[-+]?[0-9]{1,5})?|inf|nan))\n")


class _Text:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def match(self, form: re.Pattern[bytes], expected: str) -> re.Match[bytes]:
        """Match a regular expression at the current place, and move past it."""
        found = form.match(self.data, self.at)
        if found is None:
            raise self.damaged(expected)
        self.at = found.end()
        return found

    def strings(self, n: int) -> list[bytes]:
        found = []
        for _ in range(n):
            length = int(self.match(_LENGTH, "the length of a string")[1])
            end = self.at + length
            if self.data[end : end + 2] != b",\n":
                raise self.damaged("a string with a comma behind it")
            found.append(self.data[self.at : end])
            self.at = end + 2
        return found

    def names(self, n: int) -> StringTable:
        """The next n strings, which are all different."""
        from .placed import read_strings

        found = StringTable()
        self.at = read_strings(self.data, self.at, n, found)
        if len(found) < n:
            (name,) = self.strings(1)
            what = "a line end in the observation" if b"\n" in name else "a second observation"
            raise ModelFileError(f"damaged: {what} {shown(legible(name))}")
        return found

    def damaged(self, expected: str) -> ModelFileError:
        """The error for something unexpected at the current place."""
        line = self.data.count(b"\n", 0, self.at) + 1
        found = self.data[self.at : self.at + 40].split(b"\n")[0].decode(errors="replace")
        return ModelFileError(f"{line}: damaged: expected {expected}, found {found!r}")


def read(data: bytes | memoryview, lines: bool = False) -> Parts:
    """Parse a model from an untrusted file. `lines`: it may be one for sequences of one line (--me)."""
    content = bytes(data)
    if re.match(rb"#mdl#[-0-9#]+\r\n", content):  # Wapiti for Windows ends all lines so; names hold no line ends
        content = content.replace(b"\r\n", b"\n")
    text = _Text(content)
    kind, n_weights = text.match(_MODEL, "#mdl#, the kind of model and the number of weights").groups()
    kind = CRF if kind is None else int(kind)
    if kind == MEMM:
        raise ModelFileError("a Wapiti model of type memm, which normalises each token separately, unlike a CRF: train it with --type crf")
    n_patterns, columns, auto = (int(found or 0) for found in text.match(_READER, "#rdr# and the numbers of patterns and columns").groups())
    if auto and (n_patterns or not lines):
        what = "with patterns, which crfkit does not read" if n_patterns else "that name their features: label them with `crfkit-wapiti label`"
        raise ModelFileError(f"a model of Wapiti for single lines (--me) {what}")
    patterns = text.strings(n_patterns)
    labels = labels_of(text.strings(int(text.match(_STRINGS, "#qrk# and the number of labels")[1])))
    names = text.names(int(text.match(_STRINGS, "#qrk# and the number of observations")[1]))
    numbers, weights = _weights(text, int(n_weights))
    template = _template(patterns, dialects.WAPITI)
    parts = Parts(NAME, labels, FeatureRows.empty(), FeatureRows.empty(), None, template, columns + 2, {LINE_BY_LINE: True} if auto else {})
    _share_out(parts, names, numbers, weights)
    if kind == MAXENT and parts.pairs is None and not any(parts.bigrams.weight):
        parts.bigrams, parts.template = FeatureRows.empty(), _template(patterns, dialects.MAXENT)
    if template is None and len(parts.bigrams.names):
        raise ModelFileError("a Wapiti model without patterns has observations of label pairs (b, *); in crfkit's data, attributes are of single labels")
    return parts


def _template(patterns: list[bytes], dialect: str) -> Template | None:
    if not patterns:
        return None
    lines = "".join(as_text(line) + "\n" for line in patterns)
    if "\0" in lines or lines.count("\n") != len(patterns):
        raise ModelFileError("damaged: a line end in a pattern")
    try:
        return dialects.parse(lines, dialect)
    except TemplateError as error:
        raise ModelFileError(f"its patterns cannot be read: {error}") from None


def read_file(data: bytes, path: str) -> Parts:
    """The model of a file, which may be one for single lines; ModelFileError says what is wrong with it."""
    with named_in_faults(path):
        if not data.startswith(START):
            raise ModelFileError("expected a model of Wapiti, which begins with #mdl#")
        return read(data, lines=True)


def _weights(text: _Text, n: int) -> tuple[array.array[int], array.array[float]]:
    """Numbers of the weights, ascending, and the weights."""
    from .placed import read_weights

    room = min(n, (len(text.data) - text.at) // _SHORTEST)
    numbers, weights, found = array.array("q", bytes(8 * room)), array.array("d", bytes(8 * room)), 0
    while True:
        text.at, found = read_weights(text.data, text.at, numbers, weights, found)
        if found == n:
            break
        number, value = text.match(_WEIGHT, "number=weight").groups()
        try:
            weight = float.fromhex(value.decode()) if b"x" in value else float(value)
        except (ValueError, OverflowError):
            raise ModelFileError(f"damaged: {value.decode()!r} is not a weight") from None
        numbers[found], weights[found], found = int(number), weight, found + 1
    if text.at != len(text.data):
        raise text.damaged("the end of the file")
    if not all(map(lt, numbers, islice(numbers, 1, None))):
        pairs = sorted(dict(zip(numbers, weights, strict=True)).items())
        numbers, weights = array.array("q", (number for number, _ in pairs)), array.array("d", (weight for _, weight in pairs))
    return numbers, weights


def _share_out(parts: Parts, names: StringTable, numbers: array.array[int], weights: array.array[float]) -> None:
    """Assign weights to the observations."""
    from .placed import initials

    n, kinds = len(parts.labels), initials(names)
    if kinds.translate(None, b"ub*"):
        name = next(name for name in names if name[:1] not in (b"u", b"b", b"*"))
        raise ModelFileError(f"damaged: the observation {shown(legible(name))} begins with none of u, b and *")
    *places, end = accumulate(map({b"u"[0]: n, b"b"[0]: n * n, b"*"[0]: n + n * n}.__getitem__, kinds), initial=0)
    if len(numbers) and numbers[-1] >= end:
        raise ModelFileError(f"damaged: weight {next(number for number in numbers if number >= end)} of {end}")
    parts.places = of_pairs = Places(names, array.array("q", places))
    parts.unigrams = FeatureRows.placed(parts.places, of_kind(kinds, b"u*"), numbers, weights, n, False)
    if b"*" in kinds:  # whose pairs of labels follow the labels
        of_pairs = Places(names, array.array("q", (place + n * (kind == b"*"[0]) for place, kind in zip(places, kinds, strict=True))))
    chosen, plain = of_kind(kinds, b"b*"), plain_name(parts)
    if plain is not None and plain in parts.places:
        number = names.find(plain)
        chosen.remove(number)
        row = FeatureRows.placed(of_pairs, [number], numbers, weights, n, True)
        if any(row.weight):
            parts.pairs = pair_table(zip(row.previous, row.label, row.weight, strict=True), n)
    parts.bigrams = FeatureRows.placed(of_pairs, chosen, numbers, weights, n, True)


def plain_name(parts: Parts) -> bytes | None:
    """The observation whose weights of pairs of labels are `parts.pairs`."""
    if parts.template is None or parts.template.dialect == dialects.MAXENT:
        return None
    plain = plain_pattern([line.text for line in parts.template.lines])
    return None if plain is None else as_bytes(plain)


def observed(parts: Parts) -> Observations:
    """The observations in the order of the file, with their features."""
    from .names import in_order
    from .observations import Observations

    plain, bigrams = None if parts.pairs is None else plain_name(parts), parts.bigrams
    if plain is not None:
        bigrams = bigrams.copy()
        bigrams.append(plain, parts.pair_weights())
    names = in_order(parts.places.names, parts.unigrams.names, bigrams.names)
    return Observations(names, parts.labels, parts.unigrams, bigrams, plain)


def dump(data: memoryview) -> Iterator[bytes]:
    return dumped(read(data, lines=True))


def dumped(parts: Parts, precision: int = 5, every: bool = False) -> Iterator[bytes]:
    """A dump, in pieces: a line for each weight, and a blank line after each observation that has one. `every`: zeros, too."""
    return observed(parts).lines(precision, every)


def write(parts: Parts) -> bytes:
    patterns: list[bytes] = []
    if parts.template is not None:
        parts = translated(parts, dialects.WAPITI)
        assert parts.template is not None
        patterns = [as_bytes(line.text) for line in parts.template.lines]
    elif LINE_BY_LINE not in parts.options:
        raise UnsupportedError("a Wapiti model needs patterns: give the template that made the attributes with --template")
    kind = MAXENT if parts.template is not None and parts.template.dialect == dialects.MAXENT else CRF
    if parts.pairs is not None and any(parts.pairs) and plain_name(parts) is None:
        raise UnsupportedError("the model has weights of pairs of labels, but its template does not have one line for them (B or b without macros)")
    found = observed(parts)
    n_weights, weights = found.weights()
    # Wapiti opens no model without observations; this one weighs nothing.
    names = b"#qrk#%d\n" % len(found.names) + found.strings() if len(found.names) else _counted([b"u"])
    head = b"#mdl#%d#%d\n#rdr#%d/%d/%d\n" % (kind, n_weights, len(patterns), max(parts.columns - 2, 0), LINE_BY_LINE in parts.options) + _strings(patterns)
    return b"".join([head, _counted([as_bytes(label) for label in parts.labels]), names, weights])


def _strings(texts: list[bytes]) -> bytes:
    return b"".join(b"%d:%s,\n" % (len(text), text) for text in texts)


def _counted(texts: list[bytes]) -> bytes:
    return b"#qrk#%d\n" % len(texts) + _strings(texts)
