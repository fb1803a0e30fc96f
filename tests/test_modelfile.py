"""The section container: what was written comes back, and nothing else is ever accepted."""

import gc
import json
import re
import struct
from array import array
from pathlib import Path

import numpy
import pytest
import xxhash
from containers import HEADER, SECTIONS, SMALL, contents
from hypothesis import given
from hypothesis import strategies as st

from crfkit import canonical, modelfile
from crfkit.errors import ModelFileError
from crfkit.modelbytes import held

# What was written comes back


def as_paths_and_bytes(path):
    data = path.read_bytes()
    padded = memoryview(b"." + data)[1:]
    strided = memoryview(b"".join(bytes([byte, 0]) for byte in data))[::2]
    return [path, str(path), data, bytearray(data), memoryview(data), padded, strided]


@pytest.mark.parametrize("verify", [True, False])
def test_every_kind_of_source_gives_the_same_model(tmp_path, verify):
    path = tmp_path / "model"
    assert modelfile.write(path, HEADER, SECTIONS) == len(SMALL)
    assert path.read_bytes() == SMALL
    for source in as_paths_and_bytes(path):
        model = modelfile.read(source, verify)
        assert model.header == HEADER
        assert contents(model) == {
            "text": ("uint8", (5,), list(b"hello")),
            "empty": ("int64", (0,), []),
            "matrix": ("float32", (2, 3), [0.5, 1.5, 2.5, -1, -2, -3]),
            "ids": ("int32", (40,), list(range(-20, 20))),
        }
        assert model.contents()["matrix"].readonly


@pytest.mark.parametrize(("code", "dtype"), [
    *((code, f"{'u' * code.isupper()}int{8 * struct.calcsize(code)}") for code in "bBhHiIlLqQ"), ("f", "float32"), ("d", "float64"),
])
def test_element_types(code, dtype):
    values = array(code, [0, 1, 100])
    model = modelfile.read(modelfile.dumps({}, {"x": values}))
    assert model.sections["x"].dtype == dtype
    assert model.contents()["x"].tolist() == values.tolist()


def test_numpy_arrays_and_their_shapes():
    arrays = {
        "grid": numpy.arange(24, dtype="<i8").reshape(2, 3, 4),
        "none": numpy.zeros((0, 7), numpy.float32),
    }
    model = modelfile.read(modelfile.dumps({}, arrays))
    assert model.sections["none"].shape == (0, 7)
    view = model.contents()["grid"]
    assert (numpy.asarray(view).reshape(2, 3, 4) == arrays["grid"]).all()


@given(
    header=st.dictionaries(
        st.text(st.characters(codec="utf-8")),
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8")),
    ),
    sections=st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.binary(max_size=200)),
)
def test_round_trip(header, sections):
    data = modelfile.dumps(header, sections)
    model = modelfile.read(data)
    assert model.header == header
    assert {name: bytes(values) for name, values in model.contents().items()} == sections
    assert modelfile.dumps(model.header, model.contents()) == data


def test_layout_by_an_independent_reader():
    magic, version, length, checksum = struct.unpack_from("<8sIIQ", SMALL)
    text = SMALL[24 : 24 + length]
    assert (magic, version, checksum) == (b"\x89crfkit\n", 1, xxhash.xxh3_64_intdigest(text))
    start = (24 + length + 63) // 64 * 64
    rows = json.loads(text)["sections"]
    for entry in rows:
        body = SMALL[start + entry["offset"] :][: entry["length"]]
        assert entry["offset"] % 64 == 0
        assert body == memoryview(SECTIONS[entry["name"]]).tobytes()
        assert entry["checksum"] == xxhash.xxh3_64_hexdigest(body)
    assert start + rows[-1]["offset"] + rows[-1]["length"] == len(SMALL)


def test_same_bytes_whatever_the_order_of_header_keys():
    backwards = dict(reversed(HEADER.items()))
    assert list(backwards) != list(HEADER)
    assert modelfile.dumps(backwards, SECTIONS) == SMALL


