"""Only what pyproject.toml cannot say: the compiled modules and how they are compiled, and the templates.

CRFKIT_DEBUG=1 checks every index and turns assertions on; CRFKIT_SANITIZE=1 adds AddressSanitizer
and UndefinedBehaviorSanitizer, CRFKIT_SANITIZE=thread ThreadSanitizer. None of them changes what is computed. CC=clang asks for another compiler.
"""

import gc
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from glob import escape, glob
from importlib import import_module

import Cython
import setuptools
from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# Without build isolation nobody else looks at them, and what older ones say is a traceback.
for tool, oldest in ((setuptools, "77.0.1"), (Cython, "3.1")):
    if [*map(int, re.findall(r"\d+", tool.__version__)[:3])] < [*map(int, oldest.split("."))]:
        name = tool.__name__
        sys.exit(f"crfkit is built with {name} {oldest} or newer, and this is {tool.__version__}: pip install -U {name}, or build with isolation")

from setuptools.errors import CompileError  # noqa: E402 (older ones have no such names)
from setuptools.modified import newer_group  # noqa: E402

DEBUG = bool(os.environ.get("CRFKIT_DEBUG"))
SANITIZE = os.environ.get("CRFKIT_SANITIZE")
# Those that this process may use: a batch system may give it four of a hundred, and memory for as many compilers.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

# What all modules need of Cython's runtime is compiled once, into this one.
SHARED = "crfkit._cyutility"
# The numeric loops, in C, belong to one module alone: the others call them through its table.
LOOPS = "crfkit.loops.kernels"
SIMD = "crfkit/loops/simd"

