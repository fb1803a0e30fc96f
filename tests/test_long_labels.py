"""Labels may have megabytes; messages quote their beginning and end."""

import pytest
from commands import crfkit

LONG = "x" * 5000


@pytest.fixture(autouse=True)
def files(tmp_path):
    files = {
        "template": "U:%x[0,0]\nB\n",
        "train": f"a B-{LONG}\nb O\n\n",
        "others": f"a {LONG}\nb {LONG[1:]}\n\n",
        "one": f"a {LONG}\n\n",
        "pairs": f"O {LONG}\n",
        "scored": f"a O {LONG}\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name, train in (("model", "train"), ("plain", "others")):
        crfkit("learn", "-q", "template", train, name)


@pytest.mark.parametrize(("arguments", "message"), [
    (["learn", "--label", LONG, "template", "train", "new"], "train:1: there is no column 'xxx"),
    (["tag", "--constraints", "pairs", "model", "train"], "pairs:1: the model has no label 'xxx"),
    (["tag", "--constraints", "bio", "plain", "train"], "the model's label 'xxx"),
    (["tag", "--constraints", "auto", "plain", "train"], "the model's label 'xxx"),
    (["tag", "--partial", "model", "one"], "one:1: the model has no label 'xxx"),
    (["eval", "--strict", "scored"], "scored:1: the label 'xxx"),
    (["dump", "--attribute", LONG, "model"], "model: no weights for the attribute 'xxx"),
])
def test_errors_shorten_labels(arguments, message):
    said = crfkit(*arguments, code=1).stderr
    assert said.startswith(f"crfkit: error: {message}") and "xxx'" in said and len(said) < 600


def test_a_warning_shortens_labels():
    said = crfkit("tag", "--constraints", "bilou", "model", "train").stderr
    assert said.startswith("crfkit: warning: constraints bilou: 'B-xxx") and len(said) < 600
    said = crfkit("learn", "template", "one", "new").stderr.splitlines()[0]
    assert said.startswith("crfkit: warning: only one label, 'xxx") and len(said) < 600
