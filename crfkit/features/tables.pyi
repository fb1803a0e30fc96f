from .cells import View
from .plan import Plan
from .strings import StringTable

class Features:
    growing: bool
    plan: Plan
    columns: list[StringTable]
    views: list[View]
    literals: list[StringTable]
    @property
    def n_attributes(self) -> tuple[int, int]: ...
    def shared(self) -> list[int]: ...
