"""Templates: what is accepted, what is refused and how, and what lines say at a token."""

import io
import os
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.errors import CrfkitError, FileError, OptionError, TemplateError
from crfkit.template.meaning import expand
from crfkit.template.parsing import Template


def only_line(text, **options):
    (line,) = Template.parse(text, **options).lines
    return line


def only_macro(text):
    (macro,) = only_line("U:" + text).macros
    return macro


# What is accepted.


def test_lines_are_literals_and_macros():
    template = Template.parse("# comment\n\nU00:%x[-2,0]\n  \t\nU05:%x[-1,0]/%x[0,1]x\n#U\nB\n", "some.txt")
    assert [(line.number, line.kinds, line.literals) for line in template.lines] == [
        (3, "U", (b"U00:", b"")),
        (5, "U", (b"U05:", b"/", b"x")),
        (7, "B", (b"B",)),
    ]
    assert [(m.kind, m.row, m.column) for m in template.macros] == [("x", -2, 0), ("x", -1, 0), ("x", 0, 1)]
    assert template.path == "some.txt"
    assert template.columns == {0, 1}


@pytest.mark.parametrize(("first", "kinds"), [("U", "U"), ("u", "U"), ("B", "B"), ("b", "B"), ("*", "UB")])
def test_kinds_of_lines(first, kinds):
    line = only_line(first + "01:%x[0,0]")
    assert line.kinds == kinds
    assert expand(line, [["a"]], 0) == first + "01:a"


@pytest.mark.parametrize(("text", "fields"), [
    ("%x[0,1]", {"kind": "x", "column": 1}),
    ("%x[ -1 ,\t+0 ]", {"kind": "x", "row": -1, "column": 0}),
    ("%x[+12,3]", {"kind": "x", "row": 12, "column": 3}),
    ("%X[0,0]", {"kind": "x", "lower": True}),
    ('%t[0,1,"^a,]\\"$"]', {"kind": "t", "pattern": '^a,]\\"$', "column": 1}),
    ('%m[0,0, "" ]', {"kind": "m", "pattern": ""}),
    ('%M[0,0,"b"]', {"kind": "m", "pattern": "b", "lower": True}),
    ("%p[1,0,3]", {"kind": "p", "row": 1, "length": 3}),
    ("%s[1,0, 12]", {"kind": "s", "length": 12}),
    ("%S[0,0]", {"kind": "S", "collapse": False}),
    ("%C[0,0]", {"kind": "S", "collapse": True}),
    ("%N[0,0]", {"kind": "N"}),
    ("%=[0,1,-2,3]", {"kind": "=", "row": 0, "column": 1, "row2": -2, "column2": 3}),
    ("%y[-2]", {"kind": "y", "row": -2, "column": -1}),
    ("%x[-1,pos]", {"kind": "x", "row": -1, "column": -1, "column_name": "pos"}),
    ("%=[0,pos,1,x-pos:2]", {"column_name": "pos", "column2_name": "x-pos:2"}),
])
def test_the_fields_of_macros(text, fields):
    macro = only_macro(text)
    assert {name: getattr(macro, name) for name in fields} == fields
    assert macro.text == text


def test_same_macro_written_differently_is_equal():
    assert only_macro("%x[0,1]")._replace(text="") == only_macro("%x[ +0,1]")._replace(text="")
    assert only_macro("%x[0,1]")._replace(text="") != only_macro("%X[0,1]")._replace(text="")


def test_percent_sign():
    assert only_line("U%%x[0,0]%%%x[0,0]").literals == (b"U%x[0,0]%", b"")


def test_line_ends_and_byte_order_mark():
    template = Template.parse("\ufeffU:%x[0,0]\r\n\r\nB\u2028\r\n")
    assert [line.literals for line in template.lines] == [(b"U:", b""), ("B\u2028".encode(),)]


def test_other_blanks_belong_to_the_name():
    assert expand(only_line("U: %x[0,0] x "), [["a"]], 0) == "U: a x "


