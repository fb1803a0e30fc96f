"""No allocation that fails spoils what comes after it (starving.py)."""

import pytest
from preloading import needs_preloading, preloaded


@pytest.mark.long
@needs_preloading
def test_every_allocation_may_fail(tmp_path):
    lines = preloaded("starving", tmp_path)
    counts = {line.rpartition(": ")[0]: int(line.rpartition(": ")[2].split()[0]) for line in lines}
    assert counts["learn lbfgs"] > 100 and counts["tag"] > 10 and counts["append and train"] > 100 and counts["append new names"] > 2
    assert counts.get("an index that fails to grow", 0) < 20_000  # bytes
