"""Messages: they arrive as sent, and damaged ones are refused."""

import array
import math

import pytest
from commands import memory_told, python
from hypothesis import given, settings
from hypothesis import strategies as st
from workers import sent

from crfkit import errors
from crfkit.cluster import scheduler, serving
from crfkit.cluster.messages import FORMS, HEAD, MessageError, decode, encode, receive
from crfkit.version import __version__

ARRAYS = st.sampled_from("BHIQbhiqfd").flatmap(
    lambda form: st.lists(st.integers(0, 100), max_size=40).map(lambda numbers: array.array(form, numbers))
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text() | ARRAYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3).filter(lambda name: name != "@"), inner, max_size=4),
    max_leaves=12,
)


def same(a, b):
    if isinstance(a, array.array):
        return b.format == a.typecode and b.tolist() == a.tolist()
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(value, b[name]) for name, value in a.items())
    return a == b and type(a) is type(b)


@settings(max_examples=settings().max_examples // 3)
@given(VALUES)
def test_what_was_sent_arrives(value):
    assert same(value, sent(value))


def stream(data):
    rest = bytearray(data)

    def read(room):
        n = min(len(room), len(rest), 7)
        room[:n] = rest[:n]
        del rest[:n]
        return n

    return read


def whole(value):
    return b"".join(bytes(piece) for piece in encode(value))


def test_messages_follow_one_another_in_a_stream():
    read = stream(whole([1, array.array("d", [math.pi])]) + whole("x"))
    first = receive(read)
    assert first[0] == 1 and first[1].tolist() == [math.pi]
    assert receive(read) == "x"
    assert receive(read) is None


@given(st.integers(0, 10**6), st.integers(0, 7), st.integers(0, 200))
def test_a_damaged_message_is_refused(place, bit, cut):
    message = bytearray(whole({"a": array.array("i", range(9)), "b": "text"}))
    place %= len(message)
    message[place] ^= 1 << bit
    with pytest.raises(MessageError):
        receive(stream(message))
    with pytest.raises(MessageError):
        receive(stream(message[: -1 - cut % (len(message) - HEAD.size)]))


@given(st.binary(max_size=200))
def test_nonsense_is_refused(data):
    if data:
        with pytest.raises(MessageError):
            receive(stream(data))
    with pytest.raises(MessageError):
        decode(data[: HEAD.size], data[HEAD.size :])  # as what dask brings


@memory_told
def test_no_memory_is_taken_for_bytes_that_never_come():
    """The length of a message is not covered by its checksum."""
    code = """
import io
from crfkit.cluster.messages import HEAD, MAGIC, MessageError, receive
for size in (1 << 30, 1 << 46):
    try:
        receive(io.BytesIO(HEAD.pack(MAGIC, 16, size, 0) + bytes(100)).readinto)
    except MessageError as error:
        print(error)
print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""
    *said, peak = python(code).stdout.splitlines()
    assert said[0] == "a message ends too early" and said[1] in (said[0], "a message is larger than memory")
    assert int(peak) < 200 << 10


@pytest.mark.parametrize("place", [["i", 0, 8], ["i", 16, 4], ["x", 0, 4], ["i", 0, 3], ["i", -16, 4], ["i", 1, 4], [], 7, ["i", "0", 4]])
def test_arrays_that_are_not_there(place):
    import json
    import struct

    from xxhash import xxh3_64_intdigest

    text = json.dumps({"@": place}).encode()
    text += b" " * (-len(text) % 16)
    body = text + bytes(4)
    head = struct.pack("<8sQQQ", b"crfkit\x00\x01", len(text), 4, xxh3_64_intdigest(body))
    with pytest.raises(MessageError):
        decode(head, body)
    assert FORMS["i"] == 4


@given(VALUES)
def test_answers_that_are_none_are_refused(value):
    if not isinstance(value, dict) or set(value) != {"value"}:
        with pytest.raises((MessageError, TypeError)):
            serving.value_of(value)


@pytest.mark.parametrize(("kind", "arguments"), [("FileError", []), ("FileError", "gone"), ("DataError", [1, 2, 3, 4]), ("in_python", ["x"]), ("absent", ["x"])])
def test_errors_that_are_none_are_refused(kind, arguments):
    with pytest.raises(MessageError, match="not an answer"):
        serving.value_of({"error": kind, "arguments": arguments})


class Steps:
    def __init__(self):
        self.n = 0

    def _reset(self):
        self.n = 0

    def add(self, n):
        self.n += n
        return self.n

    def fail(self, kind):
        raise {"data": errors.DataError("wrong", "f", 3), "memory": MemoryError(), "bug": ZeroDivisionError("by zero"), "file": errors.FileError("gone")}[kind]


def test_answers_and_errors():
    own = Steps()
    assert serving.value_of(sent(serving.answer(own, {"steps": [["add", {"n": 2}], ["add", {"n": 3}]]}))) == 5
    for kind, error, words in (
        ("data", errors.DataError, "^f:3: wrong$"),
        ("memory", errors.TrainingError, "no memory left"),
        ("bug", errors.TrainingError, "unexpected ZeroDivisionError: by zero"),
        ("file", errors.FileError, "^gone$"),
    ):
        with pytest.raises(error, match=words):
            serving.value_of(sent(serving.answer(own, {"steps": [["fail", {"kind": kind}]]})))
    for verb in ("absent", "_reset"):
        with pytest.raises(errors.CrfkitError):
            serving.value_of(sent(serving.answer(own, {"steps": [[verb, {}]]})))
    with pytest.raises(MessageError):
        serving.service("os:system")


def test_what_a_scheduler_s_worker_holds_of_runs(monkeypatch):
    """Of each run a service of its own, until the run ends, or nobody has asked it for an hour."""
    now = [0.0]
    monkeypatch.setattr(scheduler, "service", lambda _: Steps())
    monkeypatch.setattr(scheduler, "_services", {})
    monkeypatch.setattr(scheduler.time, "monotonic", lambda: now[0])

    def add(run, n, version=__version__):
        answer = scheduler.serve(run, "crfkit.some:Steps", version, whole({"steps": [["add", {"n": n}]]}))
        return serving.value_of(decode(answer[: HEAD.size], answer[HEAD.size :]))

    assert [add("a 1", 2), add("a 1", 3), add("a 2", 1), add("b 1", 7)] == [2, 5, 1, 7]
    now[0] = scheduler.IDLE
    assert [add("b 1", 1), add("a 1", 1)] == [8, 6]
    now[0] = scheduler.IDLE + 1
    assert [add("b 1", 1), add("a 1", 1), add("a 2", 1)] == [9, 7, 1]
    scheduler.forget("a")
    assert [add("b 1", 1), add("a 1", 1), add("a 2", 1)] == [10, 1, 1]
    with pytest.raises(errors.FileError, match=rf"^a worker has crfkit {__version__}, expected 0\.0\.1$"):
        add("b 1", 1, "0.0.1")
