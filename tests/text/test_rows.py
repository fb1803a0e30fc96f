"""Rows against a slow and obvious parser, the rules of the three forms, and writing back."""

import contextlib
import io
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from crfkit.errors import DataError
from crfkit.testing import tagged, weights_in
from crfkit.text.block import Block, Columns
from crfkit.text.items import fill_rows
from crfkit.text.reading import Source
from crfkit.text.rows import Rows, first_row
from crfkit.text.scanning import last_cut


def parse(data, form="columns", label=None, skip=0, n_cols=0):
    rows = Rows(form, label)
    rows.parse(Block(data, path="f", skip=skip, columns=Columns(n_cols, None, "f", 1)))
    return rows


def fault(data, *arguments, **options):
    with pytest.raises(DataError) as caught:
        parse(data, *arguments, **options)
    return str(caught.value)


def conllu_kind(cells):
    if re.fullmatch(rb"[0-9]+", cells[0]):
        return "token"
    return "other" if re.fullmatch(rb"[0-9]+[-.][0-9]+", cells[0]) else "fault"


def cells_of(line):
    """A line's cells: between tabs, or where there is none, between blanks."""
    return line.split(b"\t") if b"\t" in line else [cell for cell in line.split(b" ") if cell]


def slow_parse(data, form="columns"):
    """Sentences, or the lines at which a parser may stop."""
    lines = data.split(b"\n")
    if b"\0" in data:
        return {data[: data.index(b"\0")].count(b"\n") + 1}
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return {data[: error.start].count(b"\n") + 1}
    sentences, sentence, n_cols = [], [], None
    for number, line in enumerate(lines, 1):
        line = line.rstrip(b"\r")
        if not line.strip(b" \t\r"):
            if sentence:
                sentences.append(sentence)
            sentence = []
            continue
        if line.startswith(b"\xef\xbb\xbf") and line[3:4].strip(b" \t\r"):
            line = line[3:]
        if form == "conllu" and line.startswith(b"#"):
            continue
        cells = cells_of(line)
        n_cols = n_cols or len(cells)
        if len(cells) != n_cols:
            return {number}
        kind = conllu_kind(cells) if form == "conllu" else "token"
        if kind == "fault":
            return {number}
        if kind == "token":
            sentence.append(cells)
    return sentences + ([sentence] if sentence else [])


def slow_tagged(data, labels, form="columns"):
    """The text with labels, written line by line. The text ends with a line end."""
    written, labels, end, after_blank = [], iter(labels), b"\n", True
    for line in data.split(b"\n")[:-1]:
        body = line.rstrip(b"\r")
        blank = not body.strip(b" \t\r")
        if blank and not after_blank:
            written.append(end)
        elif not blank:
            comment = form == "conllu" and (body.startswith(b"#") or conllu_kind(cells_of(body)) == "other")
            added = b"" if comment else (b"\t" if b"\t" in body else b" ") + next(labels)
            written.append(body + added + line[len(body) :] + b"\n")
            end = b"\r\n" if line.endswith(b"\r") else b"\n"
        after_blank = blank
    return b"".join(written) + (b"" if after_blank else end)


PIECES = [b"a", b"bc", b" ", b"  ", b"\t", b"\n", b"\n", b"\n\n", b"\r\n", b"\r\n\r\n", b"\r", b" \t\n", b"a b\n",
          b"a\tb\n", b"\ta", b"a\t", b"\xc3\xa9", b"\xe4\xb8\xad", b"\xf0\x9f\x98\x80", b"#", b"0123456789" * 3]
