"""Containers and files that are not what they seem."""

import io


def liar(told, items):
    """A list of the items that says it has `told` of them: whoever reserves memory by it is caught."""
    return type("Liar", (list,), {"__len__": lambda self: told})(items)


class Frame:
    """As a data frame of pandas: its rows are not what it iterates over, but the names of its columns."""

    ndim = 2

    def __init__(self, names):
        self.names = names

    def __iter__(self):
        return iter(self.names)

    def iterrows(self):
        """What tells a data frame from all else."""
        return iter(())


class Sips(io.RawIOBase):
    """A file without a buffer that takes so many bytes at once, and none when it is full."""

    def __init__(self, most, room=None):
        self.most, self.room, self.held = most, room, b""

    def writable(self):
        return True

    def write(self, data):
        if self.room is not None and len(self.held) >= self.room:
            return None
        taken = bytes(data)[: self.most]
        self.held += taken
        return len(taken)
