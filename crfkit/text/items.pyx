"""Attributes from Python as rows: Python's strings and numbers are copied, unchanged, to the arena.

An item lists the attributes of a token:

    ["w=the", "cap", ("len", 3)]              names with the value 1, and pairs of a name and a number
    {"w": "the", "cap": True, "len": 3}       a mapping: a str becomes "w:the" with the value 1
    {"near": ["the", "cat"]}                  a list or a set of str: "near:the" and "near:cat"
    {"next": {"w": "cat", "len": 3}}          a nested mapping: "next:w:cat", and "next:len" with the value 3

Names are str or bytes and may contain any character. Bytes must be UTF-8, unless rows are `loose`, as for models of other
programs. With labels, each item is in a pair (item, label). A str of one character may be an item. If rows are `spelled`, any str may be
a sentence or an item: the list of its characters.
"""

cimport cython
from libc.float cimport FLT_MAX
from libc.stdint cimport INT32_MAX, int32_t

from cpython.dict cimport PyDict_CheckExact
from cpython.list cimport PyList_CheckExact, PyList_GET_SIZE
from cpython.set cimport PyAnySet_CheckExact
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_AsUTF8AndSize

from crfkit.loops.numbers cimport fabs
from crfkit.loops.atomic cimport crfkit_prefetch
from .packed cimport Packed, packed
from .rows cimport add_row
from .table cimport FORM_CRFSUITE
from .scanning cimport copy_bytes, utf8_fault

from collections.abc import Mapping, Set

from crfkit.values import as_text, lists, shown

from .faults import bytes_behind, is_container, misfit, misfit_value, no_sentence, ordered

cdef extern from "Python.h":
    ctypedef struct PyObject
    ctypedef struct PyListObject:
        PyObject** ob_item
    PyObject* PyList_GET_ITEM(object, Py_ssize_t) noexcept      # borrowed
    bint is_text "PyUnicode_CheckExact"(PyObject*) noexcept
    bint is_ascii "PyUnicode_IS_COMPACT_ASCII"(PyObject*) noexcept
    const char* bytes_of "PyUnicode_DATA"(PyObject*) noexcept
    Py_ssize_t length_of "PyUnicode_GET_LENGTH"(PyObject*) noexcept

cdef extern from *:
    """
    /* Keeps other threads from changing an object, where the interpreter has no lock. Unlike Cython's critical sections it takes no instruction elsewhere. */
    #ifdef Py_GIL_DISABLED
        typedef PyCriticalSection HeldC;
        #define hold PyCriticalSection_Begin
        #define let_go PyCriticalSection_End
    #else
        typedef char HeldC;
        #define hold(held, object) (void)(held)
        #define let_go(held) (void)(held)
    #endif
    """
    ctypedef struct HeldC:
        pass
    void hold(HeldC* held, object) noexcept
    void let_go(HeldC* held) noexcept

cdef enum:
    DEEPEST = 50                        # levels of nested mappings
    LARGE = 1 << 20                     # bytes of a sentence whose rows are not kept for the next one
    AHEAD = 6                           # names ahead of the current one that are prefetched: they lie anywhere in memory


cdef Rows spare = None                  # of `read_sentence`, reused
cdef object door = object()             # through which one thread at a time comes to it, where the interpreter has no lock


cpdef int fill_rows(Rows rows, sentences, bint labelled=False, int64_t before=0) except -1:
    """Replace the rows by these sentences, lists of items or, where rows have no attributes, of rows of cells. A sentence may be empty. With
    `labelled`, items have labels. Messages number sentences from `before` + 1."""
    if rows is None:
        raise TypeError("expected Rows, found None")
    cdef PlaceC place
    place.sentence = before
    rows.reset()
    rows.c.n_cols = rows.c.form == FORM_CRFSUITE
    try:
        for sentence in sentences:
            place.sentence += 1
            add_sentence(rows, sentence, labelled, &place)
    except BaseException:
        rows.reset()
        raise
    rows.finish()


def read_sentence(sentence):
    """A sentence whose names may be any bytes, and whose values are kept in double precision."""
    global spare
    cdef Rows rows
    cdef Packed made
    with cython.critical_section(door):
        rows, spare = spare, None       # the sentence may be a generator that reads another
    if rows is None:
        rows = Rows("crfsuite")
        rows.loose = rows.spelled = True
    rows.exact = {}
    fill_rows(rows, (sentence,))
    made = packed(rows, rows.exact)
    if rows.n_arena < LARGE:
        with cython.critical_section(door):
            spare = rows
    return made


