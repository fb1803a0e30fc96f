"""Model files whose bytes may be anything."""

import crfkit
from crfkit import foreign
from crfkit.errors import CrfkitError, ModelFileError


def use(data):
    """Open and use a model: it is refused, or works. Whether it was opened."""
    try:
        tagger = crfkit.load(data)
    except ModelFileError as error:
        assert "\n" not in str(error)
        return False
    if tagger.header["format"] == "columns":
        try:
            assert len(tagger.tag([["the", "X", "x"], ["a/b", "Y", "x"]])) == 2
        except CrfkitError as error:  # a template of more columns, a score that is not finite
            assert "\n" not in str(error)
    assert "".join(foreign.dump(data))
    return True
