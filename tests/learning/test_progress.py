"""The messages of a run, and how it is stopped."""

import io
import signal
import threading

import pytest

from crfkit.learning.progress import Progress, StopRequest

COUNTS = {"sequences": 1200, "tokens": 34567, "labels": 3, "attributes": 4, "weights": 5, "seconds": 1.234, "memory": 3 << 20}
RECORD = {"pass": 7, "objective": 12.345, "seconds": 0.5}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def said(mode="auto", quiet=False, stream=None, **record):
    stream = stream or io.StringIO()
    progress = Progress(mode, quiet, stream)
    progress.summary(COUNTS)
    progress.start(10)
    progress.report({**RECORD, **record})
    progress.note("by the way")
    progress.end("all is well", False, {**RECORD, "gap": 0.045})
    return stream.getvalue()


def test_what_was_closed_is_silent():
    stream = io.StringIO()
    stream.close()
    Progress(stream=stream).note("nobody hears this")
    for kind in (io.StringIO, Terminal):
        stream = kind()
        progress = Progress(stream=stream)
        progress.start(10)
        stream.close()
        progress.report(RECORD)
        progress.end(None, False, RECORD)


class Lines:
    """What programs put in place of standard error, to keep what is written in a log."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def getvalue(self):
        return self.text


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
def test_a_stream_may_have_nothing_but_write(mode):
    stream = Lines()
    stream.flush = lambda: None
    assert "by the way\n" in said(mode, stream=Lines()) and said(mode, stream=stream) == said(mode)


def test_lines_on_the_progress_of_training():
    assert said().splitlines() == [
        "1,200 sequences, 34,567 tokens, 3 labels, 4 attributes, 5 weights; read in 1.23 s",
        "training will take about 3 MB of memory",
        "pass    7  objective 12.35  0.50 s",
        "by the way",
        "objective 12.35, at most 0.37 % above the optimum",
        "done: all is well",
    ]


def test_one_of_a_kind():
    stream = io.StringIO()
    Progress(stream=stream).summary({**COUNTS, "sequences": 1, "labels": 1, "attributes": 1, "weights": 1})
    assert stream.getvalue().startswith("1 sequence, 34,567 tokens, 1 label, 1 attribute, 1 weight; read in 1.23 s\n")


def test_scores_on_development_data():
    scores = {"dev_accuracy": 0.98765, "dev_f1": 0.87654}
    assert "  dev accuracy 98.77%  F1 87.65  " in said(**scores)
    assert "pass    7  objective 12.35  dev accuracy 98.77%  F1 87.65  0.50 s\n" in said(stream=Terminal(), **scores)  # beside the bar


def test_what_was_asked_for_is_shown():
    assert "pass    7  objective 12.35  crf loss 3.14  train accuracy 98.77%  0.50 s\n" in said(train_accuracy=0.98765, crf_loss=3.14159)


@pytest.mark.parametrize(("value", "text"), [(20, "20"), (57.0, "57"), (0.17, "0.17"), (2.0**-10, "0.0009765625"), (1 / 3, "0.3333333333333333")])
def test_what_was_chosen_is_printed_exactly(value, text):
    stream = io.StringIO()
    Progress(stream=stream).chosen({"rate": value})
    assert stream.getvalue() == f"--rate {text}, the best one on a sample\n"


def test_no_estimate_where_the_system_gives_none():
    stream = io.StringIO()
    Progress(stream=stream).summary({**COUNTS, "memory": 0})
    assert "memory" not in stream.getvalue()


@pytest.mark.parametrize(("mode", "terminal", "bar"), [("auto", True, True), ("auto", False, False), ("always", False, True), ("never", True, False)])
def test_where_a_bar_is_shown(mode, terminal, bar):
    text = said(mode, stream=Terminal() if terminal else None)
    assert ("pass/s" in text or "s/pass" in text) == bar
    assert ("pass    7" in text) != bar
    assert "by the way\n" in text


def test_a_bar_counts_the_tokens_that_are_read(monkeypatch):
    """It is shown after a second, which no test waits for."""

    class Bar:
        def __init__(self, stream, **options):
            self.n, self.closed, self.unit, self.delay = 0, False, options["unit"], options.get("delay", 0)
            bars.append(self)

        def update(self, n):
            self.n += n

        def close(self):
            self.closed = True

    bars = []
    monkeypatch.setattr("crfkit.learning.progress.bar_on", Bar)
    progress = Progress("always", stream=io.StringIO())
    for tokens in (5, 7):
        progress.reading(tokens, 1)
    progress.summary(COUNTS)
    progress.start(10)
    assert [(bar.n, bar.closed, bar.unit, bar.delay) for bar in bars] == [(12, True, " tokens", 1), (0, False, "pass", 0)]
    Progress("never", stream=io.StringIO()).reading(5, 1)
    assert len(bars) == 2


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
def test_quiet_is_quiet(mode):
    assert said(mode, quiet=True, stream=Terminal()) == ""


def test_the_last_line_says_why_training_ended():
    def end(reason, stopped):
        stream = io.StringIO()
        Progress(stream=stream).end(reason, stopped, {})
        return stream.getvalue()

    assert end(None, False) == ""
    assert end(None, True) == "stopped; the weights so far are kept\n"
    assert end("enough", True) == "stopped; the weights so far are kept\n"


# --- signals ------------------------------------------------------------------------------------------------------


@pytest.mark.steady
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_a_request_once_armed(number):
    stop = StopRequest()
    before = signal.getsignal(number)
    with stop.on_signals():
        stop.armed = True
        signal.raise_signal(number)
        assert stop.requested() and stop.signal == number
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) == before


@pytest.mark.steady
def test_a_signal_interrupts_before():
    stop, before = StopRequest(), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stop.on_signals():
        signal.raise_signal(signal.SIGINT)
    assert stop.signal == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_is_ignored_stays_so(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        stop = StopRequest()
        with stop.on_signals():
            assert signal.getsignal(number) == signal.SIG_IGN
            signal.raise_signal(number)
        assert not stop.requested()
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.steady
def test_other_threads_leave_signals_alone():
    def run():
        stop = StopRequest()
        with stop.on_signals():
            found.append((stop.requested(), signal.getsignal(signal.SIGINT)))

    found = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [(False, signal.getsignal(signal.SIGINT))]
