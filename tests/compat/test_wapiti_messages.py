"""crfkit-wapiti: what is said of bad input."""

from pathlib import Path

import pytest
from commands import write
from compat.wapiti_runs import run, trained, write_files


@pytest.fixture(autouse=True)
def files():
    write_files()


@pytest.mark.parametrize(("words", "message"), [
    (
        "train train model",
        "--pattern: crfkit needs patterns. Lines that name their features need none: if each line is a sequence, add --me; "
        "if a line is a token, train with `crfkit learn --format crfsuite`",
    ),
    ("train -T memm -p patterns train model", "--type: expected crf or maxent; crfkit does not train memm, which normalises each token separately"),
    ("train -T nb -p patterns train model", "--type: expected one of maxent, memm, crf, found 'nb'"),
    ("train -a x -p patterns train model", "--algo: expected one of l-bfgs, sgd-l1, bcd, rprop, rprop+, rprop-, found 'x'"),
    ("train --clip -p patterns train model", "--clip is not supported: shrink the model with `update -c` and train it again without --clip"),
    ("train --me -p patterns train model", "--me is for lines that name their features: it takes no --pattern; for sentences there is --type maxent"),
    ("train -p none train model", "none: cannot be read: No such file or directory"),
    ("train -p empty train model", "empty: the template has no line that starts with u, b or *"),
    ("train -p bad train model", "bad:3: '%z[0,0]' is not a macro of Wapiti: %x[row,column], %t or %m[row,column,\"regex\"]"),
    ("train -p far train model", "far:1: %x[0,7] uses column 7, but the data have 2 feature columns (counted from 0)"),
    ("train -m patterns train model", "patterns: expected a model of Wapiti, which begins with #mdl#"),
    ("train -p patterns --rstate none train model", "none: cannot be used: No such file or directory"),
    ("train -p patterns --rstate /dev/null train model", "/dev/null: is not a regular file; give another name to --rstate"),
    ("train -p patterns --rstate theirs train model", "theirs: a state of Wapiti, of which crfkit has no use; to go on from a model give it as --model"),
    ("train -p patterns empty model", "empty: no tokens: expected one token per line and a blank line after each sentence"),
    (
        "train -p patterns notes model",
        "notes:2: found 3 columns, expected 2 as in notes:1 (crfkit's --comments passes over lines before a sentence that begin with '#')",
    ),
    ("label test", "--model: label needs a model"),
    ("label -m none test", "none: cannot be read: No such file or directory"),
    ("label -m good --check --force test", "--check and --force exclude each other"),
    ("label -m good -c plain", "plain:1: found 2 columns, expected 3 or more: line 3 of the model's template has %x[0,1], and labels stand in the last column"),
    ("dump none", "none: cannot be read: No such file or directory"),
    ("update patch", "--model: update needs a model"),
    ("train --me -m good lines model", "good: a model of sequences: train it without --me"),
    ("train --me bare model", "bare:2: expected features, and the label last"),
    ("train --me empty model", "empty: no lines: expected features, and the label last, in each line"),
    ("train --me -d empty pair model", "empty: no lines: expected features, and the label last, in each line"),
    ("train --me zero model", "zero: sentence 2, token 1: found 'Y\\x00', expected a label without zero bytes"),
    ("update -m good patch", "patch:2: the model has no observation 'zz', and an update cannot add any"),
])
def test_messages_of_wapiti(words, message):
    write(
        bad="u:%x[0,0]\n\nu:%z[0,0]\n", far="u:%x[0,7]\n", empty="\n", theirs="#state#0#5#2\n0 0x1.6p-4\n1 0x0p+0\n",
        notes="# a\nthe D O\n", patch="\nzz\t#\tB\t1\n", bare="a b X\nY\n", lines="a b X\n", pair="a X\nb Y\n", zero="a X\nb Y\0\n",
    )
    if "good" in words:
        trained("-i", "1", name="good")
    assert run(*words.split(), code=1).stderr.splitlines()[-1] == f"crfkit: error: {message}"
    assert not Path("model").exists()


@pytest.mark.parametrize(("line", "message"), [
    ("u0:a", "expected an observation, the label before or #, the label, and the weight, with tabs between"),
    ("u0:a\tB\tB\t1", "'u0:a' is an observation of single labels: expected # in the place of the label before"),
    ("b\t#\tB\t1", "'b' is an observation of pairs: expected a label before, not #"),
    ("u0:a\t#\tQ\t1", "the model has no label 'Q'"),
    ("u0:a\t#\tB\tone", "expected a weight, found 'one'"),
    ("u0:a\t#\tB\tinf", "expected a weight, found 'inf'"),
])
def test_patches_that_are_none(line, message):
    trained("-i", "1", name="good")
    done = run("update", "-m", "good", code=1, stdin=line + "\n")
    assert done.stderr.splitlines()[-1] == f"crfkit: error: <stdin>:1: {message}"
