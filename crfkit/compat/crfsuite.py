"""CRFsuite's command line: `crfkit-crfsuite learn | tag | dump`, with its options, its log and its output."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from datetime import datetime, timezone
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO

import click

from crfkit.cli.common import HELP_FLAGS, ErrorsAsLines, note, standard_output
from crfkit.decode.scratch import gold_labels
from crfkit.errors import DataError, FileError, OptionError, UnsupportedError, refuse
from crfkit.replacing import check_writable, refuse_overwriting, write_all
from crfkit.text.opening import path_of
from crfkit.text.reading import Source
from crfkit.text.sources import parsed_blocks
from crfkit.values import as_bytes, named
from crfkit.version import __version__

from .numbers import Whole

if TYPE_CHECKING:
    from crfkit.text.rows import Rows

    from .pycrfsuite import Tagger


class Command(click.Command):
    """A command that takes `--mod=FILE` for `--model=FILE`, as CRFsuite does: before `=` a part of a name is enough, and the first
    option that begins with it is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = [name for option in self.get_params(ctx) for name in option.opts if name.startswith("--")]
        return super().parse_args(ctx, [_spelt_out(arg, names) for arg in args])


def _spelt_out(arg: str, names: list[str]) -> str:
    part, sign, value = arg.partition("=")
    found = [name for name in names if name.startswith(part)] if sign and part.startswith("--") else []
    return arg if part in found or not found else f"{found[0]}={value}"


class Group(ErrorsAsLines, click.Group):
    """Commands with one-line errors, whose output keeps labels byte for byte, in any encoding."""

    command_class = Command

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
        return super().invoke(ctx)


@click.group(cls=Group, context_settings=HELP_FLAGS)
@click.version_option(__version__, prog_name="crfkit-crfsuite", message="%(prog)s %(version)s")
def cli() -> None:
    """CRFsuite's commands, with crfkit behind them; models are CRFsuite's files."""


def main() -> None:
    cli(prog_name="crfkit-crfsuite")


