"""What is fuzzed: where the inputs come from and what is done with each. Only crfkit's own exceptions may come out."""

from __future__ import annotations

import io
import os
import random
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import limit
from models import sentences

import crfkit
from crfkit import foreign, modelfile, options
from crfkit.cli.config import read_config
from crfkit.decode.constraints import constraints_of
from crfkit.decode.printing import Printer
from crfkit.errors import CrfkitError, CrfkitWarning
from crfkit.evaluation.evaluate import Outputs
from crfkit.learning.corpus import read_corpus
from crfkit.learning.judging import judge
from crfkit.learning.learn import learn
from crfkit.learning.reader import Reader
from crfkit.options import Run
from crfkit.tagging import Tagger
from crfkit.template.parsing import Template
from crfkit.text.reading import Source
from crfkit.trainers.base import all_finite

from . import calls, mutate, parsers, trainings
from . import foreign as foreign_models

TEMPLATE = """U00:%x[-1,0]/%x[0,0]
U01:%X[0,0]
U02:%p[0,0,2]/%s[0,0,3]
U03:%S[0,0]%C[0,1]
U04:%t[0,0,"^[A-Z].*e$"]/%m[-1,0,"[0-9]+|ing"]
U05:%=[0,0,-1,0]
*06:%N[0,1]
U07:%x[0,1] @all
B
B08:%x[0,1]/%x[-1,1]
"""
HISTORY = "U:%x[0,0]\nU1:%y[-1]/%x[0,1]\nU2:%y[-2]%y[-1]\nU3:%x[0,1] @all\nB\nB1:%x[0,1]\nT\nT1:%x[0,1]\n"
ROWS = [
    [["The", "DT"], ["man/x", "NN"], ["saw", "VBD"], ["12", "CD"], ["dogs", "NNS"]],
    [["Going", "VBG"], ["café/", "NN"], ["home", "NN"]],
    [["x", "y"]],
]
ITEMS = [["a", ("b", 2.0), "c:d"], ["b"], [("x", -1e6)]]
PATTERNS = [
    rb"(a|b)*c+d?", rb"[^a-z]{2,5}$", rb"^\w+\W*\d", rb"((a+)+)+$", rb"(x?){50}x{50}", rb"[[:alpha:]]", rb"\p", rb"(?i)a", rb".*.*.*=.*",
    rb"[\]\-]", rb"a{1000}", rb"(((((a{10}){10}){10}){10}){10})", rb"\x41", rb"(a|aa|aaa|aaaa)*b", rb"[z-a]", rb"(?:)", rb"|", rb"a**",
]


@dataclass(frozen=True)
class Target:
    """One thing to fuzz."""

    mutation: mutate.Mutation
    run: Callable[[bytes], Any]


def small_corpus(n: int = 8) -> list[list[list[str]]]:
    """Some sentences as rows, with what makes strings the identity of attributes."""
    found = sentences("chunking", "train")[:n]
    labels = sorted({row[-1] for rows in found for row in rows})
    for k, rows in enumerate(ROWS):
        found.append([[*row, labels[(k + t) % len(labels)]] for t, row in enumerate(rows)])
    return found


def models() -> list[bytes]:
    """Small models of every kind of part there is."""
    lines = "yes\ta:2\tb\nno\tc\\:d\n\n@weight:3\nno\tc:0.5\tx:-1e6\nyes\ta\n\n"
    return [
        learn(small_corpus(4), Template.parse(TEMPLATE), max_iter=2).to_bytes(),
        learn(small_corpus(1), Template.parse("U:%x[0,0]\nB\n"), "perceptron", passes=1).to_bytes(),
        learn(small_corpus(1), Template.parse("B:%x[0,0]/%x[0,1]\nU:%x[-1,0]/%x[0,0]/%x[1,0]\n"), max_iter=2, features="all").to_bytes(),
        learn(io.BytesIO(lines.encode()), format="crfsuite", max_iter=3).to_bytes(),
        learn(small_corpus(3), Template.parse(HISTORY), "lookahead", passes=2).to_bytes(),
        learn(small_corpus(1), Template.parse(HISTORY), "lookahead", passes=1, direction="backward", depth=2).to_bytes(),
        learn(small_corpus(3), Template.parse(TEMPLATE), "owlqn", max_iter=5, l1=0.3).to_bytes(),
    ]


