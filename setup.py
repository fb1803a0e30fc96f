"""Only what pyproject.toml cannot say: the compiled modules and how they are compiled.

CRFKIT_DEBUG=1 checks every index and turns assertions on; CRFKIT_SANITIZE=1 adds AddressSanitizer
and UndefinedBehaviorSanitizer. Neither changes what is computed.
"""

import os
import sys
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = bool(os.environ.get("CRFKIT_DEBUG"))
SANITIZE = bool(os.environ.get("CRFKIT_SANITIZE"))
MSVC = sys.platform == "win32"
CORES = os.cpu_count() or 1

# What all modules need of Cython's runtime is compiled once, into this one.
SHARED = "crfkit._cyutility"

compile_args = ["/O2"] if MSVC else ["-O3", "-g0", "-ffp-contract=off", "-Wno-unused-function", "-Wno-psabi"]
link_args = []
if DEBUG or SANITIZE:
    compile_args = ["-O1", "-g", "-ffp-contract=off", "-UNDEBUG", "-fno-omit-frame-pointer", "-Wno-unused-function", "-Wno-psabi"]
if SANITIZE:
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    compile_args += flags
    link_args += flags

# The numeric loops, in C, belong to one module alone: the others call them through its table.
LOOPS = "crfkit.loops.kernels"


def extension(path):
    """The extension that a .pyx file becomes."""
    name = os.path.splitext(path)[0].replace(os.sep, ".").replace("/", ".")
    loops = name == LOOPS
    return Extension(
        name,
        [path, *(sorted(glob("crfkit/loops/simd/*.c")) if loops else [])],
        include_dirs=["crfkit/loops/simd"],
        depends=glob("crfkit/loops/simd/*.h") + (glob("crfkit/loops/simd/*.inc") if loops else []),
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )


setup(
    options={"build_ext": {"parallel": CORES}},
    ext_modules=cythonize(
        [Extension(SHARED, ["crfkit/_cyutility.c"], extra_compile_args=compile_args, extra_link_args=link_args)]
        + [extension(path) for path in sorted(glob("crfkit/**/*.pyx", recursive=True))],
        nthreads=0 if MSVC else CORES,
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "boundscheck": True,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "embedsignature": True,
        },
    )
)
