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

compile_args = ["/O2"] if MSVC else ["-O3", "-ffp-contract=off", "-Wno-unused-function", "-Wno-psabi"]
link_args = []
if DEBUG or SANITIZE:
    compile_args = ["-O1", "-g", "-ffp-contract=off", "-UNDEBUG", "-fno-omit-frame-pointer", "-Wno-unused-function", "-Wno-psabi"]
if SANITIZE:
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    compile_args += flags
    link_args += flags

# Sources in C that belong to one module alone.
EXTRA_SOURCES = {"crfkit.core.kernels": sorted(glob("crfkit/core/simd/*.c"))}


def extension(path):
    """The extension that a .pyx file becomes."""
    name = path[: -len(".pyx")].replace(os.sep, ".").replace("/", ".")
    return Extension(
        name,
        [path, *EXTRA_SOURCES.get(name, [])],
        include_dirs=["crfkit/core/simd"],
        depends=glob("crfkit/core/simd/*"),
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )


setup(
    options={"build_ext": {"parallel": CORES}},
    ext_modules=cythonize(
        [extension(path) for path in sorted(glob("crfkit/**/*.pyx", recursive=True))],
        nthreads=0 if MSVC else CORES,
        compiler_directives={
            "language_level": 3,
            "boundscheck": True,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "embedsignature": True,
            "freethreading_compatible": True,
        },
    )
)