def use(data: bytes, verify: bool) -> None:
    """Open a model and do with it all there is to do."""
    tagger = crfkit.load(data, verify=verify)
    sentences: Any = [ITEMS, ITEMS[:1]] if tagger.header["format"] == "crfsuite" else ROWS
    for rows in sentences:
        for question in (
            lambda rows=rows: tagger.tag(rows),
            lambda rows=rows: tagger.nbest(rows, 3),
            lambda rows=rows: tagger.explain(rows, 3),
            lambda rows=rows: tagger.marginals(rows).sum(),
            lambda rows=rows: tagger.probability(rows, tagger.labels[:1] * len(rows)),
            lambda rows=rows: tagger.tag(rows, posterior=True),
        ):
            anything_but_a_crash(question)
    text = b"a\tb:2\nc:d\n\n" if tagger.header["format"] == "crfsuite" else b"The DT\nman/x NN\n\ncaf\xc3\xa9/ NN\n"
    anything_but_a_crash(lambda: list(tagger.text(Source(io.BytesIO(text), tagger.header["format"]), Printer(verbose=2), threads=1)))
    if verify:
        weights = [weight for *_, weight in tagger.model.features()]
        assert all(abs(weight) < float("inf") for weight in weights), "a weight that is not finite was accepted"
        tagger.model.to_bytes()


def foreign_model(data: bytes) -> None:
    """Open and print a model of another program."""
    use(data, True)
    for _ in foreign.dump(data) or ():
        pass


def anything_but_a_crash(question: Callable[[], Any]) -> None:
    """Ask, and let our own errors be answers."""
    with suppress(CrfkitError):
        question()


def label(tagger: Any, data: bytes, form: str, loose: bool = False, **given: Any) -> None:
    """Write a text with its labels, in many blocks."""
    source = Source(io.BytesIO(data), form, loose=loose, block_size=64, allow_empty=True)
    anything_but_a_crash(lambda: list(tagger.text(source, Printer(**given), partial="partial" in given, threads=1)))


PRINTERS = ({}, {"verbose": 1}, {"verbose": 2}, {"nbest": 3}, {"posterior": True, "probability": True}, {"partial": True, "verbose": 2})


def tagging(data: bytes) -> None:
    """A model, after four bytes of its length, and a text for it."""
    end = 4 + int.from_bytes(data[:4], "little")
    try:
        tagger = crfkit.load(data[4:end])
    except CrfkitError:
        tagger = crfkit.load(data[4:end], verify=False)
    for given in PRINTERS:
        label(tagger, data[end:], tagger.header["format"], **given)
    anything_but_a_crash(lambda: tagger.tag_with_gold(io.BytesIO(data[end:]), threads=2))
    if tagger.header["algorithm"] != "lookahead":
        label(tagger, data[end:], tagger.header["format"], explain=2, lines=tagger.explainer.lines)


def template(data: bytes) -> None:
    """Parse a template, number a small corpus by it, train one step and tag."""
    parsed = Template.load(scratch("template", data))
    rows = small_corpus(2)
    model = learn(rows, parsed, "perceptron", passes=1)
    Tagger(model).tag([row[:-1] for row in rows[0]])
    list(model.features())


