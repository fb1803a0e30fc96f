"""The module in which python-crfsuite defines its classes. Programs name it too: `pycrfsuite._pycrfsuite.Tagger`."""

from .errors import CRFSuiteError
from .items import ItemSequence
from .tagger import Tagger
from .trainer import BaseTrainer, Trainer

CRFSUITE_VERSION = "0.12.2"  # whose behaviour this is

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