@cli.command(context_settings=HELP_FLAGS)
@click.option("-t", "--type", "kind", default="1d", metavar="TYPE", help="Graphical model: 1d.")
@click.option("-a", "--algorithm", default="lbfgs", metavar="NAME", help="lbfgs, l2sgd, averaged-perceptron (ap), passive-aggressive (pa), arow.")
@click.option("-p", "--set", "given", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the algorithm; -H lists them.")
@click.option("-m", "--model", default="", metavar="FILE", help="Store the model in FILE.")
@click.option("-g", "--split", type=Whole(min=0), default=0, metavar="N", help="Split the sequences into N groups of equal size, shuffled as CRFsuite does.")
@click.option("-e", "--holdout", type=Whole(min=1), default=None, metavar="M", help="Score the M-th group, or file, instead of learning from it.")
@click.option("-x", "--cross-validate", is_flag=True, help="Hold out each group in turn.")
@click.option("-l", "--log-to-file", is_flag=True, help="Write the log to a file named after the options.")
@click.option("-L", "--logbase", default="log.crfsuite", metavar="BASE", help="How the name of that file begins.")
@click.option("-H", "--help-parameters", "--help-params", "help_parameters", is_flag=True, help="List the algorithm's parameters.")
@click.argument("data", nargs=-1)
def learn(kind: str, algorithm: str, given: tuple[str, ...], model: str, split: int, holdout: int | None, cross_validate: bool, log_to_file: bool,
          logbase: str, help_parameters: bool, data: tuple[str, ...]) -> None:
    """Train a model from DATA files (standard input by default), each of which is a group."""
    if kind not in ("1d", "crf1d"):
        raise OptionError(f"--type: expected 1d, found {kind!r}")
    trainer = _trainer(algorithm, given)
    if help_parameters:
        _list_parameters(trainer)
        return
    log = sys.stdout
    if log_to_file:
        log = _log_file("_".join([logbase, trainer._algorithm, *given]), (*data, model))
    else:
        refuse_overwriting("output", data or ("-",), "-")
    writes = bool(model) and not cross_validate

    def say(text: str = "", end: str = "\n") -> None:
        with suppress(OSError) if writes else nullcontext():  # whoever reads the log no more must not lose the model
            print(text, end=end, file=log)

    trainer.message = lambda message: say(message, "")
    if writes:
        refuse_overwriting("--model", data, model)
        check_writable(model)
    groups = _read_groups(trainer, data or ("-",), split, say)
    refuse(
        (cross_validate and groups < 2, "--cross-validate needs at least two groups: several files, or --split"),
        (not cross_validate and (holdout or 0) > groups, f"--holdout: there {'is 1 group' if groups == 1 else f'are {groups} groups'}, found {holdout}"),
    )
    if cross_validate:
        for group in range(groups):
            say(f"===== Cross validation ({group + 1}/{groups}) =====")
            trainer.train("", group)
            say()
    else:
        trainer.train(model, (holdout or 0) - 1)
    say(f"End time of the training: {_now()}\n")


def _log_file(name: str, others: tuple[str, ...]) -> TextIO:
    """A file for the log, which is closed with the command. It is none of the others that the command reads or writes."""
    refuse_overwriting("--log-to-file", others, name)
    try:
        return click.get_current_context().with_resource(open(name, "w", encoding="utf-8", errors="surrogateescape"))
    except OSError as error:
        raise FileError(f"{name}: cannot be written: {error.strerror}") from None


def _trainer(algorithm: str, given: tuple[str, ...]) -> Any:
    from .pycrfsuite import BaseTrainer

    try:
        trainer = BaseTrainer(algorithm)
    except ValueError:
        raise OptionError(f"--algorithm: expected lbfgs, l2sgd, ap, pa or arow, found {algorithm!r}") from None
    for pair in given:
        name, sign, value = pair.partition("=")
        if not sign:
            raise OptionError(f"--set: expected NAME=VALUE, found {pair!r}")
        if name not in trainer.params():
            raise OptionError(f"--set: {trainer._algorithm} has no parameter {name!r}; it has {', '.join(trainer.params())}")
        try:
            trainer.set(name, value)
        except ValueError as error:
            raise OptionError(str(error)) from None
    return trainer


def _now() -> str:
    return f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def _list_parameters(trainer: Any) -> None:
    from .pycrfsuite.parameters import printed

    print(f"PARAMETERS for {trainer._algorithm} (crf1d):\n")
    for name, value in trainer.get_params().items():
        kind = "string" if isinstance(value, str) else "float" if isinstance(value, float) else "int"
        print(f"{kind} {name} = {printed(value)};\n{trainer.help(name)}\n")


def _read_groups(trainer: Any, data: tuple[str, ...], split: int, say: Callable[..., None]) -> int:
    """Append the sequences of all files and return the number of groups."""
    from crfkit.weights.layout import MAX_LABELS

    say(f"CRFSuite's learn, by crfkit {__version__}\n")
    say(f"Start time of the training: {_now()}\n")
    say("Reading the data set(s)")
    names, n_items, sequences = set(), 0, trainer.sequences
    for group, name in enumerate(data):
        say(f"[{group + 1}] {name}")
        begun, before = time.perf_counter(), len(sequences.groups)
        for rows in _parsed(name):
            for place, labels in enumerate(gold_labels(rows)):
                sequences.append(rows, place, None, group)
                names.update(labels)
                n_items += len(labels)
        if len(names) > MAX_LABELS:
            raise DataError(f"more than {MAX_LABELS} different labels; is another column the label?", path_of(name))
        say("....".join(map(str, range(11))))
        say(f"Number of instances: {len(sequences.groups) - before}\nSeconds required: {time.perf_counter() - begun:.3f}")
    sequences.drawn = 0
    if split:
        sequences.split(split)
    say(f"\nStatistics the data set(s)\nNumber of data sets (groups): {split or len(data)}\nNumber of instances: {len(sequences.groups)}\n"
        f"Number of items: {n_items}\nNumber of attributes: {len(sequences.names)}\nNumber of labels: {len(names)}\n")
    return split or len(data)


def _parsed(name: str, allow_empty: bool = False) -> Iterator[Rows]:
    source = Source([name], "crfsuite", allow_empty=allow_empty, loose=True)
    for rows, _ in parsed_blocks(source, "crfsuite", None):
        yield rows
    if source.marks.unnamed is not None:
        note(f"warning: {named(path_of(name))}: {source.marks.unnamed}")


@cli.command(context_settings=HELP_FLAGS)
@click.option("-m", "--model", required=True, metavar="MODEL", help="The model file.")
@click.option("-t", "--test", is_flag=True, help="Report how well the labels in the data are found.")
@click.option("-r", "--reference", is_flag=True, help="Print the labels in the data before those of the model.")
@click.option("-p", "--probability", is_flag=True, help="Print score and probability of each sequence of labels.")
@click.option("-i", "--marginal", is_flag=True, help="Print the marginal probability of each label.")
@click.option("-l", "--marginal-all", is_flag=True, help="Print the marginal probabilities of all labels.")
@click.option("-q", "--quiet", is_flag=True, help="Print no labels.")
@click.argument("data", default="-")
def tag(model: str, test: bool, quiet: bool, data: str, **shown: bool) -> None:
    """Label DATA (standard input by default)."""
    from .pycrfsuite.training import performance

    refuse_overwriting("output", (model, data), "-")
    tagger = _opened(model)
    if tagger.by_template:
        raise UnsupportedError(f"{model}: has a template: label columns with `crfkit tag`")
    begun, pairs = time.perf_counter(), []
    with standard_output() as stream:
        for gold, found in _tagged(tagger, data):
            if test:
                pairs.append((gold, found))
            if not quiet:
                write_all(stream, as_bytes("".join(_labelled(tagger, gold, found, **shown))))
        if test:
            seconds = time.perf_counter() - begun
            lines = [*performance(tagger.labels(), pairs), f"Elapsed time: {seconds:f} [sec] ({len(pairs) / seconds:.1f} [instance/sec])"]
            write_all(stream, as_bytes("".join(f"{line}\n" for line in lines)))


def _labelled(tagger: Tagger, gold: list[str], found: list[str], reference: bool, probability: bool, marginal: bool, marginal_all: bool) -> Iterator[str]:
    """The lines of the current sequence."""
    if probability:
        score = tagger.score(found)
        yield f"@score\t{score[0]:f}\t{score[1]:f}\n@probability\t{tagger.probability(found):f}\n"
    chances = tagger.marginals() if marginal_all else [{}] * len(found)
    each = "".join(f"\t{name.replace('%', '%%')}:%f" for name in tagger.labels()) if marginal_all else ""
    for place, label in enumerate(found):
        before = f"{gold[place]}\t" if reference else ""
        own = f":{tagger.marginal(label, place):f}" if marginal else ""
        yield before + label + own + each % tuple(chances[place].values()) + "\n"
    yield "\n"


def _opened(model: str) -> Tagger:
    from .pycrfsuite import Tagger

    tagger = Tagger()
    try:
        tagger.open(model)
    except OSError as error:
        raise FileError(f"{named(model)}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise FileError(str(error)) from None
    return tagger


def _tagged(tagger: Tagger, data: str) -> Iterator[tuple[list[str], list[str]]]:
    """The gold and the predicted labels of each sequence. While it is the current one, the tagger can be asked for its probabilities."""
    for rows in _parsed(data, allow_empty=True):
        for place, gold in enumerate(gold_labels(rows)):
            tagger.score_sentence(rows, place)
            yield gold, tagger.tag()


@cli.command(context_settings=HELP_FLAGS)
@click.argument("model")
def dump(model: str) -> None:
    """Print MODEL as text."""
    refuse_overwriting("output", (model,), "-")
    _opened(model).dump()


if __name__ == "__main__":
    main()