@pytest.mark.parametrize(("text", "rule", "min_freq", "name"), [
    ("U:%x[0,0]", None, None, "U:a"),
    ("U:%x[0,0] @all", "all", None, "U:a"),
    ("U:%x[0,0]\t @observed  @minfreq=12 ", "observed", 12, "U:a"),
    ("U:%x[0,0] @minfreq=3 @all", "all", 3, "U:a"),
    ("B @all", "all", None, "B"),
    ("U:@all%x[0,0]@all", None, None, "U:@alla@all"),
    ("U:%x[0,0] @ %x[0,0]", None, None, "U:a @ a"),
    ('U:%t[0,0," @all"]', None, None, "U:false"),
])
def test_the_annotations_of_lines(text, rule, min_freq, name):
    line = only_line(text)
    assert (line.rule, line.min_freq, expand(line, [["a"]], 0)) == (rule, min_freq, name)
    assert line.text == text


def test_immutable_and_picklable():
    template = Template.parse("U:%x[0,0]\nB")
    assert pickle.loads(pickle.dumps(template)) == template
    with pytest.raises(AttributeError):
        template.path = "x"


def test_the_first_line_with_history_is_found():
    assert Template.parse("U:%x[0,0]\nB").history_line is None
    assert Template.parse("U:%x[0,0]\nU:%y[-1]/%x[0,0]").history_line.number == 2


# What is refused.


