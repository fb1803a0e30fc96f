"""Options of every command in any combination, with values at their bounds and past them: a command works, or says in one line why not."""

import os
import random
import tempfile
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import limit_flags
from hypothesis import given, settings
from hypothesis import strategies as st

import crfkit
from crfkit import options
from crfkit.cli import cli
from crfkit.errors import CrfkitWarning, OptionError

ROWS = "the DT B\nold JJ I\ndog NN I\n\ndogs NN B\n\n"
FILES = {
    "template": "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB\n", "history": "U0:%x[0,0]\nU1:%y[-1]\nB\n", "parsing": "P0:%x[s0,form]/%x[q0,upos]\n",
    "train": ROWS * 2, "items": "B\tw=the\tcap:2\nI\tw=dog\n\nB\tw=dogs\n\n", "empty": "", "open": "the DT B\nold JJ ?\ndog NN B|I\n\ndogs NN B\n\n", "pairs": "<start> B\nB I\nI I\n", "options": "seed: 3\n",
    "trees": "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n\n" * 2, "answers": "the DT B B\nold JJ I I\ndog NN I O\n\n",
}
MODELS = ("model", "perceptron", "known.items", "parser", "crfpp")
TEXTS = ["", "-", "0", "a", "I", "bio", "auto", "mi:2", "mi:0", "2m", "0m", "1G", "1", "10,3", "3,10", "form", "upos", "*", "U0:the", "[ \t]", "[", "\\t", "é", "\n"]
NUMBERS = ["0", "1", "2", "3", "-1", "0.5", "1e-300", "1e300", "1e999", "nan", "inf", "x", "", str(2**31 - 1), str(2**31), str(2**63 - 1), str(2**63), str(10**30)]
# More of them would only take longer, as would starting processes; the cluster is no part of this.
FEW = {"passes": "2", "max_iter": "3", "shuffles": "9", "warm_up": "2", "threads": "2", "nbest": "5", "explain": "5", "beam": "5"}
LEFT_OUT = {"workers", "cluster", "shards", "debug", "help", "print_config"}
WRITTEN = ["new", "new", "new2", "absent/new", "folder", "train", "model"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    crfkit.learn(str(folder / "train"), str(folder / "template"), max_iter=2).save(folder / "model")
    crfkit.learn(str(folder / "train"), str(folder / "history"), "lookahead", passes=1).save(folder / "perceptron")
    crfkit.learn(str(folder / "items"), format="crfsuite", algorithm="perceptron", passes=1).save(folder / "known.items")
    crfkit.learn(str(folder / "trees"), str(folder / "parsing"), "lookahead", format="conllu", passes=1).save(folder / "parser")
    crfkit.foreign.convert(str(folder / "model"), str(folder / "crfpp"), "crfpp")
    return folder


def value(source, option):
    """For an option, one that is right, one at a bound of its range, or one past it."""
    kind = option.type
    if option.name in FEW and source.random() < 0.8:
        return FEW[option.name]
    if isinstance(kind, click.Choice):
        return source.choice([*kind.choices, *kind.choices, "x", ""])
    if isinstance(kind, (click.IntRange, click.FloatRange)) and source.random() < 0.5:
        bounds = [bound for bound in (kind.min, kind.max) if bound is not None]
        if bounds and option.name not in FEW:
            return str(source.choice(bounds) + source.choice((-1, 0, 1)))
    if isinstance(kind, click.Path):
        return source.choice([*FILES, *MODELS, "absent", "folder", "new", "-", ""])
    numeric = isinstance(kind, (click.types.IntParamType, click.types.FloatParamType))
    if numeric and source.random() < 0.6:
        return source.choice(("0", "0.5", "1", "1.5", "2"))
    return source.choice([text for text in NUMBERS if option.name not in FEW or len(text) < 2] if numeric else TEXTS + NUMBERS)


def arguments(source, name):
    """Of a command: its files, in most cases of the right kinds, and some options."""
    choose = source.choice
    right = {
        "learn": lambda: choose([["template", "train", "new"], ["history", "train", "new"], ["parsing", "trees", "new"], ["items", "new"], ["template", "-", "new"]]),
        "tag": lambda: choose([["model", "train"], ["perceptron", "train"], ["known.items", "items"], ["parser", "trees"], ["crfpp", "train"], ["model"]]),
        "eval": lambda: choose([["answers"], ["answers", "answers"], ["trees"], []]),
        "convert": lambda: [choose(MODELS), choose(WRITTEN)],
        "dump": lambda: [choose(MODELS)],
        "templates": lambda: choose([["chunking"], []]),
        "compat": list,
    }[name]()
    files = right if source.random() < 0.85 else [choose([*FILES, *MODELS, *WRITTEN, "-", ""]) for _ in range(source.randint(0, 4))]
    command = cli.get_command(click.Context(cli), name)
    options = [option for option in command.params if isinstance(option, click.Option) and option.name not in LEFT_OUT]
    found = []
    if name == "learn":
        chosen = choose([*crfkit.options.TRAINERS])
        found += ["-a", chosen, *limit_flags(chosen, 1, 2)]
        own = {*crfkit.options.TRAINERS[chosen].__dataclass_fields__, *crfkit.options.Run.__dataclass_fields__}
        options = [option for option in options if option.name in own or source.random() < 0.1]
    for option in source.sample(options, min(len(options), choose((0, 1, 1, 2, 2, 3, 4, 6)))):
        flag = choose([*option.opts, *option.secondary_opts])
        found += [flag] if option.is_flag else [flag, value(source, option)]
    return [*found, *files] if source.random() < 0.9 else [*files, *found]


def check(inputs, name, given):
    here = os.getcwd()
    with tempfile.TemporaryDirectory(dir=here) as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CrfkitWarning)
        os.chdir(folder)
        try:
            os.mkdir("folder")
            for entry in inputs.iterdir():
                Path(entry.name).write_bytes(entry.read_bytes())
            result = CliRunner().invoke(cli, [name, *given], input=ROWS, catch_exceptions=False)
            left = [entry for entry in os.listdir() if entry.startswith((".crfkit-", "crfkit-"))]
        finally:
            os.chdir(here)
    said = result.stderr
    assert not left
    assert result.exit_code in (0, 1, 2), said
    assert "Traceback" not in said and "error: unexpected" not in said, said
    if result.exit_code == 1:
        assert said.splitlines()[-1].startswith("crfkit: error: ") and said.count("crfkit: error: ") == 1, said
    if result.exit_code == 2:
        assert said.count("\nError: ") == 1 and said.splitlines()[-1].startswith("Error: "), said
    return result.exit_code


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(crfkit.cli.COMMANDS))
def test_any_combination(inputs, name):
    """Some work and some are refused; nothing else happens."""
    ended = []

    @settings(max_examples=(40 if name == "learn" else 16) * settings().max_examples)
    @given(st.integers(0, 2**32))
    def run(seed):
        ended.append(check(inputs, name, arguments(random.Random(seed), name)))

    run()
    assert {0} <= {*ended} <= {0, 1, 2}


def test_a_number_beside_a_limit_is_shown_with_its_digits():
    with pytest.raises(OptionError, match=r"^confidence: expected a number above 0.5 and at most 0.9999, found 0.999999999$"):
        options.make("cw", {"confidence": 0.999999999})
