"""Containers and files that misreport what they are."""

import io


def liar(told, items):
    """A list whose len() is `told`: code that allocates memory by len() is caught."""
    return type("Liar", (list,), {"__len__": lambda self: told})(items)


class Frame:
    """Like a data frame of pandas: iterating over it gives the names of its columns, not its rows."""

    ndim = 2

    def __init__(self, names):
        self.names = names

    def __iter__(self):
        return iter(self.names)

    def iterrows(self):
        """The method by which a data frame is recognised."""
        return iter(())


class Sips(io.RawIOBase):
    """An unbuffered file that takes at most so many bytes per write, and none when it is full."""

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
