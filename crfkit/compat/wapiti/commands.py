"""The options of `crfkit-wapiti`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from crfkit import foreign
from crfkit.cli.common import HELP_FLAGS, ErrorsAsLines, is_given, is_live, note, opened
from crfkit.constants import MOST_THREADS
from crfkit.errors import OptionError
from crfkit.modelbytes import held
from crfkit.replacing import check_writable, refuse_overwriting, write_all, write_texts
from crfkit.text.opening import contents
from crfkit.values import as_bytes
from crfkit.version import __version__

from ..numbers import Finite, Whole
from ..wording import Rewording
from .algorithms import ALGORITHMS, TYPES, note_of

if TYPE_CHECKING:
    from crfkit.foreign.parts import Parts

MODES = ("train", "label", "dump", "update")


class Group(ErrorsAsLines, Rewording, click.Group):
    """Commands that may be abbreviated, with one-line errors."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = [mode for mode in MODES if cmd_name and mode.startswith(cmd_name)]
        return super().get_command(ctx, found[0] if len(found) == 1 else cmd_name)


@click.group(cls=Group, context_settings=HELP_FLAGS)
@click.version_option(__version__, prog_name="crfkit-wapiti", message="%(prog)s %(version)s")
def cli() -> None:
    """Wapiti's modes, with crfkit behind them; models are Wapiti's files. INPUT and OUTPUT are standard input and output if
    not given. A mode may be abbreviated to its first letter."""


def say(text: str) -> None:
    """Print a line of the log; names in it keep their bytes, in any encoding. If nobody reads it any more, the work goes on."""
    data = as_bytes(text)
    with suppress(OSError):
        click.echo(data if data.decode(errors="ignore") != text else text, err=True)


def _list(_ctx: click.Context, param: click.Parameter, value: str) -> str:
    """`list` in place of a name prints the names."""
    if value == "list":
        names, what = (ALGORITHMS, "training algorithms") if param.name == "algo" else (TYPES, "types of models")
        say(f"Available {what}:\n" + "\n".join(f"\t{name}" for name in names))
        raise click.exceptions.Exit(0)
    return value


