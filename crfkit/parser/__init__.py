"""Dependency parsing by shift and reduce, with lookahead: trees, states, their features, the search, models."""
