"""The one place that states the version."""

__version__ = "0.1.0"
