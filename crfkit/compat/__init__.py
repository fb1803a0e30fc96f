"""Doors for programs written for other libraries: the same names, the same behaviour, crfkit behind them.

pycrfsuite    python-crfsuite
"""
