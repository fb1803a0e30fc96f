"""Containers that tell another length than they have: whoever reserves memory by it is caught."""


def liar(told, items):
    """A list of the items that says it has `told` of them."""
    return type("Liar", (list,), {"__len__": lambda self: told})(items)
