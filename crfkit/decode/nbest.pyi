from crfkit.lattice.lattice import Lattice

Path = tuple[float, list[int]]

class Search:
    """The n best paths of a scored sequence. One object serves any number of searches, one at a time."""

    def nbest(self, lattice: Lattice, n: int, ratio: float = 0.0) -> list[Path]: ...
    def beam(self, lattice: Lattice, n: int, width: int = 50, ratio: float = 0.0) -> list[Path]: ...
