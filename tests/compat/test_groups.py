"""Sequences as crfkit.compat.pycrfsuite keeps them: as numbers of labels and names, beside the rows that they come from."""

import array
import gc

import pytest
from commands import memory_told, plain_build, python
from compat.kept import appended, decoded
from hypothesis import given
from hypothesis import strategies as st
from inputs import filled

from crfkit.compat.pycrfsuite import groups as module
from crfkit.compat.pycrfsuite.groups import Groups
from crfkit.errors import DataError
from crfkit.text.rows import Rows

names = st.text("ab", max_size=3)
items = st.one_of(st.lists(names, max_size=4), st.dictionaries(names, st.sampled_from([0, 0.5, 1, -2]), max_size=3))
sentences = st.lists(st.lists(items, max_size=3), max_size=4)


def rows_of(given, **how):
    return filled(given, "crfsuite", **how)


@given(sentences, st.data())
def test_sequences_are_appended_with_their_labels_or_new_ones(given, data):
    source, groups, expected = rows_of([[(item, "XY"[k % 2]) for k, item in enumerate(one)] for one in given], labelled=True), Groups(), []
    attributes, labels = source.attributes(), source.sentences()
    for place in data.draw(st.lists(st.sampled_from(range(len(given))), max_size=5)) if given else ():
        new = data.draw(st.none() | st.just([*"ZXW"[: len(given[place])]]))
        groups.append(source, place, new, 3)
        expected.append(([cell for (cell,) in labels[place]] if new is None else [label.encode() for label in new], attributes[place]))
    assert appended(groups) == [one for one in expected if one[1]]
    assert list(groups.groups) == [3] * len(appended(groups))
    assert list(groups.names) == list(dict.fromkeys(name for _, tokens in appended(groups) for token in tokens for name, _ in token))
    assert list(groups.labels) == list(dict.fromkeys(label for labels, _ in appended(groups) for label in labels))


def test_values_may_come_late():
    """There is room for them only from the first one on that is not 1."""
    for n in range(150):
        groups = Groups()
        given = [[{"a": 1}]] * (n % 3) + [[{f"b{token}": 1, "c": 0.5} for token in range(n)], [{"a": 1, "d": 0}]]
        for one in filter(None, given):
            groups.add(one, ["X"] * len(one), 0)
        assert [tokens for _, tokens in appended(groups)] == [[[(name.encode(), value) for name, value in item.items()] for item in one] for one in filter(None, given)]


def test_sequences_without_attributes_come_among_those_with_values():
    """They are in rows that never had room for values."""
    groups = Groups()
    for one in ([{"a": 0.5}], [[]], [{"b": 2}]):
        groups.append(rows_of([one]), 0, ["X"], 0)
    assert [tokens for _, tokens in appended(groups)] == [[[(b"a", 0.5)]], [[]], [[(b"b", 2.0)]]]


def test_names_of_one_length_stay_apart():
    rows = [[f"{k:05}" for k in range(first, first + 100)] for first in range(0, 40_000, 100)]
    groups = Groups()
    groups.add(rows, ["X"] * len(rows), 0)
    assert [[name.decode() for name, _ in token] for token in appended(groups)[0][1]] == rows


def test_labels_of_many_bytes_have_room():
    groups, labels = Groups(), ["x" * 3_000_000, "y" * 3_000_000]
    groups.add([["a"], ["b"]], labels, 0)
    assert appended(groups)[0][0] == [label.encode() for label in labels]


def test_a_sequence_keeps_its_weight():
    source, groups = rows_of([[["a"]], [["b"]]]), Groups()
    source.weigh([0.5, 2.0])
    for place in (1, 0):
        groups.append(source, place, ["X"], 0)
    assert list(groups.data.arrays()["seq_weight"]) == [2.0, 0.5]


def test_many_sequences_with_values():
    """Time must grow linearly: quadratic time would make this test run for minutes."""
    rows, groups, n = rows_of([[({"a": 0.5}, "X")]], labelled=True), Groups(), 300_000
    for _ in range(n):
        groups.append(rows, 0, None, 0)
    arrays = groups.data.arrays()
    assert list(arrays["seq_ptr"]) == list(range(n + 1)) and arrays["u_val"].count(0.5) == n


def seen(sequences):
    """Labels and names in order of first occurrence."""
    labels, tokens = [label for labels, _ in sequences for label in labels], [token for _, tokens in sequences for token in tokens]
    return list(dict.fromkeys(labels)), list(dict.fromkeys(name for token in tokens for name, _ in token))


