"""`crfkit tag`: label files with a model."""

from __future__ import annotations

from typing import Any

import click

from .. import model as models
from ..reading import Source
from ..tagging import Tagger, available_cpus
from .common import debug_option


@click.command("tag", short_help="Label data with a model.")
@click.argument("model", type=click.Path())
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path())
@click.option("--separator", help="Between a line and its label. Default: a tab if the line has one, else a blank.")
@click.option("--threads", type=click.IntRange(0), default=0, metavar="N", help="Threads; 0, the default: one a processor.")
@debug_option
def tag_command(model: str, files: tuple[str, ...], **options: Any) -> None:
    """Label each line of each FILE (without one or for `-`, of standard input)."""
    tagger = Tagger(models.load(model))
    source = Source(list(files) or ["-"], tagger.header["format"], allow_empty=True, block_size=1 << 17)
    stream = click.get_binary_stream("stdout")
    for text in tagger.tagged_blocks(source, options["threads"] or available_cpus(), options["separator"]):
        stream.write(text)
    stream.flush()
