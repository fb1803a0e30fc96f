"""Files of raw results: a line of JSON for each run. A run that stands there is not repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Journal:
    """One file. `names`: the fields that tell a run from others. The first line of a run counts, and a line that was cut short, as its
    run was killed, is dropped."""

    def __init__(self, path: Path, *names: str) -> None:
        self.path, self.names = path, names
        path.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes() if path.exists() else b""     # text may be cut within a character, and has more kinds of line ends
        if torn := data[data.rfind(b"\n") + 1 :]:
            data = data.removesuffix(torn)
            path.write_bytes(data)
        self.known: dict[str, Record] = {}
        for record in map(json.loads, data.splitlines()):
            self.known.setdefault(self.key(record), record)

    def key(self, record: Record) -> str:
        return json.dumps([record.get(name) for name in self.names], sort_keys=True)

    def find(self, asked: Record) -> Record | None:
        return self.known.get(self.key(asked))

    def add(self, record: Record) -> Record:
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        with self.path.open("a", encoding="utf-8") as file:
            print(line, file=file)
        found: Record = json.loads(line)
        self.known[self.key(found)] = found
        return found

    def of(self, asked: Record, work: Callable[[], Record]) -> Record:
        """The record of a run: as it stands there, or with what the work finds now."""
        return self.find(asked) or self.add({**asked, **work()})
