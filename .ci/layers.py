"""Which room of crfkit may import which: those below it in this list, and itself. Imports go downward only.

`python .ci/layers.py` prints what breaks the rule, and the rooms with what each imports.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "crfkit"

# From the top down. A room is a folder, or a module that stands beside the folders.
ROOMS = (
    "testing", "__main__", "programs", "compat", "cli", "tagfiles", "__init__", "estimator", "learning", "foreign", "parser", "model", "tagging", "decoders", "header", "modelfile", "canonical", "replacing", "trainers", "decode",
    "evaluation", "lattice", "weights", "features", "data", "template", "text", "loops", "rng", "cluster", "parallel", "threads", "signals", "options", "constants", "values", "memory", "errors",
    "version", "_uncompiled",
)  # fmt: skip
IMPORT = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+c?import[ \t]+\(?([^\n#]*)", re.M)


def imports(path):
    """(line number, dotted name below crfkit) of each module that a file imports; "" is crfkit itself."""
    text = path.read_text(encoding="utf-8")
    package = ["crfkit", *path.relative_to(PACKAGE).parts[:-1]]
    for found in IMPORT.finditer(text):
        dots, module, names = found.groups()
        base = package[: len(package) - len(dots) + 1] if dots else []
        full = [*base, *filter(None, module.split("."))]
        if full[:1] != ["crfkit"]:
            continue
        line = text.count("\n", 0, found.start()) + 1
        if len(full) > 1:
            yield line, full[1]
            continue
        for name in names.split(","):  # `from crfkit import options as o`, or what crfkit itself offers
            name = name.split()[0]
            yield line, name if name in ROOMS else "__init__"


def faults():
    """Imports that go up, and rooms that the list does not know."""
    for path, line, room, other in arrows():
        if room not in ROOMS or other not in ROOMS:
            yield f"{path.relative_to(PACKAGE.parent)}:{line}: crfkit/{room if room not in ROOMS else other} is not in the list of .ci/layers.py"
        elif ROOMS.index(other) < ROOMS.index(room):
            yield f"{path.relative_to(PACKAGE.parent)}:{line}: {room} imports {other}, which stands above it"


def arrows():
    """(file, line, its room, the room it imports)."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in {".py", ".pyx", ".pxd"}:
            room = path.relative_to(PACKAGE).parts[0].split(".")[0]
            for line, other in imports(path):
                yield path, line, room, other


if __name__ == "__main__":
    drawn = defaultdict(set)
    for _, _, room, other in arrows():
        if other != room:
            drawn[room].add(other)
    for room in ROOMS:
        print(f"{room:12} {' '.join(other for other in ROOMS if other in drawn[room])}")
    found = list(faults())
    print(*found, sep="\n")
    sys.exit(bool(found))
