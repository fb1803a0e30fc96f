from . import plan
from .strings import StringTable

class View:
    plan: plan.View
    def __init__(
        self, number: int, plan: plan.View, cells: StringTable, column: int, column2: int = -1
    ) -> None: ...
    def find(self, string: bytes) -> int: ...
