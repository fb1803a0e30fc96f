"""The templates of the folder templates/ fit the corpora of the folder data/."""

import models
import pytest
from trainers.samples import template as load

from crfkit.errors import TemplateError
from crfkit.template.meaning import expand

CORPUS_OF = {
    "chunking": "chunking",
    "chunking-best": "chunking",
    "chunking-rich": "chunking",
    "ner": "ner",
    "ner-words": "ner",
    "pos": "pos",
    "segmentation": "segmentation",
    "letter-to-sound": "letters",
}
FEATURE_COLUMNS = {"chunking": 2, "ner": 2, "pos": 1, "segmentation": 1, "letters": 1}


def sentences(corpus: str) -> list[list[list[str]]]:
    """The feature columns of the corpus' development part."""
    return [[row[:-1] for row in rows] for rows in models.sentences(corpus, "dev")]


def test_every_template_has_its_corpus():
    assert {path.stem for path in (models.ROOT / "templates").glob("*.txt")} == {*CORPUS_OF, "parsing", "parsing-best"}


@pytest.mark.parametrize("name", ["parsing", "parsing-best"])
def test_the_template_of_a_parser(name):
    template = load(name)
    assert template.parses
    assert template.column_names == {"form", "xpos"}
    literals = [line.literals[0] for line in template.lines]
    assert len(set(literals)) == len(literals)
    assert len({tuple(line.text.split(":")[1:]) for line in template.lines}) == len(template.lines)


@pytest.mark.parametrize("name", CORPUS_OF)
def test_template_uses_the_columns_of_its_corpus(name):
    columns = FEATURE_COLUMNS[CORPUS_OF[name]]
    assert {len(row) for sentence in sentences(CORPUS_OF[name]) for row in sentence} == {columns}
    template = load(name)
    template.check(columns)
    with pytest.raises(TemplateError):
        template.check(max(template.columns))


@pytest.mark.parametrize("name", CORPUS_OF)
def test_template_has_one_plain_bigram(name):
    assert sum("B" in line.kinds and not line.macros for line in load(name).lines) == 1


@pytest.mark.parametrize("name", CORPUS_OF)
def test_lines_have_names_of_their_own(name):
    names = [line.literals[0] for line in load(name).lines]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", CORPUS_OF)
def test_every_line_yields_features_that_differ(name):
    corpus = sentences(CORPUS_OF[name])[:40]
    for line in load(name).lines:
        if line.macros:
            strings = {expand(line, rows, t) for rows in corpus for t in range(len(rows))}
            assert len(strings - {None}) > 1, line.text


def test_words_alone_are_the_full_template_without_its_tags():
    words, full = load("ner-words"), load("ner")
    assert [line.text for line in words.lines] == [
        line.text for line in full.lines if all(macro.column == 0 for macro in line.macros)
    ]


def test_rich_template_sees_the_same_cells_as_the_plain_one():
    def cells(template):
        return {tuple((m.row, m.column) for m in line.macros) for line in template.lines}

    assert cells(load("chunking-rich")) == cells(load("chunking"))
