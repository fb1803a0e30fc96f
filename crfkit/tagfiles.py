"""Labelling files one by one: here, or by workers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from crfkit import load, modelfile
from crfkit.constants import COMMENTS_OF_CONLLU
from crfkit.decode.printing import Printer
from crfkit.errors import FileError, OptionError, refuse, warnings_taken
from crfkit.replacing import empty_folders_removed, remove_leftovers, replacing, write_texts
from crfkit.text.compression import without_suffix
from crfkit.text.reading import Source
from crfkit.unseen import Unseen, unseen
from crfkit.values import named, shown

if TYPE_CHECKING:
    from crfkit.cluster.crew import Transport
    from crfkit.parser.model import Parser
    from crfkit.tagging import Tagger
    from crfkit.text.block import Block

SERVICE = "crfkit.tagfiles:Service"
BLOCK_SIZE = 1 << 17  # bytes to label at once: small enough for the cache of a core


def block_size(nbest: int) -> int:
    """Bytes to label at once where each sentence is written so many times."""
    return max(BLOCK_SIZE // max(nbest, 1), 1 << 8)


def check_use(tagger: Any, options: Mapping[str, Any]) -> None:
    """OptionError for what a tagger, or a parser, has no use for; UnsupportedError for what it cannot say."""
    parses = _parses(tagger)
    refuse((options["gold"] is not None and not parses, "--gold and --no-gold are for parsers: a tagger keeps the gold labels in its output"))
    for name in ("nbest", "verbose", "probability", "posterior"):
        if options[name]:
            tagger.need_probabilities(f"--{name}")
    if options["explain"]:
        tagger.need_labellings("--explain")
    unnamed = not parses and tagger.header["label_column"] is None
    of_taggers = ("partial", "separator", "fill") if parses else ()
    refuse(
        (options["comments"] and tagger.header["format"] == "conllu", COMMENTS_OF_CONLLU),
        (options["fill"] and unnamed, "--fill needs a model that was trained with --label: others do not know the name of the column that they predict"),
        *((options[name], f"--{name} is of no use with a parser, which fills in the columns head and deprel") for name in of_taggers),
    )


def _parses(tagger: Any) -> bool:
    return tagger.header.get("kind") == modelfile.PARSER


def label(
    tagger: Any,
    inputs: Sequence[str],
    stream: BinaryIO,
    options: Mapping[str, Any],
    watch: Callable[[Source], Any] = iter,
) -> str | None:
    """Write the text of some files with its labels; what there is to warn of. `watch` hands the blocks on."""
    live = options["unbuffered"] or stream.isatty()
    threads = 1 if live else options["threads"]
    faults: set[str] = set()
    strange: Unseen | None = None
    if _parses(tagger):
        source = Source(inputs, "conllu", allow_empty=True, block_size=BLOCK_SIZE)
        # what comes from standard input may go on to another program: nothing is added unasked
        gold_wanted = "-" not in inputs if options["gold"] is None else options["gold"]
        texts = _parsed(tagger, watch(source), threads, gold_wanted)
    else:
        source = Source(
            inputs,
            tagger.header["format"],
            allow_empty=True,
            comments=options["comments"],
            loose=tagger.loose,
            block_size=block_size(options["nbest"] or 1),
        )
        blocks = watch(source)
        as_read = tagger.header["format"] == "columns" and not any(options[name] for name in ("separator", "verbose", "nbest"))
        blank = next((label for label in tagger.labels if " " in label), None) if as_read else None
        if blank is not None:
            cure = "put tabs between the columns" if options["fill"] else "--separator '\\t' keeps columns apart"
            blocks = _noting(blocks, f"the label {shown(blank)} has a blank, and there are lines without a tab: {cure}", faults)
        strange = unseen(tagger, options["fill"])
        blocks = strange.watch(blocks)
        texts = tagger.text(blocks, _printer(tagger, options), partial=options["partial"], fill=options["fill"], threads=threads)
    write_texts(stream, texts, live)
    warning = source.marks.unnamed or source.marks.warning or next(iter(faults), None)
    return warning if warning or strange is None else strange.warning


def _noting(blocks: Iterable[Block], fault: str, faults: set[str]) -> Iterator[Block]:
    """The blocks. Where a label with a blank may be written to a line without tabs, columns cannot be told apart: this fault."""
    for block in blocks:
        if block.data and b"\t" not in block.data:
            faults.add(fault)
        yield block


def _printer(tagger: Tagger, options: Mapping[str, Any]) -> Printer:
    separator = options["separator"]
    return Printer(
        verbose=options["verbose"],
        nbest=options["nbest"] or 0,
        posterior=options["posterior"],
        probability=options["probability"],
        partial=options["partial"],
        separator=None if separator is None else separator.replace("\\t", "\t").encode(),
        fill=options["fill"],
        explain=options["explain"] or 0,
        lines=tagger.explainer.lines if options["explain"] else None,
    )


def _parsed(parser: Parser, blocks: Any, threads: int, gold_wanted: bool) -> Iterator[bytes]:
    """The text with its heads filled in; everything else as it came."""
    from crfkit.evaluation.attachment import GoldTrees

    trees = GoldTrees()
    held = b""  # the line ends that the last text lacks; what follows it needs them
    for text, added, gold, begins in parser.text(blocks, threads=threads):
        yield held + text[: len(text) - added]
        held = text[len(text) - added :] + _blank_line(text)
        if gold_wanted:
            trees.add(text, gold, begins)
    if comments := trees.comments():
        yield held + comments


def _blank_line(text: bytes) -> bytes:
    """The line end that is missing for a blank line at the end of a text, if it is: the last text of a file may lack it."""
    if not text[text.rfind(b"\n", 0, -1) + 1 :].strip():
        return b""
    return b"\r\n" if text.endswith(b"\r\n") else b"\n"


def open_tagger(model: str, options: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """The tagger of a model, and what there is to warn of; OptionError for what it has no use for."""
    with warnings_taken() as told:
        tagger = load(model, constraints=options["constraints"], bias=options["bias"])
    check_use(tagger, options)
    return tagger, told


class Service:
    """Labels files, one after the other; the model is opened once."""

    def __init__(self) -> None:
        self.opened: Any = None
        self.tagger: Any = None

    def tag(self, model: str, name: str, target: str, options: dict[str, Any]) -> tuple[list[str], str | None]:
        """Label a file into another one, which appears when whole. Warnings: of the model, where it is opened, and of the file."""
        told: list[str] = []
        if self.opened != (model, options):
            self.tagger, told = open_tagger(model, options)
            self.opened = model, options
        with replacing(target) as stream:
            return told, label(self.tagger, [name], stream, options)


def targets_of(names: Sequence[str], folder: str) -> list[str]:
    """Where the result for each file goes: a file of its name, without the ending of compressed ones."""
    found = [os.path.join(folder, without_suffix(os.path.basename(name))) for name in names]
    for target, files in Counter(found).items():
        if files > 1:
            raise OptionError(f"--output-dir: two files would be written to {target}")
    return found


@contextmanager
def made(folder: str) -> Iterator[None]:
    """The folder is there, and goes again where nothing was written to it."""
    with empty_folders_removed(folder):
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise FileError(f"{named(folder)}: cannot be made: {error.strerror}") from None
        yield


def tag_files(
    model: str,
    names: Sequence[str],
    targets: Sequence[str],
    options: dict[str, Any],
    transport: Transport | None,
    note: Callable[[str], Any],
) -> None:
    """Label files, by the workers of a transport or here. Paths are those of workers, too."""
    said: set[str] = set()

    def accept(jobs: list[int], answer: Any) -> None:
        of_model, of_file = answer
        for where, warning in [*(("", text) for text in of_model), (f"{names[jobs[0]]}: ", of_file)]:
            if warning is not None and not isinstance(warning, str):
                raise ValueError("no warning")
            if warning is not None and warning not in said and not options["quiet"]:
                said.add(warning)
                note(f"warning: {where}{warning}")

    if transport is None:
        service = Service()
        for job, (name, target) in enumerate(zip(names, targets, strict=True)):
            accept([job], service.tag(model, name, target, options))
        return
    from crfkit.cluster.crew import Crew

    crew = Crew(transport, options["worker_timeout"], lambda text: None if options["quiet"] else note(text))
    try:
        crew.run(
            range(len(names)),
            lambda _, own: [["tag", {"model": model, "name": names[own[0]], "target": targets[own[0]], "options": options}]],
            accept,
            bound=False,
        )
    finally:
        crew.transport.close()
        for folder in {os.path.dirname(target) for target in targets}:
            remove_leftovers(folder)  # of workers that died
