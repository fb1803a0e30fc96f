"""Where only pytest and hypothesis are installed, as for the wheels of some platforms: tests that need more are left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import pytest
sys.modules |= dict.fromkeys(["pycrfsuite", "sklearn", "distributed", "libwapiti"])
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--collect-only", "-c", sys.argv[1], sys.argv[2]]))
"""


@pytest.mark.long
def test_all_tests_are_found():
    root = Path(__file__).parents[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    arguments = [sys.executable, "-c", PROGRAM, root / "pyproject.toml", root / "tests"]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "test_pycrfsuite" in done.stdout, "test_tagging.py" in done.stdout) == (0, False, True), (done.stdout + done.stderr)[-3000:]
