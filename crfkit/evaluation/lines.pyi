class Lines:
    def __init__(
        self,
        form: str,
        separator: str | bytes | None,
        gold_column: int,
        least: int,
        comments: bool,
        words: bool,
        path: str | None,
    ) -> None: ...
    path: str | None
    @property
    def marks(self) -> tuple[bool, bool]: ...