def columns(data: bytes) -> None:
    """Read training data of every form, and tag the same bytes."""
    form = ("columns", "columns", "conllu")[data[0] % 3 if data else 0]
    parsed = Template.parse("U:%x[0,0]/%x[1,0]\nU:%N[0,0]\nB\n" if form == "columns" else "U:%x[0,form]\nB\n")
    anything_but_a_crash(lambda: read_corpus(Reader(io.BytesIO(data), parsed, Run(format=form, label="upos" if form == "conllu" else None))))
    tagger = a_tagger()
    for given in ({}, {"verbose": 1}, {"nbest": 2}, {"partial": True, "probability": True}):
        label(tagger, data, "columns", **given)
    for loose in (kept(f"loose{number}", lambda number=number: crfkit.load(foreign_models.models()[number])) for number in (0, 2)):
        label(loose, data, "columns", loose=True)
        label(loose, data, "columns", loose=True, verbose=2, cells=True)


def attributes(data: bytes) -> None:
    """Read attribute lines, train one step, and tag the same bytes."""
    anything_but_a_crash(lambda: learn(io.BytesIO(data), format="crfsuite", algorithm="adf", passes=1))
    tagger = an_item_tagger()
    anything_but_a_crash(lambda: list(tagger.text(Source(io.BytesIO(data), "crfsuite", block_size=64), Printer(verbose=1), threads=1)))


def scores(data: bytes) -> None:
    """Evaluate labelled text in all the ways there are."""
    ways: tuple[dict[str, Any], ...] = (
        {}, {"strict": True}, {"scheme": "iobes"}, {"scheme": "none"}, {"segments": True}, {"delimiter": "[ \t|]+"}, {"delimiter": "|"},
        {"format": "crfsuite"}, {"format": "conllu"}, {"format": "conllu", "label": "upos"},
    )
    for given in ways:
        anything_but_a_crash(lambda given=given: [str(found) for found in Outputs([io.BytesIO(data)], **given).scores])
    anything_but_a_crash(lambda: Outputs([io.BytesIO(data), io.BytesIO(data)], keep=True).compare(0, 1, shuffles=3))


def checkpoint(data: bytes) -> None:
    """Resume from a checkpoint, with the trainer that it names."""
    path = scratch("checkpoint", data)
    identity = modelfile.read(path).header.get("identity")
    algorithm = identity.get("algorithm") if isinstance(identity, dict) else None
    if not isinstance(algorithm, str) or algorithm not in options.TRAINERS:
        algorithm = "lbfgs"
    model = resumable(algorithm, 3, checkpoint=path, resume=True, stop=lambda: True)
    assert all_finite(model.weights), "a weight is not finite"


def resumable(algorithm: str, passes: int, **given: Any) -> Any:
    """The runs whose checkpoints are mutated."""
    return learn(small_corpus(2), Template.parse("U:%x[0,0]\nB\nB1:%x[0,1]\n"), algorithm, **limit(algorithm, passes), **given)


def pairs(data: bytes) -> None:
    """A file of constraints."""
    constraints_of(scratch("pairs", data), ["B-NP", "I-NP", "O"])


def config(data: bytes) -> None:
    """A file of options."""
    found = read_config(scratch("config", data), None)
    algorithm = found.options.get("algorithm", "lbfgs")
    with found.named_in_faults(()):
        judge(algorithm, {name: value for name, value in found.options.items() if name not in (*options.SPEECH, "algorithm")})


def scratch(name: str, data: bytes) -> str:
    """A file with these bytes, of this process alone."""
    path = calls.path_of(name)
    with open(path, "wb") as file:
        file.write(data)
    return path


_kept: dict[str, Any] = {}


def kept(name: str, make: Callable[[], Any]) -> Any:
    """Made once a process."""
    if name not in _kept:
        _kept[name] = make()
    return _kept[name]


def a_tagger() -> Tagger:
    return kept("tagger", lambda: crfkit.load(models()[0]))


def an_item_tagger() -> Tagger:
    return kept("items", lambda: crfkit.load(models()[3]))


