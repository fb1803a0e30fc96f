"""Templates, which define the features of a token: CRF++'s language with more macros (docs/templates.md).

    U05:%x[-1,0]/%x[0,0]  @minfreq=3
    |                     |_ annotations, of this line alone
    |_ U: with a label, B: with a pair of labels, *: both, T: with three labels, P: with an action of a parser

At each token a line expands to one string: its literal text with each macro replaced by its value. The whole string
is the name of the feature. `Template.parse` parses templates; `expand` (template/meaning.py) computes the string at
a token. The compiled index yields the same features without building the strings.
"""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from crfkit.errors import FileError, OptionError, TemplateError, unreadable
from crfkit.text.compression import Compression
from crfkit.text.opening import other_form, why_not_opened
from crfkit.values import as_text, named, plain, plural, shown

from .macros import PLACE, Line, Macro
from .regex_syntax import compile_pattern

FARTHEST = 999  # rows from the token. What a macro finds at each place before and after a sentence is kept: it takes memory for each
_FIELDS = {"r": "row", "c": "column", "R": "row2", "C": "column2", "l": "length", "p": "pattern"}


class _Form(NamedTuple):
    """The meaning of a macro's letter, and its arguments: the keys of _FIELDS."""

    kind: str
    arguments: str
    lower: bool = False
    collapse: bool = False

    def usage(self, letter: str) -> str:
        words = ",".join('"regex"' if code == "p" else _FIELDS[code] for code in self.arguments)
        return f"%{letter}[{words}]"


MACROS: Mapping[str, _Form] = {
    "x": _Form("x", "rc"),
    "X": _Form("x", "rc", lower=True),
    "t": _Form("t", "rcp"),
    "T": _Form("t", "rcp", lower=True),
    "m": _Form("m", "rcp"),
    "M": _Form("m", "rcp", lower=True),
    "p": _Form("p", "rcl"),
    "s": _Form("s", "rcl"),
    "S": _Form("S", "rc"),
    "C": _Form("S", "rc", collapse=True),
    "N": _Form("N", "rc"),
    "=": _Form("=", "rcRC"),
    "y": _Form("y", "r"),
    "d": _Form("d", "rR"),
    "v": _Form("v", "r"),
}

_KINDS = {"U": "U", "u": "U", "B": "B", "b": "B", "*": "UB", "T": "T", "P": "P"}

# Six digits are beyond any use and keep every sum of offsets within 32 bits.
_NUMBER = re.compile(r"[+-]?[0-9]{1,6}")
_CURES = {"r@": "only crfkit-wapiti counts rows from the ends of a sentence", **dict.fromkeys(("r\u2212", "r\u2013"), "write a minus sign as -")}
_CURES |= dict.fromkeys(("c@", "c$", "c'"), "a name stands there as it is, as in %x[0,word]")
_NAME = r"[^\W\d][^\s,\[\]\"]*"
_ARGUMENT = re.compile(r'[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*([],])|([^][",]*)([],])')
_TEXT = r"\n|%[A-Za-z=]+\["  # rather than a path
_MACRO = r'%%|%.\[(?:"(?:[^"\\\n]|\\.)*"|[^]"\n])*\]'
_LONGEST = 1 << 24  # bytes: no model has room for more
_ANNOTATION = r"[ \t]@[A-Za-z][\w-]*(?:=\S*)?[ \t]*\Z"


