"""Programs with a library of ours before all others: tests/NAME.c, which makes calls fail, and tests/NAME.py, which uses it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import plain_build

HERE = Path(__file__).resolve().parent
_missing = platform.libc_ver()[0] != "glibc" or shutil.which("cc") is None


def needs_preloading(test: Any) -> Any:
    """Skip a test where there is no such thing."""
    return plain_build(pytest.mark.skipif(_missing, reason="needs glibc and a C compiler")(test))


def preloaded(name: str, folder: Path, *arguments: Any) -> list[str]:
    """The lines that the program prints; its first argument is the library, made in this folder."""
    library = folder / f"lib{name}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", HERE / f"{name}.c", "-o", library, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join((str(HERE), os.environ.get("PYTHONPATH", "")))}
    command = [sys.executable, "-X", "faulthandler", "-m", name, library, *map(str, arguments)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout.splitlines()
