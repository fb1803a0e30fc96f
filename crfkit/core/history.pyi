from .seen import SeenPairs

PADDINGS: tuple[str, str]

class SeenHistory(SeenPairs): ...
