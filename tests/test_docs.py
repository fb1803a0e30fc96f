"""The documentation is right: examples run; options, files and links exist."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import invoked

import crfkit
from crfkit.cli import cli
from crfkit.compat.crfpp.crf_learn import crf_learn

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(crfkit.__file__).parent
PAGES = sorted(page for pattern in ("*.md", "*/*.md", "docs/*/*.md") for page in ROOT.glob(pattern) if page.parent.name != "build")
DOCS = [page for page in PAGES if page.is_relative_to(ROOT / "docs")]
COMMANDS = cli.list_commands(click.Context(cli))


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page, language):
    """The fenced blocks of a page, with the line before each."""
    return re.findall(rf"([^\n]*)\n```{language}\n(.*?)^```$", text_of(page), re.M | re.S)


def command(name):
    return cli.get_command(click.Context(cli), name)


# --- Examples -------------------------------------------------------------------------------------------------------

MARKED = [block for mark, block in blocks("README.md", "python") if mark == "<!-- test:python -->"]


def steps(page):
    """The commands and programs of a page, in order: (language, text). A program begins with an import."""
    found = re.findall(r"^```(console|python)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    return [(language, text) for language, text in found if language == "console" or re.match("import |from ", text)]


def sessions(block):
    """(command, what the page says it prints) of each `$` line of a block. A command ends in a backslash where it
    goes on in the next line."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, printed = re.fullmatch(r"((?:.*\\\n)*.*)(\n)((?:.*\n)*)", part).groups()
        yield command, printed


