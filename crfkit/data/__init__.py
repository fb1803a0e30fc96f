"""A corpus as attribute numbers, where attributes occur, and which are worth keeping."""
