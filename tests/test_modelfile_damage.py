"""The section container, damaged or of another kind: never accepted."""

import bz2
import copy
import json
import lzma
import os
import struct

import pytest
from containers import SMALL, container, contents, row, with_table
from hypothesis import given
from hypothesis import strategies as st

from crfkit import modelfile
from crfkit.errors import FileError, ModelFileError

# Damage


@pytest.mark.parametrize("verify", [True, False])
def test_truncated_at_every_byte(verify):
    for length in range(len(SMALL)):
        with pytest.raises(ModelFileError):
            modelfile.read(SMALL[:length], verify)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("tail", [b"\0", b"x", bytes(64), SMALL])
def test_bytes_after_the_end(tail, verify):
    with pytest.raises(ModelFileError, match=f"damaged: {len(tail)} bytes follow the last section"):
        modelfile.read(SMALL + tail, verify)


@pytest.mark.parametrize("bits", [1, pytest.param(8, marks=pytest.mark.long)])
def test_flipped_bits(bits):
    """With checksums no flip passes; without, only those that change the elements of a section. In each byte one bit, or all."""
    model = modelfile.read(SMALL)
    start = len(SMALL) - max(entry.offset + entry.length for entry in model.sections.values())
    unchecked = {start + entry.offset + index for entry in model.sections.values() for index in range(entry.length)}
    for position in range(len(SMALL)):
        for bit in range(position % 8, position % 8 + bits):
            data = bytearray(SMALL)
            data[position] ^= 1 << bit % 8
            with pytest.raises(ModelFileError):
                modelfile.read(data)
            if position in unchecked:
                modelfile.read(data, verify=False)
            else:
                with pytest.raises(ModelFileError):
                    modelfile.read(data, verify=False)


def test_swapped_sections_are_noticed():
    data = bytearray(modelfile.dumps({}, {"a": bytes(64), "b": b"1" * 64}))
    data[-128:] = data[-64:] + data[-128:-64]
    with pytest.raises(ModelFileError, match="the checksum of section 'a' does not match"):
        modelfile.read(data)


HUGE = 2**63
TABLE_FAULTS = {
    "not an object": ([7], "section 0: not an object of name"),
    "field missing": ([{"name": "a"}], "section 0: not an object of name"),
    "field too many": ([row(colour="red")], "section 0: not an object of name"),
    "name a number": ([row(name=1)], "section 0: its name is not a string"),
    "name empty": ([row(name="")], "section 0: its name is not a string of 1 to 255"),
    "name too long": ([row(name="n" * 256)], "section 0: its name is not a string of 1 to 255"),
    "name twice": ([row(payload=b""), row()], "section 1 ('a'): a second section of this name"),
    "dtype unknown": ([row(dtype="object")], "section 0 ('a'): its type is not one of int8"),
    "dtype a list": ([row(dtype=[])], "section 0 ('a'): its type is not one of int8"),
    "shape a number": ([row(shape=4)], "its shape is not a list of 1 to 8 sizes"),
    "shape empty": ([row(shape=[])], "its shape is not a list of 1 to 8 sizes"),
    "shape too long": ([row(shape=[1] * 8 + [4])], "its shape is not a list of 1 to 8 sizes"),
    "shape negative": ([row(shape=[-2, -2])], "its shape is not a list of 1 to 8 sizes"),
    "shape true": ([row(shape=[4, True])], "its shape is not a list of 1 to 8 sizes"),
    "shape fractional": ([row(shape=[4.0])], "its shape is not a list of 1 to 8 sizes"),
    "shape huge": ([row(shape=[HUGE])], "its shape is not a list of 1 to 8 sizes"),
    "shape wraps round": ([row(shape=[2**30, 2**30, 16])], "its shape does not agree with its length of 4"),
    "shape too small": ([row(shape=[3])], "its shape does not agree with its length of 4"),
    "type too wide": ([row(dtype="int64")], "its shape does not agree with its length of 4"),
    "offset a string": ([row(offset="0")], "its offset or length is not a size"),
    "offset negative": ([row(offset=-64)], "its offset or length is not a size"),
    "offset huge": ([row(offset=HUGE)], "its offset or length is not a size"),
    "offset null": ([row(offset=None)], "its offset or length is not a size"),
    "length negative": ([row(length=-1)], "its offset or length is not a size"),
    "length wraps round": ([row(length=HUGE * 2)], "its offset or length is not a size"),
    "checksum a number": ([row(checksum=1)], "its checksum is not 16 hexadecimal digits"),
    "checksum short": ([row(checksum="0" * 15)], "its checksum is not 16 hexadecimal digits"),
    "checksum not hex": ([row(checksum="G" * 16)], "its checksum is not 16 hexadecimal digits"),
    "checksum wrong": ([row(checksum="0" * 16)], "the checksum of section 'a' does not match"),
    "unaligned": ([row(offset=1)], "it starts at 1, expected the first multiple of 64 after the section before, which ends at 0"),
    "overlap": ([row(), row(name="b")], "it starts at 0, expected the first multiple of 64 after the section before, which ends at 4"),
    "descending": ([row(payload=b"", offset=0), row(name="b"), row(name="c")], "section 2 ('c'): it starts at 0"),
    "gap": ([row(offset=64)], "it starts at 64, expected the first multiple of 64 after the section before, which ends at 0"),
    "past the end": ([row(payload=b"abcde")], "truncated: it ends at 5, the data at 4"),
    "far past the end": ([row(shape=[2**30], length=2**30)], "truncated: it ends at 1073741824"),
    "starts past the end": ([row(), row(name="b", offset=64)], "truncated: it ends at 68, the data at 4"),
    "uncovered": ([row(payload=b"abc")], "1 bytes follow the last section"),
    "nothing covered": ([], "4 bytes follow the last section"),
}


