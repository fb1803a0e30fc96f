"""`crfkit eval`: score labelled files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import click

from crfkit.constants import FORMATS
from crfkit.errors import one_line, refuse
from crfkit.evaluation import reports
from crfkit.evaluation.attachment import evaluate_heads
from crfkit.evaluation.evaluate import SCHEME_NAMES, Outputs
from crfkit.evaluation.schemes import marks_chunks, outside_among, scheme_called
from crfkit.evaluation.scores import Comparison, Scores, chunk_report, percent
from crfkit.replacing import refuse_overwriting
from crfkit.values import shown

from .common import HELP_FLAGS, PATH, Integer, Text, debug_option, is_given, note, usage_errors, write_output


class SchemeName(click.Choice):
    """A scheme, under any of its names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(scheme_called(value), param, ctx)


@click.command("eval", context_settings=HELP_FLAGS)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH)
@click.option(
    "--scheme",
    type=SchemeName(SCHEME_NAMES),
    default="auto",
    show_default=True,
    help="How labels mark chunks. auto: iobes or bilou if the gold labels are such, else bio. Without --strict, bio counts by "
    "conlleval's rules, which fit iob1, ioe1 and ioe2 too. none: each token that is not O is a chunk.",
)
@click.option("--strict", is_flag=True, help="Count well-formed chunks only. A label that the scheme does not have is an error.")
@click.option("--tokens", is_flag=True, help="Report on tokens: accuracy, each label, confusions.")
@click.option("--segments", is_flag=True, help="Report on words: labels are B, M, E, S, or B, I, E, S, or B, I of a segmentation.")
@click.option(
    "--lexicon",
    type=PATH,
    help="With --segments: known words, one per line. The report has the recall of all other words.",
)
@click.option("--compare", is_flag=True, help="Test the first file against each other file for significance.")
@click.option("--intervals", is_flag=True, help="Also print how sure accuracy, precision, recall and FB1 are: half the width of their 95 % intervals.")
@click.option("--mistakes", is_flag=True, help="Report on what is wrong with chunks: their types, their ends, or both.")
@click.option("--shuffles", type=Integer(1), default=10000, show_default=True, help="With --compare: the number of shuffles.")
@click.option("--seed", type=Integer(0, 2**63), default=1, show_default=True, help="With --compare: the seed of the shuffles.")
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default="columns",
    show_default=True,
    help="Format of the labelled data. In CRFsuite's format the gold label is the first column.",
)
@click.option("--label", type=Text(), metavar="COLUMN", help="Name of the column with the gold labels, in CoNLL-U and in files that begin with `# columns = ...`.")
@click.option(
    "--heads",
    is_flag=True,
    help="With --format conllu: score trees, the columns head and deprel. The gold trees are those of --gold, or those "
    "that crfkit tag wrote behind the last sentence.",
)
@click.option("--gold", type=PATH, metavar="FILE", help="The gold labels or trees, where FILE alone has those that were predicted, as "
              "after crfkit tag --fill. Its sentences must be those of FILE.")
@click.option("--comments", is_flag=True, help="Lines that begin with # and stand before a sentence are comments, not tokens.")
@click.option("--json", "as_json", is_flag=True, help="Everything as one JSON object.")
@click.option("-l", "--latex", is_flag=True, help="A LaTeX table, as conlleval -l prints it.")
@click.option("-r", "--raw", is_flag=True, help="The same as --scheme none.")
@click.option("-d", "--delimiter", type=Text(), help="Between columns: a character or a regular expression. Default: tabs, or "
              "blanks where a line has no tab.")
@click.option("-o", "--outside", type=Text(), metavar="LABEL", default="O", show_default=True, help="The label outside of chunks.")
@debug_option
@click.pass_context
def eval_command(ctx: click.Context, files: tuple[str, ...], **options: Any) -> None:
    """Score predicted labels against gold labels: chunks, in the layout and with the numbers of conlleval.

    The gold and the predicted label are the last two columns of each FILE, unless --gold has the gold labels. Without
    a FILE, or for `-`, standard input is read. Several files are shown side by side. Lines before a sentence such as
    `# 0.97` and `# 1 0.02` are not tokens. Of several analyses of a sentence, only the best counts.

    \b
    crfkit tag chunking.model test.txt | crfkit eval
    crfkit tag pos.model test.conllu | crfkit eval --format conllu --label upos --tokens
    crfkit eval --format conllu --label upos --tokens --gold test.conllu filled.conllu
    crfkit tag parser.model test.conllu | crfkit eval --format conllu --heads
    """
    inputs = list(files) or ["-"]
    files_read = (*inputs, options["gold"], options["lexicon"])
    with usage_errors(ctx):
        refuse((files_read.count("-") > 1, "standard input can be read only once"))
        refuse_overwriting("output", files_read, "-")
    if options["heads"]:
        _heads(ctx, inputs, options)
        return
    with usage_errors(ctx):
        _check_options(ctx, inputs, options)
        how = {name: options[name] for name in ("strict", "outside", "format", "label", "delimiter", "segments", "lexicon", "comments", "gold", "intervals", "mistakes")}
        outputs = Outputs(inputs, "none" if options["raw"] else options["scheme"], keep=options["compare"], **how)
    comparisons = [
        outputs.compare(0, other, shuffles=options["shuffles"], seed=options["seed"])
        for other in range(1, len(inputs) * options["compare"])
    ]
    if outputs.marks.warning is not None:
        note(f"warning: {outputs.marks.warning}")
    for scores, met in zip(outputs.scores, outputs.met, strict=True):
        for text in _notes(scores, met, options):
            note(f"{scores.path}: {text}")
    write_output(_as_json(outputs.scores, comparisons) if options["as_json"] else _as_text(outputs.scores, comparisons, options))


