"""Columns, features, weights, lattices: everything that runs without the interpreter."""