@pytest.mark.parametrize(("text", "message"), [
    ("", "t: the template is empty"),
    ("# U00:%x[0,0]\n", "t: the template has only comments; it needs a line that starts with U, B or P"),
    ("U\nQ01:%x[0,0]", "t:2: a line starts with 'Q', expected U"),
    ("U\n U01:%x[0,0]", "t:2: a line starts with ' ', expected U"),
    ("U\n\u200bU01:%x[0,0]", "t:2: a line starts with '\\u200b', expected U"),  # a blank of no width, which nobody would see
    ("He PRP B-NP", "t:1: a line starts with 'H', expected U (unigram), B (bigram), * (both), T (trigram), P (parser) or # (comment); the template is given before"),
    ("U:%q[0,0]", "t:1: unknown macro '%q'; the macros are %x %X %t %T %m %M %p %s %S %C %N %= %y"),
    ("U:100%", "t:1: unknown macro '%'"),
    ("U:%x", "t:1: '%x' without '['; expected %x[row,column]"),
    ("U:%x[0,0,0]", "wrong arguments"),
    ("U:%x[0,0", "t:1: '%x[0,0' has no closing ']'"),
    ("U:%x[0,0/%x[1,0]", "t:1: '%x[0,0/%x[1,0]' has no closing ']'"),
    ('U:%t[0,0,"a]', "has no closing ']' or quote; expected %t[row,column,\"regex\"]"),
    ('U:%t[0,0,"a\\"]', "has no closing ']' or quote"),
    ('U:%t[0,0,"a"b]', "has no closing ']' or quote"),
    ("U:%x[0]", "t:1: '%x[0]' has the wrong arguments; expected %x[row,column]"),
    ("U:%t[0,0,a]", 'wrong arguments; expected %t[row,column,"regex"]'),
    ('U:%x["0",0]', "wrong arguments"),
    ("U:%=[0,0]", "expected %=[row,column,row2,column2]"),
    ("U:%x[,0]", "t:1: '' in '%x[,0]' is not a number"),
    ("U:%x[0,]", "t:1: '' in '%x[0,]' is not a column number or name"),
    ("B\nU:%x[999999999999,0]", "t:2: '999999999999' in '%x[999999999999,0]' is out of range: expected at most six digits"),
    ("U:%x[0,-1000000]", "t:1: '-1000000' in '%x[0,-1000000]' is out of range: expected at most six digits"),
    ("U:%x[1000,0]", "t:1: '%x[1000,0]' is too far away: macros look at most 999 rows back or ahead"),
    ("U:%=[0,0,-999999,0]", "t:1: '%=[0,0,-999999,0]' is too far away"),
    ("U:%x[a,0]", "'a' in '%x[a,0]' is not a number"),
    ("U:%x[@1,0]", "t:1: '@1' in '%x[@1,0]' is not a number; only crfkit-wapiti counts rows from the ends of a sentence"),
    ("U:%x[\u22121,0]", "t:1: '\u22121' in '%x[\u22121,0]' is not a number; write a minus sign as -"),
    ("U:%x[\u20131,0]", "t:1: '\u20131' in '%x[\u20131,0]' is not a number; write a minus sign as -"),
    ("U:%x[- 1,0]", "'- 1' in"),
    ("U:%x[٣,0]", "'٣' in"),
    ("U:%x[0,a b]", "'a b' in '%x[0,a b]' is not a column number or name"),
    ("U:%x[0,@word]", "t:1: '@word' in '%x[0,@word]' is not a column number or name; a name stands there as it is, as in %x[0,word]"),
    ("U:%X[0,$word]", "'$word' in '%X[0,$word]' is not a column number or name; a name stands there as it is, as in %x[0,word]"),
    ("U:%=[0,0,1,'word']", "t:1: ''word'' in '%=[0,0,1,'word']' is not a column number or name; a name stands there as it is, as in %x[0,word]"),
    ("U:%x[word,0]", "t:1: 'word' in '%x[word,0]' is not a number; expected %x[row,column]"),
    ("U:%p[0,0,@2]", "t:1: '@2' in '%p[0,0,@2]' is not a number; expected %p[row,column,length]"),
    ("U:%x[0,-1]", "negative column"),
    ("U:%p[0,0,0]", "length 0"),
    ("U:%s[0,0,-2]", "length -2"),
    ("U:%y[0]", "not an earlier label"),
    ("U:%y[1]", "not an earlier label"),
    ('U\nU:%t[0,0,"a(b"]', "t:2: '%t[0,0,\"a(b\"]': regex \"a(b\": '(' without ')' at character 2"),
    ("U:%x[0,0] @alll", "t:1: unknown '@alll'; expected @observed, @all or @minfreq=NUMBER"),
    ("U:%x[0,0] @minfreq", "unknown '@minfreq'"),
    ("U:%x[0,0] @minfreq=0", "'@minfreq=0': expected"),
    ("U:%x[0,0] @minfreq=2 @minfreq=3", "expected one @minfreq"),
    ("U:%x[0,0] @all @observed", "'@all' after '@observed'"),
    ("P:%x[0,form]", "t:1: '0' in '%x[0,form]' is not a place; P lines look at s0 s1 s2 q0 q1 q2, and children such as s0.l s0.r2 s1.l.r"),
    ("U:%x[s0,form]", "t:1: 's0' in '%x[s0,form]' is not a number"),
    *(
        (f"P:%x[{place},1]", f"t:1: '{place}' in '%x[{place},1]' is not a place")
        for place in ("s3", "q3", "q0.l", "s0.l1", "s0.l10", "s0.", "s0.l.l.l.l.l")
    ),
    ("P\nP:%v[s0]", "t:2: '%v[s0]' does not say which children to count; expected a place such as s0.l or s0.r"),
    ("P:%v[s0.l2]", "t:1: '%v[s0.l2]' does not say which children to count"),
    ("U:%v[0]", "t:1: '%v[0]' in a line that starts with U: %v belongs into P lines"),
    ("U:%d[0,1]", "t:1: '%d[0,1]' in a line that starts with U: %d belongs into P lines"),
    ("P:%d[s0,3]", "t:1: '3' in '%d[s0,3]' is not a place"),
    ("P:%y[-1]", "t:1: '%y[-1]' in a P line: a parser does not label tokens"),
    ("P:%x[s0,1]\nB", "t:2: P lines make a parser, all others a tagger"),
    ("B\nP:%x[s0,1]", "t:2: P lines make a parser, all others a tagger"),
    ("U:\0", "t:1: a NUL character"),
    (None, "t: expected the text of a template, found None"),
])
def test_faulty_templates_are_refused(text, message):
    with pytest.raises(TemplateError, match=re.escape(message)) as caught:
        Template.parse(text, "t")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["// words\nU:%x[0,0]", "U:%x[0,0]\nwords in context"])
def test_what_has_macros_was_not_given_in_the_place_of_the_data(text):
    with pytest.raises(TemplateError, match=r"t:[12]: a line starts with '[/w]', .* or # \(comment\)$"):
        Template.parse(text, "t")


def test_unnamed_template_still_tells_the_line():
    with pytest.raises(TemplateError, match="template:2: unknown macro"):
        Template.parse("U\nU%z")