CONLLU = [b"1", b"2-3", b"4.5", b"1x", b"# text", b" ", b"\t", b"\n", b"\n", b"\n\n", b"\r\n", b"1\ta\n", b"2\tb\n"]
FAULTS = [b"\xff", b"\x80", b"\0", b"\xc3", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"]


def texts(pieces, **size):
    return st.lists(st.sampled_from(pieces), **size).map(b"".join)


def regular(draw_cells, ends):
    """Rows of two cells, with blank lines here and there."""
    line = st.builds(lambda a, b, gap, end: a + gap + b + end, draw_cells, draw_cells, st.sampled_from([b" ", b"\t", b"  "]), ends)
    return st.lists(line | ends | st.just(b" \t\n"), max_size=20).map(b"".join)


columns_texts = regular(st.sampled_from([b"a", b"#", b"\xc3\xa9", b"-"]), st.sampled_from([b"\n", b"\r\n"]))
conllu_texts = regular(st.sampled_from([b"1", b"2", b"1-2", b"1.1", b"7"]), st.sampled_from([b"\n", b"\r\n", b"\n# c\n"]))


@given(texts(PIECES) | texts(PIECES + FAULTS) | st.binary() | columns_texts)
@example(b"\ta\tb\n a\tb\tc \n")
@example(b"a b\r")
def test_columns_are_those_of_the_slow_parser(data):
    expected = slow_parse(data)
    if isinstance(expected, set):
        assert int(fault(data).split(":")[1]) in expected
    else:
        rows = parse(data)
        assert rows.sentences() == expected
        assert len(rows) == len(expected)
        assert rows.n_tokens == sum(map(len, expected))


@given(texts(CONLLU) | conllu_texts)
def test_conllu_is_that_of_the_slow_parser(data):
    expected = slow_parse(data, "conllu")
    if isinstance(expected, set):
        assert int(fault(data, "conllu").split(":")[1]) in expected
    else:
        assert parse(data, "conllu").sentences() == expected


@given(st.text() | st.text("aé中😀", min_size=20), st.binary(max_size=4), st.integers(0, 40))
@example("", b"\xe0\x9f\xbf", 0)
@example("", b"\xe2\x82A", 0)
def test_utf8_is_checked_as_python_does(text, noise, at):
    data = text.encode()
    data = (data[:at] + noise + data[at:]).replace(b"\0", b"").replace(b"\n", b"") + b"\n"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        assert f"byte {error.start + 1} of the line (0x{data[error.start]:02X}) is not UTF-8" in fault(data)
    else:
        assert parse(data).n_tokens <= 1


@given(columns_texts | texts(PIECES), st.integers(0, 50))
def test_last_cut_is_after_the_last_blank_line(data, keep):
    start = data.rfind(b"\n", 0, keep) + 1
    lines = data[start:].split(b"\n")[:-1]
    ends = [start + sum(map(len, lines[: k + 1])) + k + 1 for k, line in enumerate(lines) if not line.strip(b" \t\r")]
    assert last_cut(data, start) == (ends[-1] if ends else 0)


@given(columns_texts | texts(PIECES), st.sampled_from(["columns", "conllu"]))
def test_first_row_agrees_with_the_parse(data, form):
    expected = slow_parse(data, form)
    if isinstance(expected, list) and expected:
        line, n_cols, _ = first_row(data, form, 0)
        assert n_cols == parse(data, form).n_columns
        if form == "columns":
            assert line + 1 == parse(data).line_of(0)
    elif expected == [] and form == "columns":
        assert first_row(data, form, 0) is None


# ------------------------------------------------------------------------------------------------ columns

def test_ragged_rows_name_both_places():
    assert fault(b"a b c\n\nd e\n", n_cols=3) == "f:3: found 2 columns, expected 3 as in f:1"
    assert fault(b"a\nd e\n") == "f:2: found 2 columns, expected 1 as in f:1"
    assert fault(b"a\n", n_cols=2) == "f:1: found 1 column, expected 2 as in f:1"


def test_an_empty_label_is_a_fault_only_where_labels_are_wanted():
    assert parse(b"a\tX\nb\t\n").n_tokens == 2
    assert fault(b"a\tX\nb\t\n", label=-1) == "f:2: column 2 is empty: expected a label"
    assert fault(b"a\tX\n\tX\n", label=0) == "f:2: column 1 is empty: expected a label"
    assert fault(b"X\ta\n\ta\n", "crfsuite", label=-1) == "f:2: column 1 is empty: expected a label"
    parse(b"\ta\n", "crfsuite")  # data to be tagged
    with pytest.raises(DataError, match="sentence 2, token 1: found an empty label"):
        fill_rows(Rows(label=-1), [[["a", "X"]], [["b", ""]]])


def test_nul_and_foreign_encodings_are_named():
    assert fault(b"a X\nb \0Y\n") == "f:2: byte 3 of the line is 0: expected text in UTF-8"
    assert fault(b"a X\n\nb caf\xe9 Y\n") == "f:3: byte 6 of the line (0xE9) is not UTF-8: expected text in UTF-8"


def test_lines_and_sentences_may_be_very_long():
    wide = b"w" * 9000 + b" X\n" + b"v" * 100_000 + b" Y\n"
    assert [len(cells[0]) for cells in parse(wide).sentences()[0]] == [9000, 100_000]
    many = b" ".join(b"c%d" % i for i in range(20_000)) + b"\n"
    assert parse(many).n_columns == 20_000
    long = b"token tag label\n" * 330_000
    rows = parse(long)
    assert (len(rows), rows.n_tokens) == (1, 330_000)


def test_rows_are_used_again():
    rows = Rows()
    for data in (b"a b c\n" * 2000, b"", b"x\n\ny\n", b"\xff", b"a b\n"):
        try:
            rows.parse(Block(data))
            assert rows.sentences() == slow_parse(data)
        except DataError:
            assert data == b"\xff"


def test_line_numbers_count_from_the_block():
    rows = Rows()
    rows.parse(Block(b"\na X\n\n\nb Y\n", first_line=100))
    assert [rows.line_of(0), rows.line_of(1)] == [101, 104]
    with pytest.raises(IndexError):
        rows.line_of(2)
    with pytest.raises(DataError, match=r"^g:101: found 2"):
        Rows().parse(Block(b"a\nb c\n", 100, "g"))


def test_the_lines_of_all_tokens_are_counted_once():
    class Counted(bytes):
        looked_at = 0

        def count(self, what, start, stop):
            Counted.looked_at += stop - start
            return super().count(what, start, stop)

    block = Block(b"a X\n\n" * 100)
    rows = Rows()
    rows.parse(block)
    block.data = Counted(block.data)
    assert [rows.line_of(t) for t in range(100)] == list(range(1, 200, 2))
    assert Counted.looked_at <= len(block.data)
    assert [rows.line_of(t) for t in (50, 99, 0)] == [101, 199, 1]


def test_unknown_forms_are_refused():
    with pytest.raises(ValueError, match="columns, conllu, crfsuite"):
        Rows("csv")


# ------------------------------------------------------------------------------------------------ CoNLL-U

SAMPLE = b"""# sent_id = 1
1-2\tdu\t_\t_
1\tde\tADP\t_
2\tle\tDET\t_
2.1\tx\t_\t_
# in between
3\tchat\tNOUN\t_

"""


def test_conllu_rows_that_are_no_tokens_are_checked_too():
    assert fault(SAMPLE.replace(b"du\t_\t_", b"du\t_"), "conllu", n_cols=4).startswith("f:2: found 3 columns")
    assert "a number, a range" in fault(b"1 a\nx b\n", "conllu")


# ------------------------------------------------------------------------------------------------ CRFsuite

def test_attributes_have_values_and_escapes_and_empty_fields_are_none():
    rows = parse(b"B-NP\tw=a\t\tpos:0.5\t\t\tx\\:y:-2e1\t\\\\:3\tone:\t\\n\\:\\\t\n\nL\\:1\n\ta\n", "crfsuite")
    assert rows.attributes() == [
        [[(b"w=a", 1), (b"pos", 0.5), (b"x:y", -20), (b"\\", 3), (b"one", 1), (b"\\n:\\", 1)]],
        [[], [(b"a", 1)]],
    ]
    assert rows.sentences() == [[[b"B-NP"]], [[b"L:1"], [b""]]]


def test_instance_weights():
    rows = parse(b"@weight:2.5\nA\ta\n\nB\tb\n\nC\tc\n@weight:0\nC\tc\n", "crfsuite")
    assert weights_in(rows) == [2.5, 1, 0]
    assert rows.n_tokens == 4


def test_values_with_more_digits_than_any_exponent_has_use_for():
    zeros = "0" * 100_001
    rows = parse(f"A\ta:0.{zeros}1e100001\tb:1{zeros}e-100002\tc:1e{zeros}2\td:0e{'9' * 30}\n".encode(), "crfsuite")
    assert [value for _, value in rows.attributes()[0][0]] == pytest.approx([0.1, 0.1, 100, 0])


@pytest.mark.parametrize("data, message", [
    (b"A\ta:x\n", "f:1: 'x' is not a finite number: expected attribute:value (write \\: for a colon in a name)"),
    (b"A\ta\n\nB\ta:nan\n", "f:3: 'nan' is not a finite number"),
    (b"A\ta:inf\n", "'inf' is not"),
    (b"A\ta:1e39\n", "'1e39' is too large"),
    (b"A\ta:1_0\n", "'1_0' is not"),
    (b"A\ta:0x1p3\n", "'0x1p3' is not"),
    (b"A\ta:.\n", "'.' is not"),
    (b"A\ta:1e\n", "'1e' is not"),
    (b"A\ta:b:1\n", "'b:1' is not"),
    (b"A\t:1\n", "f:1: byte 3 of the line begins a value"),
    (b"A\ta\n@B\tb\n", "f:2: a line that begins with '@'"),
    (b"@weight:-1\nA\ta\n", "'-1' is not a weight"),
    (b"@weight:1\tA\n", "'1\tA' is not a weight"),
    (b"@weight:1\n@weight:2\nA\ta\n", "f:2: expected one @weight line"),
    (b"@weight:1\n\nA\ta\n", "f:1: expected one @weight line"),
    (b"A\ta\n\n@weight:1\n", "f:3: expected one @weight line"),
    (b"A\ta", None),
])
def test_faults_of_attribute_lines(data, message):
    if message is None:
        assert parse(data, "crfsuite").n_tokens == 1
    else:
        assert message in fault(data, "crfsuite")


names = st.text("ab:\\é", min_size=1)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
items = st.lists(st.tuples(names, numbers), max_size=4)


def escape(text):
    return text.replace("\\", "\\\\").replace(":", "\\:")


@given(st.lists(st.lists(st.tuples(names, items), min_size=1), max_size=4))
def test_attributes_round_trip(sentences):
    text = "\n".join(
        "".join("\t".join([escape(label), *(f"{escape(n)}:{v!r}" for n, v in item)]) + "\n" for label, item in sentence)
        for sentence in sentences
    )
    rows = parse(text.encode(), "crfsuite")
    assert rows.attributes() == [[[(n.encode(), v) for n, v in item] for _, item in s] for s in sentences]
    assert rows.sentences() == [[[label.encode()] for label, _ in s] for s in sentences]


@given(st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_numbers_are_read_as_python_reads_them(text):
    single = memoryview(bytearray(4)).cast("f")
    with contextlib.suppress(OverflowError):
        single[0] = float(text)
    if abs(float(text)) > 3.4028235e38:
        assert "is too large: values are kept in single precision" in fault(f"A\ta:{text}\n".encode(), "crfsuite")
    else:
        assert parse(f"A\ta:{text}\n".encode(), "crfsuite").attributes()[0][0][0][1] == single[0]


# ------------------------------------------------------------------------------------------------ write

@given(columns_texts | texts(PIECES), st.lists(st.sampled_from([b"B-NP", b"O"]), min_size=60, max_size=60))
def test_text_is_written_back_with_labels(data, labels):
    assume(b"\n" in data or b"\r" not in data)  # such a file is refused
    data = b"".join(block.data for block in Source(io.BytesIO(data), allow_empty=True))
    if isinstance(slow_parse(data), list):
        rows = parse(data)
        labels = (labels * (rows.n_tokens // 60 + 1))[: rows.n_tokens]
        assert tagged(rows, labels) == slow_tagged(data, labels)


@given(conllu_texts | texts(CONLLU), st.integers(1, 40))
def test_blocks_written_one_by_one_are_the_whole_written_at_once(data, size):
    whole = b"".join(block.data for block in Source(io.BytesIO(data), allow_empty=True))
    if isinstance(slow_parse(whole, "conllu"), list):
        written = []
        for block in Source(io.BytesIO(data), allow_empty=True, block_size=size):
            rows = Rows("conllu")
            rows.parse(Block(block.data))
            written.append(tagged(rows, [b"X"] * rows.n_tokens))
        n_tokens = sum(map(len, slow_parse(whole, "conllu")))
        assert b"".join(written) == slow_tagged(whole, [b"X"] * n_tokens, "conllu")


def test_each_line_keeps_its_own_separator_and_line_end():
    rows = parse(b"# columns = w t\n\n\na b\r\nc\td\r\n\r\n \n\ne  f \n", skip=16)
    assert tagged(rows, [b"1", b"2", b"3"]) == b"# columns = w t\n\na b 1\r\nc\td\t2\r\n\r\ne  f  3\n\n"
    assert tagged(rows, [b"1", b"2", b"3"], b"|") == b"# columns = w t\n\na b|1\r\nc\td|2\r\n\r\ne  f |3\n\n"


def test_conllu_comments_stay_where_they_are():
    data = b"# alone\n\n\n" + SAMPLE + b"# last\n"
    expected = (b"# alone\n\n" + SAMPLE + b"# last\n\n").replace(b"ADP\t_", b"ADP\t_\tX").replace(b"DET\t_", b"DET\t_\tX")
    assert tagged(parse(data, "conllu"), [b"X", b"X", b"Y"]) == expected.replace(b"NOUN\t_", b"NOUN\t_\tY")


def test_a_block_without_tokens_is_written_too():
    assert tagged(parse(b"# a\n\n\n# b\n", "conllu"), []) == b"# a\n\n# b\n\n"
    assert tagged(parse(b"\n\n"), []) == b""
