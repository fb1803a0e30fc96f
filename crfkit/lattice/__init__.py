"""Scores of one sentence, and the recursions over them."""
