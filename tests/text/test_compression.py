"""Compressed data, and other formats than text, are known by their first bytes."""

import bz2
import gzip
import io
import lzma
import sys
from functools import cache

import pytest
from inputs import SENTENCES, TEXT, OneByOne, fault, read

from crfkit.errors import FileError, TemplateError
from crfkit.modelfile import MAGIC
from crfkit.template.parsing import Template


def deflated(data):
    return gzip.compress(data, mtime=0)  # the same in every process


COMPRESSIONS = {"gzip": deflated, "bzip2": bz2.compress, "xz": cache(lzma.compress)}  # which takes milliseconds
COMPRESSED = pytest.mark.parametrize(("name", "compress"), COMPRESSIONS.items(), ids=list(COMPRESSIONS))


@COMPRESSED
def test_compressed_data_are_known_by_their_first_bytes(tmp_path, monkeypatch, name, compress):
    packed = compress(TEXT)
    (tmp_path / "anything").write_bytes(packed)
    assert read(tmp_path / "anything") == SENTENCES
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert read("-") == SENTENCES
    two = compress(TEXT[:30]) + compress(b"") + compress(TEXT[30:]) + b"\0" * 100
    for size in (1, 7, 1000):
        assert read(OneByOne(two, size), block_size=size) == SENTENCES
    assert read(OneByOne(compress(b"") + packed, 1)) == SENTENCES
    assert len(read(io.BytesIO(compress(b"a b\n\n" * 100_000)), block_size=1 << 12)) == 100_000


@COMPRESSED
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_damaged_compressed_files(size, name, compress):
    packed = compress(TEXT * 50)
    for end in range(10 if name == "bzip2" else 6, len(packed) - 1, 7):
        assert f"the {name} file ends too early" in fault(OneByOne(packed[:end], size))
    damaged = bytearray(packed)
    damaged[-10 if name == "bzip2" else -8] ^= 0x55  # in a checksum
    assert f"damaged {name} file" in fault(OneByOne(bytes(damaged), size))
    assert f"damaged {name} file" in fault(OneByOne(packed + b"rubbish rubbish", size))


def test_damaged_files_that_a_program_opened():
    for compress, opened in (gzip.compress, gzip.open), (bz2.compress, bz2.open), (lzma.compress, lzma.open):
        packed = compress(TEXT)
        changed = bytearray(packed)
        changed[len(packed) // 2] ^= 0x55
        for damaged in bytes(changed), packed[:-9]:
            with opened(io.BytesIO(damaged)) as file, pytest.raises(FileError, match="cannot be read: "):
                read(file)


@pytest.mark.parametrize(("name", "module"), [("bzip2", "bz2"), ("xz", "lzma")])
def test_pythons_that_lack_a_compression(monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)  # an import of it raises ImportError
    assert fault(io.BytesIO(COMPRESSIONS[name](TEXT))) == f"<stream>: this Python was built without {name}: decompress the file first"


FORMS = {
    "the text is in UTF-16": [TEXT.decode().encode("utf-16"), ("\ufeff" + TEXT.decode()).encode("utf-16-be")],
    "the text is in UTF-16LE": [TEXT.decode().encode("utf-16-le")],
    "the text is in UTF-16BE": [TEXT.decode().encode("utf-16-be")],
    "the text is in UTF-32": [("\ufeff" + TEXT.decode()).encode(encoding) for encoding in ("utf-32-le", "utf-32-be")],
    "the data are compressed by zstd": [b"\x28\xb5\x2f\xfd" + TEXT],
    "the data are a zip archive, as .xlsx files are": [b"PK\3\4" + TEXT],
    "the data are a model or a checkpoint of crfkit": [MAGIC + TEXT],
    "the data are compressed twice": [outer(inner(TEXT)) for outer in COMPRESSIONS.values() for inner in COMPRESSIONS.values()],
}


@pytest.mark.parametrize(("what", "data"), [(what, data) for what, some in FORMS.items() for data in some])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_a_format_is_known_however_its_bytes_arrive(what, data, size):
    for given_as in (data, *([compress(data) for compress in COMPRESSIONS.values()] if "twice" not in what else [])):
        assert fault(OneByOne(given_as, size), block_size=size).startswith(f"<stream>:1: {what}: expected UTF-8")


COMPRESSED_TEMPLATES = [(f"the data are compressed by {name}", compress(text)) for name, compress in COMPRESSIONS.items() for text in (b"U:%x[0,0]\nB\n", TEXT)]


@pytest.mark.parametrize(("what", "data"), [*COMPRESSED_TEMPLATES, *((what, data) for what, some in FORMS.items() if "twice" not in what for data in some)])
def test_templates_are_plain_text(tmp_path, what, data):
    """Or training data in its place."""
    (tmp_path / "t").write_bytes(data)
    cure = "convert the template to UTF-8" if "UTF" in what else "expected a template, plain text given before the training data"
    with pytest.raises(TemplateError, match=rf"/t:1: {what}: {cure}$"):
        Template.load(str(tmp_path / "t"))