def read_text(path: str, loose: bool = False) -> str:
    """The text of a template file. It must be UTF-8, unless `loose`."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LONGEST + 1)
    except OSError as error:
        if "\n" in path:
            raise FileError(f"{shown(path)}: not a file name; Template.parse takes the text of a template") from None
        hint = ""
        if isinstance(error, FileNotFoundError):
            # Not before it is needed: it takes pathlib, which is a twentieth of the start of a command.
            from .shipped import command_for

            hint = command_for(path)
        raise unreadable(f"{named(path)}: cannot read the template: {why_not_opened(path, error)}{hint}", error) from None
    except ValueError:  # a zero byte
        raise FileError(f"{shown(path)}: not a file name") from None
    if len(data) > _LONGEST:
        raise TemplateError(f"more than {_LONGEST:,} bytes: expected a template, the argument before the data", path)
    form = other_form(data)
    if form is not None:
        what = f"the data are compressed by {form.name}" if isinstance(form, Compression) else form
        raise TemplateError(f"{what}: {'expected a template, plain text given before the training data' if 'data' in what else 'convert the template to UTF-8'}", path, 1)
    if b"\n" not in data and b"\r" in data.rstrip(b"\r") and not loose:  # it would be one feature, or one comment
        raise TemplateError("lines that end with carriage returns alone: expected \\n or \\r\\n", path)
    try:
        return as_text(data) if loose else data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TemplateError(f"byte 0x{data[error.start]:02x} is not valid UTF-8; convert the template to UTF-8", path, line) from None


@dataclass(frozen=True)
class Template:
    """A parsed template, which does not change."""

    lines: tuple[Line, ...]
    text: str
    path: str | None = None
    by_string: bool = False  # a model's: attributes are known by their strings alone
    dialect: str | None = None  # the program whose language this is, if it is not crfkit: see dialects.py

    def __repr__(self) -> str:
        return f"Template.parse({reprlib.repr(self.text)})" if self.path is None else f"Template.load({self.path!r})"

    @classmethod
    def parse(cls, text: str, path: str | None = None, columns: Mapping[str, int] | None = None) -> Template:
        """Parse a template; `columns` maps column names to numbers, for data that do not name them, such as rows in memory."""
        if not isinstance(text, str):
            raise TemplateError(f"expected the text of a template, found {shown(text)}", _name(path))
        text = text.removeprefix("\ufeff")
        lines: list[Line] = []
        known: dict[str, Macro] = {}
        doubt = "" if "%x[" in text else "; the template is given before the training data"
        # Only \n ends a line, as in CRF++: str.splitlines would also split at U+2028 and the like.
        for number, line in enumerate(text.split("\n"), 1):
            line = line.removesuffix("\r")
            if not line.isascii() and re.search("[\ud800-\udfff]", line):
                raise TemplateError("expected text that UTF-8 can encode: the line has half of a pair of UTF-16", _name(path), number)
            if line.strip(" \t") and not line.startswith("#"):
                lines.append(_LineParser(line, number, path, known, doubt).parse())
        if not lines:
            raise TemplateError(f"the template {'has only comments' if text.strip() else 'is empty'}; it needs a line that starts with U, B or P", _name(path))
        template = cls(tuple(lines), text, path)
        other = next((line for line in lines if (line.kinds == "P") != template.parses), None)
        if other is not None:
            raise line_fault(template, other, "P lines make a parser, all others a tagger: a template has one kind or the other")
        return template if columns is None else template.resolve(columns)

    @classmethod
    def of(cls, given: Any) -> Template:
        """A template from an argument: a Template, the path of a file, or the text itself.

        A str that is not the name of a file is a text if it has a line end, or a macro such as `%x[`."""
        if isinstance(given, Template):
            return given
        if not isinstance(given, (str, bytes, os.PathLike)):
            raise OptionError(f"template: expected a path, a text or a Template, found {shown(given)}")
        name = os.fsdecode(given)
        if not name:
            raise TemplateError("the template is empty: expected the name of a file, or lines that start with U, B or P", _name(None))
        return cls.parse(name) if isinstance(given, str) and re.search(_TEXT, name) and not os.path.exists(name) else cls.load(name)

    @classmethod
    def load(cls, path: str | bytes | os.PathLike[Any]) -> Template:
        """Read a template file."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise OptionError(f"template: expected a path, found {shown(path)}")
        name = os.fsdecode(path)
        return cls.parse(read_text(name), name)

    def resolve(self, columns: Mapping[str, int]) -> Template:
        """This template with column names replaced by their numbers."""
        if not isinstance(columns, Mapping) or not all(type(plain(column)) is int and column >= 0 for column in columns.values()):
            raise OptionError(f"columns: found {shown(columns)}, expected a mapping from names to numbers, the first of which is 0")
        return replace(self, lines=tuple(self._resolve_line(line, columns) for line in self.lines)) if self.column_names else self

    def _resolve_line(self, line: Line, columns: Mapping[str, int]) -> Line:
        def number(macro: Macro, name: str | None, column: int) -> int:
            if name is None:
                return column
            if (found := columns.get(name, columns.get(name.lower()))) is None:
                known = ", ".join(columns) or "none"
                raise line_fault(self, line, f"{macro.text} names column '{name}'; the named columns of the data are: {known}")
            return found

        def numbered(macro: Macro) -> Macro:
            column, column2 = number(macro, macro.column_name, macro.column), number(macro, macro.column2_name, macro.column2)
            return macro._replace(column=column, column2=column2)

        return line._replace(macros=tuple(map(numbered, line.macros)))

    def numbered(self) -> Template:
        """This template with numbers written in the place of the column names that have one, for data that do not name their columns."""
        written: dict[str, str] = {}
        for macro in self.macros:
            text = macro.text
            for name, column in _columns(macro):
                if name is not None and column >= 0:
                    text = re.sub(rf"(,[ \t]*){re.escape(name)}(?=[ \t]*[],])", rf"\g<1>{column}", text, count=1)
            written[macro.text] = text
        text = re.sub(_MACRO, lambda found: written.get(found[0], found[0]), self.text)
        return Template.parse(text, self.path)

    def check(self, n_columns: int, names: Sequence[str] | None = None, label: int | None = None) -> None:
        """Raise TemplateError unless every column is among the `n_columns` feature columns of the data, is not that of the `label`, and has a
        name if the data have `names`, since the model then finds columns by name."""
        for line in self.lines:
            for macro in line.macros:
                for name, column in _columns(macro):
                    if column < 0:
                        problem = (
                            f"names column '{name}', but the data do not name their columns; "
                            "use numbers, or begin a file with a line like '# columns = word pos label'"
                        )
                    elif column == label:
                        problem = f"uses column {column} (counted from 0), which holds the label"
                    elif column >= n_columns:
                        problem = f"uses column {column}, but the data have {plural(n_columns, 'feature column')} (counted from 0)"
                    elif names is not None and column >= len(names):
                        problem = f"uses column {column}, but the data name only the first {len(names)}: {' '.join(names)}"
                    else:
                        continue
                    raise line_fault(self, line, f"{macro.text} {problem}")

    @property
    def columns(self) -> frozenset[int]:
        """The numbers of all columns in use, except unresolved names."""
        return frozenset(c for m in self.macros for _, c in _columns(m) if c >= 0)

    @property
    def column_names(self) -> frozenset[str]:
        """The names of all columns used by name."""
        return frozenset(name for m in self.macros for name, _ in _columns(m) if name is not None)

    @property
    def macros(self) -> tuple[Macro, ...]:
        """The macros of all lines, in order."""
        return tuple(macro for line in self.lines for macro in line.macros)

    @property
    def parses(self) -> bool:
        """Whether the template is for a parser: its lines are P lines."""
        return self.lines[0].kinds == "P"

    @property
    def history_line(self) -> Line | None:
        """The first line that uses earlier labels (T, %y), which only the lookahead trainer supports."""
        return next((line for line in self.lines if line.reach), None)


