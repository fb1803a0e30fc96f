"""Rows of cells to attribute numbers: the plan of a template, values of cells, tuples, the index of a model."""
