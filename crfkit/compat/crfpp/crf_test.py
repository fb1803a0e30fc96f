"""`crfkit-crf-test`: CRF++'s crf_test, its options and its layouts, on models of CRF++ and of crfkit."""

from __future__ import annotations

import click

from crfkit import foreign
from crfkit.cli.common import HELP_FLAGS, Integer, is_live, opened
from crfkit.decode.printing import Printer
from crfkit.errors import OptionError, UnsupportedError
from crfkit.replacing import refuse_overwriting, write_texts
from crfkit.tagfiles import block_size
from crfkit.tagging import Tagger
from crfkit.text.reading import Source

from .common import Command, Positive, version_option

MOST_PATHS = 2**31 - 1


@click.command(cls=Command, context_settings=HELP_FLAGS)
@click.option("-m", "--model", required=True, metavar="FILE", help="set FILE for model file")
@click.option("-n", "--nbest", type=Integer(0, MOST_PATHS), default=0, metavar="INT", help="output n-best results")
@click.option("-v", "--verbose", type=Integer(0), default=0, metavar="INT", help="set INT for verbose level")
@click.option("-c", "--cost-factor", type=Positive(), default=1.0, metavar="FLOAT", help="set cost factor")
@click.option("-o", "--output", default="-", metavar="FILE", help="use FILE as output file")
@version_option("--version")
@click.argument("files", nargs=-1)
def crf_test(model: str, nbest: int, verbose: int, cost_factor: float, output: str, files: tuple[str, ...]) -> None:
    """Label FILES (standard input without one) in CRF++'s layout."""
    inputs = files or ("-",)
    refuse_overwriting("--output", (model, *inputs), output)
    tagger = tagger_of(model)
    for name, asked in (("--nbest", nbest), ("--verbose", verbose)):
        if asked:
            tagger.need_probabilities(name)
    tagger = scaled(tagger, cost_factor)
    printer = Printer(verbose=min(verbose, 2), nbest=nbest, cells=True)
    with opened(output) as stream:
        for name in inputs:
            live = is_live(name)
            blocks = Source([name], tagger.header["format"], allow_empty=True, loose=tagger.loose, block_size=block_size(nbest))
            write_texts(stream, tagger.text(blocks, printer, threads=int(live)), live)


def main() -> None:
    crf_test(prog_name="crfkit-crf-test")


def tagger_of(model: str) -> Tagger:
    """Open a model of column data."""
    tagger = foreign.load(model).tagger()
    if tagger.header["format"] == "crfsuite":
        raise UnsupportedError(f"{model}: has no template: the data name their attributes; label such data with `crfkit tag`")
    return tagger


def scaled(tagger: Tagger, factor: float) -> Tagger:
    """The same model with all scores multiplied by the factor."""
    if factor == 1:
        return tagger
    import numpy

    model = tagger.model
    with numpy.errstate(over="ignore", invalid="ignore"):
        weights = (numpy.asarray(model.weights) * factor).astype(numpy.float32)
    if not numpy.isfinite(weights).all():
        raise OptionError(f"--cost-factor: {factor:g} makes weights that are no longer finite")
    return Tagger.of_parts(model.header, model.index, model.layout, weights)


if __name__ == "__main__":
    main()
