"""Wapiti's model files, which are text.

    #mdl#2#weights          2: a CRF; 0: maxent, 1: memm. Files of old versions do not say.
    #rdr#patterns/columns/0 and the patterns
    #qrk#labels             and the labels
    #qrk#observations       and these: u... has a weight for each label, b... for each pair of labels, *... both
    number=weight           of the weights other than zero

A string stands there as its length, a colon, itself, a comma. Weights are hexadecimal: nothing is lost.
"""

from __future__ import annotations

import array
import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from crfkit.errors import ModelFileError, TemplateError, UnsupportedError
from crfkit.template import dialects

from .parts import Parts, Rows
from .translating import translated

NAME = "wapiti"
CRF, KINDS = 2, ("maxent", "memm", "crf")

_MODEL = re.compile(rb"#mdl#(?:([0-9])#)?([0-9]{1,18})\n")
_READER = re.compile(rb"#rdr#([0-9]{1,9})/([0-9]{1,9})(?:/([0-9]))?\n")
_STRINGS = re.compile(rb"#qrk#([0-9]{1,15})\n")
_LENGTH = re.compile(rb"([0-9]{1,10}):")
_WEIGHT = re.compile(rb"([0-9]{1,18})=([-+]?(?:0x[0-9a-f]{1,40}(?:\.[0-9a-f]{0,40})?(?:p[-+]?[0-9]{1,5})?|[0-9.]{1,40}(?:e[-+]?[0-9]{1,5})?|inf|nan))\n")


def recognises(start: bytes) -> bool:
    """Whether a file that begins like this is one of Wapiti's models."""
    return start.startswith(b"#mdl#")