# This is as fast as -O3, in two thirds of the time to compile; only gcc knows it. Loops and functions are aligned, since a
# change elsewhere that moved a short one made it up to 7 % slower.
GCC = sys.platform == "linux" and "gcc" in (os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
VECTORISED = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-falign-loops=64", "-falign-functions=64"] if GCC else ["-O3"]
# On x86-64 these loops are only for processors without AVX2, of before 2013: they take 0.2 to 7 % more instructions so, and compile in two thirds of
# the time.
BASE = ["-O1", "-fno-tree-vectorize"] if GCC and sysconfig.get_platform().endswith("x86_64") and not (DEBUG or SANITIZE) else []

# The first match counts. -O3 is for what every byte and every feature passes through, -O2 for what most of them do, and for trainers.
# Elsewhere -O1 is as good, and takes two thirds of the time to compile. -Og takes two thirds of that: for what does little, but in loops.
# What only calls others needs nothing, in half of the time of -O1.
LEVELS = (
    ("-O0", (SHARED, "crfkit.compat.wapiti.layout", "crfkit.decode.decoder", "crfkit.features.packing",
             "crfkit.parser.trees", "crfkit.testing", "crfkit.testing_lattices",
             "crfkit.threads", "crfkit.trainers.batch.lbfgs", "crfkit.trainers.batch.objective", "crfkit.trainers.batch.owlqn",
             "crfkit.trainers.batch.quasinewton", "crfkit.trainers.batch.sharded")),
    ("-Og", ("crfkit.data.dataset", "crfkit.data.selection", "crfkit.decode.sentence", "crfkit.features.merging", "crfkit.template.regex",
             "crfkit.trainers.base", "crfkit.trainers.stepwise",
             "crfkit.weights.growing", "crfkit.weights.layout", "crfkit.weights.precision")),
    ("-O3", ("crfkit.decode.lookahead", "crfkit.features.walk")),
    ("-O1", ("crfkit.foreign.chunks", "crfkit.foreign.observations", "crfkit.text.scanning", "crfkit.trainers.online.sgd")),
    ("-O2", ("crfkit.compat.pycrfsuite.groups", "crfkit.decode.beam", "crfkit.decode.nbest", "crfkit.decode.printing", "crfkit.decode.rivals",
             "crfkit.features.strings", "crfkit.features.workspace",
             "crfkit.foreign", "crfkit.lattice", "crfkit.parser.search", "crfkit.template.patterns", "crfkit.text.items", "crfkit.text.rows",
             "crfkit.text.writing", "crfkit.trainers.batch.chains", "crfkit.trainers.batch.proximal",
             "crfkit.trainers.online", "crfkit.weights.pruning")),
    ("-O1", ("crfkit",)),
)

# Where Python's objects are seldom met, its own functions for numbers and exceptions do: Cython's faster ones are a twentieth of the C.
# They are met for every token and string in these modules, where those are optimised.
PLAIN = ["-DCYTHON_USE_PYLONG_INTERNALS=0", "-DCYTHON_FAST_THREAD_STATE=0"]
OBJECTS = ("crfkit.decode", "crfkit.features.index", "crfkit.features.strings", "crfkit.text")

# The same bits from every compiler and on every processor: no product and sum is fused into one, and CFLAGS with -ffast-math or -Ofast
# change nothing. A linker that sees these would also round small numbers to 0, in the whole process.
compile_args = ["-fno-fast-math", "-ffp-contract=off", "-Wno-unused-function", "-Wno-psabi"]
link_args = ["-O2", "-fno-fast-math"]
if sys.maxsize < 2**32 and sysconfig.get_platform().endswith(("86", "86_64")):  # by default, the x87 computes more digits than doubles have
    compile_args += ["-msse2", "-mfpmath=sse"]
if DEBUG or SANITIZE:
    compile_args += ["-O1", "-g", "-UNDEBUG", "-fno-omit-frame-pointer"]
else:
    # Looking for what to warn of takes a tenth of gcc's time; CRFKIT_DEBUG=1 warns. -Werror=format-security, which distributions ask for,
    # is an error without -Wformat.
    compile_args += ["-g0", "-Wno-all", "-Wformat"]
    if GCC:  # what runs once, when a module is imported, is not worth the optimiser's time
        compile_args += ['-DCYTHON_SMALL_CODE=__attribute__((cold,optimize("O0")))']
if GCC:  # as Cython defines it, but before Python.h is compiled, too
    compile_args += ["-DPY_SSIZE_T_CLEAN="]
if SANITIZE:
    flags = ["-fsanitize=" + ("thread" if SANITIZE == "thread" else "address,undefined"), "-fno-sanitize-recover=undefined"]
    compile_args += flags
    link_args += flags


def extension(name, sources, **more):
    """A compiled module."""
    found = VECTORISED if name == LOOPS else [next(level for level, names in LEVELS if name.startswith(names))]
    plain = found[0] in ("-O0", "-Og", "-O1") or not name.startswith(OBJECTS)
    level = [] if DEBUG or SANITIZE else found + (PLAIN if plain else [])
    return Extension(name, sources, extra_compile_args=compile_args + level, extra_link_args=link_args, **more)


def cython_module(path):
    """The module that a .pyx file becomes."""
    name = os.path.splitext(path)[0].replace("/", ".")
    return extension(name, [path], include_dirs=[SIMD], depends=glob(f"{SIMD}/*" if name == LOOPS else f"{SIMD}/*.h"))


# Cython's own lines, as comments between those of C, take a fifth of its time.
Options.emit_code_comments = False


class Build(build_ext):
    """Makes C of Cython when modules are built, and not when somebody asks for a version or packs the sources."""

    def run(self):
        self.remove_stale()
        super().run()

    def remove_stale(self):
        """What an earlier version compiled here and this one does not have: Python would take it for a .py file of the same name."""
        due = {self.get_ext_fullpath(module.name) for module in self.extensions}
        package, shared = os.path.split(self.get_ext_fullpath(SHARED))
        suffix = shared.removeprefix("_cyutility")
        for found in glob(os.path.join(escape(package), "**", "*" + suffix), recursive=True):
            if found not in due:
                os.remove(found)

    def build_extensions(self):
        """Cython leaves a core without work at first, so what is C already is compiled beside it."""
        if any(map(self.is_due, self.extensions)):
            self.check_compiler()
        with ThreadPoolExecutor(1) as beside:
            compiled = beside.submit(self.compile_loops)
            self.compile_cython()
        compiled.result()
        with tempfile.TemporaryDirectory() as folder:
            if GCC:
                self.precompile_python(folder)
            super().build_extensions()

    def is_due(self, module):
        """Whether a module is older than what it is made of, or not there."""
        return self.force or newer_group([*module.sources, *module.depends], self.get_ext_fullpath(module.name), "newer")

    def check_compiler(self):
        """What is missing is said at once: Cython takes most of a minute, and then a hundred files are compiled side by side."""
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "python.c")
            with open(source, "w") as file:
                file.write("#include <Python.h>\n")
            try:
                self.compiler.compile([source], folder)
            except (CompileError, OSError) as error:
                sys.exit(f"crfkit is built with a C compiler and the header files of Python (see README.md, Install): {error}")

    def compile_loops(self):
        """The numeric loops, for every kind of processor."""
        loops = next(module for module in self.extensions if module.name == LOOPS)
        sources = sorted(glob(f"{SIMD}/*.c"))
        loops.extra_objects = self.compiler.object_filenames(sources, output_dir=self.build_temp)
        if self.force or any(newer_group(loops.depends, made) for made in loops.extra_objects):
            for source in sources:
                level = BASE if source.endswith("base.c") else []
                self.compiler.compile([source], self.build_temp, include_dirs=loops.include_dirs, extra_postargs=loops.extra_compile_args + level)

    def compile_cython(self):
        """A .c file for each .pyx file."""
        gc.set_threshold(3_000_000, 20, 100)  # Cython's trees are large and live long: looking for garbage took half of its time
        import_module("Cython.Compiler.ParseTreeTransforms")  # takes a second, which Cython's processes share if it is done before they part
        made = cythonize(
            self.extensions,
            nthreads=CORES,
            shared_utility_qualified_name=SHARED,
            compiler_directives={
                "language_level": 3,
                "boundscheck": True,
                "wraparound": False,
                "cdivision": True,
                "initializedcheck": False,
                "embedsignature": True,
                "show_performance_hints": False,  # `make lint` looks at them
                "binding": False,  # functions of Python's own kind, which need a tenth less of gcc's time
                "auto_pickle": False,
            },
        )
        sources = {module.name: module.sources for module in made}
        for module in self.extensions:
            module.sources = sources[module.name]
        # Compiled last, a long module would leave all cores but one without work.
        self.extensions.sort(key=lambda module: -os.path.getsize(module.sources[0]))

    def precompile_python(self, folder):
        """Reads Python.h once for all modules with the same options: gcc takes Python.h.gch for it, and itself ignores one that does not fit."""
        due = defaultdict(list)
        for module in self.extensions:
            if self.is_due(module):
                due[tuple(module.extra_compile_args)].append(module)
        include = next((path for path in self.include_dirs if os.path.exists(os.path.join(path, "Python.h"))), "")
        for arguments, modules in due.items():
            if len(modules) > 5:  # compiling it takes as long as reading it five times
                made = tempfile.mkdtemp(dir=folder)
                header = ["-x", "c-header", os.path.join(include, "Python.h"), "-o", os.path.join(made, "Python.h.gch")]
                with suppress(OSError, subprocess.CalledProcessError):  # modules then read Python.h themselves
                    subprocess.run([*self.compiler.compiler_so, "-I" + include, *arguments, *header], check=True)
                    for module in modules:
                        module.include_dirs.insert(0, made)


class Modules(build_py):
    """Gives an installed package the templates, which in the sources stand beside the package."""

    def run(self):
        super().run()
        if not self.editable_mode:  # then nothing is copied
            for target, source in self.templates().items():
                self.mkpath(os.path.dirname(target))
                self.copy_file(source, target)

    def get_output_mapping(self):
        return {**super().get_output_mapping(), **self.templates()}

    def templates(self):
        """Where they go -> where they are."""
        folder = os.path.join(self.build_lib, "crfkit", "templates")
        return {os.path.join(folder, os.path.basename(name)): name for name in glob("templates/*.txt")}


if __name__ == "__main__":  # Cython's processes import this file, unless they are forked: not by default on macOS, nor from CPython 3.14 on
    setup(
        options={"build_ext": {"parallel": CORES}},
        cmdclass={"build_ext": Build, "build_py": Modules},
        ext_modules=[
            extension(SHARED, ["crfkit/_cyutility.c"]),
            *map(cython_module, sorted(glob("crfkit/**/*.pyx", recursive=True))),
        ],
    )
