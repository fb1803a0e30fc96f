"""`crfkit templates`: templates to start from, wherever crfkit is installed."""

from __future__ import annotations

import click

from crfkit.template.shipped import purpose, shipped, text_of

from .common import HELP_FLAGS, debug_option, offer, usage_errors, write_output


@click.command("templates", context_settings=HELP_FLAGS)
@click.argument("name", required=False, shell_complete=offer(shipped))
@debug_option
@click.pass_context
def templates_command(ctx: click.Context, name: str | None) -> None:
    """Print the template NAME; without NAME, list the templates.

    \b
    crfkit templates
    crfkit templates chunking > my.template

    They are the files of the folder templates/ in the sources.
    """
    if name is None:
        found = shipped()
        width = max(map(len, found))
        write_output("".join(f"{key:{width}}  {purpose(path)}\n" for key, path in found.items()))
        return
    with usage_errors(ctx):
        text = text_of(name)
    write_output([text])