class _Text:
    """A file, read from its beginning."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, form: re.Pattern[bytes], expected: str) -> re.Match[bytes]:
        """What stands next, which has this form."""
        found = form.match(self.data, self.at)
        if found is None:
            raise self.damaged(expected)
        self.at = found.end()
        return found

    def strings(self, n: int) -> list[bytes]:
        """The next n strings."""
        found = []
        for _ in range(n):
            length = int(self.take(_LENGTH, "the length of a string")[1])
            end = self.at + length
            if self.data[end : end + 2] != b",\n":
                raise self.damaged("a string with a comma behind it")
            found.append(self.data[self.at : end])
            self.at = end + 2
        return found

    def damaged(self, expected: str) -> ModelFileError:
        """What to say if something else stands there."""
        line = self.data.count(b"\n", 0, self.at) + 1
        found = self.data[self.at : self.at + 40].split(b"\n")[0].decode(errors="replace")
        return ModelFileError(f"{line}: damaged: expected {expected}, found {found!r}")


def read(data: memoryview) -> Parts:
    """Take a model apart, in which nothing is trusted."""
    text = _Text(bytes(data))
    kind, n_weights = text.take(_MODEL, "#mdl#, the kind of model and the number of weights").groups()
    kind = CRF if kind is None else int(kind)
    if kind != CRF:
        name = KINDS[kind] if kind < len(KINDS) else str(kind)
        raise ModelFileError(f"a {name} model of Wapiti, of which crfkit reads only CRFs: train it with --type crf")
    n_patterns, columns, auto = text.take(_READER, "#rdr# and the numbers of patterns and columns").groups()
    if int(auto or 0):
        raise ModelFileError("a model of Wapiti for features without prefixes, of which crfkit reads only CRFs: train it with patterns")
    patterns = text.strings(int(n_patterns))
    labels = text.strings(int(text.take(_STRINGS, "#qrk# and the number of labels")[1]))
    names = text.strings(int(text.take(_STRINGS, "#qrk# and the number of observations")[1]))
    weights = _weights(text, int(n_weights))
    try:
        decoded, lines = [label.decode() for label in labels], "".join(line.decode() + "\n" for line in patterns)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{error.object!r} is not UTF-8, the only encoding that crfkit knows") from None
    if not labels or not all(labels) or len(set(labels)) < len(labels):
        raise ModelFileError("damaged: the labels are not different names")
    if len(labels) > 0xFFFF:
        raise ModelFileError(f"{len(labels)} labels, 1 to 65535 are possible")
    template = None
    if patterns:
        if any("\n" in line or "\0" in line for line in lines[:-1].split("\n")) or len(lines.split("\n")) != len(patterns) + 1:
            raise ModelFileError("damaged: a line end in a pattern")
        try:
            template = dialects.parse(lines, dialects.WAPITI)
        except TemplateError as error:
            raise ModelFileError(f"its patterns cannot be read: {error}") from None
    parts = Parts("wapiti", decoded, Rows.empty(), Rows.empty(), None, template, int(columns) + 2)
    _share_out(parts, names, weights, _plain(patterns))
    if template is None and len(parts.bigrams.names):
        raise ModelFileError("a model of Wapiti without patterns whose data name pairs of labels (b, *), which crfkit's data cannot")
    return parts


def _weights(text: _Text, n: int) -> list[tuple[int, float]]:
    """(number of the weight, weight), ascending."""
    found = {}
    for _ in range(n):
        number, value = text.take(_WEIGHT, "number=weight").groups()
        try:
            found[int(number)] = float.fromhex(value.decode()) if b"x" in value else float(value)
        except (ValueError, OverflowError):
            raise ModelFileError(f"damaged: {value.decode()!r} is no weight") from None
    if text.at != len(text.data):
        raise text.damaged("the end of the file")
    return sorted(found.items())


def _plain(patterns: list[bytes]) -> bytes | None:
    """The pattern of plain pairs of labels: the only one of b and * that always says the same."""
    constant = [line for line in patterns if line[:1] in (b"b", b"*") and b"%" not in line]
    return constant[0] if len(constant) == 1 else None


def _share_out(parts: Parts, names: list[bytes], weights: list[tuple[int, float]], plain: bytes | None) -> None:
    """Give the observations their weights."""
    n, at, next_weight = len(parts.labels), 0, 0
    for number, name in enumerate(names):
        if name[:1] not in (b"u", b"b", b"*") or b"\n" in name:
            raise ModelFileError(f"damaged: the observation {name!r} begins with none of u, b and *")
        parts.places[name] = number
        for bigram in (False, True):
            if name[:1] == (b"u" if bigram else b"b"):
                continue
            size, first = n * n if bigram else n, next_weight
            while next_weight < len(weights) and weights[next_weight][0] < at + size:
                next_weight += 1
            mine = weights[first:next_weight]
            if bigram and name == plain:
                parts.pairs = array.array("d", bytes(8 * size))
                for place, weight in mine:
                    parts.pairs[place - at] = weight
            else:
                row = parts.bigrams if bigram else parts.unigrams
                if row.names.intern_bytes(name) != len(row.ptr) - 1:
                    raise ModelFileError(f"damaged: a second observation {name!r}")
                for place, weight in mine:
                    previous, label = divmod(place - at, n)
                    row.label.append(label)
                    row.weight.append(weight)
                    if bigram:
                        row.previous.append(previous)
                row.ptr.append(len(row.label))
            at += size
    if next_weight < len(weights):
        raise ModelFileError(f"damaged: weight {weights[next_weight][0]} of {at}")


def _observations(parts: Parts) -> Iterator[tuple[bytes, bool, list[tuple[int, int, float]]]]:
    """Of each observation, in the order of the file: its name, whether of pairs of labels, and (previous, label, weight)."""
    found: dict[tuple[bytes, bool], list[tuple[int, int, float]]] = {}
    n = len(parts.labels)
    for bigram, row in enumerate((parts.unigrams, parts.bigrams)):
        for number, name in enumerate(row.names):
            span = range(row.ptr[number], row.ptr[number + 1])
            found[name, bool(bigram)] = [(row.previous[at] if bigram else 0, row.label[at], row.weight[at]) for at in span]
    if parts.template is not None:
        plain = _plain([line.text.encode() for line in parts.template.lines])
        if plain is not None:
            pairs = parts.pairs or ()
            found[plain, True] = [(*divmod(place, n), weight) for place, weight in enumerate(pairs)]
    order = sorted({name for name, _ in found}, key=lambda name: (parts.places.get(name, len(parts.places)), name))
    for name in order:
        for bigram in (False, True):
            if name[:1] != (b"u" if bigram else b"b"):  # one of * takes the room of both
                yield name, bigram, found.get((name, bigram), [])


def dump(data: memoryview) -> Iterator[str]:
    """The model as `wapiti dump` prints it: a blank line behind each observation that has a weight."""
    parts = read(data)
    for name, same in groupby(_observations(parts), key=itemgetter(0)):
        text = name.decode(errors="surrogateescape")
        lines = [
            f"{text}\t{parts.labels[previous] if bigram else '#'}\t{parts.labels[label]}\t{weight:.5f}\n"
            for _, bigram, features in same
            for previous, label, weight in features
            if weight
        ]
        if lines:
            yield "".join(lines) + "\n"


def write(parts: Parts) -> bytes:
    """The bytes of a model file."""
    if parts.template is None:
        raise UnsupportedError("a Wapiti model needs patterns: give the template that made the attributes with --template")
    parts = translated(parts, dialects.WAPITI)
    assert parts.template is not None
    patterns = [line.text.encode() for line in parts.template.lines]
    if parts.pairs is not None and any(parts.pairs) and _plain(patterns) is None:
        raise UnsupportedError("the model has weights of pairs of labels, but its template not one line for them, B or b without macros")
    names: dict[bytes, None] = {}
    lines, at, n = [], 0, len(parts.labels)
    for name, bigram, features in _observations(parts):
        names[name] = None
        lines += [b"%d=%s\n" % (at + previous * n + label, weight_text(weight)) for previous, label, weight in features if weight]
        at += n * n if bigram else n
    head = b"#mdl#2#%d\n#rdr#%d/%d/0\n" % (len(lines), len(patterns), parts.columns - 2) + _strings(patterns)
    return b"".join([head, _counted([label.encode() for label in parts.labels]), _counted(list(names)), *lines])


def _strings(texts: list[bytes]) -> bytes:
    return b"".join(b"%d:%s,\n" % (len(text), text) for text in texts)


def _counted(texts: list[bytes]) -> bytes:
    return b"#qrk#%d\n" % len(texts) + _strings(texts)


def weight_text(weight: float) -> bytes:
    """A double as C's %a prints it."""
    mantissa, _, exponent = weight.hex().partition("p")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}{'.' * bool(fraction)}{fraction}p{exponent}".encode()