def check_division(groups, holdout, division):
    """Its sequences are the first of all, each once and in its part, and there are no labels and names of others."""
    learned, held, names, numbers = division
    sequences = appended(groups)[: len(numbers)]
    parts = [decoded(part, [label.encode() for label in part.labels], list(names)) for part in (learned, held)]
    assert parts == [[one for one, group in zip(sequences, numbers, strict=True) if (0 <= group == holdout) == part] for part in (False, True)]
    assert numbers == groups.groups[: len(numbers)]
    assert ([label.encode() for label in learned.labels], list(names)) == seen(sequences)


def unordered(sequences):
    return [(labels, [sorted(token) for token in tokens]) for labels, tokens in sequences]


def add_all(groups, given):
    """Every third one to group 1."""
    for one in given:
        groups.add(one, "XYZ"[: len(one)], int(len(groups.groups) % 3 == 1))
    return groups


@given(sentences, sentences, st.randoms(use_true_random=False), st.booleans(), st.sampled_from([-1, 0, 1]))
def test_sequences_that_were_lent_have_the_names_they_had(given, more, random, meanwhile, holdout):
    """Whatever numbers the training gave them, and whether others were appended meanwhile or behind; attributes of those that are held out alone
    have none."""
    groups = add_all(Groups(), given)
    learned, held, names, _ = groups.divided(holdout)
    every = appended(add_all(Groups(), given))
    parts = [[one for k, one in enumerate(every) if (int(k % 3 == 1) == holdout) == part] for part in (False, True)]
    known = [name for name in names if name in seen(parts[False])[1]]
    order = random.sample(known, len(known))
    for one in (learned, held):
        groups.renumber(one, array.array("i", (order.index(name) if name in order else -1 for name in names)))
    if meanwhile:
        add_all(groups, more)
    parts[True] = [(labels, [[one for one in token if one[0] in order] for token in tokens]) for labels, tokens in parts[True]]
    assert [unordered(decoded(one, list(groups.labels), order)) for one in (learned, held)] == [unordered(part) for part in parts]
    groups.give_back(learned)
    if not meanwhile:
        add_all(groups, more)
    expected = add_all(Groups(), given + more)
    assert unordered(appended(groups)) == unordered(appended(expected)) and list(groups.names) == list(expected.names)


def test_sequences_are_copied_only_where_two_want_them():
    groups = Groups()
    for number in range(4):
        groups.add([["a", "b"]], ["X"], number % 2)
    learned = groups.divided(2)[0]
    groups.give_back(learned)
    assert groups.data is learned and learned.n_sequences == 4
    learned = groups.divided(-1)[0]
    copy = groups.copied(learned)
    assert groups.data is learned is not copy and groups.copied(copy) is copy and copy.arrays() == learned.arrays()
    learned = groups.divided(-1)[0]
    assert groups.data is not learned and groups.data.arrays() == learned.arrays()
    groups.give_back(learned)  # in whose place there is a copy by now
    assert groups.divided(1)[0].n_sequences == groups.divided(1)[1].n_sequences == 2


@plain_build
@memory_told
def test_what_is_learned_from_is_not_in_memory_twice():
    """Where a small part is held out."""
    program = """
import resource
from crfkit.compat.pycrfsuite import ItemSequence, Trainer

def taken():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

trainer, before = Trainer(verbose=False), taken()
items = ItemSequence([[f"{k}" for k in range(100)]] * 1000)
for n in range(200):
    trainer.append(items, ["A"] * 1000, int(n == 50))
large = taken() - before
divided = trainer.sequences.divided(1)
print([part.n_sequences for part in divided[:2]], large > 80_000_000, taken() - before < 1.25 * large)
"""
    assert python(program).stdout == "[199, 1] True True\n"


@given(sentences, st.lists(st.integers(-1, 2), min_size=4, max_size=4), st.integers(-1, 3))
def test_sequences_are_divided_by_their_groups(given, numbers, holdout):
    """Once and again, each division as it was: names that it has do not grow."""
    groups, divisions = Groups(), []
    for one, group in zip(given, numbers, strict=False):
        groups.add(one, "XYZ"[: len(one)], group)
        divisions.append(groups.divided(holdout))
        assert divisions[-1][-1] == groups.groups
    for division in divisions:
        check_division(groups, holdout, division)


