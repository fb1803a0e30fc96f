"""Lists of features in CRFsuite's files, in orders that CRFsuite does not write."""

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crfkit.features.strings import StringTable
from crfkit.foreign.chunks import name_lines, read_rows

FEATURE = np.dtype([("of_pairs", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])


def chunks(features, lists):
    """A file of the features (label, weight), and a list of their numbers for each attribute; and where the lists begin."""
    table = np.zeros(len(features), FEATURE)
    if features:
        table["target"], table["weight"] = zip(*features, strict=True)
    data = struct.pack("<4sII", b"FEAT", 12 + table.nbytes, len(table)) + table.tobytes()
    start = len(data)
    begins = start + 12 + 4 * np.cumsum([len(lists), *(1 + len(numbers) for numbers in lists)])[:-1]
    body = np.concatenate([begins, *(part for numbers in lists for part in ([len(numbers)], numbers))]).astype("<u4").tobytes()
    return data + struct.pack("<4sII", b"AFRF", 12 + len(body), len(lists)) + body, start


@given(st.data())
def test_labels_ascend_and_weights_of_one_label_are_added(data):
    features = data.draw(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.5, -2.0, 1e-3, 7.0])), max_size=12))
    lists = data.draw(st.lists(st.lists(st.integers(0, len(features) - 1), max_size=9) if features else st.just([]), min_size=1, max_size=5))
    file, start = chunks(features, lists)
    ptr, labels, weights = read_rows(file, 0, start, b"AFRF", len(lists), 5)
    for k, numbers in enumerate(lists):
        sums = {}
        for label, weight in (features[number] for number in numbers):
            sums[label] = sums.get(label, 0.0) + weight
        found = slice(ptr[k], ptr[k + 1])
        assert list(zip(labels[found], weights[found], strict=True)) == sorted(sums.items())
    assert ptr[-1] == len(labels) == len(weights)


def test_labels_that_descend_take_no_longer():
    """Time must not grow with the square of the labels: this test would run for half a minute."""
    n, lists = 30_000, 60
    file, start = chunks([(n - 1 - k, 1.0) for k in range(n)], [np.arange(n)] * lists)
    _, labels, _ = read_rows(file, 0, start, b"AFRF", lists, n)
    assert (np.reshape(labels, (lists, n)) == np.arange(n)).all()


def test_lines_of_names():
    """Numbers of up to five digits stand in a column."""
    names = StringTable(b"a%d" % number for number in range(100_002))
    pieces = list(name_lines(names))
    assert b"".join(pieces) == "".join(f"  {number:5d}: a{number}\n" for number in range(100_002)).encode()
    assert len(pieces) > 2
