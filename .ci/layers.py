"""Which room of crfkit may import which: those below it in the tree of docs/design.md, and itself. Imports go downward only,
and no two modules import each other. A room is a folder, or a module that stands beside the folders.

`python .ci/layers.py` prints what breaks the rule, and the rooms with what each imports.
"""

import re
import sys
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "crfkit"
IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n#]*)|c?import[ \t]+(crfkit[\w.]*))", re.M)
SUFFIXES = (".py", ".pyx", ".pxd")


def rooms():
    """All rooms, from the top of the tree down."""
    page = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    tree = re.search(r"^crfkit/\n(.*?)^```$", page, re.M | re.S)[1]
    for names in re.findall(r"^  (\S+(?:, \S+)*)", tree, re.M):
        yield from (name.strip("/").removesuffix(".py") for name in names.split(", "))


ROOMS = list(rooms())


def exists(module):
    """Whether there is this module or folder of modules, given as the names below crfkit."""
    path = PACKAGE.joinpath(*module)
    return path.is_dir() or any(path.with_suffix(suffix).is_file() for suffix in SUFFIXES)


def module_of(path):
    """The module of a file; a folder for its `__init__`, () for crfkit itself."""
    *folders, name = path.relative_to(PACKAGE).parts
    name = name.split(".")[0]
    return (*folders, *(() if name == "__init__" else (name,)))


def room_of(module):
    """The room of a module."""
    return module[0] if module else "__init__"


def imports(path):
    """(line number, module) of each module of crfkit that a file imports."""
    text = path.read_text(encoding="utf-8")
    package = ["crfkit", *path.relative_to(PACKAGE).parts[:-1]]
    for found in IMPORT.finditer(text):
        dots, module, names, plain = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        if plain is not None:
            yield line, tuple(plain.split(".")[1:])
            continue
        base = package[: len(package) - len(dots) + 1] if dots else []
        full = (*base, *filter(None, module.split(".")))
        for name in re.sub(r"#.*", "", names).strip("()").split(",") if full[:1] == ("crfkit",) else ():
            if name.strip():  # `from crfkit import options as o`, or what crfkit itself offers
                longer = (*full[1:], name.split()[0])
                yield line, longer if exists(longer) else full[1:]


def arrows():
    """(file, line, module that it imports)."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in SUFFIXES:
            for line, other in imports(path):
                yield path, line, other


def faults():
    """Imports that go up, modules that import each other, and rooms that the tree does not know."""
    graph = defaultdict(set)
    for path, line, other in arrows():
        own = module_of(path)
        if other != own:
            graph[own].add(other)
        room, below = room_of(own), room_of(other)
        if room in ROOMS and below in ROOMS and ROOMS.index(below) < ROOMS.index(room):
            yield f"{path.relative_to(PACKAGE.parent)}:{line}: {room} imports {below}, which stands above it"
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"modules import each other: {', '.join('.'.join(('crfkit', *module)) for module in error.args[1][1:])}"
    for room in sorted({room_of(module_of(path)) for path in PACKAGE.rglob("*") if path.suffix in SUFFIXES} - set(ROOMS)):
        yield f"crfkit/{room} is not in the tree of docs/design.md"


if __name__ == "__main__":
    drawn = defaultdict(set)
    for path, _, other in arrows():
        drawn[room_of(module_of(path))].add(room_of(other))
    for room in ROOMS:
        print(f"{room:12} {' '.join(other for other in ROOMS if other in drawn[room] and other != room)}")
    found = list(faults())
    print(*found, sep="\n")
    sys.exit(bool(found))
