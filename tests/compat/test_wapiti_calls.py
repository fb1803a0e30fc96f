"""libwapiti's Model, against the commands, which test_wapiti.py holds against Wapiti itself, and against libwapiti where it is installed."""

import importlib.util
import json
import logging
import re
import signal
from functools import partial
from pathlib import Path

import pytest
from commands import invoked, plain_build, python, text_of, write

from crfkit.compat.wapiti import Model
from crfkit.compat.wapiti.commands import cli
from crfkit.errors import CrfkitError, DataError, FileError, ModelFileError, OptionError

run = partial(invoked, cli)
PATTERNS = "*\nu0:%x[0,0]\nu1:%X[-1,0]/%x[0,1]\nb2:%x[0,1] # tags\n"
WORDS = [("Été", "N"), ("the", "D"), ("is", "V"), ("dog", "N"), ("a", "D")]
TRAIN = [[[*WORDS[(i + t * t) % 5], "BIO"[(i * t + t) % 3]] for t in range(1 + i % 5)] for i in range(30)]
TEST = [[list(WORDS[(i + 2 * t) % 5]) for t in range(1 + i % 6)] for i in range(12)]
TEXTS = [text_of([rows]).strip("\n") for rows in TRAIN]
ASKED = [text_of([rows]).strip("\n") for rows in TEST]
QUICK = {"rho1": 0.1, "rho2": 0.01, "maxiter": 20, "nthread": 1}


@pytest.fixture(autouse=True)
def files():
    write(patterns=PATTERNS, train=text_of(TRAIN), test=text_of(TEST))


@pytest.mark.parametrize(
    ("number", "code", "said"), [(signal.SIGINT, 0, "True\n"), pytest.param(signal.SIGTERM, -signal.SIGTERM, "", marks=pytest.mark.long)]
)
def test_signals_to_the_program_are_its_own(number, code, said):
    """Ctrl-C ends training, as in libwapiti; SIGTERM ends the program, as without it."""
    program = """
import logging, signal, sys
from crfkit.compat.wapiti import Model

class Signal(logging.Handler):
    def emit(self, record):
        if "[   2]" in record.getMessage():
            signal.raise_signal(int(sys.argv[1]))

logging.getLogger("wapiti").addHandler(Signal())
logging.getLogger("wapiti").setLevel(logging.INFO)
model = Model(patterns=open("patterns").read(), maxiter=10**6, objwin=0, stopwin=0)
model.train(open("train", encoding="utf-8").read().strip().split("\\n\\n"))
print(len(model.label_sequence("the D")) > 0)
"""
    assert python(program, int(number), code=code).stdout == said


def model():
    run("train", "-p", "patterns", "-1", "0.1", "-2", "0.01", "-i", "20", "train", "model")
    return Path("model")


def labelled(*options):
    return run("label", "-m", "model", *options, "test").stdout_bytes


def test_training_is_that_of_the_command():
    expected = model().read_bytes()
    first, second = Model(PATTERNS, **QUICK), Model(pattern="patterns", algo=b"auto", **QUICK)
    for text in TEXTS:
        first.add_training_sequence(text)
    first.train()
    second.train([TEXTS[0].encode(), *TEXTS[1:]])
    for made in (first, second):
        made.save("saved")
        assert Path("saved").read_bytes() == expected
        assert "".join(made.label_sequence(text, True).decode() + "\n" for text in ASKED).encode() == labelled()
    assert second.patterns == PATTERNS


def test_blank_lines_do_not_divide_sequences():
    one, other = Model(PATTERNS, **QUICK), Model(PATTERNS, **QUICK)
    one.train([TEXTS[4], TEXTS[9]])
    other.train([TEXTS[4].replace("\n", "\n\n \r\n"), f"\n{TEXTS[9]}\n\n"])
    one.save("one")
    other.save("other")
    assert Path("one").read_bytes() == Path("other").read_bytes()
    assert one.label_sequence(f"{ASKED[1]}\n\n{ASKED[2]}\n") == one.label_sequence(f"{ASKED[1]}\n{ASKED[2]}")
    assert one.label_sequence("") == one.label_sequence("\n \n", True) == b""


