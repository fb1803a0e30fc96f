"""For sources that are not compiled, as in a fresh clone: in its folder they would hide the installed crfkit."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location


def installed(name: str, sources: str) -> None:
    """Load the installed package in place of these sources; ImportError, which says what to do, where there is none."""
    for entry in sys.path:
        folder = os.path.join(os.path.abspath(entry or os.curdir), name)
        if PathFinder.find_spec(f"{name}._cyutility", [folder]) is not None:
            spec = spec_from_file_location(name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
            if spec is not None and spec.loader is not None:
                sys.modules[name] = module = module_from_spec(spec)
                spec.loader.exec_module(module)
                return
    raise ImportError(
        f"the sources of {name} in {sources} are not compiled: install them (pip install .) or compile them here (make build)",
        name=name,
    )
