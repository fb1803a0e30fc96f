"""No system call that fails, or does a part of its work, damages a file without a word (refusing.py)."""

import re
from collections import Counter

import pytest
from preloading import needs_preloading, preloaded


@pytest.mark.long
@needs_preloading
def test_every_call_may_fail(tmp_path):
    """The first and the last call of each kind, in all works; `python -m refusing` with a larger MOST tries those between."""
    count = Counter()
    for line in preloaded("refusing", tmp_path, tmp_path / "works", 2):
        count.update({what: int(n) for n, what in re.findall(r"(\d+) (as usual|told|error)", line.rpartition(": ")[2])})
    assert count["as usual"] > 300 and count["error"] > 300 and count["told"] > 0
