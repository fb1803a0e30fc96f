"""ParsedDump under python-crfsuite's module name, and the parser that reads one from the lines of a dump."""

from __future__ import annotations

import re

from crfkit.compat.pycrfsuite.tagger import ParsedDump

__all__ = ["CRFsuiteDumpParser", "ParsedDump"]

_FEATURE = re.compile(r"\(\d+\) (.+) --> (.+): ([+-]?\d+\.\d+)")
_SECTION = re.compile(r"(FILEHEADER|LABELS|ATTRIBUTES|TRANSITIONS|STATE_FEATURES) = \{")


class CRFsuiteDumpParser:
    """Parses a dump line by line into `result`. `Tagger.info` does without it, and so handles names with line ends."""

    def __init__(self) -> None:
        self.state: str | None = None
        self.result = ParsedDump()

    def feed(self, line: str) -> None:
        """Parse a line."""
        line = line.lstrip().rstrip("\r\n")
        if found := _SECTION.match(line):
            self.state = found[1]
        elif line == "}":
            self.state = None
        elif line and self.state in ("TRANSITIONS", "STATE_FEATURES"):
            features = self.result.transitions if self.state == "TRANSITIONS" else self.result.state_features
            if found := _FEATURE.match(line):
                features[found[1], found[2]] = float(found[3])
        elif line:
            first, _, rest = line.partition(": ")
            if self.state == "FILEHEADER":
                self.result.header[first] = rest
            elif self.state is not None:
                (self.result.labels if self.state == "LABELS" else self.result.attributes)[rest] = first
