"""Small models of other programs, and how damaged ones are used."""

from functools import cache

import crfkit
from crfkit import foreign
from crfkit.errors import CrfkitError, ModelFileError

WAPITI = b"""#mdl#2#9
#rdr#4/1/0
10:u0:%x[0,0],
16:*1:%t[0,1,"\\a$"],
1:b,
11:b2:%X[-1,0],
#qrk#2
2:BB,
1:O,
#qrk#6
6:u0:the,
6:u0:a/b,
7:*1:true,
1:b,
7:b2:_x-1,
6:b2:the,
0=0x1p+0
1=-0x1.8p+1
3=0x1.4ccccccccccccp-1
4=-0x1p-3
6=0x1p-1
9=0x1.8p-2
10=0x1p+1
13=-0x1.2p+0
21=0x1p-2
"""
ROWS = [["the", "X", "B-A"], ["a/b", "Y", "I-A"], ["Été", "Z", "O"], ["_B-1", "X", "O"], ["日本", "Y", "B-A"]]


@cache
def sound(form):
    """The bytes of a small model."""
    if form == "wapiti":
        return WAPITI
    if form == "crfsuite":
        model = crfkit.learn([[([row[0], (row[1], 0.5)], row[2]) for row in ROWS]], format="crfsuite")
    else:
        model = crfkit.learn([ROWS, ROWS[:2], ROWS[3:]], template="U:%x[0,0]\nB\nB1:%x[0,1]\n")
    return foreign.model_bytes(foreign.read(model.to_bytes()), form)


def use(data):
    """Open and use a model, which is refused or works; whether it was opened."""
    try:
        tagger = crfkit.load(data)
    except ModelFileError as error:
        assert "\n" not in str(error).replace("\\n", "")
        return False
    rows = [[*row[:2], "x"] for row in ROWS] if tagger.header["format"] == "columns" else [[row[0], (row[1], 3.25)] for row in ROWS]
    try:
        assert len(tagger.tag(rows)) == len(rows)
    except CrfkitError as error:  # a template of more columns, a score that is not finite
        assert tagger.header["format"] == "columns" and "\n" not in str(error)
    assert b"".join(foreign.dump(data))
    return True
