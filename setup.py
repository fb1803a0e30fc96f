"""Only what pyproject.toml cannot say: the compiled modules and how they are compiled.

CRFKIT_DEBUG=1 checks every index and turns assertions on; CRFKIT_SANITIZE=1 adds AddressSanitizer
and UndefinedBehaviorSanitizer. Neither changes what is computed. CC=clang asks for another compiler.
"""

import os
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEBUG = bool(os.environ.get("CRFKIT_DEBUG"))
SANITIZE = bool(os.environ.get("CRFKIT_SANITIZE"))
CORES = os.cpu_count() or 1

# What all modules need of Cython's runtime is compiled once, into this one.
SHARED = "crfkit._cyutility"
# The numeric loops, in C, belong to one module alone: the others call them through its table.
LOOPS = "crfkit.loops.kernels"
SIMD = "crfkit/loops/simd"

# What every byte, every feature and every step passes through. Elsewhere -O3 takes longer to compile, and gains nothing.
HOT = (LOOPS, "crfkit.data.dataset", "crfkit.decode.lookahead", "crfkit.decode.nbest", "crfkit.features.walk", "crfkit.lattice",
       "crfkit.text.rows", "crfkit.trainers.online")
# Where no loop is long, or nobody waits for it, -O1 takes half as long as -O2.
COLD = ("crfkit.compat", "crfkit.data.selection", "crfkit.features.names", "crfkit.features.packing", "crfkit.foreign",
        "crfkit.template.patterns", "crfkit.testing", "crfkit.trainers.batch.quasinewton", "crfkit.weights.layout")

# The same bits from every compiler and on every processor: no product and sum is fused into one.
compile_args = ["-ffp-contract=off", "-Wno-unused-function", "-Wno-psabi"]
link_args = []
if DEBUG or SANITIZE:
    compile_args += ["-O1", "-g", "-UNDEBUG", "-fno-omit-frame-pointer"]
else:
    compile_args += ["-g0"]
if SANITIZE:
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    compile_args += flags
    link_args += flags


def extension(name, sources, **more):
    """A compiled module."""
    level = [] if DEBUG or SANITIZE else ["-O3" if name.startswith(HOT) else "-O1" if name.startswith(COLD) else "-O2"]
    return Extension(name, sources, extra_compile_args=compile_args + level, extra_link_args=link_args, **more)


def cython_module(path):
    """The module that a .pyx file becomes."""
    name = os.path.splitext(path)[0].replace("/", ".")
    loops = name == LOOPS
    return extension(
        name,
        [path, *(sorted(glob(f"{SIMD}/*.c")) if loops else [])],
        include_dirs=[SIMD],
        depends=glob(f"{SIMD}/*.h") + (glob(f"{SIMD}/*.inc") if loops else []),
    )


class Build(build_ext):
    """Makes C of Cython when modules are built, and not when somebody asks for a version or packs the sources."""

    def run(self):
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
                "auto_pickle": False,
            },
        )
        sources = {module.name: module.sources for module in made}
        for module in self.extensions:
            module.sources = sources[module.name]
        # Compiled last, a long module would leave all cores but one without work.
        self.extensions.sort(key=lambda module: (module.name != LOOPS, -os.path.getsize(module.sources[0])))
        super().run()


setup(
    options={"build_ext": {"parallel": CORES}},
    cmdclass={"build_ext": Build},
    ext_modules=[
        extension(SHARED, ["crfkit/_cyutility.c"]),
        *map(cython_module, sorted(glob("crfkit/**/*.pyx", recursive=True))),
    ],
)
