"""Fuzzing: mutated inputs of every kind, each of which must be refused or used safely.

    make fuzz SECONDS=60              every target, so many seconds each
    make fuzz SECONDS=60 TARGETS=eval

What is found is kept in finds/TARGET-..., and tests/test_fuzz.py tries it again for ever.
"""
