"""The class in which pickles of sklearn-crfsuite store their models."""

from __future__ import annotations

from typing import Any

__all__ = ["FileResource"]


class FileResource:
    """Holds the bytes of a model file, or None if the model was in the user's own file."""

    content: bytes | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.content = state.get("__FILE_RESOURCE_DATA__")
