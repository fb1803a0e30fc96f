"""The module in which python-crfsuite defines its classes. Programs name it too: `pycrfsuite._pycrfsuite.Tagger`."""

from crfkit.compat.pycrfsuite.errors import CRFSuiteError
from crfkit.compat.pycrfsuite.items import ItemSequence
from crfkit.compat.pycrfsuite.tagger import Tagger
from crfkit.compat.pycrfsuite.trainer import BaseTrainer, Trainer

CRFSUITE_VERSION = "0.12.2"  # whose behaviour this is

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
