"""Sections of an index that are damaged or do not belong together."""

import array
import random

import pytest
from features.indexes import CELLS, built, extracted
from hypothesis import assume, given
from hypothesis import strategies as st

from crfkit.errors import ModelFileError
from crfkit.features.index import Index
from crfkit.features.packing import pack
from crfkit.template.parsing import Template

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%x[-1,0]/%x[0,0]/%x[1,0]\nU3:%N[0,0]|%S[1,1]\nU4:%=[0,0,0,1]\nU5\nB6:%p[0,0,1]"


@pytest.fixture(scope="module")
def packed():
    rng = random.Random(2)
    corpus = [[[rng.choice(CELLS), rng.choice(CELLS), "L"] for _ in range(5)] for _ in range(5)]
    sections = pack(built(Template.parse(TEMPLATE), corpus)[0])
    return {name: (memoryview(part).format, bytes(part)) for name, part in sections.items()}, corpus


def opened(sections, **options):
    return Index(Template.parse(TEMPLATE), sections, **options)


@given(data=st.data())
def test_damaged_sections_are_refused_or_harmless(packed, data):
    """One number of a section is changed. With verification the index is refused, unless it still makes sense. Without,
    nothing outside the sections is read, and no attribute is out of range."""
    sections = {name: bytearray(part) for name, (_, part) in packed[0].items()}
    name = data.draw(st.sampled_from([name for name in sorted(sections) if sections[name]]))
    width = array.array(packed[0][name][0]).itemsize
    at = data.draw(st.integers(0, len(sections[name]) // width - 1)) * width
    limits = -(1 << (8 * width - 1)), (1 << (8 * width - 1)) - 1
    value = data.draw(st.one_of(st.integers(-5, 40), st.sampled_from(limits), st.integers(*limits)))
    assume(limits[0] <= value <= limits[1])
    sections[name][at : at + width] = value.to_bytes(width, "little", signed=True)
    for verify in (True, False):
        try:
            index = opened(sections, verify=verify)
        except ModelFileError:
            continue
        n = index.n_attributes
        assert max(n) <= 1 << 31
        for ids in extracted(index, packed[1]):
            assert all(0 <= i < n[bigram] for bigram in (0, 1) for i in ids[bigram])
        if max(n) < 10_000:
            for bigram in (False, True):
                assert len(list(index.attributes(bigram))) == n[bigram]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("form", ["i", "q", "I", "B"])
def test_numbers_out_of_range_are_refused(packed, form, every):
    """Two wrong values in the place of each number, or one and the other in turns."""
    sections = {name: part for name, (_, part) in packed[0].items()}
    for name, (its_form, part) in packed[0].items():
        if its_form != form or name.endswith(".strings"):
            continue
        numbers = array.array(form, part)
        for at in range(len(numbers)):
            wrongs = (1 << 8 * numbers.itemsize - 1) - 1, 1 << 8 * numbers.itemsize - 2
            for wrong in wrongs if every else wrongs[at // 2 % 2 :][:1]:
                changed = numbers[:]
                changed[at] = wrong
                if name.endswith(".slots") and at % 2 == 0 and not numbers[at + 1]:
                    continue  # the tag of an empty slot says nothing
                with pytest.raises(ModelFileError):
                    opened({**sections, name: bytes(changed)})


def test_sections_of_other_lengths_are_refused(packed):
    sections = {name: part for name, (_, part) in packed[0].items()}
    assert opened(sections).n_attributes[0] > 0
    for name, part in sections.items():
        with pytest.raises(ModelFileError):
            opened({other: part for other, part in sections.items() if other != name})
        for changed in (part[:-1], part[:-8], part + bytes(1), part + bytes(8)):
            if changed != part:
                with pytest.raises(ModelFileError):
                    opened({**sections, name: changed})


def test_index_of_another_template_is_refused(packed):
    sections = {name: part for name, (_, part) in packed[0].items()}
    with pytest.raises(ModelFileError, match="do not fit the model's template"):
        Index(Template.parse("U:%x[0,0]"), sections)
