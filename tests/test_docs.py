"""What the documentation says is so: examples run, options, files and links exist."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import crfkit
from crfkit.cli import cli

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(crfkit.__file__).parent
PAGES = sorted(page for pattern in ("*.md", "*/*.md") for page in ROOT.glob(pattern) if page.parent.name != "build")
COMMANDS = cli.list_commands(click.Context(cli))


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page, language):
    """Fenced blocks, with the line before each."""
    return re.findall(rf"([^\n]*)\n```{language}\n(.*?)^```$", text_of(page), re.M | re.S)


def command(name):
    return cli.get_command(click.Context(cli), name)


# --- Examples -------------------------------------------------------------------------------------------------------


PROGRAMS = [block for mark, block in blocks("README.md", "python") if mark == "<!-- test:python -->"]


def test_there_are_programs():
    assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_python_of_the_readme(program, tmp_path):
    for folder in ("data", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= program.count("print(")


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


def test_the_command_line_page_is_up_to_date():
    specification = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    generate = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(generate)
    assert text_of("docs/cli.md") == generate.document()


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
    paths = (path for path in PACKAGE.rglob("*") if path.suffix in kinds and not path.name.startswith(("__", "_cyutility")))
    return {str(path.relative_to(PACKAGE).with_name(path.name.split(".")[0])) for path in paths}


def test_the_house_has_every_module():
    named = {name.removesuffix(".py") for name in house()}
    assert modules() <= named
    folders = {name for name in named if name.endswith("/")}
    assert all((PACKAGE / name).is_dir() for name in folders)
    assert named - folders <= modules()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = page.parent / path if path else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.M)
            assert anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}, target
