from crfkit.features import plan as plans

from .strings import StringTable

class View:
    plan: plans.ViewPlan
    strings: StringTable
    def __init__(
        self, number: int, plan: plans.ViewPlan, cells: StringTable, column: int, column2: int = -1
    ) -> None: ...
