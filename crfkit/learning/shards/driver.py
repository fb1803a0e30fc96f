"""A training run whose data are held by workers: what differs from a run on one machine.

    look ──> cut ──> count ──> shards ──> read, one by one ──> tables added in their order ──> layout ──> numbers
    for each shard

Then every shard has the same attribute numbers as on one machine. This process holds the tables, the layout and
the weights.
"""

from __future__ import annotations

import array
import time
from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum
from typing import Any

import numpy as np
from xxhash import xxh3_128

from crfkit.cluster.crew import Crew
from crfkit.constants import CHUNK_TOKENS
from crfkit.data.tallies import NOTHING, add_tally, values_in
from crfkit.errors import CrfkitError, DataError, TrainingError
from crfkit.features.indexing import RULES
from crfkit.features.merging import add_tables
from crfkit.text.block import Marks
from crfkit.text.faults import NO_TOKENS
from crfkit.text.opening import Stretch
from crfkit.weights.evidence import Evidence
from crfkit.weights.layout import Layout

from ..corpus import Corpus, no_feature
from ..reader import Reader
from .files import Piece, Shard, columns_of, cut, shards_of
from .service import LARGEST, READ, SUMS


class DistributedData:
    """What the driver knows of the workers' data; the names are the same as in Dataset."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.n_sequences = self.n_tokens = self.longest = 0
        self.n_incidences = [0, 0]
        self.weight, self.largest_value, self.squares = 0.0, 0.0, 0.0
        self.has_values = self.has_weights = False
        self.sequences: list[int] = []  # of each shard,
        self.tokens: list[int] = []  # and its tokens
        self.met: Counter[int] = Counter()  # labels, by their numbers in the order in which they were met
        self.rank = array.array("i")  # of these numbers those in `labels`
        self.checksums: dict[int, str] = {}
        self.as_read: dict[int, str] = {}  # checksums of the shards before their attributes got their final numbers

    def note(self, found: dict[str, Any]) -> None:
        """Record a shard."""
        self.sequences.append(int(found["n_sequences"]))
        self.tokens.append(int(found["n_tokens"]))
        for name in (*SUMS, *LARGEST):
            before = getattr(self, name)
            own = type(before)(found[name])
            setattr(self, name, before + own if name in SUMS else max(before, own))

    def first_label(self) -> tuple[str, float, int]:
        """See Dataset.first_label."""
        counts, first = self.label_counts(), self.rank[0]
        return self.labels[first], counts[first], sum(n <= counts[first] for n in counts)

    def label_counts(self) -> list[float]:
        """See Dataset.label_counts."""
        counts = [0.0] * len(self.labels)
        for number, times in self.met.items():
            counts[self.rank[number]] = times
        return counts

    def checksum(self) -> str:
        """See Dataset.checksum; the same for any number of workers."""
        return xxh3_128(" ".join(self.checksums[shard] for shard in sorted(self.checksums)).encode()).hexdigest()


class DistributedCorpus:
    """Reads the data with a crew, and knows the steps that bring any worker up to date."""

    def __init__(self, crew: Crew, reader: Reader, shards: int | None):
        self.crew, self.reader, self.wanted = crew, reader, shards
        self.data = DistributedData()
        self.shards: list[Shard] = []
        self.counted = 0  # tokens, when shards were cut
        self.numbers: list[dict[str, Any]] = []
        self.common: list[tuple[str, dict[str, Any]]] = []  # the steps for all workers, in order
        self.in_groups = False  # whether the shards that a worker gets together become one data set

    # ------------------------------------------------------------------------------------------ what workers are to do

    def catching_up(self, memory: set[Any], shards: Sequence[int]) -> list[Any]:
        """The steps after which a worker with this memory holds these shards, with all that is known of them so far."""
        steps: list[Any] = [[verb, arguments] for verb, arguments in self.common if verb not in memory]
        memory.update(verb for verb, _ in self.common)
        for shard in shards:
            if shard not in memory:
                memory.add(shard)
                steps.append(["read", {"shard": shard, **self.shards[shard]._asdict(), "checksum": self.data.as_read.get(shard)}])
            if self.common[-1][0] != "begin" and ("number", shard) not in memory:
                memory.add(("number", shard))
                steps.append(["number", {"shard": shard, **self.numbers[shard]}])
        if new := [shard for shard in shards if self.in_groups and ("group", shard) not in memory]:
            memory.update(("group", shard) for shard in new)
            steps.append(["group", {"shards": new}])
        return steps

    def ask(
        self, jobs: Sequence[int], verb: str, arguments: Callable[[set[Any], list[int]], dict[str, Any]],
        accept: Callable[[list[int], Any], Any], grouped: bool = False, bound: bool = True,
    ) -> None:
        """Have a step done for each of these jobs, which are shards if they are bound to workers; see Crew.run."""
        self.crew.run(
            jobs, lambda memory, own: [*self.catching_up(memory, own if bound else ()), [verb, arguments(memory, own)]], accept, grouped, bound
        )

    def tally(self, count: Callable[..., Any]) -> array.array:
        """What this function of crfkit/data/tallies.pyx counts in all shards. How sums are rounded decides nothing."""
        values = count is values_in
        found = NOTHING * (self.layout.n_attributes[0] if values else len(self.data.labels))
        self.ask(
            range(len(self.shards)), "tally", lambda _, own: {"shard": own[0], "values": values}, lambda _, more: add_tally(found, more)
        )
        return found

    # ------------------------------------------------------------------------------------------ reading

    def read(self, train: list[str]) -> Corpus:
        """Read the data, and find out everything the driver has to know."""
        started, reader = time.perf_counter(), self.reader
        run = reader.run
        files: list[tuple[str, int, bool]] = []

        def accept(_: list[int], answer: dict[str, Any]) -> None:
            reader.columns = columns = columns_of(answer["columns"])
            files[:] = [(str(name), int(size), bool(whole)) for name, size, whole in answer["files"]]
            reader.first, reader.train = (columns.path, columns.line), [name for name, *_ in files]

        self.ask([0], "look", lambda *_: {"train": train, "form": run.format, "comments": run.comments}, accept, bound=False)
        reader.begin()
        template = reader.template
        told = None if template is None else [template.text, template.path, template.dialect]
        own = {"format": run.format, "label": run.label, "comments": run.comments, "data_dir": run.data_dir}
        self.common.append(("begin", {"template": told, "run": own, "direction": reader.direction, "columns": list(reader.columns)}))
        self._cut(cut(files, self.wanted))
        unigrams, bigrams, pairs = self._tables()
        self._number(unigrams, bigrams, pairs)
        reader.tokens = self.data.n_tokens
        seconds = time.perf_counter() - started
        return Corpus(reader, self.data, self.layout, self.data.n_sequences, seconds, unigrams.ambiguity())

    def _cut(self, stretches: list[Stretch]) -> None:
        pieces: dict[int, Piece] = {}
        marks = Marks()

        def accept(own: list[int], answer: dict[str, Any]) -> None:
            n, sequences, heads, last = answer["piece"]
            pieces[own[0]] = Piece(stretches[own[0]], int(n), int(sequences), [int(length) for length in heads], int(last))
            marks.add(*answer["marks"])

        jobs = range(len(stretches))
        self.ask(jobs, "count", lambda _, own: {"stretch": list(stretches[own[0]]), "most": CHUNK_TOKENS}, accept, bound=False)
        tokens: Counter[str] = Counter()
        for piece in pieces.values():
            tokens[piece.stretch.path] += piece.tokens
        for path, n in tokens.items():
            if not n:
                raise DataError(NO_TOKENS, path)
        self.reader.progress.warn(marks.warning)
        self.counted = sum(tokens.values())
        self.shards = shards_of([pieces[job] for job in jobs], CHUNK_TOKENS)

    def _tables(self) -> tuple[Evidence, Evidence, set[tuple[int, int]]]:
        """The tables of all shards, added in their order."""
        reader, early = self.reader, {}
        attributes: Counter[str | None] = Counter()
        unigrams, bigrams = Evidence(False), Evidence(True)
        pairs: set[tuple[int, int]] = set()

        def accept(own: list[int], answer: dict[str, Any]) -> None:
            if set(answer) != READ or not isinstance(answer["tables"], dict):
                # seen at once: when its turn comes, the fault would be that of who answers then
                raise ValueError("not what was read")
            early[own[0]] = answer
            while len(self.numbers) in early:
                found = early.pop(len(self.numbers))
                try:
                    numbers = add_tables(reader.builder, found["tables"])
                    for evidence, kind in ((unigrams, "u"), (bigrams, "b")):
                        evidence.add(numbers[kind], numbers["labels"], *found[kind])
                    for label, n in zip(numbers["labels"], found["label_counts"], strict=True):
                        self.data.met[label] += n
                    seen = [numbers["labels"][label] for label in found["pairs"]]
                    pairs.update(zip(seen[::2], seen[1::2], strict=True))
                    for path, n in found["attributes"]:
                        attributes[path] += n
                    self.data.note(found)
                except CrfkitError:
                    raise
                except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                    # What was added before the fault cannot be taken back, and would give other numbers to all that follows.
                    raise TrainingError(f"what a worker tells of shard {len(self.numbers) + 1} contradicts itself: {error}; start the run again") from error
                self.data.as_read[len(self.numbers)] = str(found["checksum"])
                self.numbers.append(numbers)
                reader.progress.reading(self.data.tokens[-1], self.data.sequences[-1])

        self.crew.run(range(len(self.shards)), self.catching_up, accept)
        if self.data.n_tokens != self.counted:
            raise DataError(f"the data changed while they were read: {self.data.n_tokens:,} tokens, {self.counted:,} before")
        reader.check_attributes(attributes)
        return unigrams, bigrams, pairs

    def _number(self, unigrams: Evidence, bigrams: Evidence, pairs: set[tuple[int, int]]) -> None:
        """The layout, and the final numbers of everything in the tables and in each shard."""
        reader, run, data = self.reader, self.reader.run, self.data
        builder, usual = reader.builder, RULES[run.features]
        known = list(builder.label_table)
        labels = data.labels = reader.finish().labels
        rank = array.array("i", map({label.encode(): number for number, label in enumerate(labels)}.__getitem__, known))
        data.rank = rank
        reader.progress.warn(reader.names_warning(data))
        for evidence in (unigrams, bigrams):
            evidence.settle(rank)
        u_rules, b_rules = (
            builder.rules(kind, usual, run.min_freq, evidence.counts)
            for kind, evidence in ((False, unigrams), (True, bigrams))
        )
        known_pairs = [(rank[i], rank[j]) for i, j in pairs]
        self.layout, *new = Layout.build(
            (unigrams, bigrams), len(labels), builder.plain_rule(usual), u_rules, b_rules, builder.reaches(), known_pairs
        )
        if not self.layout.n_features:
            raise no_feature(reader)
        builder.renumber(*new)
        for numbers in self.numbers:
            for kind, of in (*zip("ub", new, strict=True), ("labels", rank)):
                numbers[kind] = np.asarray(of)[numbers[kind]].data
        layout = self.layout
        self.nesting = builder.nesting()
        self.common.append(("share_layout", {
            "labels": labels, "has_tau": layout.has_tau, "hot": layout.hot, "arrays": layout.arrays(), "pairs": layout.plain_pairs,
            "nesting": self.nesting, "values": data.has_values,
        }))

        def accept(own: list[int], answer: list[Any]) -> None:
            checksum, incidences, squares, largest = answer
            if not isinstance(checksum, str) or len(checksum) != 32:
                raise ValueError("no checksum")
            of_shards[own[0]], most = float(squares), max(data.largest_value, float(largest))
            data.n_incidences = [so_far + int(more) for so_far, more in zip(data.n_incidences, incidences, strict=True)]
            data.largest_value = most
            data.checksums[own[0]] = checksum

        of_shards: dict[int, float] = {}
        self.crew.run(range(len(self.shards)), self.catching_up, accept)
        data.squares = fsum(of_shards.values())
