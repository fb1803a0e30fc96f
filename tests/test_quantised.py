"""Models whose weights take fewer bytes: against NumPy, in files, at work, and hostile ones."""

import array
import random
from contextlib import suppress
from pathlib import Path

import numpy
import pytest
from commands import crfkit, error, trained, write_part
from hypothesis import example, given
from hypothesis import strategies as st
from models import rows_of
from trainers.samples import ROOT

import crfkit as library
from crfkit import modelfile
from crfkit.errors import CrfkitError, ModelFileError
from crfkit.model import precision_of
from crfkit.weights import precision

weights = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=300).map(lambda values: array.array("f", values))


def by_numpy(values, form):
    values = numpy.asarray(values, dtype=numpy.float32)
    if form == "float16":
        return numpy.clip(values, -65504, 65504).astype(numpy.float16).astype(numpy.float32)
    found = []
    for first in range(0, len(values), 128):
        block = values[first : first + 128].astype(numpy.float64)
        scale = numpy.float32(min(abs(block).max() / 127, 2.6792775e36))
        numbers = numpy.clip(numpy.rint(block / float(scale)), -127, 127) if scale else numpy.zeros(len(block))
        found.append(numbers.astype(numpy.float32) * scale)
    return numpy.concatenate([numpy.zeros(0, numpy.float32), *found])


def there_and_back(values, form):
    return precision.from_halves(precision.halves(values)) if form == "float16" else precision.from_scaled(*precision.scaled(values))


@given(weights)
@example(array.array("f", [-3.4028234663852886e38]))  # more than 127 times the largest scale
@example(array.array("f", [189 * 2.0**-149]))  # more than 127 times its scale, which is the smallest float
def test_as_numpy_does_it(values):
    for form in ("float16", "int8"):
        found = numpy.asarray(there_and_back(values, form))
        assert (found == by_numpy(values, form)).all()
        assert numpy.isfinite(found).all()


def test_every_half():
    bits = array.array("H", range(1 << 16))
    found, expected = numpy.asarray(precision.from_halves(bits)), numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16).astype(numpy.float32)
    assert numpy.array_equal(found, expected, equal_nan=True)
    finite = [k for k in bits if numpy.isfinite(expected[k])]
    assert list(precision.halves(array.array("f", expected[finite]))) == finite


@pytest.fixture
def work(tmp_path):
    (tmp_path / "template").write_text("U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[0,1]\nU03:%x[0,0]/%x[1,1]\nB\n")
    write_part(tmp_path / "train", "chunking", 80)
    write_part(tmp_path / "dev", "chunking", 30, skip=80)
    return tmp_path


@pytest.mark.parametrize(("form", "part"), [("float16", 1 / 2), ("int8", 1 / 4 + 1 / 128)])
def test_answers_are_those_of_rounded_weights(form, part, work):
    """The labels and probabilities are those of weights that NumPy rounded; the file says how it keeps them."""
    trained(work, "--max-iter", 20)
    said = crfkit("learn", "--max-iter", 20, "--dev", "dev", "--weights", form, "template", "train", "other").stderr
    assert f"weights as {form}: F1 0." in said and " as float32: " in said
    crfkit("convert", "--weights", form, "model", "small")
    full, small = library.load("model"), library.load("small")
    sections = {name: len(memoryview(values).cast("B")) for name, values in small.model.sections.items() if name.startswith("weights")}
    assert sum(sections.values()) <= part * 4 * len(full.model.weights) + 4 and "weights" not in sections
    expected = by_numpy(full.model.weights, form)
    assert numpy.array_equal(numpy.asarray(small.model.weights), expected)

    header, parts = full.model.header, dict(full.model.sections)
    rounded = library.load(modelfile.dumps(header, {**parts, "weights": array.array("f", expected)}))
    sentences = [[row[:2] for row in rows] for rows in rows_of((work / "dev").read_text())]
    assert small.tag_many(sentences) == rounded.tag_many(sentences)
    error_of_scores = 6 * numpy.abs(numpy.asarray(full.model.weights) - expected).max()  # five lines and a pair
    for rows in sentences:
        own, exact = small.marginals(rows), full.marginals(rows)
        assert numpy.array_equal(own, rounded.marginals(rows))
        # no path's score changes by more than that for each token
        factor = numpy.exp(2 * len(rows) * error_of_scores)
        assert (own <= exact * factor + 1e-9).all() and (exact <= own * factor + 1e-9).all()


def test_rounded_weights_survive_saving_and_conversion(work):
    """Saved again, pickled, converted, dumped, taken to start from: the weights are the rounded ones."""
    import pickle

    trained(work, "--max-iter", 10, "--weights", "int8")
    first = (work / "model").read_bytes()
    model = library.load("model").model
    assert model.to_bytes() == first == pickle.loads(pickle.dumps(model)).to_bytes()
    assert model.quantised("float32").quantised("int8").dump() == model.dump() == crfkit("dump", "model").stdout
    crfkit("convert", "model", "same")
    assert (work / "same").read_bytes() == first
    crfkit("convert", "--to", "crfpp-text", "model", "theirs")
    crfkit("convert", "theirs", "back")
    rows = [["the", "DT"], ["cat", "NN"]]
    assert library.load("back").tag(rows) == library.load("model").tag(rows)
    crfkit("learn", "-q", "-a", "perceptron", "--passes", 1, "--init", "model", "template", "train", "next")


