"""Blocks from every kind of input, and the ways in which other tools lose data."""

import _thread
import gzip
import io
import os
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import named_pipes
from hypothesis import given
from hypothesis import strategies as st
from inputs import SENTENCES, TEXT, OneByOne, fault, read

from crfkit.testing import tagged
from crfkit.text import opening, reading
from crfkit.text.opening import Stretch
from crfkit.text.reading import CONLLU, Source
from crfkit.text.rows import Rows


@pytest.fixture
def write(tmp_path):
    def write(name, data):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


# ------------------------------------------------------------------------------------------------ blocks

def test_blocks_of_every_size_hold_the_same_sentences_and_lines():
    rows = Rows()
    for size in range(1, len(TEXT) + 2):
        lines, sentences, data = [], [], b""
        for block in Source(io.BytesIO(TEXT), block_size=size):
            rows.parse(block)
            lines += [rows.line_of(t) for t in range(rows.n_tokens)]
            sentences += rows.sentences()
            data += block.data
        assert (sentences, data, lines) == (SENTENCES, TEXT, [1, 2, 4, 8, 10])


@given(st.lists(st.sampled_from([b"a b\n", b"c\td\n", b"\n", b"\r\n", b" \n", b"e f\r\n", b"# c\n", b"g h"])).map(b"".join),
       st.integers(1, 30))
def test_blocks_are_whole_sentences_and_together_the_file(data, size):
    blocks = list(Source(OneByOne(data, size), allow_empty=True))
    joined = b"".join(block.data for block in blocks)
    assert joined.startswith(data)
    assert joined[len(data) :] in (b"", b"\n", b"\r\n")
    line = 1
    for block in blocks:
        assert block.first_line == line
        line += block.data.count(b"\n")
    for block in blocks[:-1]:
        assert not block.data[:-1].rpartition(b"\n")[2].strip()


def test_a_missing_final_line_end_is_like_the_others():
    assert [block.data for block in Source(io.BytesIO(b"a\r\n\r\nb"))] == [b"a\r\n\r\n", b"b\r\n"]
    assert [block.data for block in Source(io.BytesIO(b"a\r\nb"))] == [b"a\r\nb\r\n"]
    assert [block.data for block in Source(io.BytesIO(b"a\n\nb"))] == [b"a\n\n", b"b\n"]
    assert [block.data for block in Source(io.BytesIO(b"b"))] == [b"b\n"]
    for start in (b"", b"a\r\n"):
        assert [block.data for block in Source(io.BytesIO(start + b"b\r"))] == [start + b"b\r\n"]


def test_a_sentence_may_be_larger_than_every_block():
    data = b"token tag label\n" * 330_000
    blocks = list(Source(io.BytesIO(data), block_size=1 << 16))
    assert [block.data for block in blocks] == [data]
    line = b"w" * 3_000_000
    assert read(OneByOne(line + b" X\n\na Y\n", 1000)) == [[[line, b"X"]], [[b"a", b"Y"]]]


@pytest.mark.steady
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("buffering", [-1, 0])
def test_a_pipe_gives_a_sentence_before_the_next_is_written(packed, blocking, buffering):
    """The writer waits until its sentence has been read: a reader that waits for more would never end. Nor may one take for the end that
    a pipe that does not block has nothing yet."""
    reading, writing = os.pipe()
    os.set_blocking(reading, blocking)
    taken = threading.Semaphore(0)
    late = []

    def feed():
        with open(writing, "wb", buffering=0) as raw:
            out = gzip.GzipFile(fileobj=raw, mode="wb") if packed else raw
            for k in range(3):
                out.write(b"w%d X\n\n" % k)
                if packed:
                    out.flush()
                if not taken.acquire(timeout=600):
                    late.append(k)
            if packed:
                out.close()

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        with open(reading, "rb", buffering=buffering) as file:
            blocks = []
            for block in Source(file):
                blocks.append(block.data)
                taken.release()
    finally:
        thread.join()
    assert (blocks, late) == ([b"w0 X\n\n", b"w1 X\n\n", b"w2 X\n\n"], [])


# ------------------------------------------------------------------------------------------------ inputs

