from array import array

from typing_extensions import Buffer

class Evidence:
    def __init__(self, bigram: bool) -> None: ...
    def add(
        self,
        attributes: Buffer,
        labels: Buffer,
        counts: Buffer,
        starts: Buffer,
        befores: Buffer | None,
        previouses: Buffer | None,
        own: Buffer,
    ) -> None: ...
    def settle(self, rank: Buffer) -> None: ...
    def occurrences(self) -> array[int]: ...
    def ambiguity(self) -> tuple[int, int]: ...