def matches(printed, expected):
    """Whether what was printed is what was expected, where `...` stands for any text."""
    pattern = ".*".join(re.escape(piece) for piece in expected.rstrip("\n").split("..."))
    return re.fullmatch(pattern, printed.rstrip("\n"), re.S)


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A folder with the shipped corpora and templates, and a `crfkit` on the path that is the one under test."""
    for folder in ("data", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / "work" / folder)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, module, function in re.findall(r'^(crfkit[\w-]*) = "([\w.]+):(\w+)"$', text_of("pyproject.toml"), re.M):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "import {module} as it; it.{function}()" "$@"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def run(command, **given):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", **given)


def test_there_are_programs():
    assert MARKED
    assert sum(len(steps(page)) for page in DOCS) > 30


@pytest.mark.parametrize("program", MARKED)
def test_python_of_the_readme(program, workshop):
    done = run([sys.executable, "-W", "error", "-c", program])
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("\n") >= program.count("print(")


def test_first_run_of_the_readme(workshop):
    [(_, commands)] = [block for block in blocks("README.md", "sh") if block[0] == "<!-- ci:quickstart -->"]
    printed = run(["bash", "-ec", commands]).stdout
    assert re.search(r"FB1: +([0-9.]+)", printed)[1] == re.search(r"# FB1,.* is ([0-9.]+)$", commands, re.M)[1]


@pytest.mark.parametrize("page", [page for page in DOCS if steps(page)], ids=lambda page: page.name)
@pytest.mark.long
def test_examples_print_what_the_page_says(page, workshop):
    """`$ cat FILE` makes the file where there is none; all other commands run, and print what stands below them."""
    for language, block in steps(page):
        if language == "python":
            if "sklearn" in block and importlib.util.find_spec("sklearn") is None:
                continue
            done = run([sys.executable, "-W", "error", "-c", block])
            assert done.returncode == 0, f"{block}\n{done.stdout}"
            continue
        for command, expected in sessions(block):
            made = re.fullmatch(r"cat ([\w./-]+)", command)
            if made and not Path(made[1]).exists():
                Path(made[1]).write_text(expected, encoding="utf-8")
                continue
            done = run(["bash", "-c", command])
            if expected:
                assert matches(done.stdout, expected), f"$ {command}\n{done.stdout}"
            else:
                assert done.returncode == 0, f"$ {command}\n{done.stdout}"


@pytest.mark.parametrize("given", ["-c 4.0", "-a MIRA -c 4.0 -H 20"])
def test_translated_options_train_the_same(given, workshop):
    """The options of CRF++ and those that docs/crfpp.md names for them lead to the same labels."""
    own = re.search(rf"^\| `{re.escape(given)}` \| `([^`]+)`", text_of("docs/crfpp.md"), re.M)[1]
    Path("hard.template").write_text("U:%x[0,0]\nB\n", encoding="utf-8")  # MIRA makes more than 100 passes
    files = "hard.template data/chunking.train.txt"
    invoked(crf_learn, *f"{given} {files} there".split())
    invoked(cli, *f"learn -q --features all {own} {files} here".split())
    here, there = (invoked(cli, "tag", model, "data/chunking.test.txt").stdout_bytes for model in ("here", "there"))
    assert here == there


def shown_commands():
    """The crfkit commands of all shell blocks, as lists of arguments."""
    for page in PAGES:
        for _, block in blocks(page, "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                for part in re.split(r"\|\|?|&&", line):
                    words = shlex.split(part, comments=True)
                    if words[:1] == ["crfkit"]:
                        yield pytest.param(words[1:], id=f"{page.name}: {' '.join(words)}"[:100])


@pytest.mark.parametrize("words", list(shown_commands()))
def test_shown_commands_parse(words):
    name, *arguments = words
    redirected = next((k for k, word in enumerate(arguments) if word[0] in "<>"), len(arguments))
    assert name in COMMANDS
    command(name).make_context(name, arguments[:redirected])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_named_exists(page):
    """Targets of make, scripts, tests and templates that a page names."""
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", text_of("Makefile"), re.M))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
    if page.name == "CHANGELOG.md":  # of the past
        return
    for path in re.findall(r"`(?:python )?((?:benchmarks|templates|tests|docs|crfkit|data)/[\w./-]+\.(?:py|pyx|pxd|md|txt|h|inc|c))\b", text):
        unpacked = path.startswith("crfkit/") and not (ROOT / "crfkit").exists()  # the sources are not here when an installed package is tested
        assert "NAME" in path or unpacked or (ROOT / path).exists(), path


@pytest.mark.parametrize(("words", "offered"), [
    pytest.param("crfkit te", ["templates"], marks=pytest.mark.long),
    ("crfkit learn --warm", ["--warm-up"]),
    pytest.param("crfkit learn --search a", ["astar"], marks=pytest.mark.long),
    pytest.param("crfkit learn -a s", ["sbcd", "sgd", "sapo"], marks=pytest.mark.long),
    ("crfkit templates ner", ["ner", "ner-words"]),
    pytest.param("crfkit tag --constraints io", ["iob1", "ioe1", "ioe2", "iobes"], marks=pytest.mark.long),
    pytest.param("crfkit tag --constraints my", ["my"], marks=pytest.mark.long),  # the shell looks for files
])
def test_shells_complete(words, offered, workshop):
    asked = {"_CRFKIT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = run(["crfkit"], env={**os.environ, **asked})
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == offered


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "templates").glob("*.txt") if not path.name.startswith("parsing")))
def test_templates_for_conllu(name):
    """The command of docs/data.md turns column 0 into form, in every macro of every shipped template."""
    sed = re.search(r"^(sed -E '[^']+') templates/pos.txt", text_of("docs/data.md"), re.M)[1]
    made = subprocess.run([*shlex.split(sed), ROOT / "templates" / name], capture_output=True, text=True, check=True).stdout
    macros = crfkit.Template.parse(made).macros
    assert macros and not any(macro.column == 0 or macro.column2 == 0 for macro in macros)


# --- The commands ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name):
    section = re.search(rf"^## crfkit {name}\n.*?^```$", text_of("docs/cli.md"), re.M | re.S)[0]
    assert command(name).help
    for option in command(name).params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.help, option.name
            for flag in (*option.opts, *option.secondary_opts):
                assert re.search(rf"^  .*{re.escape(flag)}\b", section, re.M), flag


def test_generated_pages_are_up_to_date():
    specification = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    generate = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(generate)
    for name, page in generate.PAGES.items():
        folder = PACKAGE.parent if name.startswith("crfkit/") else ROOT
        assert (folder / name).read_text(encoding="utf-8") == page(), f"{name}: run `make docs`"


# --- Files ----------------------------------------------------------------------------------------------------------


def house():
    """Paths named in the tree of docs/design.md, relative to the package.

    A line is: names, two blanks or more, what they are for; further names after that as `name: what for`. What is
    indented otherwise than the contents of a folder goes on from the line before.
    """
    tree = re.search(r"^crfkit/\n(.*?)^```$", text_of("docs/design.md"), re.M | re.S)[1]
    folders = [""]
    for line in tree.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        if depth > len(folders) or not re.match(r"[\w./, ]+(  |$)", line.strip()):
            continue
        del folders[depth:]
        first, *others = re.split(r"  +", line.strip())
        names = first.split(", ")
        for other in others:
            names += [name for group in re.findall(r"(?:^|; )([\w.]+(?:, [\w.]+)*): ", other) for name in group.split(", ")]
        yield from (folders[-1] + name for name in names)
        if first.endswith("/"):
            folders.append(folders[-1] + first)


def modules():
    """Modules of the package without their endings: Python, compiled, and declarations that have no code."""
    kinds = (".py", ".pyx", ".pxd", ".so", ".pyd")
    paths = (path for path in PACKAGE.rglob("*") if path.suffix in kinds and not path.name.startswith("_cyutility"))
    found = {str(path.relative_to(PACKAGE).with_name(path.name.split(".")[0])) for path in paths}
    return {name for name in found if not name.endswith("/__init__")}


def test_the_house_has_every_module():
    named = {name.removesuffix(".py") for name in house()}
    assert modules() <= named
    folders = {name for name in named if name.endswith("/")}
    assert all((PACKAGE / name).is_dir() for name in folders)
    assert named - folders <= modules()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = page.parent / path if path else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.M)
            assert anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}, target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_with_underscores_are_code(page):
    """Elsewhere, __init__ is a bold "init"."""
    assert not re.search(r"\b__\w", re.sub(r"^```.*?^```$|(`+).*?\1", "", page.read_text(encoding="utf-8"), flags=re.M | re.S))


def test_every_page_is_in_the_navigation():
    """And nothing else: what the site shows are the pages of docs/, and those that docs/hooks.py brings."""
    listed = set(re.findall(r"^ +- .*: (\S+\.md)$", text_of("mkdocs.yml"), re.M))
    brought = dict(re.findall(r'^    "(\S+)": "(\S+)",$', text_of("docs/hooks.py"), re.M))
    assert all((ROOT / page).exists() for page in brought)
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in DOCS} | set(brought.values())


@pytest.mark.long
def test_the_site_builds(tmp_path):
    """Strictly: a warning is an error."""
    pytest.importorskip("material", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(ROOT / "mkdocs.yml"), "-d", str(tmp_path / "site")]
    done = run(command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stdout
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:link|script|img)[^>]*(?:href|src)="?(https?:[^" >]+)', text)
        assert not fetched, page.name
        assert not re.search(r'href="[./]+"', text), f"{page.name}: a folder, whose page a disk does not show"
        assert not re.search(r"<td[^>]*>[^\n]*\\\|", text), f"{page.name}: a bar that is escaped"
    assert (tmp_path / "site/search/search_index.js").exists()  # a page from the disk reads no JSON