@settings(deadline=None)
@given(st.text('UBP*#%dxXtTmMpsSCNy=[]0123-+,"\\ @\nabé', max_size=40))
def test_any_text_is_a_template_or_an_error(text):
    try:
        template = Template.parse(text)
    except TemplateError:
        return
    for line in template.lines:
        assert len(line.literals) == len(line.macros) + 1
        # Every character of the line is in a literal or a macro.
        pieces = [
            piece
            for pair in zip(line.literals, [m.text for m in line.macros] + [""], strict=True)
            for piece in pair
        ]
        rebuilt = "".join(p.replace(b"%", b"%%").decode() if isinstance(p, bytes) else p for p in pieces)
        assert line.text.startswith(rebuilt)


# Columns.


def test_columns_by_name():
    template = Template.parse("U:%x[0,word]/%=[0,pos,1,1]")
    assert template.column_names == {"word", "pos"}
    resolved = template.resolve({"word": 0, "pos": 2})
    assert [(m.column, m.column2) for m in resolved.macros] == [(0, -1), (2, 1)]
    assert resolved.columns == {0, 1, 2}
    assert resolved == Template.parse(template.text, columns={"word": 0, "pos": 2})
    resolved.check(3)


@pytest.mark.parametrize("columns", [3, "word", [("word", 0)], {"word": "0"}, {"other": None, "word": 0}, {"word": -1}, {"word": 1.5}, {"word": False}])
def test_names_of_columns_stand_for_numbers(columns):
    with pytest.raises(OptionError, match=f"^columns: found {re.escape(repr(columns))}, expected a mapping from names to numbers, the first of which is 0$"):
        Template.parse("U:%x[0,word]", columns=columns)


def test_numbers_written_for_names():
    names = {"word": 0, "wo": 1, "pos": 2}
    for text, written in {
        "U0:%x[0,word]/%x[-1, pos ]/%x[0,1]": "U0:%x[0,0]/%x[-1, 2 ]/%x[0,1]",
        'U1:word,%t[0,word,",word,"]': 'U1:word,%t[0,0,",word,"]',
        "U2:%=[0,word,1,pos]%=[0,pos,1,pos]%=[0,1,1,wo]": "U2:%=[0,0,1,2]%=[0,2,1,2]%=[0,1,1,1]",
        "U3:%p[0,wo,2] @all": "U3:%p[0,1,2] @all",
        "U4:%%x[0,wo]%%%x[0,wo]": "U4:%%x[0,wo]%%%x[0,1]",
        '# %x[ and "%t[\nU5:%x[0,wo]': '# %x[ and "%t[\nU5:%x[0,1]',
    }.items():
        assert Template.parse(text, columns=names).numbered() == Template.parse(written)
        assert Template.parse(text).numbered() == Template.parse(text)


def test_unknown_column_name():
    with pytest.raises(TemplateError, match=r"t:2: %x\[0,tag\] names column 'tag'; .* are: word, pos"):
        Template.parse("U\nU:%x[0,tag]", "t", {"word": 0, "pos": 1})


@pytest.mark.parametrize(("text", "columns", "message"), [
    ("U\nU:%x[0,pos]", 5, r"t:2: %x\[0,pos\] names column 'pos', but .* '# columns = word pos label'"),
    ("U\nU:%x[0,0]/%x[-1,2]", 2, r"t:2: %x\[-1,2\] uses column 2, but the data have 2 feature columns"),
    ("U:%=[0,0,0,3]", 2, r"t:1: %=\[0,0,0,3\] uses column 3"),
    ("U:%x[0,1]", 1, r"data have 1 feature column \("),
])
def test_columns_that_the_data_lack(text, columns, message):
    with pytest.raises(TemplateError, match=message):
        Template.parse(text, "t").check(columns)


def test_columns_within_the_data():
    Template.parse("U:%x[0,1]%y[-1]").check(2)


# Files.


def test_load_reads_a_file(tmp_path):
    file = tmp_path / "t.txt"
    file.write_bytes("U:%x[0,0]é\r\nB\r\n".encode())
    template = Template.load(str(file))
    assert template.path == str(file)
    assert template.lines[0].literals[1] == "é".encode()
    assert Template.load(file) == Template.load(os.fsencode(file)) == template


def test_load_what_is_no_path():
    for found in (3, None, io.StringIO("B\n"), ["B"]):
        with pytest.raises(OptionError, match="template: expected a path, found"):
            Template.load(found)


