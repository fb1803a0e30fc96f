"""Progress bars on a terminal, by tqdm."""

from __future__ import annotations

from typing import Any


def bar_on(stream: Any, **options: Any) -> Any:
    """A bar, which disappears when it is closed. None where it cannot be shown: the work goes on without it. That may be because
    of the stream, or of a variable such as TQDM_MININTERVAL=abc, which tqdm reads when it is imported."""
    try:
        from tqdm import tqdm

        return tqdm(file=stream, dynamic_ncols=True, leave=False, **options)
    except Exception:
        return None
