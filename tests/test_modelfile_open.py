"""Models that are written into open files and read from them, and what no file can hold."""

import errno
import io
import mmap
import os
import pickle
import re
import sys
import tempfile

import models
import pytest
from commands import python
from liars import Sips

import crfkit
from crfkit import modelfile
from crfkit.errors import DataError, FileError, ModelFileError, OptionError, UnsupportedError
from crfkit.foreign import model_bytes
from crfkit.foreign.parts import parts_of


@pytest.fixture(scope="module")
def trained():
    return crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]", max_iter=2)


def test_into_and_from_open_files(trained, tmp_path):
    held = io.BytesIO()
    assert trained.save(held) == len(trained.to_bytes())
    assert held.getvalue() == trained.to_bytes()
    trained.save(os.fsencode(tmp_path / "m"))
    assert (tmp_path / "m").read_bytes() == trained.to_bytes()
    held.seek(0)
    assert crfkit.load(held).model.to_bytes() == trained.to_bytes()
    with open(tmp_path / "m", "rb") as file:
        assert crfkit.load(file).model.name == str(tmp_path / "m")
    with pytest.raises(FileError, match=r"^<stream>: the file is open as text: open it in binary mode"):
        trained.save(io.StringIO())
    with pytest.raises(FileError, match="open as text: open it in binary mode"):
        crfkit.load(io.StringIO("x"))
    with open(tmp_path / "m", encoding="utf-8") as file, pytest.raises(FileError, match="m: the file is open as text: open it in binary mode"):
        crfkit.load(file)
    with open(tmp_path / "m", "rb") as file, pytest.raises(FileError, match="m: cannot be written: the file is open for something else"):
        trained.save(file)
    with open(tmp_path / "other", "wb") as file, pytest.raises(FileError, match="other: cannot be read: the file is open for something else"):
        crfkit.load(file)
    held.close()
    with pytest.raises(FileError, match="closed file"):
        trained.save(held)
    with pytest.raises(FileError, match=r"^model in memory: cannot be read: .*closed file"):
        crfkit.load(held)
    for path in (None, 3, ["m"]):
        with pytest.raises(OptionError, match="expected a path or an open file"):
            trained.save(path)


def test_files_without_a_name(trained, tmp_path):
    """A temporary file has the name None, one that is opened by its number has the number, one that is opened by a Path the Path."""
    with tempfile.SpooledTemporaryFile() as file, pytest.raises(ModelFileError, match=r"^model in memory: is empty"):
        crfkit.load(file)
    with tempfile.SpooledTemporaryFile() as file, pytest.raises(DataError, match=r"^<stream>:2: found 1 column, expected 2 as in <stream>:1"):
        file.write(b"a A\nb\n")
        file.seek(0)
        crfkit.learn(file, "U:%x[0,0]")
    (tmp_path / "short").write_bytes(b"a A\nb\n")
    with open(tmp_path / "short", "rb") as file, pytest.raises(DataError, match=r"short:2: found 1 column"):
        crfkit.learn(file, "U:%x[0,0]")
    with open(os.open(tmp_path / "short", os.O_RDONLY), "rb") as file, pytest.raises(FileError, match=r"^<stream>: cannot be written"):
        trained.save(file)


class InBytes:
    """A path-like object whose path is bytes."""

    def __init__(self, name):
        self.name = name

    def __fspath__(self):
        return self.name


def test_paths_in_bytes(trained, tmp_path):
    trained.save(tmp_path / "m")
    assert crfkit.load(InBytes(os.fsencode(tmp_path / "m"))).model.name == str(tmp_path / "m")
    for name in (b"nowhere", b"\xff"):
        with pytest.raises(FileError, match="cannot be read"):
            crfkit.load(InBytes(name))


