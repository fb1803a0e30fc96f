"""`crfkit templates`: the templates of the folder templates/, wherever crfkit is installed."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import crfkit, error

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = {path.stem: path for path in (ROOT / "templates").glob("*.txt")}


def test_the_list_has_all_of_them_with_their_purpose():
    lines = crfkit("templates").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(TEMPLATES)
    for line in lines:
        name, said = line.split(None, 1)
        assert TEMPLATES[name].read_text(encoding="utf-8").startswith(f"# {said}\n")
        assert len(line) < 130


@pytest.mark.parametrize("name", TEMPLATES)
def test_one_of_them_byte_for_byte(name):
    assert crfkit("templates", name).stdout_bytes == TEMPLATES[name].read_bytes()


@pytest.mark.parametrize(("name", "hint"), [("chunkin", "did you mean chunking? There are"), ("x", "there are"), ("", "there are"), ("../README", "there are")])
def test_unknown_names_are_refused_with_a_hint(name, hint):
    assert error("templates", name, code=2) == f"no template {name!r}; {hint} {', '.join(sorted(TEMPLATES))}"


def test_a_file_that_is_not_there_may_be_one_of_them():
    for given, hint in (("ner", "; `crfkit templates ner` prints one"), ("none/pos.txt", "; `crfkit templates pos` prints one"), ("absent", ""),
                        ("-", " (- is standard input only where data are read)")):
        assert error("learn", given, "train", "model") == f"{given}: cannot read the template: No such file or directory{hint}"


@pytest.mark.skipif(find_spec("Cython") is None or not (ROOT / "crfkit").exists(), reason="needs Cython and the sources")
@pytest.mark.long
def test_a_wheel_has_them(tmp_path):
    built = subprocess.run([sys.executable, "setup.py", "-q", "build_py", "-d", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    found = {path.stem: path.read_bytes() for path in (tmp_path / "crfkit/templates").iterdir()}
    assert found == {name: path.read_bytes() for name, path in TEMPLATES.items()}
