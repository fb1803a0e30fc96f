"""Doors for programs written for other libraries: the same names, the same behaviour, crfkit behind them.

crfpp                           CRF++'s commands
crfsuite, wapiti                CRFsuite's and Wapiti's command
pycrfsuite, sklearn_crfsuite    python-crfsuite and sklearn-crfsuite
"""
