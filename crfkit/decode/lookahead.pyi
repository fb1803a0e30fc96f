from collections.abc import Iterable

from crfkit.lattice.lattice import Lattice
from crfkit.weights.layout import Layout

class LookaheadSearch:
    def __init__(self, layout: Layout, lattice: Lattice, depth: int, shared: Iterable[int]) -> None: ...
