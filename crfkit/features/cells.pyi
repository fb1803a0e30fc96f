from crfkit.features import plan as plans

from .strings import StringTable

class View:
    plan: plans.View
    strings: StringTable
    def __init__(
        self, number: int, plan: plans.View, cells: StringTable, column: int, column2: int = -1
    ) -> None: ...