cdef int add_sentence(Rows rows, sentence, bint labelled, PlaceC* place) except -1:
    cdef bint is_list = PyList_CheckExact(sentence), items = rows.c.form == FORM_CRFSUITE
    place.token = 0
    if items and not labelled and isinstance(sentence, Packed):
        rows.lead = rows.n_arena
        (<Packed>sentence).add_to(rows)
        rows.last_end = rows.n_arena
        rows.end_sequence()
        return 0
    if not is_list and not (items and rows.spelled and isinstance(sentence, str)):
        if not lists(sentence) or items and not rows.spelled and isinstance(sentence, (Mapping, Set)):
            raise no_sentence(sentence, place.sentence)
    rows.lead = rows.n_arena
    for item in sentence:
        place.token += 1
        if not items:
            add_row(rows, item, place.sentence, place.token)
            continue
        if is_list:
            prefetch_items(sentence, place.token)
        add_token(rows, item, labelled, place)
    rows.last_end = rows.n_arena
    rows.end_sequence()


cdef inline void prefetch_items(sentence, Py_ssize_t k) noexcept:
    """Prefetch item k of a list, the contents of item k if that is a list, and item k + 1."""
    cdef PyObject* item
    cdef HeldC held
    hold(&held, sentence)
    if k + 1 < PyList_GET_SIZE(sentence):
        crfkit_prefetch(PyList_GET_ITEM(sentence, k + 1))
    if k < PyList_GET_SIZE(sentence):
        item = PyList_GET_ITEM(sentence, k)
        if PyList_CheckExact(<object>item):
            crfkit_prefetch((<PyListObject*>item).ob_item)
            crfkit_prefetch((<PyListObject*>item).ob_item + 8)
    let_go(&held)


cdef inline void prefetch_text(const PyObject* text) noexcept:
    """Prefetch a str: its header, and its characters, which are mostly in the next cache line."""
    crfkit_prefetch(text)
    crfkit_prefetch(<const char*>text + 56)


cdef int add_token(Rows rows, item, bint labelled, const PlaceC* place) except -1:
    cdef bytes label = b"?"             # if there are no labels
    if labelled:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise fault(place, shown(item), "a pair (attributes, label)")
        if not isinstance(item[1], str):
            raise fault(place, shown(item[1]), "a label: a str")
        item, label = item[0], label_of(item[1], place, rows.loose)
    if rows.c.n_tok >= rows.cap_tok or rows.c.n_tok + 1 > rows.cap_cell:
        rows.grow_tokens()
    rows.c.line_start[rows.c.n_tok] = rows.c.cell_start[rows.c.n_tok] = rows.n_arena
    rows.c.cell_len[rows.c.n_tok] = <int32_t>len(label)
    put(rows, label, len(label))
    add_item(rows, item, place)
    rows.c.line_end[rows.c.n_tok] = rows.n_arena
    rows.c.attr_ptr[rows.c.n_tok + 1] = rows.c.n_attr
    rows.c.n_tok += 1


cdef bytes label_of(label, const PlaceC* place, bint free):
    """A label as bytes. It must fit into a column, unless it is `free`: then only zero bytes are refused."""
    cdef bytes text
    cdef char c
    if not isinstance(label, (str, bytes)):
        raise fault(place, shown(label), "a label: a str or bytes")
    try:
        text = label.encode() if isinstance(label, str) else bytes(label)   # of subclasses, too, such as those of NumPy
    except UnicodeEncodeError:
        text = bytes_behind(label, free, place.sentence, place.token)
    if len(text) > INT32_MAX:
        raise fault(place, f"a label of {len(text)} bytes", "at most 2,147,483,647")
    for c in text:
        if c == 0 or (not free and (c == b"\t" or c == b"\n" or c == b"\r")):
            break
    else:
        if text or free:
            return text
    raise fault(place, shown(text.decode(errors="replace")), "a label without zero bytes" if free else "a label: a str that is not empty, without tabs and line ends")


