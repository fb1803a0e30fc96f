"""`crfkit learn`: train a model."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Any

import click

from crfkit import foreign
from crfkit import options as declarations
from crfkit.errors import DataError, OptionError
from crfkit.learning.judging import judge, refuse_losses
from crfkit.learning.progress import Progress, StopRequest
from crfkit.learning.training import Training
from crfkit.options import Declared
from crfkit.replacing import check_writable, is_device, refuse_overwriting
from crfkit.text.opening import input_file, texts
from crfkit.values import counted, flag, plural, shown

from .common import HELP_FLAGS, PATH, Hinting, Text, debug_option, offer, refuse_dash, usage_errors, write_output
from .config import Config, read_config


def option_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """A flag for every option; who uses it, and the defaults, stand in the help."""
    for option in reversed(declarations.declared().values()):
        command = click.option(*_names(option), default=None, help=option.help + declarations.users(option), **_form(option))(command)
    return command


def _names(option: Declared) -> list[str]:
    both = option.expected.kind is bool and "" not in option.defaults
    written = flag(option.name) + ("/" + flag(f"no_{option.name}") if both else "")
    return [*([option.short] if option.short else []), written, option.name]


def _form(option: Declared) -> dict[str, Any]:
    """The arguments of click.option for the value."""
    expected = option.expected
    if expected.kind is bool:
        return {"is_flag": True}
    files = expected.kind is os.PathLike or option.metavar in ("FILE", "MODEL")
    other = PATH if files else expected.kind if expected.kind in (int, float) else Text()
    return {"type": click.Choice(expected.choices) if expected.choices else other, "metavar": option.metavar}


# What has no name here, under names that it may be looked for.
ARGUMENTS = {
    "--template": "the template is the first argument",
    **dict.fromkeys(("--train", "--data", "--input"), "TRAIN is one argument or more, between the template and the model"),
    **dict.fromkeys(("--model", "--output", "-o"), "the model is the last argument"),
}


def _elsewhere(name: str) -> str | None:
    return ARGUMENTS.get(name) or declarations.elsewhere(name)


@click.command("learn", cls=Hinting, elsewhere=_elsewhere, context_settings=HELP_FLAGS)
@click.argument("arguments", metavar="TEMPLATE TRAIN... MODEL", nargs=-1, type=PATH)
@click.option(
    "-a",
    "--algorithm",
    default=None,
    metavar="NAME",
    shell_complete=offer(lambda: (*declarations.TRAINERS, *declarations.ALIASES)),
    help=f"The trainer: {', '.join([*declarations.TRAINERS, *declarations.ALIASES])}.  [default lbfgs]",
)
@option_flags
@click.option("--config", type=PATH, metavar="FILE", help="Read options from a YAML file; the command line wins.")
@click.option("--print-config", is_flag=True, help="Print the options in force as YAML, and do nothing else.")
@debug_option
@click.pass_context
def learn_command(ctx: click.Context, arguments: tuple[str, ...], config: str | None, print_config: bool, **given: Any) -> None:
    """Train a model on the files TRAIN and write it to MODEL.

    \b
    crfkit learn templates/chunking.txt train.txt chunking.model
    crfkit learn -a sgd --passes 20 --dev dev.txt --patience 3 template train1.gz train2.gz model
    crfkit learn --format crfsuite attributes.txt model
    crfkit learn -a lookahead --format conllu templates/parsing.txt train.conllu parser.model

    TRAIN has one token per line and a blank line after each sentence. Columns are separated by tabs or blanks; the
    label is the last one. Files may be compressed (`.gz`, `.bz2`, `.xz`). `-` is standard input; `-a adf --passes 1`
    learns from it as it arrives and holds no more than a window of it in memory. TEMPLATE defines the features of a
    token, in the language of CRF++ with further macros (docs/templates.md).

    Brackets name the trainers that use an option. An option that the chosen trainer does not use is an error.
    Ctrl-C ends training, saves the model as it stands, and exits with 130. After Ctrl-C or a crash, --resume continues
    from the last --checkpoint.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    with usage_errors(ctx):
        if print_config:
            refuse_overwriting("output", [config], "-")
        read = Config("", {}, {}) if config is None else read_config(config, chosen.get("algorithm"))
    with usage_errors(ctx), read.named_in_faults(chosen):
        in_force = {**read.options, **chosen}
        speech = {name: in_force.pop(name) for name in declarations.SPEECH if name in in_force}
        algorithm, options, run = judge(in_force.pop("algorithm", "lbfgs"), in_force)
        if print_config:
            _print_config({"algorithm": algorithm, **asdict(run), **asdict(options), **asdict(declarations.Speech(**speech))})
            return
        template, train, target = _positional(arguments, run.format)
        path = None if run.dev is not None else getattr(options, "path", None)
        if path is not None and is_device(target):
            raise OptionError(f"MODEL: {target} is no file, and --path writes several, named after it: give a name, or --dev to write the best model alone")
        targets = [target] if path is None else [_with_value(target, l1) for l1 in path]
        refuse_dash("--log", run.log)
        refuse_dash("--checkpoint", run.checkpoint)
        refuse_losses(run, train, template, config, models=targets)
        for name in targets:
            _refuse_data(name, train[0])

    for name in targets:
        check_writable(name)
    progress, stop = Progress(speech.get("progress", "auto"), speech.get("quiet", False)), StopRequest()
    _train(ctx, lambda: Training(train, template, algorithm, options, run, progress, stop), targets, progress, stop)


