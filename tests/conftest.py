"""Which crfkit is tested, and where tests run.

`python -m pytest` puts the current folder first on the path. In a fresh clone that folder holds crfkit's
sources without its compiled modules, and they would hide the crfkit that was just installed. So the sources
count only if they were built in place (`make build`); else they are taken off the path.

Programs that a test starts have the same problem with their current folder. Every test therefore runs in an
empty folder of its own, and the in-place build is handed to these programs by PYTHONPATH.
"""

import ctypes
import gc
import importlib.machinery
import importlib.util
import itertools
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STARTED, C, NUMBERS = os.getcwd(), ctypes.CDLL(None), itertools.count()
BUILT_IN_PLACE = any(ROOT.glob("crfkit/loops/*.so")) or any(ROOT.glob("crfkit/loops/*.pyd"))

sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != ROOT]
if BUILT_IN_PLACE:
    sys.path.insert(0, str(ROOT))
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT) + (os.pathsep + others if others else "")
elif importlib.util.find_spec("crfkit") is None:
    raise pytest.UsageError("crfkit is neither installed (pip install .) nor built in place (make build)")

# The threads of numpy's BLAS would wait for work that never comes, and burn processor time meanwhile: no matrix here is large.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Programs write through buffers, as most users' do: else what is not flushed in time would be there all the same.
os.environ.pop("PYTHONUNBUFFERED", None)

# Where python-crfsuite is not installed, nothing is compared with it.
if importlib.util.find_spec("pycrfsuite") is None:
    collect_ignore = [str(path) for path in (ROOT / "tests").rglob("test_*.py") if "\nimport pycrfsuite\n" in path.read_text(encoding="utf-8")]

# Bytecode is kept, if not beside the sources then in pytest's cache: else every program that a test starts would compile crfkit's
# modules again, and every run all tests.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    kept = os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / ".pytest_cache" / "bytecode")
    ours = {"crfkit", "tests", *(path.stem for folder in ("tests", "benchmarks", "benchmarks/papers") for path in (ROOT / folder).glob("*"))}

    class Bytecode:
        """That of other packages was written where they were installed; to compile them again would take seconds. So would what pytest
        does to assertions, which it does to those of its plugins, too."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            first = name.partition(".")[0]
            sys.dont_write_bytecode = first not in ours
            sys.pycache_prefix = None if sys.dont_write_bytecode else kept
            return importlib.machinery.PathFinder.find_spec(name, path, target) if first == "hypothesis" else None

    sys.meta_path.insert(0, Bytecode)

from hypothesis import given, settings, strategies  # noqa: E402


def _sync(file, sync=os.fsync):
    """What tests write need not outlive a power cut, for which a disk takes milliseconds a file. Of others, such as devices, the system says what is
    wrong with them."""
    if not (stat.S_ISREG(mode := os.fstat(file).st_mode) or stat.S_ISDIR(mode)):
        sync(file)


os.fsync = _sync

# Signals that are ignored stay so, in programs that tests start too: under nohup, or in the background of a script.
for number, handler in (("SIGINT", signal.default_int_handler), ("SIGTERM", signal.SIG_DFL), ("SIGHUP", signal.SIG_DFL)):
    if hasattr(signal, number) and signal.getsignal(getattr(signal, number)) == signal.SIG_IGN:
        signal.signal(getattr(signal, number), handler)

# The examples are the same in every run, and no time is too long. `make test-all` takes the profile `random`, which
# looks for new ones; instrumented builds take `quick`.
settings.register_profile("crfkit", deadline=None, derandomize=True, max_examples=10)
settings.register_profile("random", deadline=None, print_blob=True, max_examples=200)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)
settings.load_profile("crfkit")


@pytest.fixture
def tmp_path(tmp_path_factory):
    """pytest's own fixture searches the folders of all earlier tests for a free number, which takes time."""
    folder = tmp_path_factory.getbasetemp() / f"folder{next(NUMBERS)}"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _own_folder(tmp_path):
    """And dice: CRFsuite's trainers draw by C's rand(), whose state all tests of a process share. Without this, the models that a test
    compares would depend on the tests before it, and some models have labels that are equally probable."""
    os.chdir(tmp_path)
    C.srand(1)
    yield
    os.chdir(STARTED)


@pytest.fixture
def train(tmp_path):
    """Training data, with a template beside them."""
    from commands import SMALL, write_part

    (tmp_path / "template").write_text(SMALL)
    return write_part(tmp_path / "train", "chunking", 60)


def pytest_addoption(parser):
    parser.addoption("--runs", type=int, default=1, help="run every test with the mark `steady` so many times (make steady)")


@pytest.fixture
def _run(request):
    """The number of the repetition."""
    return request.param


def pytest_generate_tests(metafunc):
    if (runs := metafunc.config.getoption("--runs")) > 1 and metafunc.definition.get_closest_marker("steady"):
        metafunc.fixturenames.append("_run")
        metafunc.parametrize("_run", range(runs), indirect=True)


def pytest_collection_modifyitems(items):
    if "CRFKIT_CORPORA" not in os.environ:
        skip = pytest.mark.skip(reason="CRFKIT_CORPORA does not name a folder of corpora")
        for item in items:
            if "corpora" in item.keywords:
                item.add_marker(skip)


def pytest_collection_finish():
    """What is imported now stays until the end. Collecting garbage in it again and again took a fifth of the time of all tests."""
    given(strategies.none())(lambda _: None)()  # now Hypothesis makes its dice: among what is frozen it would not find who holds them
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


def pytest_terminal_summary(terminalreporter):
    import crfkit

    terminalreporter.write_line(f"tested: crfkit {crfkit.__version__} in {Path(crfkit.__file__).parent}")
