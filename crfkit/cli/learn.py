"""`crfkit learn`: train a model."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import click

from crfkit import options as trainer_options
from crfkit.errors import CrfkitError, OptionError
from crfkit.learning.learn import learn_path
from crfkit.learning.progress import PROGRESS_MODES, Progress, StopRequest
from crfkit.learning.run import FEATURES, RUN_FIELDS, Run
from crfkit.modelfile import check_writable
from crfkit.text.reading import FORMATS

from .common import HELP_FLAGS, debug_option, refuse_overwriting, write_output

_TYPES = {int: click.INT, float: click.FLOAT}


def trainer_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """A flag for every option of any trainer; who uses it, and the defaults, stand in the help."""
    for name, (item, users) in reversed(trainer_options.all_fields().items()):
        kind, choices, short = (item.metadata[key] for key in ("kind", "choices", "short"))
        flags = [f"{trainer_options.flag(name)}/--no-{name.replace('_', '-')}" if kind is bool else trainer_options.flag(name), name]
        command = click.option(
            *([short] if short else []), *flags, type=click.Choice(choices) if choices else _TYPES.get(kind), default=None,
            help=f"{item.metadata['help']}  [{', '.join(users)}{'' if kind is bool else _defaults(name, users)}]",
        )(command)  # fmt: skip
    return command


def _defaults(name: str, users: list[str]) -> str:
    """The default of an option, or that of each trainer where they differ."""
    of = {user: getattr(trainer_options.TRAINERS[user](), name) for user in users}
    found = {user: value if isinstance(value, str) else f"{value:g}" for user, value in of.items() if value is not None}
    if len(set(of.values())) == 1:
        return "".join(f"; default {value}" for value in set(found.values()))
    return "; default " + ", ".join(f"{value} for {user}" for user, value in found.items())


@click.command("learn", short_help="Train a model from labelled data and a template.", context_settings=HELP_FLAGS)
@click.argument("arguments", metavar="TEMPLATE TRAIN... MODEL", nargs=-1, type=click.Path())
@click.option("-a", "--algorithm", default=None, metavar="NAME", help=f"How to train: {', '.join([*trainer_options.TRAINERS, *trainer_options.ALIASES])}.  [default lbfgs]")
@click.option("--features", type=click.Choice(FEATURES), help="Give each attribute the labels it was seen with, or all labels.  [default observed]")
@click.option("--min-freq", type=click.INT, metavar="N", help="Drop attributes that occur less than N times.  [default 1]")
@click.option("--select", metavar="mi:N", help="Before training, keep the N attributes of the highest mutual information with the label.")
@click.option("--prune", type=click.FLOAT, metavar="THRESHOLD", help="After training, drop weights of a smaller absolute value.")
@click.option("--format", type=click.Choice(FORMATS), help="Of the data: columns of CoNLL files, CoNLL-U, or the attribute lines of CRFsuite, which take no TEMPLATE.  [default columns]")  # fmt: skip
@click.option("--label", metavar="COLUMN", help="Name of the column to predict.  [default: the last column]")
@click.option("--dev", type=click.Path(), metavar="FILE", help="Score the weights on this file after each pass, and keep the best ones: by F1 where labels mark chunks, by accuracy where they do not.")  # fmt: skip
@click.option("--patience", type=click.INT, metavar="N", help="With --dev: stop after N passes without a better score.")
@trainer_flags
@click.option("--init", type=click.Path(), metavar="MODEL", help="Start from the weights of this model, as far as its features exist here.")
@click.option("--seed", type=click.INT, help="Of the random order of the sequences.  [default 0]")
@click.option("--threads", type=click.INT, metavar="N", help="Threads; 0: one for each processor, and one for trainers that change the weights after every sequence. With 2 or more sgd, adf and sapo do so without locks, and models differ from run to run; all others do not depend on it.  [default 0]")  # fmt: skip
@click.option("--log", type=click.Path(), metavar="FILE", help="Write one JSON object a pass.")
@click.option("--checkpoint", type=click.Path(), metavar="FILE", help="After each pass, write to this file all that is needed to go on from there.")
@click.option("--checkpoint-every", metavar="N", help="With --checkpoint: only after every N passes, or N minutes when N ends in m.")
@click.option("--resume", is_flag=True, default=None, help="Go on from --checkpoint, if there is one, to the model of a run that was never interrupted.")
@click.option("--max-memory", metavar="SIZE", help="Give up before training if it would take more memory than this, such as 2G.")
@click.option("--config", type=click.Path(), metavar="FILE", help="Read options from a YAML file; the command line wins.")
@click.option("--print-config", is_flag=True, help="Print the options in force as YAML, and do nothing else.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("--progress", type=click.Choice(PROGRESS_MODES), help="Show a progress bar: on a terminal, always, never.  [default auto]")
@debug_option
@click.pass_context
def learn_command(ctx: click.Context, arguments: tuple[str, ...], config: str | None, print_config: bool, **given: Any) -> None:
    """Train a model on the files TRAIN and write it to MODEL.

    \b
    crfkit learn templates/chunking.txt train.txt chunking.model
    crfkit learn -a sgd --passes 20 --dev dev.txt --patience 3 template train1.gz train2.gz model
    crfkit learn --format crfsuite attributes.txt model

    TRAIN has one token a line, columns between tabs or blanks with the label last, and a blank line after each
    sentence; `.gz` is fine, and `-` is standard input; `-a adf --passes 1` learns from it as it comes and holds
    no more than a window of it in memory. TEMPLATE says which features a token has, in the language of
    CRF++ with further macros (docs/templates.md).

    Each trainer has options of its own, named in brackets; one that the chosen trainer does not use is an error.
    Ctrl-C ends training, saves the model as it stands, and exits with 130. With --checkpoint, --resume then goes on
    where it was; so it does after a crash.
    """
    if not given["quiet"]:
        del given["quiet"]
    chosen = {**(_read_config(config) if config is not None else {}), **{k: v for k, v in given.items() if v is not None}}
    algorithm = chosen.pop("algorithm", "lbfgs")
    quiet, mode = bool(chosen.pop("quiet", False)), chosen.pop("progress", "auto")
    try:
        if print_config:
            _print_config(algorithm, chosen, quiet, mode)
            return
        options = trainer_options.make(trainer_options.ALIASES.get(algorithm, algorithm), {k: v for k, v in chosen.items() if k not in RUN_FIELDS})
        Run(**{k: v for k, v in chosen.items() if k in RUN_FIELDS}).check()
        template, train, target = _positional(arguments, chosen.get("format"))
        inputs = (template, *train, chosen.get("dev"), config)
        values = None if chosen.get("dev") is not None else getattr(options, "path", None)
        targets = [target] if values is None else [_with_value(target, l1) for l1 in values]
        for name in targets:
            refuse_overwriting("MODEL", name, inputs)
            refuse_overwriting("--log", chosen.get("log"), (*inputs, chosen.get("init"), name))
            refuse_overwriting("--checkpoint", chosen.get("checkpoint"), (*inputs, chosen.get("init"), name, chosen.get("log")))
    except OptionError as error:
        raise click.UsageError(str(error), ctx) from None

    for name in targets:
        check_writable(name)
    progress, stop = Progress(mode, quiet), StopRequest()
    started = time.perf_counter()
    saved = 0
    try:
        with stop.on_signals():
            models = learn_path(train, template, algorithm, progress=progress, stop=stop, **chosen)
            for name, model in zip(targets, models, strict=False):  # fewer models when training is stopped
                size = model.save(name)
                saved += 1
                progress.note(f"{model.header['features']:,} weights in {size / 1e6:.1f} MB: {name}; {time.perf_counter() - started:.1f} s in all")
    except KeyboardInterrupt:
        progress.note(f"crfkit: interrupted, no {'further ' if saved else ''}model was written")
        ctx.exit(128 + (stop.signal or signal.SIGINT))
    finally:
        progress.close()
    if stop.signal is not None:
        ctx.exit(128 + stop.signal)


def _with_value(target: str, l1: float) -> str:
    """The name of the model for one value on the path: m.l1-3 for m, m.l1-3.model for m.model."""
    text = f"{l1:g}" if float(f"{l1:g}") == l1 else repr(l1)
    folder, name = os.path.split(target)
    stem, ending = os.path.splitext(name)
    return os.path.join(folder, f"{stem}.l1-{text}{ending}")


def _positional(arguments: tuple[str, ...], form: str | None) -> tuple[str | None, list[str], str]:
    """Template, training files and model among the arguments."""
    expected = ["TRAIN...", "MODEL"] if form == "crfsuite" else ["TEMPLATE", "TRAIN...", "MODEL"]
    if len(arguments) < len(expected):
        raise OptionError(f"expected {' '.join(expected)}, found {len(arguments)} argument{'s' * (len(arguments) != 1)}")
    template = None if form == "crfsuite" else arguments[0]
    train = list(arguments[len(expected) - 2 : -1])
    target = arguments[-1]
    if train.count("-") > 1:
        raise OptionError("standard input can be read only once")
    if target == "-":
        raise OptionError("MODEL: expected the name of a file, found -, which is standard input")
    return template, train, target


def _read_config(path: str) -> dict[str, Any]:
    """Options from a YAML file, by their names on the command line or with underscores."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Without aliases: a few lines of them stand for more than memory holds."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                raise CrfkitError(f"{path}:{event.start_mark.line + 1}: *{event.anchor}: expected a value, not the name of another one")
            return super().compose_node(parent, index)

    try:
        with open(path, encoding="utf-8") as file:
            loader = Loader(file)
            try:
                node = loader.get_single_node()
                _refuse_duplicates(path, node)
                found = None if node is None else loader.construct_document(node)
            finally:
                loader.dispose()
    except OSError as error:
        raise CrfkitError(f"{path}: cannot be read: {error.strerror}") from None
    except CrfkitError:
        raise
    except UnicodeDecodeError:
        raise CrfkitError(f"{path}: not YAML: not UTF-8") from None
    except RecursionError:
        raise CrfkitError(f"{path}: not options: lists in lists without end") from None
    except Exception as error:  # PyYAML's own, and whatever its conversions of dates and numbers raise
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise CrfkitError(f"{path}{where}: not YAML: {problem}") from None
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise CrfkitError(f"{path}: expected options as `name: value`, one a line")
    options = {name.replace("-", "_"): value for name, value in found.items()}
    of_trainers = trainer_options.all_fields()
    known = {"algorithm", "quiet", "progress", *RUN_FIELDS, *of_trainers}
    for name, value in options.items():
        if name not in known:
            raise CrfkitError(f"{path}: unknown option {trainer_options.shown(name)}")
        if isinstance(value, str) and ((name in of_trainers and of_trainers[name][0].metadata["kind"] is float) or name == "prune"):
            with suppress(ValueError):  # for YAML 1e-3 is a text, for people a number
                options[name] = float(value)
    for name in ("algorithm", "checkpoint", "dev", "features", "format", "init", "label", "log", "progress", "select"):
        if not isinstance(options.get(name) or "", str) or "\0" in (options.get(name) or ""):
            raise CrfkitError(f"{path}: {name}: expected a text, found {trainer_options.shown(options[name])}")
    if not isinstance(options.get("quiet") or False, bool):
        raise CrfkitError(f"{path}: quiet: expected true or false, found {trainer_options.shown(options['quiet'])}")
    if (options.get("progress") or "auto") not in PROGRESS_MODES:
        raise CrfkitError(f"{path}: progress: expected one of {', '.join(PROGRESS_MODES)}, found {trainer_options.shown(options['progress'])}")
    return {name: value for name, value in options.items() if value is not None}


def _refuse_duplicates(path: str, node: Any) -> None:
    """An error for an option that is given twice, in either spelling: YAML would take the last value."""
    lines: dict[str, int] = {}
    for key, _ in node.value if getattr(node, "id", None) == "mapping" else ():
        name, line = str(key.value).replace("-", "_"), key.start_mark.line + 1
        if name in lines:
            raise CrfkitError(f"{path}:{line}: {key.value}: given twice, first in line {lines[name]}")
        lines[name] = line


def _print_config(algorithm: str, chosen: dict[str, Any], quiet: bool, mode: str) -> None:
    import yaml

    algorithm = trainer_options.ALIASES.get(algorithm, algorithm)
    options = trainer_options.make(algorithm, {k: v for k, v in chosen.items() if k not in RUN_FIELDS})
    run = Run(**{k: v for k, v in chosen.items() if k in RUN_FIELDS})
    run.check()
    in_force = {"algorithm": algorithm, **asdict(run), **asdict(options), "quiet": quiet, "progress": mode}
    if in_force.get("path"):
        del in_force["l1"]  # the path says it
    write_output(yaml.safe_dump(in_force, sort_keys=False, allow_unicode=True))