def test_dumps_into_files_that_are_not_for_writing(trained, tmp_path):
    (tmp_path / "m").write_text("")
    for mode in ("r", "rb"):
        with open(tmp_path / "m", mode) as file, pytest.raises(FileError, match="m: cannot be written: the file is open for something else"):
            trained.dump(file)
    with open(tmp_path / "m", "w") as file:
        pass
    with pytest.raises(FileError, match="closed file"):
        trained.dump(file)


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_names_that_no_file_can_have(trained, name):
    for write in (trained.save, trained.dump):
        with pytest.raises(FileError, match=f"^{re.escape(repr(name))}: not a file name$"):
            write(name)
    for option in ("checkpoint", "log"):
        with pytest.raises(FileError, match="not a file name"):
            crfkit.learn([[["a", "X"], ["b", "Y"]]], template="U:%x[0,0]", max_iter=2, **{option: name})


def test_what_no_model_has_room_for_is_refused_before_training():
    passes = []
    rows = [[["a", "X"], ["b", "Y" * (modelfile.MAX_HEADER - modelfile.MAX_TABLE)]]]
    with pytest.raises(UnsupportedError, match=r"^a model has room for 16,711,680 bytes of labels, .* is another column the label"):
        crfkit.learn(rows, template="U:%x[0,0]", max_iter=2, progress=passes.append)
    assert not passes


@pytest.mark.filterwarnings("ignore:values of the features are far from 0")
def test_what_is_reserved_for_the_table_of_sections_is_enough():
    """Of models of any kind, and of those that are told of many options."""
    for kind in ("chunking", "reals"):
        for trainer in ("lbfgs", "lookahead"):
            saved = modelfile.read(models.model(kind, trainer).to_bytes())
            table = [section._asdict() for section in saved.sections.values()]
            assert len(modelfile.canonical.dumps(table)) < modelfile.MAX_TABLE / 8


def crfsuite_model():
    trained = crfkit.learn([[(["a"], "X"), (["b"], "Y")]], format="crfsuite", max_iter=2)
    return model_bytes(parts_of(trained), "crfsuite")


class Plain:
    def __init__(self):
        self.held = b""

    def write(self, data):
        if isinstance(data, str):
            raise TypeError("bytes")
        self.held += data


class Counts(Plain):
    """It tells another number of bytes than it takes."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def write(self, data):
        super().write(data)
        return self.number


class Texts:
    def __init__(self):
        self.held = []

    def write(self, text):
        self.held.append("" + text)


def test_files_that_take_a_part_of_what_is_written(trained):
    wanted = {trained.save: trained.to_bytes(), trained.dump: trained.dump().encode()}
    for write, expected in wanted.items():
        for file in (Sips(7), Plain()):
            write(file)
            assert file.held == expected
        with pytest.raises(FileError, match="cannot be written: takes no bytes yet: open it in blocking mode"):
            write(Sips(7, len(expected) // 2))
        for number in (0, -1):
            with pytest.raises(FileError, match="cannot be written: takes no more bytes"):
                write(Counts(number))


def test_an_object_with_write_alone_takes_text(trained):
    file = Texts()
    trained.dump(file)
    assert "".join(file.held) == trained.dump()


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_a_disk_that_is_full_at_the_last_bytes(trained, tmp_path):
    """The system writes as many bytes as fit and returns their number, without an error."""
    trained.save(tmp_path / "m")
    program = """
import crfkit, resource, sys
sys.dont_write_bytecode = True
model = crfkit.load("m").model
size = len(model.to_bytes()) - 1
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
with open("other", "wb", buffering=0) as file:
    model.save(file)
"""
    said = python(program, code=1).stderr
    assert "FileError" in said and "cannot be written: File too large" in said


def test_a_model_saved_into_its_own_file_that_was_just_emptied(trained, tmp_path):
    """The mapped bytes are gone then. Reading them would kill the process. What is appended to a file does no harm."""
    trained.save(tmp_path / "m")
    program = """
import crfkit
model = crfkit.load("m").model
with open("m", "ab") as file:
    file.write(b"more")
model.save("m")
print("saved")
model = crfkit.load("m").model
with open("m", "wb") as file:
    model.save(file)
