"""python-crfsuite's interface, with crfkit behind it. One line changes:

    import crfkit.compat.pycrfsuite as pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["walk"], {"shop": 0.5}], ["sunny", "rainy"])
    trainer.train("weather.crfsuite")                       # a model of CRFsuite's format
    tagger = pycrfsuite.Tagger()
    tagger.open("weather.crfsuite")
    tagger.tag([["walk"]])

Models are files of CRFsuite's format, written and read. What differs is listed in docs/python-crfsuite.md.
"""

from .errors import CRFSuiteError
from .items import ItemSequence
from .tagger import Tagger
from .trainer import BaseTrainer, Trainer

CRFSUITE_VERSION = "0.12.2"  # whose behaviour this is

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
