"""Writes docs/cli.md from what the commands say of themselves; --check says whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from crfkit.cli import cli

TARGET = Path(__file__).with_name("cli.md")
WIDTH = 100
INTRODUCTION = """# The command line

Written by `make docs` from `crfkit COMMAND --help`.

Results go to standard output, everything else to standard error. Exit codes: 0 success; 1 an error, told in one line
that names the file and the line where there is one; 2 wrong usage; 130 after Ctrl-C, 143 after SIGTERM, 129 when the
terminal is closed. A reader that closes the pipe early (`| head`) ends a command silently.
"""


def help_of(command: click.Command, path: str) -> str:
    """The help of a command as a section."""
    context = click.Context(command, info_name=path, terminal_width=WIDTH, max_content_width=WIDTH, **command.context_settings)
    return f"\n## {path}\n\n```text\n{command.get_help(context)}\n```\n"


def document() -> str:
    """All of docs/cli.md."""
    context = click.Context(cli, info_name="crfkit")
    sections = [help_of(cli, "crfkit")]
    for name in cli.list_commands(context):
        sections.append(help_of(cli.get_command(context, name), f"crfkit {name}"))
    return INTRODUCTION + "".join(sections)


if __name__ == "__main__":
    text = document()
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            sys.exit(f"{TARGET}: out of date; run `make docs`")
    else:
        TARGET.write_text(text, encoding="utf-8")
