"""No allocation that fails spoils what comes after it (starving.py)."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import plain_build

HERE = Path(__file__).resolve().parent


@pytest.mark.long
@plain_build
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc" or shutil.which("cc") is None, reason="needs glibc and a C compiler")
def test_every_allocation_may_fail(tmp_path):
    library = tmp_path / "failing.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", HERE / "starving.c", "-o", library, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join((str(HERE), os.environ.get("PYTHONPATH", "")))}
    run = subprocess.run([sys.executable, "-X", "faulthandler", "-m", "starving", library], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    counts = {line.rpartition(": ")[0]: int(line.rpartition(": ")[2].split()[0]) for line in run.stdout.splitlines()}
    assert counts["learn lbfgs"] > 100 and counts["tag"] > 10 and counts["append and train"] > 100