@pytest.mark.parametrize(
    ("given", "options"),
    [({}, []), ({"nbest": 3}, ["-n", "3"]), ({"lblpost": True}, ["-p"]), ({"post": True, "label": True}, ["-p"]), ({"lblpost": True, "nbest": 3}, ["-p", "-n", "3"])],
)
def test_labels_are_those_of_the_command(given, options):
    opened = Model(model=str(model()), **given)
    assert "".join(opened.label_sequence(text, include_input=True).decode() + "\n" for text in ASKED).encode() == labelled(*options)
    assert "".join(opened.label_sequence(text).decode() + "\n" for text in ASKED).encode() == labelled("-l", *options)
    opened.save("again")
    assert Path("again").read_bytes() == Path("model").read_bytes()


def test_what_is_saved_is_the_model_that_was_opened():
    """Its file may be another one by now, or gone."""
    expected = model().read_bytes()
    opened = Model(model="model")
    Path("model").write_text("another")
    opened.save("again")
    Path("model").unlink()
    opened.save("more")
    assert Path("again").read_bytes() == Path("more").read_bytes() == expected


def test_options_may_change():
    opened = Model(model=str(model()))
    assert opened.options.nbest == 1 and not opened.options.lblpost
    opened.options.nbest = 3
    assert "".join(opened.label_sequence(text).decode() + "\n" for text in ASKED).encode() == labelled("-l", "-n", "3")


@pytest.mark.parametrize("option", ["nbest", "lblpost"])
def test_options_may_ask_for_scores_in_double_precision(option):
    """In single precision the labels of `a` are equally good."""
    weights = "".join(f"{number}={weight.hex()}\n" for number, weight in enumerate([0.0] * 6 + [1.0, 1 + 1e-11]))
    Path("near").write_text(f"#mdl#2#8\n#rdr#2/0/0\n1:*,\n9:u:%x[0,0],\n#qrk#2\n1:A,\n1:B,\n#qrk#2\n1:*,\n3:u:a,\n{weights}")
    opened = Model(model="near")
    assert opened.label_sequence("a") == b"A\n"
    setattr(opened.options, option, 2)
    assert opened.label_sequence("a") == Model(model="near", **{option: 2}).label_sequence("a")
    assert opened.label_sequence("a").startswith(b"B\n")


def test_numbers_may_be_texts():
    assert Model(model=str(model()), nbest="3").label_sequence(ASKED[3]) == Model(model="model", nbest=3).label_sequence(ASKED[3])
    options = Model(rho1="0.5", maxiter="3.0", algo=b"bcd", post=True).options
    assert (options.rho1, options.maxiter, options.algo, options.lblpost) == (0.5, 3, "bcd", True)


@pytest.mark.parametrize(
    ("patterns", "texts", "message"),
    [("u:%x[0,0]", [], "training sequences: no tokens"), ("u:%x[0,0]", ["a A", "b B C"], "training sequences:3: found 3 columns"), ("x", ["a A"], "patterns:1: a pattern")],
)
def test_messages_name_what_was_given(patterns, texts, message):
    with pytest.raises(CrfkitError, match=f"^{re.escape(message)}"):
        Model(patterns).train(texts)


def test_a_model_goes_on_learning():
    model()
    run("train", "-m", "model", "-1", "0.1", "-2", "0.01", "-i", "5", "train", "further")
    going = Model(model="model", **{**QUICK, "maxiter": 5})
    going.train(TEXTS)
    going.save(Path("gone"))
    assert Path("gone").read_bytes() == Path("further").read_bytes()


