"""Models of other programs: small ones to start from, changed as text or in numbers of 32 bits."""

from __future__ import annotations

import random

import crfkit
from crfkit import foreign
from crfkit.template.parsing import Template

from . import mutate

WIDE = [0, 1, 2, 8, 20, 48, 2**16, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1]
WORDS = [b"#mdl#2#", b"#rdr#", b"#qrk#", b"9:", b",\n", b"=0x1p+1023\n", b"=nan\n", b"%m[0,0,\"a*\"]", b"%t[@-1,0,\"\\u?$\"]", b"%X[0x1,010]", b"*", b"?", b"\n\n", b"lCRF", b"CQDB"]
PATTERNS = b"""#mdl#2#4
#rdr#4/1/0
10:u0:%x[0,0],
16:*1:%t[0,1,"\\a$"],
1:b,
18:b2:%M[@-1,0,".?n"],
#qrk#2
2:BB,
1:O,
#qrk#3
6:u0:the,
7:*1:true,
1:b,
0=0x1p+0
3=0x1.4ccccccccccccp-1
4=-0x1p-3
9=0x1.8p-2
"""


def models() -> list[bytes]:
    """One of each format."""
    rows = [[["The", "DT", "B"], ["man/x", "NN", "I"]], [["x", "y", "O"]]]
    columns = foreign.read(crfkit.learn(rows, template=Template.parse("U:%x[0,0]\nB\nB1:%x[0,1]/%x[-1,0]\n")).to_bytes())
    attributes = foreign.read(crfkit.learn([[(["a", ("b", 2.0)], "X"), (["c:d"], "Y")]], format="crfsuite").to_bytes())
    return [PATTERNS, foreign.model_bytes(attributes, "crfsuite"), *(foreign.model_bytes(columns, to) for to in ("crfpp", "crfpp-text", "wapiti"))]


def mutation(source: random.Random, seeds: list[bytes]) -> bytes:
    """One of the models with a few changes."""
    if source.random() < 0.5:
        return mutate.text(source, seeds, WORDS)
    data = bytearray(source.choice(seeds))
    for _ in range(source.choice((1, 1, 2, 3))):
        at = source.randrange(len(data) // 4) * 4
        data[at : at + 4] = source.choice((*WIDE, source.randrange(2 * len(data)), source.randrange(2**32))).to_bytes(4, "little")
    return bytes(data)
