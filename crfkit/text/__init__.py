"""Bytes to rows of cells, and rows back to bytes: column files, CoNLL-U, CRFsuite's lines."""
