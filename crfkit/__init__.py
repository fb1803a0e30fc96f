"""crfkit: sequence labelling, fast and exact."""

from .version import __version__

__all__ = ["__version__"]
