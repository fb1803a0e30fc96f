"""A clone whose sources are not compiled: the crfkit that is installed is used there, or one line says what to do. And how it is compiled."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from commands import python

import crfkit

PACKAGE = Path(crfkit.__file__).parent
COMPILED = ("*.so", "*.pyd", "*.c", "__pycache__")


@pytest.fixture
def clone(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "crfkit", ignore=shutil.ignore_patterns(*COMPILED))
    return tmp_path


def run(arguments, path):
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


PROGRAM = """
import crfkit, os
rows = [[["a", "X"], ["b", "Y"]]]
model = crfkit.learn(rows, template=crfkit.Template.parse("U:%x[0,0]"), max_iter=3)
print(model.tagger().tag([["a"]]), os.path.dirname(crfkit.__file__), crfkit.learn.__module__, sep="\\n")
"""


def test_the_installed_one_is_used(clone):
    done = run(["-c", PROGRAM], str(PACKAGE.parent))
    assert (done.stderr, done.stdout.splitlines()) == ("", ["['X']", str(PACKAGE), "crfkit.learning.learn"])
    done = run(["-m", "crfkit", "--version"], str(PACKAGE.parent))
    assert (done.stderr, done.stdout) == ("", f"crfkit {crfkit.__version__}\n")


def test_without_one_a_line_says_what_to_do(clone):
    # -S: no site-packages, where crfkit may be installed
    done = run(["-S", "-c", "import crfkit"], "")
    assert done.returncode == 1
    message = f"the sources of crfkit in {clone / 'crfkit'} are not compiled: install them (pip install .) or compile them here (make build)"
    assert done.stderr.splitlines()[-1] == f"ImportError: {message}"
    done = run(["-S", "-m", "crfkit"], "")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and message in done.stderr


SETUP = Path(__file__).parents[1] / "setup.py"


@pytest.fixture
def tools():
    """What compiles crfkit: skips where it is not there."""
    if not (SETUP.exists() and SETUP.with_name("crfkit").exists()):
        pytest.skip("needs the sources")
    for tool in ("setuptools", "Cython"):
        pytest.importorskip(tool)


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(("tool", "old"), [("setuptools", "68.2.1"), ("Cython", "3.0.12")])
@pytest.mark.long
def test_an_old_tool_is_named(tool, old):
    """As --no-isolation of `build` and --no-build-isolation of pip leave it to the user."""
    oldest = re.search(rf'"{tool}>=([\d.]+)"', (SETUP.parent / "pyproject.toml").read_text(encoding="utf-8"), re.I)[1]
    # an older one has no such module, error or option
    absent = "sys.modules['setuptools.modified'] = None; del setuptools.errors.CompileError"
    older = f"import runpy, {tool}, setuptools.errors, sys; {tool}.__version__ = {old!r}; {absent}; runpy.run_path({str(SETUP)!r})"
    done = run(["-c", older], "")
    assert done.returncode == 1
    assert done.stderr.startswith(f"crfkit is built with {tool} {oldest} or newer, and this is {old}: ") and done.stderr.count("\n") == 1


@pytest.mark.usefixtures("tools")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("compiler", ["no-such-compiler", "gcc -nostdinc"])
@pytest.mark.long
def test_without_compiler_or_headers_a_line_says_so(clone, compiler):
    """Before Cython has made C of anything."""
    shutil.copy(SETUP, clone)
    environment = {**os.environ, "CC": compiler}
    done = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "-i"], cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("crfkit is built with a C compiler and the header files of Python")
    assert not [path for path in (clone / "crfkit").rglob("*.c") if path.parent.name != "simd"]


BUILD = """
import os, pathlib, runpy, sys
from setuptools import Distribution, Extension
class Dry(runpy.run_path(sys.argv[1])["Build"]):
    def compile_loops(self): pass
    def compile_cython(self): pass
    def precompile_python(self, folder): pass
    def build_extension(self, module): pass
    def check_compiler(self): print("asked")
def build():
    command = Dry(Distribution({"ext_modules": [Extension("m", ["m.c"])]}))
    command.build_lib = "."
    command.ensure_finalized()
    command.run()
source, made = map(pathlib.Path, ("m.c", sys.argv[2]))
source.touch()
build()
for age in (-9, 9):
    made.touch()
    os.utime(made, (source.stat().st_mtime + age,) * 2)
    build()
