"""Containers that are not what they seem."""


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