def line_fault(template: Template, line: Line, message: str) -> TemplateError:
    """The error for a line of a template."""
    return TemplateError(message, _name(template.path), line.number)


def _name(path: str | None) -> str:
    return "template" if path is None else path


def _columns(macro: Macro) -> list[tuple[str | None, int]]:
    """Name and number of each column that a macro reads."""
    if macro.kind in "ydv":
        return []
    first = (macro.column_name, macro.column)
    return [first, (macro.column2_name, macro.column2)] if macro.kind == "=" else [first]


class _LineParser:
    """Parses one line; knows its place for error messages.

    `known` maps the texts of macros in earlier lines to the macros, since templates repeat them. `doubt` says what may be amiss if a line is
    of no kind."""

    def __init__(self, line: str, number: int, path: str | None, known: dict[str, Macro], doubt: str):
        self.line, self.number, self.path, self.known, self.doubt = line, number, path, known, doubt
        self.parses = line[0] == "P"

    def error(self, message: str) -> TemplateError:
        return TemplateError(message, _name(self.path), self.number)

    def parse(self) -> Line:
        kinds = _KINDS.get(self.line[0])
        if kinds is None:
            expected = "U (unigram), B (bigram), * (both), T (trigram), P (parser) or # (comment)"
            raise self.error(f"a line starts with {self.line[0]!r}, expected {expected}{self.doubt}")
        if "\0" in self.line:
            raise self.error("a NUL character in the template")
        body, rule, min_freq = self.annotations()
        literals: list[list[str]] = [[]]  # in pieces: a line may have millions of percent signs
        macros = []
        position = 0
        while (percent := body.find("%", position)) >= 0:
            literals[-1].append(body[position:percent])
            if body.startswith("%", percent + 1):
                literals[-1].append("%")
                position = percent + 2
            else:
                macro, position = self.macro(body, percent)
                macros.append(macro)
                literals.append([])
        literals[-1].append(body[position:])
        encoded = tuple("".join(literal).encode() for literal in literals)
        reach = 3 if kinds == "T" else sum({-macro.row for macro in macros if macro.kind == "y"})
        return Line(self.number, self.line, kinds, encoded, tuple(macros), rule, min_freq, reach)

    def annotations(self) -> tuple[str, str | None, int | None]:
        """Split off the trailing annotations: returns the line without them, and their values."""
        body, rule, min_freq = self.line, None, None
        while "@" in body and (match := re.search(_ANNOTATION, body)):
            word = match[0].strip(" \t")
            if word in ("@observed", "@all"):
                if rule is not None:
                    raise self.error(f"'{word}' after '@{rule}'; a line can have one of them")
                rule = word[1:]
            elif word.startswith("@minfreq="):
                number = word.removeprefix("@minfreq=")
                if min_freq is not None or not re.fullmatch(r"0{0,9}[1-9][0-9]{0,8}", number):
                    raise self.error(f"'{word}': expected one @minfreq with a whole number of at least 1")
                min_freq = int(number)
            else:
                raise self.error(f"unknown '{word}'; expected @observed, @all or @minfreq=NUMBER")
            body = body[: match.start()].rstrip(" \t")
        return body, rule, min_freq

    def macro(self, body: str, start: int) -> tuple[Macro, int]:
        """Parse the macro whose % is at `start`; returns it and the offset after it."""
        closed_at = body.find("]", start) + 1
        if (found := self.known.get(self.line[0] + body[start:closed_at])) is not None:
            return found, closed_at
        letter = body[start + 1 : start + 2]
        form = MACROS.get(letter)
        if form is None:
            raise self.error(f"unknown macro '%{letter}'; the macros are {' '.join('%' + name for name in MACROS)}, and %% for a percent sign")
        position = start + 2
        if not body.startswith("[", position):
            raise self.error(f"'%{letter}' without '['; expected {form.usage(letter)}")
        arguments: list[tuple[str, bool]] = []
        closed, position = False, position + 1
        while not closed:
            match = _ARGUMENT.match(body, position)
            if match is None:
                raise self.error(f"'{body[start:]}' has no closing ']' or quote; expected {form.usage(letter)}")
            quoted, quoted_end, plain, plain_end = match.groups()
            arguments.append((plain.strip(" \t"), False) if quoted is None else (quoted, True))
            closed = (plain_end or quoted_end) == "]"
            position = match.end()
        text = body[start:position]
        if [quoted for _, quoted in arguments] != [code == "p" for code in form.arguments]:
            raise self.error(f"'{text}' has the wrong arguments; expected {form.usage(letter)}")
        values = self.values(form, text, [argument for argument, _ in arguments])
        macro = self.known[self.line[0] + text] = Macro(form.kind, text, lower=form.lower, collapse=form.collapse, **values)
        return macro, position

    def values(self, form: _Form, text: str, arguments: list[str]) -> dict[str, Any]:
        """The fields of a Macro from its arguments."""
        if form.kind == "y" and self.parses:
            raise self.error(f"'{text}' in a P line: a parser does not label tokens")
        if form.kind in "dv" and not self.parses:
            raise self.error(f"'{text}' in a line that starts with {self.line[0]}: %{form.kind} belongs into P lines")
        values = dict(self.value(form, text, code, argument) for code, argument in zip(form.arguments, arguments, strict=True))
        if values.get("length", 1) < 1:
            raise self.error(f"'{text}' has length {values['length']}; expected at least 1 character")
        if form.kind == "y" and values["row"] >= 0:
            raise self.error(f"'{text}' is not an earlier label; expected %y[-1] or %y[-2]")
        if form.kind == "y" and values["row"] < -2:
            raise self.error(f"'{text}' is too far away: features see two labels back, %y[-1] and %y[-2]")
        if form.kind == "y" and self.line[0] not in "Uu":
            raise self.error(f"'{text}' in a line that starts with {self.line[0]}: %y belongs into U lines")
        return values

    def value(self, form: _Form, text: str, code: str, argument: str) -> tuple[str, Any]:
        """A field, from the argument with this key of _FIELDS."""
        name = _FIELDS[code]
        if code == "p":
            try:
                compile_pattern(argument)
            except ValueError as error:
                raise self.error(f"'{text}': {error}") from None
            return name, argument
        if self.parses and code in "rR":
            return name.replace("row", "place"), self.place(form, text, argument)
        if _NUMBER.fullmatch(argument):
            number = int(argument)
            if code in "cC" and number < 0:
                raise self.error(f"'{text}' has a negative column; columns count from 0")
            if code in "rR" and abs(number) > FARTHEST:
                raise self.error(f"'{text}' is too far away: macros look at most {FARTHEST} rows back or ahead")
            return name, number
        if code in "cC" and re.fullmatch(_NAME, argument):
            return f"{name}_name", argument
        if re.fullmatch("[+-]?[0-9]+", argument):
            raise self.error(f"{shown(argument)} in {shown(text)} is out of range: expected at most six digits")
        cure = _CURES.get(code.lower() + argument[:1], f"expected {form.usage(text[1])}")
        raise self.error(f"'{argument}' in '{text}' is not a {'column number or name' if code in 'cC' else 'number'}; {cure}")

    def place(self, form: _Form, text: str, argument: str) -> str:
        """The place that a macro of a P line looks at."""
        if not PLACE.fullmatch(argument):
            raise self.error(f"'{argument}' in '{text}' is not a place; P lines look at s0 s1 s2 q0 q1 q2, and children such as s0.l s0.r2 s1.l.r")
        if form.kind == "v" and argument[-1] not in "lr":
            raise self.error(f"'{text}' does not say which children to count; expected a place such as s0.l or s0.r")
        return argument
