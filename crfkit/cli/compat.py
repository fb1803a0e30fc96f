"""`crfkit compat`: the names of other programs, for a shell."""

from __future__ import annotations

import click

from .common import HELP_FLAGS, debug_option, write_output

DOORS = {"crf_learn": "crfkit-crf-learn", "crf_test": "crfkit-crf-test", "crfsuite": "crfkit-crfsuite", "wapiti": "crfkit-wapiti"}
"""Programs, and what has their options, their output and their files here."""


@click.command("compat", context_settings=HELP_FLAGS)
@debug_option
def compat_command() -> None:
    """Print lines with which a shell takes crfkit's programs for those of CRF++, CRFsuite and Wapiti.

    \b
    eval "$(crfkit compat)"
    crf_learn template train.txt model

    Scripts and Makefiles know no aliases: give them the names at the right of the lines.
    """
    write_output("".join(f"alias {program}={door}\n" for program, door in DOORS.items()))
