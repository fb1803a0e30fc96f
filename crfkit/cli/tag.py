"""`crfkit tag`: label files with a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

import click

from crfkit import load
from crfkit.decode.printing import Printer
from crfkit.errors import OptionError
from crfkit.options import MOST_THREADS
from crfkit.parser.model import Parser, gold_comments
from crfkit.replacing import replacing
from crfkit.text.reading import Block, Source

from .common import HELP_FLAGS, debug_option, note, refuse_overwriting, standard_output, write_all

BLOCK_SIZE = 1 << 17  # small enough for the cache of a core


@click.command("tag", short_help="Label data with a model.", context_settings=HELP_FLAGS)
@click.argument("model", type=click.Path())
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path())
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Write to this file, which appears when all is written.")
@click.option("-v", "--verbose", type=click.IntRange(0, 2), default=0, metavar="LEVEL",
              help="1: the probability of each sentence's labels, and of each label. 2: of all labels. In the layout of CRF++.")  # fmt: skip
@click.option("-n", "--nbest", type=click.IntRange(1, 2**31 - 1), metavar="N",
              help="The N best labellings of each sentence and their probabilities, in the layout of CRF++.")  # fmt: skip
@click.option("--probability", is_flag=True,
              help="Two more columns: the probability of the label at this token, and that of the sentence's labels.")  # fmt: skip
@click.option("--posterior", is_flag=True, help="Choose the most probable label of each token, not the most probable sequence. With --constraints: of all allowed sequences, the one with the greatest sum of these probabilities.")  # fmt: skip
@click.option("--constraints", metavar="SCHEME|FILE",
              help="Forbid impossible sequences of labels: by a scheme (bio, iobes, iob1, ioe1, ioe2, bilou), by that of "
              "the model's labels (auto), or by a file of allowed pairs.")  # fmt: skip
@click.option("--partial", is_flag=True, help="The last column says which labels are possible: ? (any), or labels with | between.")
@click.option("--comments", is_flag=True, help="Lines that begin with # and stand before a sentence are comments, not tokens. They are written as they came.")
@click.option("--separator", metavar="TEXT", help="Between the columns that are added.  [default: a tab if the line has one, else a blank]")
@click.option("--threads", type=click.IntRange(0, MOST_THREADS), default=0, metavar="N",
              help="Threads. 0: one for each processor. The output does not depend on it.  [default: 0]")  # fmt: skip
@click.option("--gold/--no-gold", default=True, show_default=True, help="Of a parser: where the input has trees, write them behind the last sentence, as comments that begin with '# gold'. crfkit eval --heads takes them from there.")
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

    A FILE has one token a line and a blank line after each sentence, in the format of the training data. It needs the
    columns that the model's template uses; more, such as gold labels, are passed through. Columns are found by their
    names if both the training data and FILE begin with a line `# columns = word pos ...`. Each line is written as it
    came, with its label at the end.

    A file of pairs for --constraints allows on each line one label to follow another: `B-NP I-NP`. `<start> B-NP` and
    `I-NP <end>` say which labels may begin and end a sentence; any may if there are no such lines.

    With --partial, the possible labels stand where labels stand: in CRFsuite's format in the first column, in CoNLL-U in
    the column that the model predicts. `_` in CoNLL-U means any label.
    """
    inputs = list(files) or ["-"]
    _check_options(ctx, model, inputs, output, options)
    separator = options["separator"]
    with _opened(output) as stream:
        tagger = load(model, constraints=options["constraints"])
        if isinstance(tagger, Parser):
            _parse(ctx, tagger, inputs, stream, output, options)
            return
        if ctx.get_parameter_source("gold") == click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError("--gold and --no-gold are for parsers: a tagger leaves the gold labels where they are", ctx)
        for name in ("nbest", "verbose", "probability", "posterior"):
            if options[name]:
                tagger.need_probabilities(f"--{name}")
        printer = Printer(
            verbose=options["verbose"],
            nbest=options["nbest"] or 0,
            posterior=options["posterior"],
            probability=options["probability"],
            partial=options["partial"],
            separator=None if separator is None else separator.replace("\\t", "\t").encode(),
        )
        source = Source(inputs, tagger.header["format"], allow_empty=True, comments=options["comments"], block_size=BLOCK_SIZE)
        live = options["unbuffered"] or stream.isatty()
        blocks = source if output is None or options["quiet"] else _with_progress(source, inputs)
        for text in tagger.text(blocks, printer, partial=options["partial"], threads=1 if live else options["threads"]):
            write_all(stream, text)
            if live:
                stream.flush()
        if source.marks.warning is not None and not options["quiet"]:
            note(f"warning: {source.marks.warning}")