def checkpoints() -> list[bytes]:
    """One of each trainer."""
    found = []
    for algorithm in options.TRAINERS:
        path = calls.path_of("seed")
        resumable(algorithm, 2, checkpoint=path)
        found.append(Path(path).read_bytes())
        os.unlink(path)
    return found


def parser_checkpoints() -> list[bytes]:
    """One of a parser."""
    path = calls.path_of("parser-seed")
    parsers.resumed(path)
    return [Path(path).read_bytes()]


def of_text(seeds: Callable[[], Iterable[bytes]], words: Iterable[bytes]) -> mutate.Mutation:
    """Mutations of texts."""
    words = list(words)
    name = repr(words[:3])
    return lambda source: mutate.text(source, kept(name, lambda: list(seeds())), words)


def raw_models(source: random.Random) -> bytes:
    """Models with some bytes changed."""
    return mutate.text(source, kept("models", models), [b"\0" * 8, b"\xff" * 8, b"\x89crfkit\n", b'"', b"{}"])


def sound_models(source: random.Random) -> bytes:
    """Models with some contents changed and right checksums."""
    return mutate.model(source, kept("models", models))


def checkpoint_mutations(source: random.Random) -> bytes:
    """The same of checkpoints."""
    return mutate.model(source, kept("checkpoints", checkpoints))


def models_with_text(source: random.Random) -> bytes:
    """A model, in half of all cases changed, and a text."""
    seeds = kept("models", models)
    seed = source.choice(seeds)
    data = source.choice((lambda: seed, lambda: seed, lambda: mutate.model(source, [seed]), lambda: mutate.text(source, [seed], [b"\0" * 8])))()
    texts, words = (text_of_attributes, ATTRIBUTES) if seed == seeds[3] else (text_of_columns, COLUMNS)
    return len(data).to_bytes(4, "little") + data + mutate.text(source, texts(), words)