def damaged(data, message, verify=True):
    """The file is refused by one line that says so."""
    with pytest.raises(ModelFileError) as caught:
        modelfile.read(data, verify)
    assert str(caught.value).startswith("model in memory: damaged: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("rows", "message"), TABLE_FAULTS.values(), ids=TABLE_FAULTS.keys())
def test_each_fault_of_the_table_has_its_message(rows, message):
    damaged(with_table(*rows), message)


def test_the_table_that_those_faults_vary_is_right():
    assert contents(modelfile.read(with_table(row()))) == {"a": ("uint8", (4,), list(b"abcd"))}


def test_padding_has_to_be_zero():
    between = with_table(row(), row("b", b"x", 64), payload=b"abcd" + bytes(59) + b"\1x")
    with pytest.raises(ModelFileError, match="the padding of what precedes section 'b' is not zero"):
        modelfile.read(between)
    after_header = bytearray(with_table(row()))
    after_header[-5] = 1
    with pytest.raises(ModelFileError, match="the padding of the header is not zero"):
        modelfile.read(after_header)


DEEP = b'{"metadata":{"x":' + b"[" * 40 + b"]" * 40 + b'},"sections":[]}'
HEADER_FAULTS = {
    "no header": (b"", "not valid JSON"),
    "not utf-8": (b'{"metadata":{"x":"\xff"},"sections":[]}', "not valid JSON"),
    "half a document": (b'{"metadata":{', "not valid JSON"),
    "two documents": (b'{"metadata":{},"sections":[]}{}', "not valid JSON"),
    "nan": (b'{"metadata":{"x":NaN},"sections":[]}', "NaN is not a JSON number"),
    "infinity": (b'{"metadata":{"x":-Infinity},"sections":[]}', "-Infinity is not a JSON number"),
    "overflow": (b'{"metadata":{"x":1e999},"sections":[]}', "not valid JSON"),
    "long integer": (b'{"metadata":{"x":' + b"9" * 10**6 + b'},"sections":[]}', "an integer of 1000000 digits"),
    "half a character": (b'{"metadata":{"x":"\\ud800"},"sections":[]}', "not valid JSON"),
    "key twice": (b'{"metadata":{"x":1,"x":2},"sections":[]}', "not canonical JSON"),
    "table twice": (b'{"metadata":{},"sections":[7],"sections":[]}', "not canonical JSON"),
    "unsorted": (b'{"sections":[],"metadata":{}}', "not canonical JSON"),
    "blanks": (b'{"metadata":{}, "sections":[]}', "not canonical JSON"),
    "zeros at the end": (b'{"metadata":{},"sections":[]}\0\0', "not valid JSON"),
    "deep": (DEEP, "nested deeper than 32 levels"),
    "very deep": (b"[" * 10**6, "nested deeper than 32 levels"),
    "a list": (b"[]", "not an object of metadata and sections"),
    "a number": (b"7", "not an object of metadata and sections"),
    "key missing": (b'{"metadata":{}}', "not an object of metadata and sections"),
    "key too many": (b'{"metadata":{},"more":1,"sections":[]}', "not an object of metadata and sections"),
    "metadata a list": (b'{"metadata":[],"sections":[]}', "the metadata are not an object"),
    "table an object": (b'{"metadata":{},"sections":{}}', "the section table is not a list"),
}


@pytest.mark.parametrize(("text", "message"), HEADER_FAULTS.values(), ids=HEADER_FAULTS.keys())
def test_each_fault_of_the_header_has_its_message(text, message):
    damaged(container(text), message, verify=False)


def test_header_length_is_bounded():
    for length in (len(SMALL), 2**24, 2**24 + 1, 2**32 - 1):
        data = bytearray(SMALL)
        struct.pack_into("<I", data, 12, length)
        with pytest.raises(ModelFileError, match=r"truncated|expected at most"):
            modelfile.read(data)


def test_newer_and_impossible_versions():
    with pytest.raises(ModelFileError, match="format version 2, this crfkit reads up to version 1; upgrade crfkit"):
        modelfile.read(container(b"whatever a newer version keeps here", version=2))
    with pytest.raises(ModelFileError, match="there is no format version 0"):
        modelfile.read(container(b"", version=0))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from([0, 4, 64, 128, -1, 2**31, 2**32, 2**63, 2**64, "uint8", "float64", "a"]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_random_tables_under_right_checksums(data):
    """A mutated table is refused, or still describes sections inside the file."""
    payload = b"abcd" + bytes(60) + b"0123456789abcdef"
    table = [row(), row("b", payload[64:], 64, dtype="int32", shape=[2, 2])]
    document = {"metadata": {}, "sections": table}
    for _ in range(data.draw(st.integers(1, 3))):
        target = data.draw(st.sampled_from(table))
        field = data.draw(st.sampled_from(sorted(target)))
        target[field] = data.draw(json_values)
    if data.draw(st.booleans()):
        table.insert(data.draw(st.integers(0, 2)), copy.deepcopy(data.draw(st.sampled_from(table))))
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    blob = container(text.encode("utf-8", "surrogatepass"), payload)
    try:
        model = modelfile.read(blob, verify=data.draw(st.booleans()))
    except ModelFileError as error:
        assert "\n" not in str(error)
        return
    for name, entry in model.sections.items():
        assert len(model.contents()[name]) * modelfile.DTYPES[entry.dtype][1] == entry.length


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data):
    for blob in (data, modelfile.MAGIC + data, container(data), SMALL[:64] + data):
        with pytest.raises(ModelFileError):
            modelfile.read(blob)


# Other files


@pytest.mark.parametrize(("data", "message"), [
    (b"", "is empty"),
    (b"\x89crf", "damaged: truncated to 4 bytes"),
    (b"# crfkit\n\nSequence labelling", "a text file; the model is what crfkit learn writes"),
    (b"crfkit tag", "a text file"),
    (b"\x89crfkit\r\n\1\0\0\0", "transferred as text"),
    (b"\x09crfkit\n\1\0\0\0", "transferred as text"),
    ("\x89crfkit\n\1\0\0\0".encode(), "transferred as text"),
    (b"lCRF" + bytes(40), "a CRFsuite model"),
    (b"#mdl#2#107356\n", "a Wapiti model"),
    (struct.pack("<IidIII", 100, 0, 1.0, 20, 3, 8), "a CRF++ binary model"),
    (b"\x1f\x8b\x08\0", "compressed with gzip; gunzip it first"),
    (bz2.compress(b""), "compressed with bzip2; bunzip2 it first"),
    (bz2.compress(b"text"), "compressed with bzip2; bunzip2 it first"),
    (b"BZh a word\n", "a text file"),
    (lzma.compress(b""), "compressed with xz; unxz it first"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    (b"\0\0\0d\0\0\0\0", "a CRF++ binary model of a machine with another byte order"),
    (b"U00:%x[0,0]\n", "a text file"),
    ("das Größte ä".encode()[:-1], "a text file"),
    (b"a" * 1021 + "𝄞".encode(), "a text file"),
    (b"\xff\xfe\0\1\2\3", "not a crfkit model"),
])
def test_foreign_files_are_recognised(tmp_path, data, message):
    path = tmp_path / "thing"
    path.write_bytes(data)
    for source, name in [(path, str(path)), (data, "model in memory")]:
        with pytest.raises(ModelFileError) as caught:
            modelfile.read(source)
        assert str(caught.value).startswith(f"{name}: ")
        assert message in str(caught.value)


def test_paths_that_cannot_be_read(tmp_path):
    for path, message in [
        (tmp_path, "is a folder, not a file"),
        (tmp_path / "absent", "cannot be read: No such file or directory"),
        (f"{tmp_path}/nul\0byte", "not a file name"),
    ]:
        with pytest.raises(FileError, match=message):
            modelfile.read(path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no endless device")
def test_an_endless_file_is_refused():
    with pytest.raises(ModelFileError, match="not a crfkit model"):
        modelfile.read("/dev/zero")
