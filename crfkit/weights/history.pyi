from .observed import SeenPairs

PADDINGS: tuple[str, str]

class SeenHistory(SeenPairs): ...
