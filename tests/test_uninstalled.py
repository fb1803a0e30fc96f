"""crfkit is uninstalled, or replaced by another version, while it trains: what makes the model was imported before."""


import pytest
from commands import SMALL, python, write, write_part

from crfkit.foreign import load

RUN = """
import importlib, sys
from crfkit.learning.passes import Passes

class Gone:
    def find_spec(self, name, *_):
        raise ImportError(f"{name} is gone")

def one(self, *given, run=Passes._one):
    run(self, *given)
    sys.meta_path[:] = [Gone()]

Passes._one = one
importlib.import_module(sys.argv.pop(1)).main()
"""


@pytest.mark.parametrize(("program", "given"), [
    pytest.param("crfkit.cli", ["learn", "--max-iter", "3", "template", "train"], marks=pytest.mark.long),
    ("crfkit.cli", ["learn", "-a", "perceptron", "--passes", "2", "--weights", "int8", "--dev", "train", "--checkpoint", "state", "template", "train"]),
    pytest.param("crfkit.compat.crfpp.crf_learn", ["-m", "3", "-t", "template", "train"], marks=pytest.mark.long),
    ("crfkit.compat.wapiti.commands", ["train", "-i", "3", "-p", "patterns", "train"]),
], ids=str)
def test_the_model_is_saved(tmp_path, program, given):
    write_part(tmp_path / "train", "chunking", 30)
    write(template=SMALL, patterns="*\nu:%x[0,0]\n")
    python(RUN, program, *given, "model")
    assert load("model").labels
