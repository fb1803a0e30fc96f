"""Attributes from Python, as rows: what each token of a sentence has, copied from Python's strings and numbers as it is.

An item says what a token has:

    ["w=the", "cap", ("len", 3)]              names, which have the value 1, and pairs of a name and a number
    {"w": "the", "cap": True, "len": 3}       a mapping: a text becomes "w:the" with the value 1
    {"near": ["the", "cat"]}                  a list or a set of texts: "near:the" and "near:cat"
    {"next": {"w": "cat", "len": 3}}          a mapping in a mapping: "next:w:cat", and "next:len" with the value 3

Names are str or bytes (UTF-8), and may hold anything. Where labels are wanted, an item stands in a pair: (item, label).
"""

from libc.math cimport fabs, isfinite
from libc.stdint cimport INT32_MAX, int32_t, int64_t

from cpython.dict cimport PyDict_CheckExact
from cpython.list cimport PyList_CheckExact
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact

from .rows cimport FORM_CRFSUITE, Rows
from .scanning cimport copy_bytes, utf8_fault

from collections.abc import Mapping, Set

from crfkit.options import shown

from .faults import misfit, no_sentence

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    bint PyUnicode_IS_COMPACT_ASCII(object) noexcept
    const void* PyUnicode_DATA(object) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object) noexcept

cdef enum:
    DEEPEST = 50                        # mappings in mappings
    LABEL = 63                          # ?, for items without labels

cdef double LARGEST = 3.4028234663852886e38     # that single precision has
cdef frozenset FORBIDDEN = frozenset("\t\n\r\0")


cdef struct PlaceC:                     # for messages, counted from 1
    int64_t sentence, token


def fill_items(Rows rows not None, sentences, bint labelled=False, int64_t before=0):
    """Take sentences that are lists of items. Messages count them from the one after the first `before`."""
    cdef PlaceC place
    place.sentence = before
    start(rows)
    try:
        for sentence in sentences:
            place.sentence += 1
            add_sentence(rows, sentence, labelled, &place)
    except BaseException:
        rows.reset()
        raise
    finish(rows)


cdef int fill_sentence(Rows rows, sentence) except -1:
    """Take one sentence."""
    cdef PlaceC place
    place.sentence = 1
    start(rows)
    try:
        add_sentence(rows, sentence, False, &place)
    except BaseException:
        rows.reset()
        raise
    finish(rows)
    return 0


cdef int start(Rows rows) except -1:
    if rows.c.form != FORM_CRFSUITE:
        raise ValueError("only the form of CRFsuite has attributes")
    rows.reset()
    rows.c.n_cols = 1
    return 0


cdef void finish(Rows rows) noexcept:
    rows.block = None
    rows.c.text = rows.c.arena
    rows.c.n_text = rows.c.tail_start = rows.n_arena


cdef int add_sentence(Rows rows, sentence, bint labelled, PlaceC* place) except -1:
    place.token = 0
    if not PyList_CheckExact(sentence) and (isinstance(sentence, (str, bytes)) or not hasattr(sentence, "__iter__")):
        raise no_sentence(sentence, place.sentence)
    rows.lead = rows.n_arena
    for item in sentence:
        place.token += 1
        add_token(rows, item, labelled, place)
    rows.last_end = rows.n_arena
    rows.end_sequence()
    return 0


cdef int add_token(Rows rows, item, bint labelled, const PlaceC* place) except -1:
    cdef int64_t t = rows.c.n_tok
    if t >= rows.cap_tok or t + 1 > rows.cap_cell:
        rows.grow_tokens()
    rows.c.line_start[t] = rows.c.cell_start[t] = rows.n_arena
    if labelled:
        item, label = pair_of(item, place)
        copy_text(rows, label, place)
    else:
        rows.grow_arena(1)
        rows.c.arena[rows.n_arena] = LABEL
        rows.n_arena += 1
    rows.c.cell_len[t] = <int32_t>(rows.n_arena - rows.c.cell_start[t])
    add_item(rows, item, place)
    rows.c.line_end[t] = rows.n_arena
    rows.c.attr_ptr[t + 1] = rows.c.n_attr
    rows.c.n_tok += 1
    return 0


cdef tuple pair_of(row, const PlaceC* place):
    """An item and its label."""
    if not isinstance(row, (list, tuple)) or len(row) != 2 or not isinstance(row[1], str):
        raise fault(place, shown(row), "a pair (attributes, label)")
    item, label = row
    if not label or label[0] == "@" or FORBIDDEN & set(label):
        raise fault(place, shown(label), "a label: a str with something in it, without tabs and line ends, that does not begin with '@'")
    return item, label


cdef int add_item(Rows rows, item, const PlaceC* place) except -1:
    if PyDict_CheckExact(item):
        for name, value in (<dict>item).items():
            add_named(rows, None, name, value, place, 0)
    elif PyList_CheckExact(item):
        for name in <list>item:
            add_name(rows, name, place)
    elif isinstance(item, Mapping):
        for name, value in item.items():
            add_named(rows, None, name, value, place, 0)
    elif isinstance(item, (str, bytes)) or not hasattr(item, "__iter__"):
        raise fault(place, shown(item), "a list of attributes, or a mapping from names to values")
    else:
        for name in ordered(item):
            add_name(rows, name, place)
    return 0


