"""Doors for programs written for other libraries: the same names, the same behaviour, crfkit behind them.

crfpp         CRF++'s commands
crfsuite      CRFsuite's command
pycrfsuite    python-crfsuite
"""
