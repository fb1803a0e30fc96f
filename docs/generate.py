"""Writes docs/cli.md from what the commands say of themselves, docs/python.md from the docstrings, and
crfkit/options/given.pyi from the options.

--check says whether they are up to date.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import click

import crfkit
from crfkit import errors
from crfkit.cli import cli
from crfkit.options import Declared, declared

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100

# --- The command line -------------------------------------------------------------------------------------------------

COMMANDS = """# Command line

Results go to standard output, everything else to standard error.

| exit code | meaning |
|---|---|
| 0 | success, also when the reader closes the pipe early (`\\| head`) |
| 1 | an error: one line with the file, and the line where there is one |
| 2 | wrong usage: an unknown option, a value out of range, a missing argument |
| 129, 130, 143 | the terminal was closed, Ctrl-C, SIGTERM |

For completion of commands, options, trainers, templates and files, add one of these lines to `~/.bashrc`, `~/.zshrc` or `config.fish`:

```sh
eval "$(_CRFKIT_COMPLETE=bash_source crfkit)"
eval "$(_CRFKIT_COMPLETE=zsh_source crfkit)"
_CRFKIT_COMPLETE=fish_source crfkit | source
```

[Messages](errors.md) explains errors. [Logs, JSON and configuration](files.md) describes the files that commands write and read.
The rest of this page is what `crfkit COMMAND --help` prints.
"""


def help_of(command: click.Command, path: str) -> str:
    """The help of a command as a section."""
    context = click.Context(command, info_name=path, terminal_width=WIDTH, max_content_width=WIDTH, **command.context_settings)
    return f"\n## {path}\n\n```text\n{command.get_help(context)}\n```\n"


def command_line() -> str:
    """All of docs/cli.md."""
    context = click.Context(cli, info_name="crfkit")
    sections = [help_of(cli, "crfkit")]
    for name in cli.list_commands(context):
        sections.append(help_of(cli.get_command(context, name), f"crfkit {name}"))
    return COMMANDS + "".join(sections)


# --- Python -----------------------------------------------------------------------------------------------------------

PYTHON = """# Python