def test_a_model_that_gets_a_template_keeps_its_weights_as_they_are(work):
    (work / "items").write_text("X\tUa\nY\tUb\n\n" * 3)
    (work / "words").write_text("U%x[0,0]\nB\n")
    crfkit("learn", "-q", "-a", "perceptron", "--format", "crfsuite", "--weights", "int8", "items", "model")
    crfkit("convert", "--template", "words", "model", "small")
    crfkit("convert", "--template", "words", "--weights", "float32", "model", "large")
    assert [precision_of(library.load(name).model) for name in ("model", "small", "large")] == ["int8", "int8", "float32"]


def test_impossible_weight_formats_are_refused(work):
    trained(work, "--max-iter", 3)
    assert "for models of crfkit, not of crfpp" in error("convert", "--to", "crfpp", "--weights", "int8", "model", "small", code=2)
    assert "TARGET: expected the name of a file, found -" in error("convert", "model", "-", code=2)
    assert "'half' is not one of" in error("convert", "--weights", "half", "model", "small", code=2)
    with pytest.raises(CrfkitError, match="expected one of float32, float16, int8, found 'half'"):
        library.load("model").model.quantised("half")
    with pytest.raises(CrfkitError, match="expected one of float32, float16, int8, found array"):
        library.load("model").model.quantised(numpy.array(["int8", "int8"]))


def test_hostile_models(work):
    trained(work, "--max-iter", 3)
    model = library.load("model").model

    def refused(match, **sections):
        others = {name: values for name, values in model.sections.items() if name != "weights"}
        for verify in (True, False) if "finite" not in match else (True,):
            with pytest.raises(ModelFileError, match=match):
                library.load(modelfile.dumps(model.header, {**others, **{name.replace("_", "."): values for name, values in sections.items()}}), verify=verify)

    n = len(model.weights)
    numbers, scales = precision.scaled(model.weights)
    halves = precision.halves(model.weights)
    refused("section 'weights' is missing")
    refused("expected one of them", weights=model.weights, weights_half=halves)
    refused("expected one of them", weights_half=halves, weights_scaled=numbers, weights_scales=scales)
    refused("section 'weights.scales' is missing", weights_scaled=numbers)
    refused("scales, expected", weights_scaled=numbers, weights_scales=scales[:-1])
    refused(f"{n - 1} weights, expected {n}", weights_half=halves[:-1])
    for wrong in (0x7C00, 0xFC00, 0x7E00):
        refused("not a finite number", weights_half=array.array("H", [*halves[:-1], wrong]))
    for wrong in (float("inf"), float("nan"), 3e38):
        refused("not a finite number", weights_scaled=array.array("b", [127] * n), weights_scales=array.array("f", [*scales[:-1], wrong]))


def test_damaged_weights_are_refused_or_harmless(work):
    """Whatever the sections hold, a model that opens tags."""
    trained(work, "--max-iter", 3, "--weights", "int8")
    model, source = library.load("model").model, random.Random(5)
    for _ in range(20):
        sections = {name: bytearray(memoryview(values).cast("B")) for name, values in model.sections.items() if name.startswith("weights")}
        for data in sections.values():
            data[source.randrange(len(data))] = source.randrange(256)
        changed = {**model.sections, "weights.scaled": array.array("b", bytes(sections["weights.scaled"])), "weights.scales": array.array("f", bytes(sections["weights.scales"]))}
        for verify in (True, False):
            with suppress(CrfkitError):
                library.load(modelfile.dumps(model.header, changed), verify=verify).tag([["the", "DT"]])


@pytest.mark.parametrize("algorithm", ["perceptron", pytest.param("owlqn", marks=pytest.mark.long)])
def test_converted_to_others_each_attribute_keeps_its_weights(algorithm):
    """Those that are zero now leave rows that are no longer dense, so that attributes come in another order."""
    limit = ("--max-iter", 5, "--warm-up", 5) if algorithm == "owlqn" else ("--passes", 2)
    write_part(Path("train"), "chunking", 120)
    write_part(Path("test"), "chunking", 40, part="test")
    crfkit("learn", "-q", "-a", algorithm, *limit, "--weights", "int8", ROOT / "templates/chunking.txt", "train", "model")
    labelled = crfkit("tag", "-q", "model", "test").stdout
    for to in ("crfpp", "crfpp-text", "wapiti"):
        crfkit("convert", "--to", to, "model", to)
        assert crfkit("tag", "-q", to, "test").stdout == labelled