def test_paths_streams_and_lists_of_them(write, monkeypatch):
    path = write("a.txt", TEXT)
    assert read(path) == read(str(path)) == read(io.BytesIO(TEXT)) == SENTENCES
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
    assert read([path, "-", io.BytesIO(TEXT)]) == 3 * SENTENCES
    with open(path, "rb") as file:
        assert read(file) == SENTENCES
        assert not file.closed


def test_paths_can_be_read_again(write):
    source = Source(write("a.txt", TEXT))
    assert list(source) == list(source)
    assert b"".join(block.data for block in source) == TEXT


def test_byte_order_marks():
    assert read(io.BytesIO(b"\xef\xbb\xbf" + TEXT)) == SENTENCES
    assert read(OneByOne(gzip.compress(b"\xef\xbb\xbf" + TEXT), 1)) == SENTENCES
    assert read([io.BytesIO(b"\xef\xbb\xbf" + TEXT)] * 1 + [io.BytesIO(b"\xef\xbb\xbf" + TEXT)]) == 2 * SENTENCES


@pytest.mark.parametrize("text", [b"a\n\n", b"P\n\n", b"PK\n\n", b"BZh9\n\n", b"(\n\n"])
def test_a_short_sentence_does_not_wait_for_the_next_one(text):
    """What looks like the beginning of another format waits only as long as it does."""
    left = list(text)
    stream = SimpleNamespace(read=lambda n: bytes([left.pop(0)]))  # fails when asked for more than there is
    assert next(iter(Source(stream, allow_empty=True))).data == text


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    assert fault(tmp_path / "none") == f"{tmp_path / 'none'}: cannot be read: No such file or directory"
    assert fault(str(tmp_path)).startswith(f"{tmp_path}: cannot be read: ")
    assert fault(io.StringIO("a b\n")) == "<stream>: the file is open as text: open it in binary mode"
    for buffering in (-1, 0):
        with open(os.devnull, "rb", buffering=buffering) as closed:
            pass
        assert re.fullmatch(f"{os.devnull}: cannot be read: .*closed file", fault(closed))
    for piece in ([b"a b\n"], 5, [], {}):
        assert fault(SimpleNamespace(read=lambda n, piece=piece: piece)) == f"<stream>: reading the file gave {type(piece).__name__}, expected bytes"
    assert fault(SimpleNamespace(read=lambda n: None)) == "<stream>: has no data yet: open it in blocking mode"
    monkeypatch.setattr(sys, "stdin", None)
    assert fault("-") == "standard input is closed"
    monkeypatch.setattr(sys, "stdin", io.StringIO("a b\n"))
    assert fault("-") == "standard input is a StringIO here, which cannot be read as bytes: give a path or an open file"


