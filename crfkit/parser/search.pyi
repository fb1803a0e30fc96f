from .statetables import StateTables

class Search:
    def __init__(self, tables: StateTables, depth: int) -> None: ...