SPACES = [b" ", b"\t", b" \t ", b"\n", b"\r\n", b"\n\n", b"\0", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b\x08", b"\xe2\x80\xa8", b"_", b"#"]
COLUMNS = [
    *SPACES, b"# columns = a b c\n", b"# global.columns = ID FORM UPOS\n", b"_B-1", b"1-2\t", b"1.1\t", b"B-NP", b"?", b"|", b"a" * 300, b"\x0b", b"\x1c", b"\x85",
]
ATTRIBUTES = [*SPACES, b":", b"\\:", b"\\\\", b"@weight:2", b"@weight:", b":1e6", b":nan", b":inf", b":-1e39", b":0x1p3", b"1e-400", b":1_0", b"@", b"__BOS__"]
MACROS = [
    b"%x[0,0]", b"%X[-1,1]", b"%t[0,0,\"", b"\"]", b"%m[0,0,\"a*\"]", b"%p[0,0,3]", b"%s[0,0,99999]", b"%S[0,0]", b"%C[0,0]", b"%N[0,0]", b"%=[0,0,1,1]", b"%y[-1]",
    b"%x[0,word]", b"@all", b"@observed", b"@minfreq=3", b"U", b"B", b"*", b"#", b"%", b"[", b"]", b",", b"-", b"99999999999", b"%%", b"\\", b"/", *PATTERNS,
]
LABELS = [*SPACES, b"B-NP", b"I-NP", b"O", b"E-X", b"S-X", b"L-X", b"U-X", b"B", b"M", b"-", b"B-", b"|", b"I-" + b"n" * 200, b"\x1f"]
YAML = [
    b": ", b"\n", b"- ", b"&a ", b"*a", b"!!python/object:os.system x", b"!!binary x", b"<<: *a", b"{", b"[", b"'", b"|\n", b"? ", b"---\n", b"...\n", b"%YAML 9.9\n",
    b"l2", b"algorithm: ", b"1e999", b"0x10", b"1_000", b"2001-01-01", b".inf", b".nan", b"~", b"passes", b"checkpoint-every", b"dev", b"\xff", b"\0",
]


CONLLU = b"# sent_id = 1\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t0\troot\t_\t_\n2.1\tx\t_\tX\t_\t_\t_\t_\t_\t_\n\n"


def text_of_columns() -> list[bytes]:
    whole = "".join("\n".join(" ".join(row) for row in rows) + "\n\n" for rows in small_corpus(3)).encode()
    return [whole, whole.replace(b" ", b"\t").replace(b"\n", b"\r\n"), b"# columns = word pos chunk\n" + whole, CONLLU, b"a b c\n"]


def text_of_attributes() -> list[bytes]:
    return [b"yes\ta:2\tb\nno\tc\n\n@weight:3\nno\tc:0.5\nyes\ta\n\n", b"y\tw\\:x:1e-3\ty\\\\:2\nn\n\n", b"a\tb\r\nb\tc\r\n"]


def text_of_labels() -> list[bytes]:
    columns = [b"the DT B-NP B-NP\ndog NN I-NP O\n\nruns VB O O\n", b"a\tS-X\tB-X\nb\tB-X\tE-X\nc\tE-X\tO\n", b"a B B\nb M E\nc E S\n\n"]
    return [*columns, CONLLU.replace(b"\n", b"\tADP\n"), b"B-NP\tw=the:2\tc\\:d\tB-NP\n@weight:2\tI-NP\tw=dog\tO\n\nO\t\tO\n"]


TARGETS: dict[str, Target] = {
    "model": Target(raw_models, lambda data: use(data, True)),
    "model-checksums": Target(sound_models, lambda data: use(data, True)),
    "model-unverified": Target(sound_models, lambda data: use(data, False)),
    "foreign": Target(lambda source: foreign_models.mutation(source, kept("foreign", foreign_models.models)), foreign_model),
    "crfpp-calls": Target(lambda source: source.randbytes(8), calls.crfpp),
    "wapiti-calls": Target(lambda source: source.randbytes(8), calls.wapiti),
    "tag": Target(models_with_text, tagging),
    "learn": Target(trainings.training, trainings.train),
    "columns": Target(of_text(text_of_columns, COLUMNS), columns),
    "crfsuite": Target(of_text(text_of_attributes, ATTRIBUTES), attributes),
    "template": Target(of_text(lambda: [TEMPLATE.encode(), b"U:%x[0,0]\nB\n"], MACROS), template),
    "parser": Target(lambda source: mutate.model(source, parsers.models()), lambda data: parsers.model(data, True)),
    "parser-unverified": Target(lambda source: mutate.model(source, parsers.models()), lambda data: parsers.model(data, False)),
    "parser-template": Target(of_text(lambda: [parsers.TEMPLATE.encode()], parsers.WORDS), parsers.template),
    "parser-trees": Target(of_text(lambda: [parsers.TREES], parsers.LINES), parsers.trees),
    "eval": Target(of_text(text_of_labels, LABELS), scores),
    "checkpoint": Target(checkpoint_mutations, checkpoint),
    "parser-checkpoint": Target(
        lambda source: mutate.model(source, kept("parser-checkpoints", parser_checkpoints)),
        lambda data: parsers.resumed(scratch("parser-checkpoint", data)),
    ),
    "constraints": Target(of_text(lambda: [b"B-NP I-NP\nI-NP O\n<start> O\nO\t<end>\n"], [*LABELS, b"<start>", b"<end>"]), pairs),
    "config": Target(of_text(lambda: [b"algorithm: sgd\nl2: 1e-3\npasses: 5\ndev: file\nquiet: true\n"], YAML), config),
}


def attempt(name: str, data: bytes) -> Exception | None:
    """Run a target; the exception that should not have come out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CrfkitWarning)
            TARGETS[name].run(data)
    except CrfkitError:
        return None
    except Exception as error:
        return error
    return None
