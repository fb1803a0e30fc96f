from collections.abc import Iterable

from .lattice import Lattice
from .layout import Layout

class Lookahead:
    def __init__(self, layout: Layout, lattice: Lattice, depth: int, shared: Iterable[int]) -> None: ...
