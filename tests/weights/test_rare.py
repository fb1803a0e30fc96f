"""Features counted one by one, beside `frequent`."""

import array
import random
from collections import Counter

import pytest
from inputs import filled

from crfkit.features.indexing import IndexBuilder
from crfkit.weights.layout import Layout
from crfkit.weights.pruning import frequent


@pytest.mark.parametrize("labels", ["AB", "ABCDEFGHIJKLMNOPQRST"])
@pytest.mark.parametrize("least", [-1.0, 0.0, 0.75, 1.0, 2.0, 50.0])
@pytest.mark.parametrize("values", [[1], [1, 0.5, -0.25, 0]], ids=str)
def test_attributes_of_enough_occurrences_are_left(labels, least, values):
    rng = random.Random(3)
    sentences = [[({name: rng.choice(values) for name in rng.sample("uvwxyz", 2)}, rng.choice(labels)) for _ in range(rng.randrange(1, 6))] for _ in range(40)]
    weights = [rng.choice([1, 1, 0.5, 2.5, 0]) for _ in sentences]
    count: Counter = Counter()
    for sentence, weight in zip(sentences, weights, strict=True):
        for place, (item, label) in enumerate(sentence):
            for name, value in item.items():
                count[name.encode(), label] += weight * value
            if place:
                count[None, sentence[place - 1][1], label] += weight
    rows = filled(sentences, "crfsuite", labelled=True)
    rows.weigh(array.array("f", weights))
    builder = IndexBuilder(None, crfsuite=True)
    builder.add(rows)
    data, names = builder.finish(), list(builder.literals[0])
    layout, *new = Layout.build(data, len(data.labels), 1, builder.rules(False), builder.rules(True))
    builder.renumber(*new)
    numbers = list(new[0])
    rest = frequent(layout, data, least)
    if rest is not None:
        layout, *new = rest
        builder.renumber(*new)
        numbers = [number if number < 0 else new[0][number] for number in numbers]
    assert (rest is None) == all(n >= least for n in count.values())
    for (name, *others, label), n in count.items():
        j = data.labels.index(label)
        cell = layout.cell(numbers[names.index(name)], j) if name is not None else layout.pair_cell(data.labels.index(others[0]), j)
        assert (cell >= 0) == (n >= least)
    assert layout.n_features == sum(n >= least for n in count.values())