def with_garbage(kept, meanwhile, work, *given, often=20):
    """What work gives, if something else happens when garbage is collected: once so many objects were made, these among them."""

    def tell(phase, _):
        if phase == "start":
            meanwhile()

    before = gc.get_threshold()
    gc.collect()
    gc.callbacks.append(tell)
    gc.set_threshold(often)
    try:
        objects = [[] for _ in range(kept)]
        return work(*given, *objects[:0])
    finally:
        gc.callbacks.remove(tell)
        gc.set_threshold(*before)


def test_sequences_that_are_appended_as_garbage_is_collected():
    """While others are appended or divided: names and sequences that a division has are copied before they grow."""
    groups, lent = Groups(), []

    def append(kind):
        n = len(groups.groups)
        groups.append(rows_of([[["all"], [f"{kind} {n}"]]]), 0, [kind, f"{kind}{n}"], n % 2)

    for kept in range(21):
        rows = rows_of([[(["all"], "own"), ([f"own {kept}"], f"own{kept}")]], labelled=True)
        with_garbage(kept, lambda: append("garbage"), groups.append, rows, 0, None, 0)
        for holdout in (1, 2):
            check_division(groups, holdout, with_garbage(kept, lambda: append("garbage"), groups.divided, holdout))
        lent.append(groups.divided(2))
        with_garbage(kept, lambda: (append("garbage"), lent.append(groups.divided(2))), append, "garbage")
    assert all(learned.n_sequences == len(numbers) for learned, _, _, numbers in lent)
    sequences = appended(groups)
    kinds = [labels[0].decode() for labels, _ in sequences]
    assert len(kinds) == len(groups.groups) > kinds.count("own") == 21
    for kind, (labels, tokens) in zip(kinds, sequences, strict=True):
        number = labels[1].decode().removeprefix(kind)
        assert tokens == [[(b"all", 1.0)], [(f"{kind} {number}".encode(), 1.0)]]


@pytest.mark.parametrize("holdout", [-1, 1])
def test_what_is_trained_as_garbage_is_collected_does_not_change_a_division(holdout):
    """Training gives attributes other numbers, in place: here each time that garbage is collected in turn."""
    given, collections = [[["a"], ["b", "c"]], [["d", "e"], ["a"]], [["f"]]], 30
    expected = unordered(appended(add_all(Groups(), given)))
    for last in range(collections):
        groups, seen = add_all(Groups(), given), iter(range(collections))

        def train(groups=groups, seen=seen, last=last):
            if next(seen, None) == last:
                learned, _, names, _ = groups.divided(-1)
                groups.renumber(learned, array.array("i", reversed(range(len(names)))))
                groups.give_back(learned)

        learned, held, names, _ = with_garbage(0, train, groups.divided, holdout, often=1)
        parts = [unordered(decoded(part, list(groups.labels), list(names))) for part in (learned, held)]
        assert parts == [[one for k, one in enumerate(expected) if (int(k % 3 == 1) == holdout) == part] for part in (False, True)]
        assert unordered(appended(groups)) == expected


def test_sequences_that_are_appended_while_a_division_is_made(monkeypatch):
    """As labels become text, which runs Python code: none of what is appended then is in the division."""
    done, as_text = Groups(), module.as_text
    for k in range(3):
        done.add([["a"], [f"b{k}"]], ["X", f"Y{k}"], k % 2)

    def appending(text):
        done.add([["a"], [f"new {len(done.groups)}"]], ["X", f"Z{len(done.groups)}"], 1)
        return as_text(text)

    monkeypatch.setattr(module, "as_text", appending)
    division = done.divided(1)
    assert len(done.groups) == 3 + 4
    check_division(done, 1, division)


def test_impossible_sequences_are_refused():
    rows, groups = rows_of([[["a"]]]), Groups()
    with pytest.raises(TypeError):
        groups.append(None, 0, None, 0)
    for bad in (-1, 1):
        with pytest.raises(IndexError):
            groups.append(rows, bad, None, 0)
    with pytest.raises(ValueError, match="only the form of CRFsuite"):
        groups.append(Rows(), 0, None, 0)
    with pytest.raises(DataError, match="The numbers of items and labels differ"):
        groups.append(rows, 0, ["A", "B"], 0)
    with pytest.raises(DataError, match="sentence 1, token 1: found 3, expected a label: a str or bytes"):
        groups.append(rows, 0, [3], 0)
    with pytest.raises(DataError, match="sentence 1: found 3, expected a list of labels"):
        groups.append(rows, 0, 3, 0)
    assert appended(groups) == [] and not groups.groups and not groups.names