cdef inline int add_name(Rows rows, name, const PlaceC* place) except -1:
    """What a list says: a name, or one with a value."""
    cdef int64_t begin = rows.n_arena
    if isinstance(name, (str, bytes)):
        copy_text(rows, name, place)
        return add_attribute(rows, begin, 1, place)
    if not isinstance(name, (tuple, list)) or len(name) != 2 or not isinstance(name[0], (str, bytes)):
        raise fault(place, shown(name), "a name, or a pair (name, number)")
    copy_text(rows, name[0], place)
    return add_attribute(rows, begin, number_of(name[1], name, "a name, or a pair (name, number)", place), place)


cdef int add_named(Rows rows, bytes prefix, name, value, const PlaceC* place, int depth) except -1:
    """What a mapping says of a name, which stands behind a prefix."""
    cdef int64_t begin = rows.n_arena
    cdef double number
    if not isinstance(name, (str, bytes)):
        raise fault(place, shown(name), "the name of an attribute: a str")
    if prefix is not None:
        copy_text(rows, prefix, place)
    copy_text(rows, name, place)
    if isinstance(value, (float, int)):
        number = 1 if value is True else 0 if value is False else number_of(value, value, "a number", place)
        return add_attribute(rows, begin, number, place)
    if isinstance(value, (str, bytes)):
        copy_text(rows, b":", place)
        copy_text(rows, value, place)
        return add_attribute(rows, begin, 1, place)
    if not isinstance(value, (Mapping, list, tuple, Set)):
        wanted = f"for {shown(name)} a number, a text, or a list, set or mapping of them"
        return add_attribute(rows, begin, number_of(value, value, wanted, place), place)
    if depth == DEEPEST:
        raise fault(place, f"{shown(name)} within {DEEPEST} others", "mappings and lists that are not so deep")
    copy_text(rows, b":", place)
    prefix = rows.c.arena[begin:rows.n_arena]
    rows.n_arena = begin
    if isinstance(value, Mapping):
        for inner, its_value in value.items():
            add_named(rows, prefix, inner, its_value, place, depth + 1)
        return 0
    for inner in ordered(value):
        begin = rows.n_arena
        if isinstance(inner, (str, bytes)):
            copy_text(rows, prefix, place)
            copy_text(rows, inner, place)
            add_attribute(rows, begin, 1, place)
        elif isinstance(inner, (Mapping, list, tuple, Set)):
            add_named(rows, None, prefix[: len(prefix) - 1], inner, place, depth + 1)
        else:
            raise fault(place, shown(inner), f"in the list of {shown(name)} a text")
    return 0


cdef ordered(values):
    """What can be iterated over; a set in an order that is the same in every run."""
    if not PyList_CheckExact(values) and not PyTuple_CheckExact(values) and isinstance(values, Set):
        try:
            return sorted(values)
        except TypeError:
            return sorted(values, key=repr)
    return values


cdef double number_of(value, found, expected, const PlaceC* place) except? -1:
    cdef double x
    if type(value) is float:
        return <double>value
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        raise fault(place, shown(found), expected) from None
    return x


cdef inline int add_attribute(Rows rows, int64_t begin, double value, const PlaceC* place) except -1:
    """The attribute whose name has been copied to the arena, from `begin` on."""
    cdef int64_t a = rows.c.n_attr, n = rows.n_arena - begin
    if not fabs(value) <= LARGEST:
        name = shown(rows.c.arena[begin:rows.n_arena].decode())
        raise fault(place, f"{value!r}", f"a value of {name} from -3.4e38 to 3.4e38" if isfinite(value) else f"a finite value of {name}")
    if n > INT32_MAX:
        raise fault(place, f"a name of {n} bytes", "at most 2,147,483,647")
    if a == rows.cap_attr:
        rows.grow_attributes()
    if rows.exact is not None:
        rows.exact.append(value)
    rows.c.attr_start[a] = begin
    rows.c.attr_len[a] = <int32_t>n
    rows.c.attr_value[a] = <float>value
    rows.c.n_attr += 1
    return 0


cdef inline int copy_text(Rows rows, text, const PlaceC* place) except -1:
    """Append a str, or bytes in UTF-8, to the arena."""
    cdef const char* s
    cdef Py_ssize_t n
    if PyUnicode_CheckExact(text) and PyUnicode_IS_COMPACT_ASCII(text):
        s, n = <const char*>PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)
    else:
        s = utf8_of(text, &n, place)
    if n > rows.cap_arena - rows.n_arena:
        rows.grow_arena(n)
    copy_bytes(rows.c.arena + rows.n_arena, s, n)
    rows.n_arena += n
    return 0


cdef const char* utf8_of(text, Py_ssize_t* n, const PlaceC* place) except NULL:
    if isinstance(text, str):
        try:
            return PyUnicode_AsUTF8AndSize(text, n)
        except UnicodeEncodeError:
            raise fault(place, shown(text), "characters that UTF-8 has") from None
    n[0] = len(<bytes>text)
    if utf8_fault(<const unsigned char*><const char*><bytes>text, n[0]) >= 0:
        raise fault(place, shown(text), "bytes that are UTF-8")
    return <bytes>text


cdef fault(const PlaceC* place, found, expected):
    return misfit(place.sentence, place.token, found, expected)
