"""Models of other programs: CRFsuite, CRF++ and Wapiti. Files are recognised by their first bytes.

    FORMAT.read(data) -> Parts       a file, parsed and checked; FORMAT is crfsuite, crfpp, crfpp_text or wapiti
    model_of(parts) -> Model         for crfkit's tagger
    parts_of(model) -> Parts         and back
    FORMAT.write(parts) -> bytes

`load` opens any model, `convert` converts between formats.
"""

from .opening import (
    CRFKIT,
    FORMATS,
    begins_as_model,
    check_weights,
    convert,
    dump,
    load,
    load_any,
    model_bytes,
    read,
    ready,
)

__all__ = ["CRFKIT", "FORMATS", "begins_as_model", "check_weights", "convert", "dump", "load", "load_any", "model_bytes", "read", "ready"]
