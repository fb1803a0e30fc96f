"""Chooses once, at import, the fastest variant of the compiled loops that this processor can run.

CRFKIT_SIMD=base|avx2|avx512 selects another one; all give the same bits.
"""

import os

from crfkit.errors import OptionError

K = crfkit_select(os.fsencode(os.environ.get("CRFKIT_SIMD", "")))
if K is NULL:
    raise OptionError(f"CRFKIT_SIMD={os.environ['CRFKIT_SIMD']}: no such variant on this processor; leave it unset, or use base")


def variant() -> str:
    """Name of the variant in use: base, avx2 or avx512."""
    return K.name.decode()
