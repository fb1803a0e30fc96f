"""docs/model-format.md is enough to read a model: this reader knows what that page says, and finds the features that `crfkit dump` prints."""

import json
import re
import struct
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from commands import crfkit, learn, write

from crfkit.template.parsing import Template

PAGE = (Path(__file__).parents[1] / "docs" / "model-format.md").read_text(encoding="utf-8")
HASHES: dict = {}
exec(re.search(r"<!-- hashes -->\n```python\n(.*?)```", PAGE, re.S)[1], HASHES)

CODES = {"int8": "b", "uint8": "B", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float32": "f"}
ANY = 65535

TEMPLATE = """U0:%x[-1,0]/%x[0,0]
U1:%x[0,0]/%x[1,0]
*2:%x[0,0]/%x[1,0]/%p[1,0,2]
U3:%=[-1,1,0,1]%x[0,1]
U3:%=[0,1,1,1]%x[1,1]
U4%X[0,0]
U%s[0,0,2]
U5:%t[0,1,"A"]/%x[-2,0] 100%%
U6
B
B7:%x[0,1]
"""
HISTORY = "U8:%y[-1]/%x[0,0]\nU9:%y[-2]/%x[0,1]\nT\nT10:%x[0,0]/%x[0,1]\n"
DATA = "a/b A X\nc B Y\nab A Z\n\nc A X\na B Y\nb/c C X\nab A Z\n\na C Z\nb/c A Y\na/b B X\nc B X\n\n"
ITEMS = "X\ta:2\tb\\:c\nY\ta\td:-1\n\nZ\tb\\:c\td\nX\te\n\n"


class File:
    """The metadata and sections of a model file."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        assert data[:12] == b"\x89crfkit\n\1\0\0\0"
        (n,) = struct.unpack("<I", data[12:16])
        header = json.loads(data[24 : 24 + n])
        start = (24 + n + 63) // 64 * 64
        self.metadata, self.sections = header["metadata"], {}
        for s in header["sections"]:
            part = data[start + s["offset"] : start + s["offset"] + s["length"]]
            code = CODES[s["dtype"]]
            self.sections[s["name"]] = list(struct.unpack(f"<{len(part) // struct.calcsize(code)}{code}", part))

    def rows(self, name, width):
        found = self.sections[name]
        assert len(found) % width == 0
        return [tuple(found[i : i + width]) for i in range(0, len(found), width)]

    def strings(self, name):
        """The strings of a table, each of which is found by its hash."""
        text, offsets, slots = bytes(self.sections[name + ".strings"]), self.sections[name + ".offsets"], self.rows(name + ".slots", 2)
        found = [text[first:last] for first, last in pairwise(offsets)]
        for number, string in enumerate(found):
            h = HASHES["string_hash"](string)
            assert sought(slots, h % len(slots), lambda slot: slot[1] == 0, lambda slot, h=h, n=number: slot == (h >> 32, n + 1)), string
        return found


def sought(entries, home, free, wanted):
    """Whether a search from `home` finds an entry before a free one."""
    for k in range(len(entries)):
        entry = entries[(home + k) % len(entries)]
        if wanted(entry) or free(entry):
            return wanted(entry)
    return False


def without_history(line):
    """The macros of a line and the text around them; %y is text."""
    macros, literals = [], [line.literals[0]]
    for macro, literal in zip(line.macros, line.literals[1:], strict=True):
        if macro.kind == "y":
            literals[-1] += b"%%y[%d]" % macro.row + literal
        else:
            macros.append(macro)
            literals.append(literal)
    return macros, tuple(literals)


def plan_of(lines):
    """Columns, views, and the nodes with their slots: (text around the macros, whether a bigram)."""
    columns, views, nodes = set(), [], {}
    for line in lines:
        path, (macros, literals) = (), without_history(line)
        for macro in macros:
            view = (macro.kind, macro.lower, macro.collapse, macro.length, macro.pattern, macro.column, macro.column2, macro.row2 - macro.row)
            if macro.kind != "=":
                view = view[:-2]
            if view not in views:
                views.append(view)
            columns |= {macro.column, macro.column2} - {-1}
            path += ((views.index(view), macro.row - macros[0].row),)
            nodes.setdefault(path, [])
        for bigram in (False, True):
            slot = (literals, bigram)
            here = bigram if line.reach else "UB"[bigram] in line.kinds
            if path and here and slot not in nodes[path]:
                nodes[path].append(slot)
    return sorted(columns), views, nodes


def attributes_of(file):
    """(string, whether a bigram) -> number."""
    found = {}

    def add(string, bigram, number):
        assert found.setdefault((string, bigram), number) == number

    for kind in "ub":
        for string, number in zip(file.strings(f"literal.{kind}"), file.sections[f"literal.{kind}.attributes"], strict=True):
            add(string, kind == "b", number)
    text = file.metadata["template"]
    columns, views, nodes = plan_of(Template.parse(text).lines if text else [])
    assert file.sections["plan"][:3] == [len(columns), len(views), len(nodes)]
    of_columns = [file.strings(f"column.{k}") for k in range(len(columns))]
    values, cells = [], {}
    for k, (kind, lower, _, _, _, column, *_) in enumerate(views):
        plain = kind == "x" and not lower
        values.append([b"false", b"true"] if kind == "=" else of_columns[columns.index(column)] if plain else file.strings(f"view.{k}"))
    for k, (path, slots) in enumerate(nodes.items()):
        of_last = values[path[-1][0]]
        if len(path) == 1:
            cells[path] = [(value,) for value in of_last]
            entries = [(None, None, *row) for row in file.rows(f"node.{k}.rows", len(slots))] if slots else []
            assert len(entries) in (0, len(of_last))
        else:
            entries, above = file.rows(f"node.{k}.grams", 2 + len(slots)), cells[path[:-1]]
            cells[path] = [(*above[parent], of_last[value]) if parent >= 0 else None for parent, value, *_ in entries]
            for entry in entries:
                home = HASHES["gram_hash"](*entry[:2]) * len(entries) >> 32 if entry[0] >= 0 else 0
                assert entry[0] < 0 or sought(entries, home, lambda e: e[0] < 0, lambda e, entry=entry: e == entry)
        for made, (_, _, *numbers) in zip(cells[path], entries, strict=False):
            for (literals, bigram), number in zip(slots, numbers, strict=True):
                if made and number >= 0:
                    add(literals[0] + b"".join(a + b for a, b in zip(made, literals[1:], strict=True)), bigram, number)
    for bigram, number in ((False, "attributes"), (True, "bigram_attributes")):
        assert sorted(found[key] for key in found if key[1] == bigram) == list(range(file.metadata[number]))
    return found


def weights_of(file):
    if "weights.half" in file.sections:
        return [struct.unpack("<e", struct.pack("<H", half))[0] for half in file.sections["weights.half"]]
    if "weights.scaled" in file.sections:
        return [number * file.sections["weights.scales"][k // 128] for k, number in enumerate(file.sections["weights.scaled"])]
    return file.sections["weights"]


def features_of(file):
    """(attribute, previous labels, label) -> weight, of those that are not zero, named as in a dump."""
    data, sections = file.metadata, file.sections
    labels, hot, weights = data["labels"], data["hot"], weights_of(file)
    padded = (len(labels) + 7) // 8 * 8
    u, b = sections["layout.u_ptr"], sections["layout.b_ptr"]
    cold = hot * padded - u[hot]
    pairs = (cold + u[-1] + 15) // 16 * 16
    rich = pairs + data["has_tau"] * len(labels) * padded
    places = {ANY: "#", len(labels): "_B-1", len(labels) + 1: "_B-2", **dict(enumerate(labels))}
    found = {}
    for (string, bigram), number in attributes_of(file).items():
        name = string.decode()
        if not bigram:
            for k in range(u[number], u[number + 1]):
                label = sections["layout.u_label"][k]
                found[name, "#", labels[label]] = weights[number * padded + label if number < hot else cold + k]
        else:
            for k in range(b[number], b[number + 1]):
                first = sections["layout.b_prev2"][k] if "layout.b_prev2" in sections else ANY
                last = sections["layout.b_prev"][k]
                plain = first == ANY and (last == ANY or last < len(labels))
                found[name, places[last] if plain else f"{places[first]} {places[last]}", labels[sections["layout.b_label"][k]]] = weights[rich + k]
    for i, before in enumerate(labels if data["has_tau"] else ()):
        for j, label in enumerate(labels):
            found["*", before, label] = weights[pairs + i * padded + j]
    return {feature: weight for feature, weight in found.items() if weight}


def dumped(path):
    lines = [line.split("\t") for line in crfkit("dump", path).stdout.splitlines()]
    return {(attribute, before, label): float(weight) for attribute, before, label, weight in lines}


@pytest.mark.parametrize("options", [
    ("-a", "lbfgs"),
    ("-a", "lbfgs", "--features", "all", "--weights", "float16"),
    ("-a", "perceptron", "--weights", "int8", "--min-freq", "2"),
    ("-a", "owlqn", "--l1", "0.1"),
    ("-a", "lookahead"),
], ids=" ".join)  # fmt: skip
def test_features(options):
    write(template=TEMPLATE + HISTORY * ("lookahead" in options), train=DATA * 3)
    learn(*options)
    found = features_of(File("model"))
    assert found == pytest.approx(dumped("model"), rel=1e-6)
    kinds = {(name[:2], before == "#") for name, before, _ in found}
    assert len(kinds) > 8


def test_features_of_data_that_name_their_attributes():
    write(train=ITEMS)
    crfkit("learn", "--format", "crfsuite", "train", "model")
    assert features_of(File("model")) == pytest.approx(dumped("model"), rel=1e-6)


def test_keys_of_a_parser():
    text = "P0:%x[s0,form]\nP1:%x[s0,upos]/%d[s0,q0]/%X[q0,form]\nP2:%v[s0.l]/%=[s0,upos,s1,upos]/%s[s1,form,2]\n"
    words = [f"w{k}a {'NV'[k % 2]}" for k in range(40)]
    trees = [[f"{k} {word.split()[0]} _ {word.split()[1]} _ _ {(k + 1) % 6} r _ _".replace(" ", "\t") for k, word in enumerate(words[n : n + 5], 1)] for n in range(0, 40, 5)]
    write(template=text, train="".join("\n".join(tree) + "\n\n" for tree in trees))
    learn("-a", "lookahead", "--format", "conllu", "--labels")
    file = File("model")
    numbers = []
    for k, line in enumerate(Template.parse(text, columns=dict(form=1, upos=3)).lines):
        entries = file.rows(f"line.{k}", 1 + len(line.macros))
        for entry in entries:
            if entry[0] >= 0:
                home = HASHES["key_hash"](entry[1:]) * len(entries) >> 32
                assert sought(entries, home, lambda e: e[0] < 0, lambda e, entry=entry: e == entry)
                numbers.append(entry[0])
    assert sorted(numbers) == list(range(file.metadata["attributes"]))
    weights = file.sections["weights"]
    assert Counter(weights[first + k] for first, n in file.rows("rows", 2) for k in range(n)) == Counter(weights)
    assert len(dumped("model")) == sum(map(bool, weights)) > 50
