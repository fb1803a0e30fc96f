"""Parsers: templates with P lines, trees in CoNLL-U, and models of parsers."""

from __future__ import annotations

import io
from contextlib import suppress

import crfkit
from crfkit.errors import CrfkitError
from crfkit.evaluation.attachment import evaluate_heads
from crfkit.learning.learn import learn
from crfkit.parser.model import Parser
from crfkit.text.reading import Source

TEMPLATE = """P01:%x[s0,form]/%x[q0,xpos]
P02:%X[s1,form]%p[q0,form,2]
P03:%x[s0.l,xpos]/%x[s1.r,lemma]
P04:%d[s0,s1]/%N[q1,form]
P05:%t[s2,form,"^[A-Z]"]%S[q2,form]
P
"""
TREES = b"""# text = The man saw dogs .
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tman\tman\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsaw\tsee\tVERB\tVBD\t_\t0\troot\t_\t_
3-4\tsawdogs\t_\t_\t_\t_\t_\t_\t_\t_
4\tdogs\tdog\tNOUN\tNNS\t_\t3\tobj\t_\t_
4.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
5\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
2\tcaf\xc3\xa9\t_\tNOUN\tNN\t_\t1\tobj\t_\t_

"""
WORDS = [
    b"%x[s0,form]", b"%x[q0.l,xpos]", b"%x[s1.r,feats]", b"%d[s0,s1]", b"%d[s0,q0]", b"%=[s0,form,q0,form]", b"%m[s0,form,\"[a-z]+\"]", b"s0", b"q2", b"s0.l", b".r.l", b"s9", b"P", b"U",
    b"B", b"T", b"%y[-1]", b"@all", b"@minfreq=2", b"%", b"[", b"]", b",", b"#", b"99999999999", b"\n", b"\0", b"\xff",
]
LINES = [
    b"\t", b"\n", b"\n\n", b"\r\n", b"_", b"0", b"1", b"-1", b"3", b"99999999999", b"1-2", b"2.1", b"# c", b"root", b"# global.columns = ID FORM HEAD DEPREL\n", b"\0", b"\xff",
    b"\xc3\xa9", b"# gold = 1\n", b"6\tx\t_\t_\t_\t_\t0\troot\t_\t_\n", b"x" * 300,
]


def parsed(parser: Parser, data: bytes) -> None:
    """The heads of some text, and their scores."""
    with suppress(CrfkitError):
        out = b"".join(text for text, *_ in parser.text(Source(io.BytesIO(data), "conllu", block_size=64, allow_empty=True), threads=1))
        assert out.count(b"\n") >= data.count(b"\n"), "lines are missing"
    with suppress(CrfkitError):
        evaluate_heads(io.BytesIO(data))


def trained(template: str, data: bytes, **options: object) -> Parser:
    """A parser after one pass."""
    model = learn(io.BytesIO(data), template, "lookahead", format="conllu", passes=1, depth=1, **options)
    return model.tagger()  # type: ignore[return-value]


def template(data: bytes) -> None:
    """Learn by a template, and parse. Each of its lines takes two kilobytes."""
    parsed(trained(data[: 1 << 14].decode(errors="replace") + "\n", TREES, labels=True), TREES)


def trees(data: bytes) -> None:
    """Learn from some text, and parse it."""
    for labels in (False, True):
        with suppress(CrfkitError):
            parsed(trained(TEMPLATE, data, labels=labels), data)
    parsed(crfkit.load(models()[0]), data)  # type: ignore[arg-type]


def resumed(path: str) -> None:
    """Go on from a checkpoint, or begin it where there is none."""
    trained(TEMPLATE, TREES, labels=True, checkpoint=path, resume=True)


_models: list[bytes] = []


def models() -> list[bytes]:
    """Two parsers, with relations and without."""
    if not _models:
        _models.extend(trained(TEMPLATE, TREES, labels=labels).model.to_bytes() for labels in (True, False))
    return _models


def model(data: bytes, verify: bool) -> None:
    """Open a model, and parse."""
    parser = crfkit.load(data, verify=verify)
    assert isinstance(parser, Parser)
    parsed(parser, TREES)
    with suppress(CrfkitError):
        list(parser.model.dumped())