def _heads(ctx: click.Context, inputs: list[str], options: dict[str, Any]) -> None:
    """Score trees, and refuse what they have no use for."""
    labels = [name for name in options if name not in ("heads", "gold", "format", "as_json")]
    with usage_errors(ctx):
        refuse(
            (options["format"] != "conllu", "--heads needs --format conllu"),
            *((is_given(ctx, name), f"--{name} is of no use with --heads: trees have no labels to count") for name in labels),
        )
    found = [evaluate_heads(entry, options["gold"]) for entry in inputs]
    for scores in found:
        if not scores.has_relations:
            note(f"{scores.path}: the parser gave no relations, or the gold trees have none: there is no labelled score")
        if scores.same_relations:
            note(f"{scores.path}: all relations are those of the gold file: if the parser gives none, it left them, and the labelled score says nothing")
    write_output(_as_json(found) if options["as_json"] else _one_by_one(found, str))


def _check_options(ctx: click.Context, inputs: list[str], options: dict[str, Any]) -> None:
    """Refuse what would be ignored, as Outputs refuses its own arguments."""
    refuse(
        (options["raw"] and is_given(ctx, "scheme") and options["scheme"] != "none", f"--raw contradicts --scheme {options['scheme']}"),
        (options["compare"] and len(inputs) < 2, "--compare needs two files or more"),
        *((is_given(ctx, name) and not options["compare"], f"--{name} is of use with --compare only") for name in ("seed", "shuffles")),
        (options["intervals"] and (options["segments"] or options["latex"]), "--intervals is for the reports on chunks and on tokens"),
        (options["mistakes"] and (options["tokens"] or options["segments"] or options["latex"]), "--mistakes is a report of its own on chunks"),
        (options["latex"] and (options["as_json"] or options["tokens"] or options["segments"]), "--latex is for the report on chunks alone"),
    )


def _notes(scores: Scores, met: Iterable[str], options: dict[str, Any]) -> Iterator[str]:
    """What to tell users who might take the numbers for conlleval's, or misread them. `met`: the labels of the file."""
    if doubt := _doubt(scores, met, options):
        yield doubt
    if scores.malformed_chunks:
        begun = scores.malformed_chunks + scores.chunks.gold
        yield f"{scores.malformed_chunks} of {begun} gold chunks are not well-formed {scores.scheme}, and do not count"
    if scores.merged is not None and not (options["tokens"] or options["segments"]):  # whose reports have no such FB1
        segmented = not any("-" in label for label in scores.labels)
        words = "; if the labels are those of a word segmentation, --segments counts words" if segmented else ""
        yield (
            f"counted as {scores.scheme.upper()}; conlleval.pl does not know it, would merge "
            f"neighbouring chunks of a type and report FB1 {percent(scores.merged)[2]:.2f}{words}"
        )


def _doubt(scores: Scores, met: Iterable[str], options: dict[str, Any]) -> str | None:
    """Why the scores may not be what was wanted, if they seem so."""
    if scores.tokens == 0:
        return "no tokens"
    if options["gold"] is not None and scores.correct_tokens == scores.tokens:
        return "all labels are those of the gold file: if no model predicted them, the scores say nothing"
    if not any(count.gold and count.found for count in scores.labels.values()):
        elsewhere = "" if options["gold"] is not None else "; --gold takes the gold labels from another file"
        return f"no label is both a gold and a predicted one: is one of the two another column?{elsewhere}"
    if scores.words is not None and scores.unknown_words is not None and 0 < scores.words.gold == scores.unknown_words.gold:
        return "no word is in the lexicon: has it one in each line, in the encoding of the text?"
    of_chunks = options["scheme"] == "auto" and not (options["raw"] or options["tokens"] or options["segments"])
    gold = [label for label, count in scores.labels.items() if count.gold]
    if of_chunks and not marks_chunks(gold):
        return "the gold labels mark no chunks, so that only the accuracy tells something; --tokens reports on labels"
    if of_chunks and (plain := outside_among(gold)) is not None:
        return f"no gold label is {options['outside']}: if {plain} is the label outside of chunks, give --outside {shlex.quote(plain)}"
    if options["outside"] not in ("O", *met):
        return f"no label is {shown(options['outside'])}, which --outside names"
    return None


def _as_json(all_scores: Sequence[Any], comparisons: Sequence[Comparison] = ()) -> str:
    files = [scores.as_dict() for scores in all_scores]
    result = {"files": files, **({"comparisons": [comparison.as_dict() for comparison in comparisons]} if comparisons else {})}
    return json.dumps(files[0] if len(files) == 1 else result, ensure_ascii=False, indent=1) + "\n"


def _one_by_one(all_scores: Sequence[Any], report: Callable[[Any], str]) -> str:
    """The report on each file, under its name if there are several."""
    return "".join((one_line(f"==> {scores.path} <==") + "\n" if len(all_scores) > 1 else "") + report(scores) for scores in all_scores)


def _as_text(all_scores: list[Scores], comparisons: list[Comparison], options: dict[str, Any]) -> str:
    of_options = {"latex": reports.latex_report, "tokens": reports.token_report, "segments": reports.segment_report, "mistakes": reports.mistake_report}
    wanted = [report for name, report in of_options.items() if options[name]]
    if not wanted and len(all_scores) > 1:
        text = reports.side_by_side(all_scores)
    else:
        intervals = partial(reports.interval_report, of_chunks=not options["tokens"])
        parts: list[Callable[[Scores], str]] = [*(wanted or [chunk_report]), *[intervals] * options["intervals"]]
        text = _one_by_one(all_scores, lambda scores: "".join(report(scores) for report in parts))
    return text + "".join("\n" + reports.comparison_report(comparison) for comparison in comparisons)
