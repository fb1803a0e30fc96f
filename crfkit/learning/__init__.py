"""A training run, from files to a model; read `training.py` first."""