class _File(click.Path):
    """The name of a file that may be left out. An empty one, as of an unset variable in a script, is an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(value, param, ctx) if value else self.fail("expected the name of a file, found ''", param, ctx)


def _written(output: str, data: bytes) -> None:
    with opened(output) as stream:
        write_all(stream, data)


FILE = _File(readable=False)
COUNT, POSITIVE = Whole(min=0), Whole(min=1)
NUMBER, SIZE = Finite(), Finite(min=0)

# Each option of `train`: its names, its type (None: a flag), its default, its help.
TRAIN: list[tuple[str, Any, Any, str]] = [
    ("--me", None, False, "Every line is a sequence, in the data and in those to be labelled."),
    ("-T,--type", str, "crf", "The type of model: crf or maxent; `list` lists them."),
    ("-a,--algo", str, "l-bfgs", "The algorithm: l-bfgs, sgd-l1, bcd, rprop, rprop+, rprop-; `list` lists them."),
    ("-p,--pattern", FILE, None, "The file of patterns."),
    ("-m,--model", FILE, None, "Go on from this model: its labels and observations, no others."),
    ("-d,--devel", FILE, None, "Count errors on this file after each iteration, not on the training data."),
    ("--rstate", FILE, None, "Go on from this state of the optimizer, which --sstate wrote."),
    ("--sstate", FILE, None, "Write the state of the optimizer to this file."),
    ("-c,--compact", None, False, "Leave out observations that have no weight."),
    ("-t,--nthread", Whole(1, MOST_THREADS), 1, "Threads."),
    ("-j,--jobsize", POSITIVE, 64, "Has no effect: crfkit shares work out by itself."),
    ("-s,--sparse", None, False, "Has no effect: crfkit takes sparse recursions where they are faster."),
    ("-i,--maxiter", COUNT, 0, "Iterations at most; 0: no limit."),
    ("-1,--rho1", SIZE, 0.5, "The L1 penalty: rho1 times the sum of all |w|."),
    ("-2,--rho2", SIZE, 0.0001, "The L2 penalty: rho2 / 2 times the sum of all w squared."),
    ("-o,--objwin", COUNT, 5, "Iterations over which the objective has to fall by more than the part --stopeps; 0 and 1: no such test."),
    ("-w,--stopwin", COUNT, 5, "Iterations over which the error rate has to change by more than --stopeps."),
    ("-e,--stopeps", NUMBER, 0.02, "See --objwin, where it is a part, and --stopwin, where it is per cent."),
    ("--clip", None, False, "Is refused."),
    ("--histsz", POSITIVE, 5, "l-bfgs: steps that are remembered."),
    ("--maxls", POSITIVE, 40, "Has no effect: crfkit has a line search of its own."),
    ("--eta0", Finite(min=0, min_open=True), 0.8, "sgd-l1: the first learning rate."),
    ("--alpha", Finite(0, 1, min_open=True), 0.85, "sgd-l1: factor on the learning rate after each pass."),
    ("--kappa", Finite(min=0, min_open=True), 1.5, "bcd: the larger, the more careful."),
    ("--stpmin", NUMBER, 1e-8, "Has no effect: rprop is another trainer here."),
    ("--stpmax", NUMBER, 50.0, "Has no effect."),
    ("--stpinc", NUMBER, 1.2, "Has no effect."),
    ("--stpdec", NUMBER, 0.5, "Has no effect."),
    ("--cutoff", None, False, "Has no effect."),
]
LABEL: list[tuple[str, Any, Any, str]] = [
    ("--me", None, False, "Has no effect: the model knows whether every line is a sequence."),
    ("-m,--model", FILE, None, "The model; one of crfkit or CRF++ will do, too."),
    ("-l,--label", None, False, "Print labels alone."),
    ("-c,--check", None, False, "The last column has the right labels: count errors."),
    ("-s,--score", None, False, "Print scores."),
    ("-p,--post", None, False, "Choose labels by their probabilities at each token."),
    ("-n,--nbest", POSITIVE, 1, "Print the N best labellings."),
    ("--force", None, False, "Keep the labels in the last column, where the model has them."),
]


def _options(table: list[tuple[str, Any, Any, str]]) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for names, kind, default, words in reversed(table):
            how: dict[str, Any] = {"is_flag": True} if kind is None else {"type": kind, "show_default": default is not None, "default": default}
            if names.endswith(("--type", "--algo")):
                how.update(callback=_list, is_eager=True)
            command = click.option(*names.split(","), help=words, **how)(command)
        return command

    return add


@cli.command(context_settings=HELP_FLAGS)
@_options(TRAIN)
@click.argument("source", metavar="[INPUT]", default="-")
@click.argument("output", metavar="[OUTPUT]", default="-")
@click.pass_context
def train(ctx: click.Context, source: str, output: str, **given: Any) -> None:
    """Train a model on the data INPUT and write it to OUTPUT."""
    from .training import train as trained

    states = given["sstate"], given["rstate"]
    refuse_overwriting("OUTPUT", (source, given["pattern"], given["devel"], *states), output)
    if output != "-":
        check_writable(output)
    refuse_overwriting("--sstate", (source, given["pattern"], given["devel"], given["model"]), given["sstate"])
    words = note_of(given, {name for name in given if is_given(ctx, name)})
    if words:
        note(f"note: {words}")
    data = trained(given, source)
    say("* Save the model")
    _written(output, data)
    say("* Done")


@cli.command(context_settings=HELP_FLAGS)
@_options(LABEL)
@click.argument("source", metavar="[INPUT]", default="-")
@click.argument("output", metavar="[OUTPUT]", default="-")
def label(source: str, output: str, **given: Any) -> None:
    """Label the sentences INPUT. From a pipe each sentence is answered at once."""
    from .labelling import label as labelled
    from .labelling import tagger_of

    if given["model"] is None:
        raise OptionError("--model: label needs a model")
    if given["check"] and given["force"]:
        raise OptionError("--check and --force exclude each other")
    say("* Load model")
    tagger = tagger_of(given["model"], given["score"] or given["post"] or given["nbest"] > 1)
    say("* Label sequences")
    refuse_overwriting("OUTPUT", (source, given["model"]), output)
    with opened(output) as stream:
        write_texts(stream, labelled(tagger, source, given, say), is_live(source) or stream.isatty())
    say("* Done")


@cli.command(context_settings=HELP_FLAGS)
@click.option("-p", "--prec", type=Whole(0, 1000), default=5, help="Digits after the decimal point.", show_default=True)
@click.option("--all", "every", is_flag=True, help="Print zero weights, too.")
@click.argument("source", metavar="[INPUT]", default="-")
@click.argument("output", metavar="[OUTPUT]", default="-")
def dump(prec: int, every: bool, source: str, output: str) -> None:
    """Print the model INPUT as text."""
    from crfkit.foreign import wapiti

    say("* Load model")
    parts = _as_wapiti(source)
    say("* Dump model")
    refuse_overwriting("OUTPUT", (source,), output)
    with opened(output) as stream:
        write_texts(stream, wapiti.dumped(parts, prec, every))


def _as_wapiti(path: str) -> Parts:
    """A model as Wapiti's format has it."""
    from crfkit.foreign import wapiti

    data, name = contents(path)
    if not data.startswith(wapiti.START):
        data = foreign.in_format(held(data)._replace(name=name), wapiti.NAME)
    return wapiti.read_file(data, name)


@cli.command(context_settings=HELP_FLAGS)
@click.option("-m", "--model", type=FILE, help="The model to change.")
@click.option("-c", "--compact", is_flag=True, help="Leave out observations that have no weight.")
@click.argument("source", metavar="[PATCH]", default="-")
@click.argument("output", metavar="[OUTPUT]", default="-")
def update(model: str | None, compact: bool, source: str, output: str) -> None:
    """Change weights of a model: PATCH has edited lines of its dump."""
    from crfkit.foreign import wapiti

    from .editing import compacted, edited, read_patch

    if model is None:
        raise OptionError("--model: update needs a model")
    say("* Load model")
    parts = _as_wapiti(model)
    say("* Update model")
    refuse_overwriting("OUTPUT", (source,), output)
    patch, path = contents(source)
    parts = edited(parts, read_patch(patch.split(b"\n"), parts, path))
    if compact:
        parts = compacted(parts, say)
    say("* Save the model")
    _written(output, wapiti.write(parts))
    say("* Done")


def main() -> None:
    cli(prog_name="crfkit-wapiti")
