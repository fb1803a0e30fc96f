"""The JSON of a model's header: one text for each document, so that no two parsers read the same bytes differently."""

from __future__ import annotations

import json
import re
from typing import Any

from .errors import ModelFileError

MAX_DEPTH = 32  # of nested lists and objects
MAX_DIGITS = 20  # of an integer; more cost time to parse and fit no field


def dumps(document: Any) -> bytes:
    """The one text that stands for a document."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # labels that are no UTF-8 (values.as_text)
        return re.sub("[\udc80-\udcff]", lambda found: f"\\u{ord(found[0]):x}", text).encode()


def loads(text: bytes) -> Any:
    """The document that a text stands for; ModelFileError for any other text than the one that `dumps` would make."""
    try:
        document = json.loads(text.decode(), parse_int=_integer, parse_constant=_refuse_constant)
        if _deeper_than(MAX_DEPTH, document):
            raise RecursionError
        again = dumps(document)
    except RecursionError:
        raise ModelFileError(f"damaged: the header is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise ModelFileError(f"damaged: the header is not valid JSON: {error}") from None
    if again != text:
        raise ModelFileError("damaged: the header is not canonical JSON (repeated or unsorted keys, blanks)")
    return document


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _deeper_than(limit: int, document: Any) -> bool:
    children = document.values() if type(document) is dict else document if type(document) is list else ()
    return limit < 0 or any(_deeper_than(limit - 1, child) for child in children if type(child) in (dict, list))
