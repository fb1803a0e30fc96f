"""Parts of speech for a corpus that comes without: a column from a model that was trained on another corpus."""

from __future__ import annotations

from pathlib import Path

import crfkit

TEMPLATE = Path(__file__).resolve().parents[2] / "templates" / "pos.txt"


class PartsOfSpeech:
    """The tags that the default trainer learns from a file of words and tags. The model is kept beside the data."""

    def __init__(self, train: Path, model: Path):
        if not model.exists():
            crfkit.learn(str(train), template=str(TEMPLATE), l2=1.0).save(str(model))
        self.tagger = crfkit.load(str(model))

    def widened(self, sentences: list[list[str]]) -> list[list[str]]:
        """The sentences with a column of tags between word and label."""
        rows = [[line.split("\t") for line in sentence] for sentence in sentences]
        tags = self.tagger.tag_many([[cells[:1] for cells in sentence] for sentence in rows], threads=1)
        return [
            ["\t".join([*cells[:-1], tag, cells[-1]]) for cells, tag in zip(sentence, given, strict=True)]
            for sentence, given in zip(rows, tags, strict=True)
        ]