def _parse(ctx: click.Context, parser: Parser, inputs: list[str], stream: BinaryIO, output: str | None, options: dict[str, Any]) -> None:
    """Fill in the heads: everything else is written as it came."""
    for name in ("nbest", "verbose", "probability", "posterior"):
        if options[name]:
            parser.need_probabilities(f"--{name}")
    for name in ("partial", "separator"):
        if options[name]:
            raise click.UsageError(f"--{name} is of no use with a parser, which fills in the columns head and deprel", ctx)
    source = Source(inputs, "conllu", allow_empty=True, block_size=BLOCK_SIZE)
    live = options["unbuffered"] or stream.isatty()
    blocks = source if output is None or options["quiet"] else _with_progress(source, inputs)
    trees: list[bytes] = []
    held = b""  # the line ends that the last text lacks; what follows it needs them
    for text, added, gold in parser.text(blocks, threads=1 if live else options["threads"]):
        write_all(stream, held + text[: len(text) - added])
        held = text[len(text) - added :] + _blank_line(text)
        if options["gold"]:
            trees.append(gold)
        if live:
            stream.flush()
    if comments := gold_comments(trees):
        write_all(stream, held + comments)


def _blank_line(text: bytes) -> bytes:
    """What it takes for a text to end with a blank line: the last one of a file may not."""
    if not text[text.rfind(b"\n", 0, -1) + 1 :].strip():
        return b""
    return b"\r\n" if text.endswith(b"\r\n") else b"\n"


def _check_options(ctx: click.Context, model: str, inputs: list[str], output: str | None, options: dict[str, Any]) -> None:
    """Refuse what contradicts itself."""
    like_crfpp = bool(options["nbest"] or options["verbose"])
    separator = options["separator"]
    for refused, message in (
        (inputs.count("-") > 1, "standard input can be read only once"),
        (options["probability"] and like_crfpp, "--probability adds columns; the layouts of -v and -n have probabilities already"),
        (separator is not None and like_crfpp, "--separator is of no use with -v and -n: their layouts have tabs"),
        (separator is not None and (not separator or set(separator) & set("\r\n\0")), "--separator: expected a tab, blanks or the like"),
        (options["posterior"] and options["nbest"], "--posterior finds one labelling; -n asks for several"),
    ):
        if refused:
            raise click.UsageError(message, ctx)
    try:
        refuse_overwriting("--output", output, (model, *inputs, options["constraints"]))
    except OptionError as error:
        raise click.UsageError(error.message, ctx) from None


def _opened(output: str | None) -> AbstractContextManager[BinaryIO]:
    """The file to write to."""
    return standard_output() if output is None else replacing(output)


def _with_progress(source: Source, inputs: list[str]) -> Iterator[Block]:
    """The blocks, with a bar on a terminal: of bytes, as far as their number is known."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from source
        return
    from tqdm import tqdm

    known = all(os.path.isfile(path) and not path.endswith(".gz") for path in inputs)
    total = sum(os.path.getsize(path) for path in inputs) if known else None
    with tqdm(total=total, unit="B", unit_scale=True, dynamic_ncols=True, leave=False) as bar:
        for block in source:
            yield block
            bar.update(len(block.data))
