"""Pages of the site that stand elsewhere in the repository, and links between these and the pages in docs/."""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "templates/README.md": "shipped-templates.md",
    "data/README.md": "corpora.md",
}
BEHIND = ("results/", "defaults.md", "experiments.md", "design.md", "changes.md")
# What is before the target, with the text of the link unless it is an image; the target, and the section.
LINK = re.compile(r"((?:(?<!!)\[([^\]]*))?\]\()([^)\s#:]+)(#[^)\s]*)?\)")


def place(path: str) -> str | None:
    """Where a file of the repository stands on the site; None if it is not there."""
    return ELSEWHERE.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)


def relinked(text: str, path: str) -> str:
    """The text of the file `path` with links for the site. A file that is not on the site is named and not linked."""
    here = place(path) or path

    def link(match: re.Match[str]) -> str:
        before, text, target, section = match.groups()
        there = place(os.path.normpath(os.path.join(os.path.dirname(path), target)))
        if there is not None:
            return f"{before}{os.path.relpath(there, os.path.dirname(here) or '.')}{section or ''})"
        return match[0] if text is None or section else text

    return LINK.sub(link, text)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from elsewhere."""
    for source, target in ELSEWHERE.items():
        text = relinked((ROOT / source).read_text(encoding="utf-8"), source)
        if target == "index.md":
            text = f"---\nhide: [toc]\n---\n{text}"
        files.append(File.generated(config, target, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links from pages in docs/ to those from elsewhere. The search shows the guides and the reference first."""
    if page.file.src_uri.startswith(BEHIND):
        page.meta["search"] = {"boost": 0.1}
    if page.file.src_uri in ELSEWHERE.values():
        return markdown
    return relinked(markdown, f"docs/{page.file.src_uri}")


def on_page_content(html: str, **_: Any) -> str:
    """Bars of code in tables without the backslash, which only GitHub takes away."""
    return re.sub(r"<t[dh][ >].*?</t[dh]>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.S)
