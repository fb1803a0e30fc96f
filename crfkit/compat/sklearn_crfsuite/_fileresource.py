"""What pickles of sklearn-crfsuite keep their models in."""

from __future__ import annotations

from typing import Any

__all__ = ["FileResource"]


class FileResource:
    """Holds the bytes of a model file, or None where the model was in a file of the user's."""

    content: bytes | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.content = state.get("__FILE_RESOURCE_DATA__")