cdef int add_item(Rows rows, item, const PlaceC* place) except -1:
    cdef Py_ssize_t k = 0
    cdef HeldC held
    if PyAnySet_CheckExact(item):
        item = ordered(item)
    if PyList_CheckExact(item):
        hold(&held, item)
        for k in range(min(AHEAD, PyList_GET_SIZE(item))):
            prefetch_text(PyList_GET_ITEM(item, k))
        let_go(&held)
        k = add_plain_names(rows, item, 0)
        while k < PyList_GET_SIZE(item):        # the size may change: a number's __float__ can run any code
            name = (<list>item)[k]
            add_name(rows, name, place)
            k = add_plain_names(rows, item, k + 1)
    elif PyDict_CheckExact(item) or isinstance(item, Mapping):
        for name, value in item.items():
            add_named(rows, None, name, value, place, 0)
    elif isinstance(item, str) and (rows.spelled or len(item) == 1):    # sentences of characters
        for name in item:
            add_name(rows, name, place)
    elif isinstance(item, (str, bytes)) or not lists(item):
        raise fault(place, shown(item), "a list of attributes, or a mapping from names to values")
    else:
        for name in repeatable(item):
            add_name(rows, name, place)


cdef Py_ssize_t add_plain_names(Rows rows, item, Py_ssize_t k) except -1:
    """Add the names in a list from index k on, as long as they are ASCII strings, as nearly all are, without calls to the
    interpreter. Returns the index of the first other item, or of one for which there is no room."""
    cdef Py_ssize_t size = PyList_GET_SIZE(item)
    cdef PyObject** name
    cdef HeldC held
    cdef int64_t a = rows.c.n_attr, end = rows.n_arena, room, n
    cdef int64_t* start
    cdef int32_t* length
    cdef float* value
    cdef char* arena = rows.c.arena
    if k >= size:
        return k
    while size - k > rows.cap_attr - a:
        rows.grow_attributes()
    start, length, value, room = rows.c.attr_start, rows.c.attr_len, rows.c.attr_value, rows.cap_arena
    hold(&held, item)
    size, name = min(size, PyList_GET_SIZE(item)), (<PyListObject*>item).ob_item
    while k < size and is_text(name[k]) and is_ascii(name[k]):
        if k + AHEAD < size:
            prefetch_text(name[k + AHEAD])
        n = length_of(name[k])
        if n > INT32_MAX or n > room - end:     # the arena may only grow where an error may be raised
            break
        copy_bytes(arena + end, bytes_of(name[k]), n)
        start[a], length[a], value[a] = end, <int32_t>n, 1
        end += n
        a += 1
        k += 1
    let_go(&held)
    rows.c.n_attr, rows.n_arena = a, end
    return k


cdef inline int add_name(Rows rows, name, const PlaceC* place) except -1:
    """Add an entry of a list: a name, or a pair (name, value)."""
    cdef int64_t begin = rows.n_arena
    if isinstance(name, (str, bytes)):
        copy_text(rows, name, place)
        return add_attribute(rows, begin, 1, place)
    if not isinstance(name, (tuple, list)) or len(name) != 2 or not isinstance(name[0], (str, bytes)):
        raise fault(place, shown(name), "a name, or a pair (name, number)")
    copy_text(rows, name[0], place)
    return add_attribute(rows, begin, number_of(name[1], name, "a name, or a pair (name, number)", place), place)


cdef int add_named(Rows rows, bytes prefix, name, value, const PlaceC* place, int depth) except -1:
    """Add an entry of a mapping. `prefix` is the name of the mapping around it, with a colon; None for the outermost."""
    cdef int64_t begin = rows.n_arena
    if not isinstance(name, (str, bytes)):
        raise fault(place, shown(name), "the name of an attribute: a str")
    if prefix is not None:
        put(rows, prefix, len(prefix))
    copy_text(rows, name, place)
    if isinstance(value, (float, int)):
        return add_attribute(rows, begin, 1 if value is True else 0 if value is False else number_of(value, value, "a number", place), place)
    if isinstance(value, (str, bytes)):
        put(rows, b":", 1)
        copy_text(rows, value, place)
        return add_attribute(rows, begin, 1, place)
    if not is_plain(value) and not is_container(value):
        wanted = f"for {shown(name)} a number, a text, a list or set of texts, or a mapping from names to numbers"
        return add_attribute(rows, begin, number_of(value, value, wanted, place), place)
    if depth == DEEPEST:
        raise fault(place, f"{shown(name)} within {DEEPEST} others", "mappings and lists nested less deeply")
    put(rows, b":", 1)
    prefix = rows.c.arena[begin:rows.n_arena]
    rows.n_arena = begin
    if PyDict_CheckExact(value) or (not is_plain(value) and isinstance(value, Mapping)):
        for inner, its_value in value.items():
            add_named(rows, prefix, inner, its_value, place, depth + 1)
        return 0
    for inner in repeatable(value):
        begin = rows.n_arena
        if isinstance(inner, (str, bytes)):
            put(rows, prefix, len(prefix))
            copy_text(rows, inner, place)
            add_attribute(rows, begin, 1, place)
        elif is_container(inner):
            add_named(rows, None, as_text(prefix[: len(prefix) - 1]), inner, place, depth + 1)
        else:
            raise fault(place, shown(inner), f"a text in the list of {shown(name)}, or a mapping from names to numbers")
    return 0