def test_sections_are_aligned_wherever_the_bytes_came_from(tmp_path):
    path = tmp_path / "model"
    modelfile.write(path, HEADER, SECTIONS)
    for source in as_paths_and_bytes(path):
        model = modelfile.read(source)
        for name, entry in model.sections.items():
            if entry.length:
                assert numpy.asarray(model.contents()[name]).ctypes.data % 64 == 0


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs a list of mappings")
def test_a_path_is_mapped_and_unmapped(tmp_path):
    model = tmp_path / "model"
    modelfile.write(model, {}, {"w": b"old"})

    def is_mapped():
        return str(model) in Path("/proc/self/maps").read_text()

    opened = modelfile.read(model)
    assert is_mapped()
    view = opened.contents()["w"]
    del opened
    assert is_mapped()
    del view
    assert not is_mapped()


@pytest.mark.parametrize("begin", [0, 3, 5, 6])
def test_an_open_file_is_read_from_where_it_stands(tmp_path, begin):
    (tmp_path / "model").write_bytes(b"model")
    for buffering in (0, -1):
        with open(tmp_path / "model", "rb", buffering) as file:
            file.seek(begin)
            assert held(file).data == b"model"[begin:] and not file.read()


def test_a_buffer_changed_after_the_checks_changes_nothing():
    data = bytearray(SMALL)
    model = modelfile.read(data)
    before = contents(model)
    data[:] = bytes(len(data))
    assert contents(model) == before


def test_sections_outlive_the_model_without_warnings(tmp_path):
    modelfile.write(tmp_path / "model", HEADER, SECTIONS)
    ids = modelfile.read(tmp_path / "model").contents()["ids"]
    gc.collect()  # a ResourceWarning would be an error here
    assert ids[0] == -20


def test_asking_for_numbers_says_what_is_wrong():
    sections = modelfile.read(SMALL).contents()
    for name, dtype, message in [
        ("weights", "float32", "section 'weights' is missing"),
        ("text", "int64", "section 'text' is not of type int64"),
    ]:
        with pytest.raises(ModelFileError, match=message):
            modelfile.numbers(sections, name, dtype)


@pytest.mark.parametrize(
    "buffer", [memoryview(b"abcdef")[::2], memoryview(b"abcd").cast("c"), memoryview(b"\1\0").cast("?"), memoryview(b"\1").cast("B", [])]
)
def test_writer_refuses_what_the_format_cannot_hold(buffer):
    with pytest.raises(TypeError, match="section 'x': not a contiguous array of one of int8"):
        modelfile.dumps({}, {"x": buffer})


def test_writer_refuses_what_the_reader_would_refuse():
    deep = []
    for _ in range(canonical.MAX_DEPTH):
        deep = [deep]
    for header, message in [
        ({"x": float("nan")}, "JSON"),
        ({"x": "x" * modelfile.MAX_HEADER}, "more than the 16777216 of the format"),
        ({"x": deep}, "could not be read again: .* nested deeper"),
        ({"x": 10**20}, "could not be read again: .* an integer of 21 digits"),
        ({1: 0, "1": 0}, "could not be read again: .* not canonical|not supported"),
        ({"x": "\ud800"}, "surrogates not allowed"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            modelfile.dumps(header, {})
    for name in ("", "n" * 256):
        with pytest.raises(ValueError, match="its name is not a string of 1 to 255 characters"):
            modelfile.dumps({}, {name: b"x"})


# Documentation


def hex_dump(data):
    """Lines as `hexdump -C` prints them, without the double blank in the middle."""
    for offset in range(0, len(data), 16):
        line = data[offset : offset + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)
        yield f"{offset:04x}  {line.hex(' '):47}  {text}"


def test_the_documented_example_is_what_the_documented_call_gives():
    document = Path(__file__).parents[1] / "docs" / "model-format.md"
    text = document.read_text(encoding="utf-8")
    found: dict = {}
    exec(re.search(r"```python\n((?:(?!```).)*modelfile\.dumps.*?)\n```", text, re.DOTALL)[1], found)
    dump = re.search(r"<!-- example -->\n```\n(.*?)```\n", text, re.S)[1]
    assert dump.splitlines() == list(hex_dump(found["data"]))
