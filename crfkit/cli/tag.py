"""`crfkit tag`: label files with a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from crfkit.bars import bar_on
from crfkit.constants import MOST_THREADS
from crfkit.errors import refuse
from crfkit.replacing import refuse_overwriting
from crfkit.tagfiles import SERVICE, label, made, open_tagger, tag_files, targets_of
from crfkit.text.block import Block
from crfkit.text.opening import is_compressed
from crfkit.text.reading import Source
from crfkit.values import as_bytes, as_text, shown

from .common import HELP_FLAGS, PATH, Hinting, Integer, Text, debug_option, is_given, note, offer, opened, usage_errors

if TYPE_CHECKING:
    from crfkit.cluster.crew import Transport


class LabelBias(click.ParamType):
    """A label and a number. The label may contain =, the number does not."""

    name = "label=number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        name, sign, number = as_text(as_bytes(value)).rpartition("=")  # of what a locale without UTF-8 escaped; labels may be none
        if not sign:
            self.fail(f"found {shown(value)}, expected LABEL=NUMBER", param, ctx)
        try:
            return name, float(number)
        except ValueError:
            self.fail(f"found {shown(number)} for the label {shown(name)}, expected a number", param, ctx)


def _schemes() -> tuple[str, ...]:
    from crfkit.decode.constraints import STRICT_SCHEMES

    return ("auto", *STRICT_SCHEMES)


def _by_label(ctx: click.Context, param: click.Parameter, given: tuple[tuple[str, float], ...]) -> dict[str, float] | None:
    """The number of each label, None without any."""
    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"found several numbers for the label {shown(name)}, expected one", ctx, param)
    return dict(given) or None


# How CRF++, CRFsuite and Wapiti name the model and other options, and what learn and eval have to be told about data.
ELSEWHERE = {
    **dict.fromkeys(("-m", "--model"), "the model is the first argument"),
    **dict.fromkeys(("-c", "--cost-factor", "--check"), "crfkit-crf-test has CRF++'s cost factor; crfkit eval counts errors, as Wapiti's check"),
    **dict.fromkeys(("-p", "--post"), "--posterior is Wapiti's post; --probability prints what CRFsuite prints with -p"),
    **dict.fromkeys(("-s", "--score", "-i", "--marginal"), "--probability is Wapiti's score and CRFsuite's marginal"),
    "--force": "--partial is Wapiti's force",
    **dict.fromkeys(("-t", "--test"), "crfkit eval is CRFsuite's test"),
    "--format": "the model knows the format of the data that it learned from",
    "--label": "the model knows which column it predicts",
}


@click.command("tag", cls=Hinting, elsewhere=ELSEWHERE.get, context_settings=HELP_FLAGS)
@click.argument("model", type=PATH)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH)
@click.option(
    "-o", "--output", type=PATH, metavar="FILE", help="Write to this file, which appears when it is complete. - is standard output."
)
@click.option(
    "--output-dir",
    type=PATH,
    metavar="DIR",
    help="Label each FILE separately, and write the result to a file of the same name (without .gz, .bz2 or .xz) in "
    "this folder.",
)
@click.option(
    "--workers",
    type=Integer(1, MOST_THREADS),
    metavar="N",
    help="With --output-dir: N processes, each of which labels one FILE at a time.",
)
@click.option(
    "--cluster",
    metavar="tcp://HOST:PORT",
    help="With --output-dir: the workers of a dask.distributed scheduler. They open MODEL and FILE, and write to DIR.",
)
@click.option("--worker-timeout", type=Integer(1, 1 << 20), default=600, metavar="SECONDS",
              help="Seconds after which a worker that has not labelled its FILE is given up.  [default: 600]")
@click.option("-v", "--verbose", type=Integer(0, 2), default=0, metavar="LEVEL",
              help="1: print the probability of each sentence's labels, and of each label. 2: of all labels. In CRF++'s layout.")
@click.option("-n", "--nbest", type=Integer(1, 2**31 - 1), metavar="N",
              help="Print the N best labellings of each sentence and their probabilities, in CRF++'s layout.")
@click.option("--probability", is_flag=True,
              help="Add two columns: the probability of the label at this token, and that of the sentence's labels.")
@click.option("--explain", type=Integer(1, 2**31 - 1), metavar="N",
              help="Print below each token why it got its label: the best labelling in which it has another one, and the N strongest reasons "
              "for either.")
@click.option(
    "--posterior",
    is_flag=True,
    help="Choose the most probable label of each token, not the most probable sequence. With --constraints: of all "
    "allowed sequences, the one with the greatest sum of these probabilities.",
)
@click.option("--constraints", metavar="SCHEME|FILE", shell_complete=offer(_schemes, files=True),
              help="Forbid impossible sequences of labels: by a scheme (bio, iobes, iob1, ioe1, ioe2, bilou), by that of "
              "the model's labels (auto), or by a file of allowed pairs.")
@click.option("--bias", type=LabelBias(), multiple=True, callback=_by_label, metavar="LABEL=NUMBER",
              help="Add NUMBER to the score of LABEL at each token: O=-1 finds more chunks, O=1 fewer but surer ones. "
              "Can be repeated, for several labels.")
@click.option("--partial", is_flag=True, help="The last column lists the possible labels, separated by |; ? means any.")
@click.option(
    "--comments",
    is_flag=True,
    help="Lines that begin with # and stand before a sentence are comments, not tokens. They are written unchanged.",
)
@click.option("--fill", is_flag=True, help="Write the label into the column that the model predicts, in place of what stands there. "
              "crfkit eval --gold scores it.")
@click.option(
    "--separator",
    type=Text(),
    metavar="TEXT",
    help="Separator of the columns that are added.  [default: a tab if the line has one, else a blank]",
)
@click.option("--threads", type=Integer(0, MOST_THREADS), default=0, metavar="N",
              help="Number of threads. 0: one per processor. The output does not depend on it.  [default: 0]")
@click.option(
    "--gold/--no-gold",
    default=None,
    help="For parsers: if the input has trees, write them behind the last sentence, as comments that begin with "
    "'# gold'. crfkit eval --heads takes them from there.  [default: --gold for FILEs, --no-gold for standard input]",
)
@click.option("--unbuffered", is_flag=True, help="Write each sentence as soon as it has been read, as is done on a terminal.")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar and no warnings.")
@debug_option
@click.pass_context
def tag_command(ctx: click.Context, model: str, files: tuple[str, ...], output: str | None, **options: Any) -> None:
    """Label the tokens of each FILE (standard input without one, or for `-`) with MODEL.

    \b
    crfkit tag chunking.model text.txt > labelled.txt
    crfkit tag -v 1 chunking.model < text.txt
    crfkit tag --constraints bio -o labelled.txt ner.model part1.txt part2.gz
    crfkit tag --bias O=-1 ner.model text.txt > labelled.txt
    crfkit tag --explain 5 ner.model text.txt | less
    crfkit tag --workers 4 --output-dir labelled ner.model parts/*.gz

    A FILE has one token per line and a blank line after each sentence, in the format of the training data. It needs the
    columns that the model's template uses; further columns, such as gold labels, are passed through. Columns are found
    by name if both the training data and FILE begin with a line `# columns = word pos ...`. Each line is written
    unchanged, with its label added at the end; with --fill, the label replaces what stands in the
    column that the model predicts, as in CoNLL-U.

    A file of pairs for --constraints has one allowed pair per line: `B-NP I-NP` lets I-NP follow B-NP. `<start> B-NP` and
    `I-NP <end>` say which labels may begin and end a sentence; without such lines, any may.

    A --bias is on the scale of the model's scores. With a model that has probabilities, 0.69 doubles the odds of LABEL at a token,
    given the labels around it.

    With --explain, lines that begin with a tab follow each token's line. `rival`: by how much the labelling is ahead of the
    best one in which the token has another label, that label, and the first and last token whose label differs (-1: the one
    before). Then the reasons, the strongest first: at which token, what it says (above 0: for the label), the attribute;
    previous label, label, and weight times value; and these again in the rival. `rest`: what the others say together, and how
    many they are.

    With --partial, the possible labels replace the label: in the first column of CRFsuite's format, in CoNLL-U and
    with --fill in the column that the model predicts. `_` in CoNLL-U means any label.

    A parser fills in the column head, and deprel if it was trained with --labels. Everything else is written byte
    for byte. If a FILE has trees, they follow the last sentence as comments, for crfkit eval --heads.
    """
    inputs = list(files) or ["-"]
    output = None if output == "-" else output
    with usage_errors(ctx):
        _check_places(ctx, inputs, options, output)
        _check_layout(options)
        refuse_overwriting("--output", _read(model, inputs, options), output or "-")
    if options["output_dir"] is not None:
        _tag_into(ctx, options.pop("output_dir"), model, inputs, options)
        return
    tell = (lambda _: None) if options["quiet"] else note
    with opened(output) as stream:
        with usage_errors(ctx):
            tagger, told = open_tagger(model, options)
        for warning in told:
            tell(f"warning: {warning}")
        shown = output is not None and not options["quiet"]
        found = label(tagger, inputs, stream, options, _with_progress if shown else iter)
        if found is not None:
            tell(f"warning: {found}")


def _tag_into(ctx: click.Context, folder: str, model: str, inputs: list[str], options: dict[str, Any]) -> None:
    """Label each file for itself, and write what comes out to a folder."""
    workers, cluster = options.pop("workers"), options.pop("cluster")
    with usage_errors(ctx), made(folder):
        targets = targets_of(inputs, folder)
        refuse_overwriting("--output-dir", _read(model, inputs, options), *targets)
        transport: Transport | None = None
        if workers is not None or cluster is not None:
            from crfkit.cluster.crew import connected, threads_each

            workers = workers and min(workers, len(inputs))
            options["threads"] = threads_each(options["threads"], workers)
            transport = connected(workers, cluster, SERVICE)
        tag_files(model, inputs, targets, options, transport, note)


def _check_places(ctx: click.Context, inputs: list[str], options: dict[str, Any], output: str | None) -> None:
    """Refuse what contradicts itself in where files are labelled, and where results go."""
    into, workers, cluster = (options[name] is not None for name in ("output_dir", "workers", "cluster"))
    elsewhere = workers or cluster
    refuse(
        (elsewhere and not into, "--workers and --cluster need --output-dir: the folder for what is written"),
        (workers and cluster, "--workers and --cluster exclude each other"),
        (is_given(ctx, "worker_timeout") and not elsewhere, "--worker-timeout needs --workers or --cluster: there is no other process to wait for"),
        (into and options["unbuffered"], "--unbuffered is of no use with --output-dir: files appear when all is written"),
        (into and output is not None, "--output and --output-dir exclude each other: one file, or one for each FILE"),
        (into and "-" in inputs, "--output-dir needs FILEs: what is written has their names"),
        (inputs.count("-") > 1, "standard input can be read only once"),
    )


def _check_layout(options: dict[str, Any]) -> None:
    """Refuse what contradicts itself in what is written of each token."""
    like_crfpp, separator = bool(options["nbest"] or options["verbose"]), options["separator"]
    adds_columns = options["probability"] or separator is not None
    refuse(
        (options["probability"] and like_crfpp, "--probability adds columns; the layouts of -v and -n have probabilities already"),
        (separator is not None and like_crfpp, "--separator is of no use with -v and -n: their layouts have tabs"),
        (separator is not None and (not separator or set(separator) & set("\r\n\0")), "--separator: expected a tab, blanks or the like"),
        (options["fill"] and (like_crfpp or adds_columns), "--fill adds no columns; -v, -n, --probability and --separator are for those that are added"),
        (
            options["explain"] and (like_crfpp or any(options[name] for name in ("probability", "posterior", "fill"))),
            "--explain has a layout of its own, for the best labelling: it excludes -v, -n, --probability, --posterior and --fill",
        ),
        (options["posterior"] and options["nbest"], "--posterior finds one labelling; -n asks for several"),
    )


def _read(model: str, inputs: list[str], options: dict[str, Any]) -> list[str]:
    constraints = options["constraints"]
    if constraints is None:
        return [model, *inputs]
    from crfkit.decode.constraints import is_file

    return [model, *inputs, *[constraints] * is_file(constraints)]


def _with_progress(source: Source) -> Iterator[Block]:
    """The blocks, with a bar on a terminal: of bytes, as far as their number is known."""
    bar = None
    if sys.stderr is not None and sys.stderr.isatty():
        known = all(os.path.isfile(path) and not is_compressed(path) for path in source.inputs)
        total = sum(map(os.path.getsize, source.inputs)) if known else None
        bar = bar_on(sys.stderr, total=total, unit="B", unit_scale=True)
    if bar is None:
        yield from source
        return
    with bar:
        for block in source:
            yield block
            bar.update(len(block.data))
