"""A training run, from files to a model; `training.py` is the page to read first."""