cdef inline bint is_plain(value) noexcept:
    """Whether it is one of Python's own containers, which is known without asking the classes in collections.abc."""
    return PyDict_CheckExact(value) or PyList_CheckExact(value) or PyTuple_CheckExact(value) or PyAnySet_CheckExact(value)


cdef inline repeatable(values):
    """The values; those of a set as a list, in the same order in every run."""
    if PyAnySet_CheckExact(values):
        return ordered(values) if len(values) > 1 else values
    return ordered(values) if not is_plain(values) and isinstance(values, Set) else values


cdef double number_of(value, found, expected, const PlaceC* place) except? -1:
    if type(value) is float:
        return <double>value
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except OverflowError:
        expected = "a number from -3.4e38 to 3.4e38"
    except (TypeError, ValueError):
        pass
    raise fault(place, shown(found), expected)


cdef inline int add_attribute(Rows rows, int64_t begin, double value, const PlaceC* place) except -1:
    """Add the attribute whose name has been copied to the arena, from `begin` on."""
    cdef int64_t a = rows.c.n_attr, n = rows.n_arena - begin
    if n > INT32_MAX:
        raise fault(place, f"a name of {n} bytes", "at most 2,147,483,647")
    if not fabs(value) <= FLT_MAX:
        raise misfit_value(place.sentence, place.token, rows.c.arena[begin:rows.n_arena], value)
    if a == rows.cap_attr:
        rows.grow_attributes()
    rows.c.attr_start[a] = begin
    rows.c.attr_len[a] = <int32_t>n
    rows.c.attr_value[a] = <float>value
    if rows.exact is not None and rows.c.attr_value[a] != value:
        rows.exact[a] = value
    rows.c.n_attr += 1


cdef inline int copy_text(Rows rows, text, const PlaceC* place) except -1:
    """Append a str, or bytes in UTF-8, to the arena."""
    cdef PyObject* plain = <PyObject*>text
    if is_text(plain) and is_ascii(plain):
        return put(rows, bytes_of(plain), length_of(plain))
    return copy_characters(rows, text, place)


cdef inline int put(Rows rows, const char* s, int64_t n) except -1:
    if n > rows.cap_arena - rows.n_arena:
        rows.grow_arena(n)
    copy_bytes(rows.c.arena + rows.n_arena, s, n)
    rows.n_arena += n


cdef bint plain_text(text, TextC* found) noexcept:
    cdef PyObject* plain = <PyObject*>text
    if not (is_text(plain) and is_ascii(plain)):
        return False
    found.s, found.n = bytes_of(plain), length_of(plain)
    return True


cdef int copy_characters(Rows rows, text, const PlaceC* place) except -1:
    cdef const char* s
    cdef Py_ssize_t n
    if isinstance(text, str):
        try:
            s = PyUnicode_AsUTF8AndSize(text, &n)
            return put(rows, s, n)
        except UnicodeEncodeError:
            text = bytes_behind(text, rows.loose, place.sentence, place.token)
    elif not rows.loose and utf8_fault(<const unsigned char*><const char*><bytes>text, len(<bytes>text)) >= 0:
        raise fault(place, shown(text), "bytes in UTF-8")
    return put(rows, <const char*><bytes>text, len(<bytes>text))


cdef fault(const PlaceC* place, found, expected):
    return misfit(place.sentence, place.token, found, expected)
