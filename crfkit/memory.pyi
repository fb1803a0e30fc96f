class Arena:
    folder: bytes | None
