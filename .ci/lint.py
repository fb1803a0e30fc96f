"""The checks of `make lint` that no other tool makes: Cython's hints, versions, leftovers, sizes, and which
room imports which."""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import layers

ROOT = Path(__file__).resolve().parents[1]
CLEAN = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crfkit-lint"
SOURCES = ("crfkit", "tests", "docs", "benchmarks", "templates", ".ci")
KINDS = {".py", ".pyx", ".pxd", ".pyi", ".c", ".h", ".inc", ".md", ".toml", ".txt", ""}
LONGEST = 400  # lines of a file; longer ones do more than one thing
# Written so that they do not match themselves.
LEFTOVERS = re.compile(r"TO[D]O|FIX[M]E|X[X]X\b|NotImplemented[E]rror|/(?:home|root|work|Users)/\w|[b]reakpoint\(")


def sources():
    """The files people write."""
    paths = [path for folder in SOURCES for path in (ROOT / folder).rglob("*")]
    paths += (path for path in ROOT.glob("*") if path.name != ".git")
    for path in sorted(paths):
        generated = path.suffix == ".c" and "simd" not in path.parts
        if path.is_file() and path.suffix in KINDS and not generated and not {"__pycache__", "finds"} & set(path.parts):
            yield path


def cython_hints():
    """What Cython warns of in each module, above all its performance hints. A module that had none is not looked at
    again until it changes, or any declaration does.
    """
    declared = b"".join(path.read_bytes() for path in sorted((ROOT / "crfkit").rglob("*.pxd")))
    modules = {path: CLEAN / hashlib.sha256(declared + path.read_bytes()).hexdigest() for path in sorted((ROOT / "crfkit").rglob("*.pyx"))}
    CLEAN.mkdir(parents=True, exist_ok=True)
    modules = {path: mark for path, mark in modules.items() if not mark.exists()}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:

        def compiled(numbered):
            number, path = numbered
            command = [sys.executable, "-m", "cython", "-3", "-o", f"{folder}/{number}.c", path.relative_to(ROOT)]
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

        for path, done in zip(modules, pool.map(compiled, enumerate(modules)), strict=True):
            hints = [line for line in done.stderr.splitlines() if re.match(r"(performance hint|warning): ", line)]
            # Arrays that Python hands in stay checked at every access; hot loops work on pointers.
            hints = [line for line in hints if not line.endswith("Use boundscheck(False) for faster access")]
            if done.returncode and not hints:
                hints = [f"{path.relative_to(ROOT)}: does not compile: {done.stderr.strip()[-300:]}"]
            if not hints:
                modules[path].touch()
            yield from hints


def unused_cimports():
    """Names that a module asks other modules for, and then does not use: no other tool looks for these."""
    for path in (ROOT / "crfkit").rglob("*.pyx"):
        text = path.read_text(encoding="utf-8")
        for listed in re.findall(r"^from \S+ cimport (\([^)]*\)|[^#\n]*)", text, re.M):
            for name in re.findall(r"(\w+)\s*(?:,|\)|$)", listed):
                if len(re.findall(rf"\b{name}\b", text)) == 1:
                    yield f"{path.relative_to(ROOT)}: {name} is cimported and not used"


def version_faults():
    """The newest entry of the change log is for the version the package states, and the citation has that version and its date."""
    version = re.search(r'__version__ = "(.*)"', (ROOT / "crfkit/version.py").read_text())[1]
    newest = re.search(r"^## (\S+) \(([\d-]+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if newest is None or newest[1] != version:
        yield f"CHANGELOG.md: the first entry is not for version {version}"
    cited = dict(re.findall(r"^(version|date-released): (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M))
    if newest is not None and (cited["version"], cited["date-released"]) != newest.groups():
        yield f"CITATION.cff: expected version {newest[1]} of {newest[2]}, as in CHANGELOG.md"


def text_faults():
    """Leftovers of development, and files that grew too long."""
    for path in sources():
        name = path.relative_to(ROOT)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            yield f"{name}: not text: a leftover?"
            continue
        for number, line in enumerate(lines, 1):
            if found := LEFTOVERS.search(line):
                yield f"{name}:{number}: leftover {found[0]!r}"
        if path.suffix in {".py", ".pyx", ".pxd", ".c", ".h", ".inc"} and len(lines) > LONGEST:
            yield f"{name}: {len(lines)} lines, more than {LONGEST}"


faults = [*version_faults(), *layers.faults(), *text_faults(), *unused_cimports(), *cython_hints()]
print(*faults, sep="\n", end="\n" if faults else "")
sys.exit(bool(faults))