[learn](#learn) trains, [with options](#options); [load](#load) opens a model; a [Tagger](#tagger) labels; [evaluate](#evaluate) scores;
[CRF](#crf) is for scikit-learn.

```python
import crfkit

model = crfkit.learn("data/ner.train.txt", template="templates/ner.txt", algorithm="sgd", passes=5)
model.save("ner.model")

tagger = crfkit.load("ner.model")
rows = [["Olton", "NNP"], ["sleeps", "VBZ"]]
tagger.tag(rows)                                   # ['B-PER', 'O']
tagger.nbest(rows, 2)                              # [(probability, labels), ...]
tagger.marginals(rows)[0, tagger.labels.index("O")]
tagger.explain(rows)[0].rival                      # the next best label of the first token; also by how much, and why
tagger.tag_many([rows, rows])                      # on all processors
crfkit.evaluate([["B-PER", "O"]], [tagger.tag(rows)]).f1
```

* A **sentence** is a list of rows. A **row** is a list of columns (str). Training rows have the label last.
* Tuples, iterators and NumPy arrays work like lists. From a pandas data frame, pass the rows: `frame[["word", "pos"]].values`.
* Options have the names of the [command line](cli.md#crfkit-learn), with underscores: `max_iter=100`.
* With `format="conllu"`, a row has the columns of CoNLL-U, and `label` names the one to predict, as for files.
* With `format="crfsuite"`, a row holds attributes: names, pairs `(name, value)`, or a mapping from names to values ([measurements](data.md#measurements)).
  Training rows are pairs `(attributes, label)`.
* Results are plain lists. Probabilities of many labels are NumPy arrays.
* Every exception that bad input can raise is a `crfkit.CrfkitError`.

`crfkit.CRF` is an estimator with the interface of scikit-learn, but does not need scikit-learn. It works in scikit-learn's
model selection and pipelines:

```python
from pathlib import Path

import crfkit
from sklearn.model_selection import GridSearchCV

text = Path("data/ner.train.txt").read_text(encoding="utf-8")
sentences = [[line.split() for line in block.splitlines()] for block in text.strip().split("\\n\\n")]
X = [[row[:-1] for row in rows] for rows in sentences]
y = [[row[-1] for row in rows] for rows in sentences]

crf = crfkit.CRF("sgd", template="templates/ner.txt", passes=3, threads=1)
search = GridSearchCV(crf, {"l2": [0.1, 1.0, 1000.0]}, scoring=lambda crf, X, y: crf.score(X, y, "f1"), cv=3)
search.fit(X, y)
assert search.best_params_["l2"] != 1000.0
best = search.best_estimator_
best.predict_marginals(X[:1])[0][0]["O"]           # of the first token of the first sentence
best.save("ner.model")                             # for `crfkit tag` and crfkit.load
```
"""

ORDER = ("learn", "learn_path", "load", "evaluate", "CRF", "Tagger", "Explanation", "Reason", "Model", "Template", "Scores")
INNER = {"resolve", "check", "columns", "column_names", "macros", "history_line", "of_parts", "text", "need_probabilities", "need_labellings", "explainer", "tag_with_gold", "dumped"}


def signature(name: str, value: Any) -> str:
    """How it is called, a parameter a line where it is long."""
    try:
        found = inspect.signature(value)
    except ValueError:
        return name
    parameters = list(parts(found))
    returned = "" if found.return_annotation in (found.empty, None, "None") else f" -> {found.return_annotation}"
    text = f"{name}({', '.join(parameters)}){returned}"
    return text if len(text) <= WIDTH else "\n".join([f"{name}(", *(f"    {part}," for part in parameters), f"){returned}"])


def parts(found: inspect.Signature) -> Iterator[str]:
    """The parameters as they are written, with the star before those that need their name. The options, which have a section of
    their own, are one parameter."""
    starred, options = False, takes_options(found)
    for parameter in found.parameters.values():
        if parameter.name == "self" or (options and is_option(parameter)):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            yield "*"
        starred |= parameter.kind in (parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY)
        stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
        text = stars.get(parameter.kind, "") + parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {getattr(parameter.annotation, '__forward_arg__', parameter.annotation)}"  # of a NamedTuple
        yield text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}"
    if options:
        yield "**options"


def is_option(parameter: inspect.Parameter) -> bool:
    """Whether it is one of the options of a run or a trainer."""
    return parameter.kind is parameter.KEYWORD_ONLY and parameter.name in declared() and parameter.name != "progress"


def takes_options(found: inspect.Signature) -> bool:
    """Whether it takes all options of training, or most."""
    return sum(map(is_option, found.parameters.values())) > 10


OPTIONS = """
## Options

The options of `learn`, `learn_path` and `CRF`. `CRF` takes them as parameters, except {lacking} and {last}.
These tables say what each option is for. Where they end in "…", `help(crfkit.learn)` and, under the same name, [crfkit learn](cli.md#crfkit-learn)
say more: what some values mean, and which default is chosen where none stands here.
None always means the default. With every trainer:

| option | type | default | |
|---|---|---|---|
"""


def options() -> str:
    """The section on options: of all trainers, and of some."""
    known, given = declared(), {name: parameter for name, parameter in inspect.signature(crfkit.learn).parameters.items() if is_option(parameter)}
    *lacking, last = (f"`{name}`" for name in given if name not in inspect.signature(crfkit.CRF).parameters)
    text = OPTIONS.format(lacking=", ".join(lacking), last=last)
    for name, parameter in given.items():
        if "" in known[name].defaults:
            text += f"| `{name}` | {type_of(parameter)} | {shown_default(known[name].defaults[''])} | {meaning(known[name])} |\n"
    text += "\nWith some trainers:\n\n| option | type | trainers | default | |\n|---|---|---|---|---|\n"
    for name, parameter in given.items():
        if "" not in (defaults := known[name].defaults):
            text += f"| `{name}` | {type_of(parameter)} | {', '.join(defaults)} | {default_of(defaults)} | {meaning(known[name])} |\n"
    return text


def meaning(option: Declared) -> str:
    """The first sentence of its help, and whether there are more."""
    first, *more = re.split(r"(?<=\.) (?=[A-Z0-9])", errors.in_python(option.help))
    return first.replace("|", "\\|") + " …" * bool(more)


def type_of(parameter: inspect.Parameter) -> str:
    """The type in a table; of words to choose from, these."""
    text = parameter.annotation.removesuffix(" | None").replace("str | bytes | os.PathLike[Any]", "path").replace("IO[Any]", "open file")
    return re.sub(r"Literal\[(.*)\]", r"\1", text).replace(" | ", " or ")


def shown_default(value: Any) -> str:
    """A default in a table."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def default_of(defaults: dict[str, Any]) -> str:
    """The default of all trainers, or that of each where they differ."""
    found = {trainer: shown for trainer, value in defaults.items() if (shown := shown_default(value))}
    if len(found) == len(defaults) and len(set(found.values())) == 1:
        return next(iter(found.values()))
    return ", ".join(f"{trainer} {value}" for trainer, value in found.items())


def about(value: Any) -> str:
    """What it says of itself, without the list of options, which is the section on these."""
    return (inspect.getdoc(value) or "").partition("\n\nOptions, with the trainers that use them:")[0]


def described(name: str, value: Any, level: int) -> str:
    """A heading, how it is called, what it says of itself."""
    called = signature(name.rpartition(".")[2] if level > 2 else f"crfkit.{name}", value)
    return f"\n{'#' * level} {name}\n\n```text\n{called}\n```\n\n{about(value)}\n"


def attributes(found: list[tuple[str, Any]]) -> str:
    """The properties of a class as a table."""
    lines = [f"| `{name}` | {' '.join(about(value).split())} |\n" for name, value in found if isinstance(value, (property, cached_property))]
    return "\n| attribute | |\n|---|---|\n" + "".join(lines) if lines else ""


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class offers to users, in its own order."""
    found = {name: value for base in reversed(cls.__mro__) if base.__module__.startswith("crfkit.") for name, value in vars(base).items()}
    for name, value in found.items():
        known = isinstance(value, (property, cached_property, classmethod, staticmethod)) or inspect.isroutine(value)
        if known and not name.startswith("_") and name not in INNER and inspect.getdoc(value):
            yield name, getattr(cls, name) if isinstance(value, (classmethod, staticmethod)) else value


def python() -> str:
    """All of docs/python.md."""
    public = {name: getattr(crfkit, name) for name in crfkit.__all__ if name not in ("CrfkitError", "__version__")}
    text = PYTHON
    for name in sorted(public, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)):
        value = public[name]
        if not callable(value):
            continue
        text += described(name, value, 2)
        if inspect.isclass(value):
            found = list(members(value))
            text += attributes(found)
            for member, of_class in found:
                if not isinstance(of_class, (property, cached_property)):
                    text += described(f"{name}.{member}", of_class, 3)
        if name == "learn_path":
            text += options()
    text += "\n## Exceptions\n\nAll are in `crfkit.errors`.\n\n| | meaning |\n|---|---|\n"
    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, errors.CrfkitError):
            bases = ", ".join(base.__name__ for base in value.__bases__)
            text += f"| `{name}` ({bases}) | {' '.join((inspect.getdoc(value) or '').split())} |\n"
    return text


# --- Types ------------------------------------------------------------------------------------------------------------

TYPES = '''"""Options as arguments of Python functions, for type checkers and editors. `make docs` writes this from the options."""

import os
from collections.abc import Iterable
from typing import IO, Any, Literal, TypedDict
'''


def types() -> str:
    """All of crfkit/options/given.pyi."""
    texts, before, text = declared(), set(), TYPES
    for name, base, function in (("OfEstimator", "TypedDict", crfkit.CRF), ("OfLearn", "OfEstimator", crfkit.learn)):
        own = [parameter for key, parameter in inspect.signature(function).parameters.items() if key in texts and key not in {*before, "progress"}]
        before.update(parameter.name for parameter in own)
        text += f"\nclass {name}({base}, total=False):\n"
        text += "\n".join(f"    {p.name}: {p.annotation}\n    {errors.in_python(texts[p.name].help)!r}\n" for p in own)
    return text


# --- All --------------------------------------------------------------------------------------------------------------

PAGES = {"docs/cli.md": command_line, "docs/python.md": python, "crfkit/options/given.pyi": types}


if __name__ == "__main__":
    for name, page in PAGES.items():
        path = ROOT / name
        if "--check" not in sys.argv[1:]:
            path.write_text(page(), encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != page():
            sys.exit(f"{path}: out of date; run `make docs`")