"""
    done = python(program, code=1)
    assert done.stdout == "saved\n" and "FileError: the file of the model was truncated while it was in use" in done.stderr


def test_models_of_other_programs_come_from_open_files_too(tmp_path):
    (tmp_path / "m").write_bytes(crfsuite_model())
    with open(tmp_path / "m", "rb") as file:
        tagger = crfkit.load(file)
    assert tagger.tag([["a"], ["b"]]) == ["X", "Y"] and tagger.model.name == str(tmp_path / "m")
    assert crfkit.load(io.BytesIO(crfsuite_model())).tag([["b"], ["a"]]) == ["Y", "X"]


def test_a_map_of_a_file_is_bytes(trained, tmp_path):
    data = trained.to_bytes()
    for content in (data, crfsuite_model()):
        (tmp_path / "m").write_bytes(content)
        with open(tmp_path / "m", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            for _ in range(2):
                assert crfkit.load(mapped).labels == ["X", "Y"] and mapped.tell() == 0
    released = memoryview(data)
    released.release()
    for gone in (mapped, released):
        with pytest.raises(FileError, match=r"^model in memory: cannot be read: .*(closed|released)"):
            crfkit.load(gone)


@pytest.mark.parametrize(("template", "changes", "message"), [
    ("U:%x[0,0]\nB\n", {"labels": ["X", "X"]}, "labels are not different names"),
    ("U:%x[0,0]\nB\n", {"column_names": ["w", "w"]}, "names of columns are not different names"),
    ("U:const\nB\n", {"column_names": [], "columns": 0}, "names of columns are not different names"),
    ("U:%x[0,0]\nB\n", {"labels": ["X", "Y\t"]}, "a label in the header is empty, or contains a tab"),
    ("U:%x[0,0]\nB\n", {"attributes": 3}, "the header and the layout have different numbers of attributes"),
    ("U:%x[0,0]\nB\n", {"format": "csv"}, "names an unknown format, 'csv'"),
    ("U:%x[0,0]\nB\n", {"label_column": 2}, "a column of labels that does not exist"),
    ("U:%x[0,0]\nU:%x[0,1]\n", {"column_names": ["w"]}, "uses a column without a name"),
    ("U:%x[0,0]\nU:%x[0,1]\n", {"column_names": ["w"], "dialect": "crf++"}, "uses a column without a name"),
    ("U:%x[0,0]\nB\n", {"template": "U:%y[-1]/%x[0,0]\n"}, "has features of earlier labels, which perceptron cannot use"),
    ("U:%x[0,0]\nB\n", {"dialect": "crf+++"}, "the template in the header cannot be read: .*unknown language"),
])
def test_headers_that_no_model_has(template, changes, message):
    model = crfkit.learn([[["a", "b", "X"], ["c", "d", "Y"]]], template, "perceptron", passes=1)
    with pytest.raises(ModelFileError, match=message):
        crfkit.load(modelfile.dumps({**model.header, **changes}, model.sections))


def test_parts_of_two_models_are_none():
    """An index of more attributes would lead to weights that are not there."""
    one, two = (crfkit.learn([[[word, "X"], ["c", "Y"]] for word in words], "U:%x[0,0]\nB\n", max_iter=2) for words in ("ab", "abd"))
    index = {name for name in one.sections if name != "weights" and not name.startswith("layout.")}
    mixed = {name: (two if name in index else one).sections[name] for name in one.sections}
    for verify in (True, False):
        with pytest.raises(ModelFileError, match="the index and the layout have different numbers of attributes"):
            crfkit.load(modelfile.dumps(one.header, mixed), verify=verify)


@pytest.mark.parametrize(
    "use", [crfkit.load, crfkit.Template.load, lambda path: crfkit.learn(path, "U:%x[0,0]\n"), lambda path: crfkit.learn([[["a", "x"], ["b", "y"]]], path)]
)
def test_a_file_that_is_not_there_is_what_python_calls_it(use):
    with pytest.raises(FileNotFoundError, match=r"^missing: cannot ") as caught:
        use("missing")
    assert isinstance(caught.value, FileError) and caught.value.errno == errno.ENOENT
    with pytest.raises(FileError) as folder:
        use(".")
    assert not isinstance(folder.value, FileNotFoundError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (type(caught.value), str(caught.value))
