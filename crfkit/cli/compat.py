"""`crfkit compat`: the names of other programs, for a shell."""

from __future__ import annotations

import click

from .common import HELP_FLAGS, debug_option, write_output

REPLACEMENTS = {"crf_learn": "crfkit-crf-learn", "crf_test": "crfkit-crf-test", "crfsuite": "crfkit-crfsuite", "wapiti": "crfkit-wapiti"}
"""Programs, and what has their options, their output and their files here."""


@click.command("compat", context_settings=HELP_FLAGS)
@debug_option
def compat_command() -> None:
    """Print aliases that make a shell run crfkit's programs under the names of CRF++, CRFsuite and Wapiti.

    \b
    eval "$(crfkit compat)"
    crf_learn template train.txt model

    Scripts, Makefiles and programs that start others do not see aliases. Use the names on the right of these lines there,
    or make links with the old names in a folder of your PATH:

    \b
    ln -s "$(command -v crfkit-crf-learn)" ~/bin/crf_learn
    """
    write_output("".join(f"alias {program}={replacement}\n" for program, replacement in REPLACEMENTS.items()))
