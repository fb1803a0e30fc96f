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
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def place(path: str) -> str | None:
    """Where a file of the repository stands on the site; None if it is not there."""
    return ELSEWHERE.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)


def relinked(text: str, path: str) -> str:
    """The text of the file `path` with links for the site. A file that is not on the site is named and not linked."""
    here = place(path) or path

    def link(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(path), match[2]))
        there = place(target)
        if there is None:
            return f"]({match[2]}{match[3]}"
        return match[1] + os.path.relpath(there, os.path.dirname(here) or ".") + match[3]

    def unlink(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(path), match[2]))
        return match[0] if place(target) else match[1]

    text = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s#:]+)\)", unlink, text)
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
    """Links from pages in docs/ to those from elsewhere."""
    if page.file.src_uri in ELSEWHERE.values():
        return markdown
    return relinked(markdown, f"docs/{page.file.src_uri}")