def test_load_what_is_too_long_to_be_one(tmp_path):
    """As where the data stand in the place of the template."""
    (tmp_path / "train").write_bytes(b"the DT B\n" * 2_000_000)
    with pytest.raises(TemplateError, match="more than 16,777,216 bytes: expected a template, the argument before the data"):
        Template.load(str(tmp_path / "train"))


def test_load_what_is_not_there(tmp_path):
    with pytest.raises(FileError, match="No such file"):
        Template.load(str(tmp_path / "none"))
    with pytest.raises(FileError, match="cannot read"):
        Template.load(str(tmp_path))


def test_load_what_is_not_utf8(tmp_path):
    file = tmp_path / "t.txt"
    file.write_bytes(b"U:%x[0,0]\nU:\xe9%x[0,0]\n")
    with pytest.raises(CrfkitError, match=r"t\.txt:2: byte 0xe9 is not valid UTF-8"):
        Template.load(str(file))
    for name in ("utf-16", "utf-16-be"):
        file.write_text("\ufeff" * (name != "utf-16") + "U:%x[0,0]\n", encoding=name)
        with pytest.raises(TemplateError, match=r"t\.txt:1: the text is in UTF-16: convert the template to UTF-8$"):
            Template.load(str(file))


def test_load_lines_that_end_with_carriage_returns_alone(tmp_path):
    """They would be one line: one feature, or one comment."""
    file = tmp_path / "t.txt"
    for text in (b"U:%x[0,0]\rU:%x[1,0]\rB\r", b"# Unigram\rU:%x[0,0]\r"):
        file.write_bytes(text)
        with pytest.raises(TemplateError, match=r"t\.txt: lines that end with carriage returns alone: expected \\n or \\r\\n$"):
            Template.load(str(file))


# What lines say.


def crfpp(template, rows, t):
    """CRF++'s own macro, by text substitution."""

    def cell(match):
        i = t + int(match[1])
        if i < 0:
            return f"_B-{-i}"
        return f"_B+{i - len(rows) + 1}" if i >= len(rows) else rows[i][int(match[2])]

    return re.sub(r"%x\[(-?[0-9]+),([0-9]+)\]", cell, template)


macro = st.tuples(st.integers(-4, 4), st.integers(0, 2)).map(lambda at: f"%x[{at[0]},{at[1]}]")
crfpp_lines = st.builds(
    lambda first, parts: first + "".join(parts),
    st.sampled_from("UB"),
    st.lists(st.one_of(macro, st.text("0:/|,[]# éx\\\"'", max_size=3)), max_size=5),
)


@given(
    crfpp_lines,
    st.lists(st.tuples(*[st.sampled_from(["a", "B", "é/", "_B-1", "[0,0]", '"'])] * 3), min_size=1, max_size=4),
)
def test_crfpp_templates_unchanged(text, rows):
    line = only_line(text)
    for t in range(len(rows)):
        assert expand(line, rows, t) == crfpp(text, rows, t)


def test_history_labels():
    line = only_line("U:%y[-2]/%y[-1]/%x[0,0]")
    rows = [["a"], ["b"], ["c"]]
    labels = ["X", "Y"]
    assert [expand(line, rows, t, labels) for t in range(3)] == ["U:_B-2/_B-1/a", "U:_B-1/X/b", "U:X/Y/c"]
    with pytest.raises(ValueError, match="labels"):
        expand(line, rows, 0)


def test_cells_that_read_like_paddings_are_paddings():
    rows = [["_B-1"]]
    assert expand(only_line("U:%X[0,0]"), rows, 0) == "U:_B-1"
    assert expand(only_line('U:%t[0,0,"B"]'), rows, 0) == "U:false"
    assert expand(only_line("U:%p[0,0,1]"), rows, 0) is None


@pytest.mark.parametrize("macro", ["x", "X", "p", "s", "S", "C", "N", "t", "T", "m", "M", "=", "d", "y"])
def test_a_line_with_any_macro_is_a_text_not_a_path(macro):
    """It is parsed, whatever its arguments are."""
    for known in (Template.of, Template.parse):
        with pytest.raises(TemplateError, match=r"^template:1: "):
            known(f"U:%{macro}[]")
