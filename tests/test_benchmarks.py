"""The benchmarks run, on a few sentences; what they measure is not judged here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").glob("bench_*.py")), ids=lambda script: script.stem)
def test_benchmark(script):
    environment = {name: value for name, value in os.environ.items() if name != "CRFKIT_CORPORA"}
    command = [sys.executable, script, "--sentences", "20", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "commit" in done.stdout and done.stdout.count("\n") >= 5