def _train(ctx: click.Context, begun: Callable[[], Training], targets: list[str], progress: Progress, stop: StopRequest) -> None:
    """Write the models of a run to their files; after a signal, end with its code."""
    started = time.perf_counter()
    saved = 0
    try:
        with stop.on_signals(), closing(begun().models()) as models:
            for name, model in zip(targets, models, strict=False):  # fewer models when training is stopped
                size = model.save(name) / 1e6
                saved += 1
                progress.note(
                    f"{counted(model.header['features'], 'weight')} in {size:.{1 if size >= 0.1 else 3}f} MB: {name}; "
                    f"{time.perf_counter() - started:.1f} s in all"
                )
    except KeyboardInterrupt:
        progress.note(f"crfkit: interrupted, no {'further ' if saved else ''}model was written")
        ctx.exit(128 + (stop.signal or signal.SIGINT))
    finally:
        progress.close()
    if stop.signal is not None:
        ctx.exit(128 + stop.signal)


def _refuse_data(target: str, train: str) -> None:
    """OptionError if the model would be written over a file like the training data: `learn TEMPLATE part*.txt` names no model."""
    columns = _columns(target)
    if columns > 1 and columns == _columns(train) and not foreign.begins_as_model(target):
        raise OptionError(f"MODEL: {target} holds data and would be overwritten: is the last argument, the model, missing?")


def _columns(name: str) -> int:
    """How many columns the first line of a file has that is neither blank nor a comment; 0 if there is no text to be read."""
    if os.path.isfile(name) and os.access(name, os.R_OK):
        with suppress(DataError), input_file(name) as (file, path):
            lines = next(texts(file, path, 1 << 16)).splitlines()
            return next((len(line.split()) for line in lines if line.strip() and not line.startswith(b"# ")), 0)
    return 0


def _with_value(target: str, l1: float) -> str:
    """The name of the model for one value on the path: m.l1-3 for m, m.l1-3.model for m.model."""
    folder, name = os.path.split(target)
    stem, ending = os.path.splitext(name)
    return os.path.join(folder, f"{stem}.l1-{shown(l1)}{ending}")


def _positional(arguments: tuple[str, ...], form: str) -> tuple[str | None, list[str], str]:
    """Template, training files and model among the arguments."""
    expected = ["TRAIN...", "MODEL"] if form == "crfsuite" else ["TEMPLATE", "TRAIN...", "MODEL"]
    if len(arguments) < len(expected):
        hint = " (no template is needed with --format crfsuite)" * (len(arguments) == 2)
        raise OptionError(f"expected {' '.join(expected)}, found {plural(len(arguments), 'argument')}{hint}")
    template = None if form == "crfsuite" else arguments[0]
    train = list(arguments[len(expected) - 2 : -1])
    target = arguments[-1]
    if train.count("-") > 1:
        raise OptionError("standard input can be read only once")
    refuse_dash("MODEL", target)
    return template, train, target


def _print_config(in_force: dict[str, Any]) -> None:
    import yaml

    if in_force.get("path"):
        del in_force["l1"]  # the path says it
    write_output(yaml.safe_dump(in_force, sort_keys=False, allow_unicode=True))
