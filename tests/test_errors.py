"""Errors cross from one process to another, as those of workers and of scikit-learn's jobs do."""

import copy
import pickle

import pytest

from crfkit.errors import CrfkitError, DataError, NotFittedError, TemplateError


def kinds(of=CrfkitError):
    return [of, *(kind for derived in of.__subclasses__() for kind in kinds(derived) if kind.__module__ == "crfkit.errors")]


PLACES = [kind("wrong", *place) for kind in (DataError, TemplateError) for place in (("f",), ("f", 3))]


@pytest.mark.parametrize("error", [*(kind("f: wrong\nin lines") for kind in kinds()), *PLACES, NotFittedError()], ids=repr)
def test_errors_are_the_same_elsewhere(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert isinstance(again, type(error)) and vars(again) == vars(error)  # NotFittedError is scikit-learn's, too, where that is loaded
        assert (str(again), repr(again), again.args) == (str(error), repr(error), error.args)