"""


@pytest.mark.usefixtures("tools")
def test_a_compiler_is_needed_where_something_is_to_be_compiled():
    """Nothing is compiled yet, then something older than its source, and then something newer."""
    assert python(BUILD, SETUP, f"m{sysconfig.get_config_var('EXT_SUFFIX')}").stdout == "asked\nasked\n"


@pytest.mark.skipif(not SETUP.exists() or shutil.which("gcc") is None, reason="needs setup.py and gcc")
def test_flags_of_distributions(tmp_path):
    """CFLAGS that ask for errors where a format is insecure: ours stand behind them, and must not take the warning away that they need."""
    ours = re.findall(r'"(-W[\w-]+)"', SETUP.read_text(encoding="utf-8"))
    assert "-Wno-all" in ours
    (tmp_path / "empty.c").write_text("int nothing;\n")
    for theirs in (["-Wall", "-Werror=format-security"], ["-Wformat", "-Werror=format-security"], ["-Wall", "-Wextra", "-Werror=format-security"]):
        subprocess.run(["gcc", *theirs, *ours, "-c", "empty.c", "-o", "empty.o"], check=True)


@pytest.mark.skipif(not SETUP.exists() or shutil.which("gcc") is None, reason="needs setup.py and gcc")
@pytest.mark.parametrize("theirs", ["-ffast-math", "-Ofast"])
def test_flags_that_change_numbers(theirs, tmp_path):
    """They have no effect, neither on what is compiled nor, through what the linker adds, on the whole process."""
    compiling, linking = (
        ast.literal_eval(re.search(rf"^{name}_args = (\[.*\])$", SETUP.read_text(encoding="utf-8"), re.M)[1]) for name in ("compile", "link")
    )
    (tmp_path / "empty.c").write_text("int nothing;\n")

    def gcc(*arguments):
        done = subprocess.run(["gcc", "-O2", theirs, *arguments, "empty.c"], check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    for faulty, flags in ((True, []), (False, [*compiling, "-O1"])):
        assert ("__FAST_MATH__ 1" in gcc(*flags, "-dM", "-E")) == faulty
    if "crtfastmath" in gcc("-shared", "-###"):
        assert "crtfastmath" not in gcc("-shared", *linking, "-###")


@pytest.mark.long
@pytest.mark.usefixtures("tools")
def test_what_an_older_version_compiled_does_not_hide_a_python_file(tmp_path):
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    kept, stale, foreign = (tmp_path / "crfkit" / name for name in (f"threads{suffix}", f"evaluation/old{suffix}", "threads.another-python.so"))
    stale.parent.mkdir(parents=True)
    for path in (kept, stale, foreign):
        path.touch()
    program = f"""
import runpy
setup = runpy.run_path("setup.py")
from setuptools import Distribution
build = setup["Build"](Distribution({{"ext_modules": [setup["extension"](name, []) for name in (setup["SHARED"], "crfkit.threads")]}}))
build.build_lib = {str(tmp_path)!r}
build.ensure_finalized()
build.remove_stale()
"""
    python(program, cwd=SETUP.parent)
    assert (kept.exists(), stale.exists(), foreign.exists()) == (True, False, True)


@pytest.mark.usefixtures("tools")
@pytest.mark.long
def test_python_h_is_compiled_once_if_the_compiler_can(tmp_path):
    """By nothing that setuptools wants to be without some day."""
    program = f"""
import runpy, warnings
from types import SimpleNamespace
setup = runpy.run_path("setup.py")
from setuptools import Distribution
warnings.simplefilter("error")
for compiler, expected in (("true", 1), ("false", 0), ("no-such-compiler", 0)):
    modules = [setup["extension"](f"crfkit.trainers.batch.m{{k}}", ["setup.py"]) for k in range(6)]
    build = setup["Build"](Distribution({{"ext_modules": modules}}))
    build.build_lib = {str(tmp_path)!r}
    build.ensure_finalized()
    build.compiler = SimpleNamespace(compiler_so=[compiler], spawn=lambda command: warnings.warn("deprecated"))
    build.precompile_python({str(tmp_path)!r})
    assert [len(module.include_dirs) for module in modules] == [expected] * 6, compiler
"""
    python(program, cwd=SETUP.parent)


@pytest.mark.usefixtures("tools")
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a process has all cores here")
@pytest.mark.long
def test_as_many_compilers_as_cores_that_may_be_used():
    """And what imports setup.py, as Cython's processes do, builds nothing."""
    program = """
import os, runpy
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
assert runpy.run_path("setup.py")["CORES"] == 1
"""
    python(program, cwd=SETUP.parent)


@pytest.mark.long
@pytest.mark.skipif(not SETUP.exists() or shutil.which("make") is None, reason="needs the Makefile and make")
def test_a_folder_with_blanks_in_its_name(tmp_path):
    folder = tmp_path / "my clones"
    folder.mkdir()
    shutil.copy(SETUP.with_name("Makefile"), folder)
    (folder / "python").symlink_to(sys.executable)
    (folder / "crfkit/loops").mkdir(parents=True)
    (folder / "crfkit/loops/compiled.so").touch()
    for target in ("build", "lint", "sanitize", "fuzz", "pythons", "oldest", "clang"):
        done = subprocess.run(["make", "-n", target, "PYTHON=./python"], cwd=folder, check=True, capture_output=True, text=True)
        whole = sum(word.count(str(folder)) for word in shlex.split(done.stdout))
        assert whole == done.stdout.count(str(folder)) > 0, (target, done.stdout)


def test_no_source_seems_to_name_its_encoding():
    """Older releases of Cython that pyproject.toml allows take `decoding: sentences` for one, wherever it stands in the first two lines."""
    sources = [path for suffix in ("*.pyx", "*.pxd") for path in PACKAGE.rglob(suffix)]
    assert sources
    for path in sources:
        first = path.read_text(encoding="utf-8").splitlines()[:2]
        assert not re.search(r"coding[:=]", "\n".join(first)), path
