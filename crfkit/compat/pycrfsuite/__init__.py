"""python-crfsuite's interface, with crfkit behind it. One line changes:

    import crfkit.compat.pycrfsuite as pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["walk"], {"shop": 0.5}], ["sunny", "rainy"])
    trainer.train("weather.crfsuite")                       # a model in CRFsuite's format
    tagger = pycrfsuite.Tagger()
    tagger.open("weather.crfsuite")
    tagger.tag([["walk"]])

Models are read and written in CRFsuite's format. docs/python-crfsuite.md lists what differs.
"""

from . import _dumpparser, _logparser  # noqa: F401  # programs name them as attributes
from ._pycrfsuite import CRFSUITE_VERSION, BaseTrainer, CRFSuiteError, ItemSequence, Tagger, Trainer

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
