"""A training run, from files to a model; `learn.py` is the page to read first."""
