"""What tests of workers share."""

import pytest

from crfkit import constants
from crfkit.learning.shards import driver


@pytest.fixture
def _small_chunks(monkeypatch):
    """Shards are made of whole chunks: with smaller ones, little text is enough for many shards."""
    for module in (constants, driver):
        monkeypatch.setattr(module, "CHUNK_TOKENS", 256)