def test_texts_are_of_the_encoding():
    latin = Model(PATTERNS, encoding="latin-1", **QUICK)
    latin.train(TEXTS)
    latin.save("m")
    assert "Été".encode("latin-1") in Path("m").read_bytes()
    assert latin.label_sequence("Été N", True).startswith("Été N\t".encode("latin-1"))


def test_only_blanks_of_ascii_end_a_cell():
    """Cells with others, such as the ideographic one, are labelled as cells with a letter in its place."""
    texts = {blank: [text.replace("dog", f"hot{blank}dog") for text in TEXTS] for blank in ("\u3000", "\u00a0", "_")}
    found = {}
    for blank, own in texts.items():
        trained = Model(PATTERNS, **QUICK)
        trained.train(own)
        found[blank] = [trained.label_sequence(text.replace("dog", f"hot{blank}dog")) for text in ASKED]
        Path("lines").write_text("".join(text + "\n" for text in "\n".join(own).split("\n")), encoding="utf-8")
        run("train", "--me", "-i", "20", "lines", "single")
        found[blank].append(run("label", "-l", "-m", "single", "lines").stdout)
    assert found["\u3000"] == found["\u00a0"] == found["_"]


def test_training_tells_the_logger(caplog, capfd):
    with caplog.at_level(logging.INFO, "wapiti"):
        Model(PATTERNS, **QUICK).train(TEXTS)
    assert "* Load patterns" in caplog.messages and any(line.startswith("  [   1] obj=") for line in caplog.messages)
    assert capfd.readouterr() == ("", "")


def test_faulty_arguments_are_one_line_errors():
    Path("lines").write_text("a x\nb y\n")
    run("train", "--me", "lines", "single")
    for wrong, error in (({"rho3": 1}, OptionError), ({"rho1": -1}, OptionError), ({"algo": "x"}, OptionError), ({"clip": True}, OptionError)):
        with pytest.raises(error, match=r"^[^\n]+$"):
            Model(PATTERNS, **wrong).train(TEXTS)
    with pytest.raises(FileError):
        Model(pattern="none")
    for path, error in (("none", FileError), ("train", ModelFileError), ("single", OptionError)):
        with pytest.raises(error):
            Model(model=path)
    empty = Model(PATTERNS)
    for call in (lambda: empty.label_sequence("a"), lambda: empty.save("m"), lambda: empty.train(), lambda: Model().train(TEXTS)):
        with pytest.raises(CrfkitError):
            call()
    with pytest.raises(TypeError):
        empty.save(b"m")
    with pytest.raises(DataError):
        Model(model=str(model())).label_sequence("the")
    for call in (lambda: Model(model="model").label_sequence(["the D"]), lambda: Model(PATTERNS).train([["the D B"]])):
        with pytest.raises(DataError, match=r"^found \['the D.*'\], expected a text, whose lines are tokens$"):
            call()
    with pytest.raises(TypeError):  # the number of an open file is no path
        Model(model=1)
    with pytest.raises(OptionError, match="encoding"):
        Model(encoding="none")
    with pytest.raises(OptionError, match="maxiter"):
        Model(maxiters=3)


PEER = """
import json, sys
from wapiti import Model
asked = json.load(sys.stdin)
found = []
for options in ({}, {"nbest": 2}, {"outsc": True}):
    opened = Model(model="model", **options)
    found += [opened.label_sequence(text, inputs).decode() for text in asked for inputs in (False, True)]
opened.options.nbest = 3
print(json.dumps(found + [opened.label_sequence(text).decode() for text in asked]))
"""


@plain_build
@pytest.mark.skipif(importlib.util.find_spec("libwapiti") is None, reason="libwapiti is not installed")
def test_programs_find_the_same():
    model()
    given = json.dumps(ASKED)
    ours = "import crfkit.compat\ncrfkit.compat.install_aliases()\n"
    theirs, own = (python(code, input=given).stdout for code in (PEER, ours + PEER))
    assert json.loads(theirs.splitlines()[-1]) == json.loads(own)