@pytest.mark.parametrize("data", [b"", b"\n \n\t\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0), b"# columns = a b\n"])
def test_inputs_without_tokens(data, write):
    path = write("empty", data)
    assert fault(path) == f"{path}: no tokens: expected one token per line and a blank line after each sentence"
    assert read(path, allow_empty=True) == []
    assert fault([io.BytesIO(TEXT), path]).startswith(f"{path}: no tokens")


# ------------------------------------------------------------------------------------------------ columns

def test_all_files_have_the_same_columns(write):
    first, second = write("first", b"\na b c\n"), write("second", b"a b c\n\nd e\n")
    assert fault([first, second]) == f"{second}:3: found 2 columns, expected 3 as in {first}:2"


def test_rows_of_all_blocks_have_the_same_columns():
    for size in range(1, 20):
        message = fault(OneByOne(b"\n\na b\n\nc d\n\ne f g\n", size))
        assert message == "<stream>:7: found 3 columns, expected 2 as in <stream>:3"


def names(inputs, form="columns"):
    return [(block.columns.names, block.columns.n_cols, block.skip, block.data) for block in Source(inputs, form)]


def test_a_header_names_the_columns_and_is_no_token(write):
    data = b"# columns = word pos chunk\r\nThe DT B\n"
    assert names(io.BytesIO(data)) == [(("word", "pos", "chunk"), 3, 28, data)]
    assert read(io.BytesIO(b"\xef\xbb\xbf" + data)) == [[[b"The", b"DT", b"B"]]]
    assert read(io.BytesIO(b"#columns=word pos\n\n\nThe DT B\n")) == [[[b"The", b"DT", b"B"]]]
    assert read(io.BytesIO(b"a b c d\n# columns = x\n")) == [[[b"a", b"b", b"c", b"d"], [b"#", b"columns", b"=", b"x"]]]


def test_the_header_of_the_first_file_stands_for_all():
    data = b"# columns = word pos\nThe DT\n"
    source = Source([io.BytesIO(data), io.BytesIO(data), io.BytesIO(b"cat NN\n")])
    assert [(block.first_line, block.data) for block in source] == [(1, data), (2, b"The DT\n"), (1, b"cat NN\n")]
    other = io.BytesIO(b"# columns = word tag\nThe DT\n")
    assert fault([io.BytesIO(data), other]).startswith("<stream>:1: the columns have other names than in <stream>: word pos")


def test_headers_that_do_not_fit():
    assert fault(io.BytesIO(b"# columns = a b c\n\nx y\n")) == "<stream>:3: found 2 columns, expected 3: a b c"
    assert "different names" in fault(io.BytesIO(b"# columns = a a\nx y\n"))
    assert "different names" in fault(io.BytesIO(b"# columns =\nx y\n"))
    found = fault(io.BytesIO(b"# global.columns = HEAD ID FORM\n1\t1\tx\n"), "conllu")
    assert found.endswith(":1: the first column is 'head', expected ID: it tells words from ranges and empty nodes")
    assert "different names" in fault(io.BytesIO(b"# global.columns = ID Form FORM\n1\tx\ty\n"), "conllu")
    assert "not UTF-8" in fault(io.BytesIO(b"# columns = \xe9\nx y\n"))


def test_a_header_is_written_back():
    rows = Rows()
    (block,) = Source(io.BytesIO(b"# columns = word pos\nThe DT\n"))
    rows.parse(block)
    assert tagged(rows, [b"B"]) == b"# columns = word pos\nThe DT B\n\n"


def test_conllu_columns_have_names():
    row = b"1\t" + b"\t".join([b"x"] * 9)
    ((columns, n_cols, _, _),) = names(io.BytesIO(b"# text = x\n" + row + b"\n"), "conllu")
    assert (columns, n_cols) == (CONLLU, 10)
    assert fault(io.BytesIO(b"# text = x\n1\tx\n"), "conllu").startswith("<stream>:2: found 2 columns, expected 10: id form")
    assert fault(io.BytesIO(b"word\n"), "conllu").startswith("<stream>:1: found 1 column, expected 10: id form")
    assert "tag" not in fault(io.BytesIO(b"1\tx\n"), "conllu")
    plus = b"# global.columns = ID FORM UPOS\n1\tx\tNOUN\n"
    assert names(io.BytesIO(plus), "conllu")[0][:2] == (("id", "form", "upos"), 3)
    assert read(io.BytesIO(plus), "conllu") == [[[b"1", b"x", b"NOUN"]]]


def test_crfsuite_lines_have_no_header_and_no_columns():
    assert read(io.BytesIO(b"@weight:2\nB-NP\tw=a\tb:2\nO\n"), "crfsuite") == [[[b"B-NP"], [b"O"]]]
    assert fault(io.BytesIO(b"@weight:2\n"), "crfsuite").startswith("<stream>:1: expected one @weight line")


# ------------------------------------------------------------------------ what other tools lose silently

@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_without_ends_does_not_take_all_memory(size, monkeypatch):
    """Input without a line end, or without a blank line, is read up to the limit and then refused."""
    for module in (opening, reading):
        monkeypatch.setattr(module, "LONGEST_LINE", 20)
    monkeypatch.setattr(reading, "LONGEST_SENTENCE", 50)

    def endless(begin, piece, packed=False):
        file = SimpleNamespace(given=0)
        content = io.BytesIO(gzip.compress(begin + 1000 * piece)) if packed else None

        def give(n):
            taken = content.read(n) if packed else (begin + 1000 * piece)[file.given : file.given + min(n, size)]
            file.given += len(taken)
            assert packed or file.given < len(begin) + 100 + size, "read on"
            return taken

        file.read = give
        return file

    for piece in (b"x", b" ", b"\0", b"\r"):
        for packed in (False, True):
            file = endless(b"a A\n\nb B\nc C\n", piece, packed)
            assert fault(file, block_size=size) == "<stream>:5: more than 20 bytes without a line end: expected one token a line"
    file = endless(b"a A\n\n", b"x X\n")
    assert fault(file, block_size=size) == "<stream>:3: a sentence of more than 50 bytes: expected a blank line after each sentence"
    assert len(read(OneByOne(20 * (b"x" * 17 + b" X\n\n"), size), block_size=size)) == 20


def test_a_part_without_line_ends(write, monkeypatch):
    """A worker that searches the start of its part gives up at a line that is too long."""
    monkeypatch.setattr(opening, "LONGEST_LINE", 20)
    path = os.fspath(write("a.txt", b"a A\n" + b"x" * (1 << 17)))
    assert fault(Stretch(path, 2)) == f"{path}: more than 20 bytes without a line end: expected one token a line"


def test_sentences_with_crlf_are_all_there_and_written_with_crlf():
    data = b"a A\r\nb B\r\n\r\nc C\r\n\r\n"
    assert read(io.BytesIO(data)) == [[[b"a", b"A"], [b"b", b"B"]], [[b"c", b"C"]]]
    rows, written = Rows(), b""
    for block in Source(OneByOne(data, 5)):
        rows.parse(block)
        written += tagged(rows, [b"X"] * rows.n_tokens)
    assert written == data.replace(b"\r\n", b" X\r\n").replace(b"\r\n X\r\n", b"\r\n\r\n")


def test_a_leading_blank_or_tab_loses_no_token():
    assert read(io.BytesIO(b"a A\n leading NNP\n\n b B\n")) == [[[b"a", b"A"], [b"leading", b"NNP"]], [[b"b", b"B"]]]
    assert read(io.BytesIO(b"a\tA\n\tNNP\n")) == [[[b"a", b"A"], [b"", b"NNP"]]]


@pytest.mark.corpora
def test_corpora_have_their_known_sizes():
    folder = Path(os.environ["CRFKIT_CORPORA"])
    rows = Rows(label=-1)
    counts = [0, 0]
    for block in Source(folder / "conll2000" / "train.txt"):
        rows.parse(block)
        counts = [counts[0] + len(rows), counts[1] + rows.n_tokens]
    assert counts == [8936, 211_727]


@named_pipes
@pytest.mark.parametrize("buffered", [False, True])
def test_a_signal_just_before_a_read_is_seen(tmp_path, buffered):
    """Ctrl-C that does not interrupt the read, because it came between Python's last check of signals and the read."""
    os.mkfifo(tmp_path / "fifo")
    writer = os.open(tmp_path / "fifo", os.O_RDWR)  # opens without a reader
    os.write(writer, b"a B\n\n")
    late = threading.Timer(60, os.write, (writer, b"a B\n\n"))  # so that the test fails instead of waiting for ever
    late.start()
    with open(tmp_path / "fifo", "rb", buffering=-1 if buffered else 0) as file:
        blocks = iter(Source(file))
        next(blocks)
        threading.Timer(0.1, _thread.interrupt_main).start()
        try:
            with pytest.raises(KeyboardInterrupt):
                next(blocks)
            assert late.is_alive()
        finally:
            late.cancel()
            os.close(writer)


def test_what_a_buffer_holds_is_not_waited_for():
    """The pipe is empty, but still open; what came before is in the buffer of the file."""
    reading, writing = os.pipe()
    os.write(writing, b"0123456789")
    late = threading.Timer(60, os.close, (writing,))
    late.start()
    with open(reading, "rb") as file:
        assert file.peek() == b"0123456789"
        pieces = opening.texts(file, "pipe", 4, starts=False)
        assert [next(pieces) for _ in range(3)] == [b"0123", b"4567", b"89"] and late.is_alive()
        late.cancel()
        os.close(writing)
        assert list(pieces) == []
