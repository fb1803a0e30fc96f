"""The requests a worker answers during training. It holds shards as data sets, and what all of them share."""

from __future__ import annotations

import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crfkit.cluster.serving import Forgotten
from crfkit.data.tallies import repeats_in, values_in
from crfkit.errors import DataError, TrainingError
from crfkit.features.merging import tables
from crfkit.options import TRAINERS as OPTIONS
from crfkit.options import Run
from crfkit.template import dialects
from crfkit.template.parsing import Template
from crfkit.text.opening import Stretch
from crfkit.text.reading import Source
from crfkit.text.sources import parsed_blocks
from crfkit.trainers import trainer_class
from crfkit.trainers.batch.nests import Survey
from crfkit.trainers.batch.objective import chunk_starts
from crfkit.trainers.batch.quanta import largest_factors, sums_of_terms
from crfkit.trainers.batch.sharded import Share
from crfkit.weights.layout import Layout, pairs_in
from crfkit.weights.observed import seen_in

from ..memory import check_data_dir
from ..reader import Reader
from . import files
from .sums import add_rounded

# Attributes of data sets: of the whole they are the sum over shards, or the largest one.
SUMS, LARGEST = ("n_sequences", "n_tokens", "weight"), ("longest", "has_values", "has_weights")
READ = {"tables", "u", "b", "pairs", "label_counts", "attributes", "checksum", *SUMS, *LARGEST}  # what a worker tells of a shard


class Service:
    """One worker. Its public methods are the steps of requests. Forgotten is raised by a step whose shards are not there, and by one that needs no
    shard, but what other steps have set."""

    def __init__(self) -> None:
        self.data: dict[int, Any] = {}
        self.chunks: dict[int, Any] = {}
        self.groups: list[list[int]] = []
        self.evaluated: list[list[int]] = []  # groups that are part of the objective
        self.begun = False  # whether `begin` has been called; if so, all steps since then have been requested of this worker

    def _check_begun(self) -> None:
        if not self.begun:
            raise Forgotten("nothing is known of this run")

    # ------------------------------------------------------------------------------------------ reading

    look = staticmethod(files.look)

    def begin(self, template: list[Any] | None, run: dict[str, Any], direction: str | None, columns: list[Any]) -> None:
        """Set what all reading needs; drops all data held before."""
        self.data, self.chunks, self.groups, self.template = {}, {}, [], None
        if template is not None:
            text, path, dialect = template
            self.template = Template.parse(text, path) if dialect is None else dialects.parse(text, dialect)
        self.run, self.direction = Run(**run), direction
        check_data_dir(self.run.data_dir)
        self.columns = files.columns_of(columns)
        self.begun = True

    def count(self, stretch: list[Any], most: int) -> Any:
        """See files.count."""
        self._check_begun()
        return files.count(Stretch(*stretch), self.run.format, self.run.label, self.run.comments, self.columns, most)

    def read(self, shard: int, before: int, parts: list[Any], checksum: str | None) -> dict[str, Any] | None:
        """Read a shard, which so many tokens precede; returns its tables and the observed features of its attributes, which have the numbers of
        these tables until `number`. `checksum`: of the worker that read it first; then the data must be the same, and nothing is returned."""
        self._check_begun()
        reader = Reader([], self.template, self.run, None, self.direction)
        reader.columns = self.columns
        reader.begin()
        builder = reader.builder
        found: Counter[str | None] = Counter()
        for place, skip, take in parts:
            stretch = Stretch(*place)
            source = Source([stretch], self.run.format, allow_empty=True, comments=self.run.comments, columns=reader.columns)
            with files.lines_counted(stretch):
                for rows, _ in parsed_blocks(source, self.run.format, self.run.label):
                    first = min(skip, len(rows))
                    skip -= first
                    taken = builder.add(rows, first, take)
                    found[stretch.path] += rows.n_attributes
                    take -= taken if take >= 0 else 0
                    if not take:
                        break
        data = builder.drain()
        own = data.checksum()
        if checksum is not None and checksum != own:
            names = ", ".join(dict.fromkeys(path for (path, *_), *_ in parts))
            raise DataError("changed since training began: expected the same data as then", names)
        self.data[shard], self.chunks[shard] = data, chunk_starts(data, before)
        if checksum is not None:
            return None
        n = len(data.labels)
        pairs = pairs_in(data, n) if builder.plain_rule() else []  # looking for them takes a table of all
        return {
            "tables": tables(builder),
            "u": seen_in(data, n, False),
            "b": seen_in(data, n, True, builder.reaches()),
            "pairs": array.array("i", [label for pair in pairs for label in pair]),
            "label_counts": data.label_counts(),
            **{name: getattr(data, name) for name in (*SUMS, *LARGEST)},
            "attributes": list(found.items()),
            "checksum": own,
        }

    # ------------------------------------------------------------------------------------------ numbers

    def share_layout(
        self, labels: list[str], has_tau: bool, hot: int, arrays: dict[str, Any], pairs: Any, nesting: Any, values: bool
    ) -> None:
        """Set which features exist, and the cells of their weights. `values`: whether some attributes have values in any shard."""
        self.layout = Layout(len(labels), has_tau, hot, **arrays)
        self.layout.tell_absent(bytearray(pairs))
        self.labels, self.nesting, self.values = labels, tuple(nesting), values

    def number(self, shard: int, labels: Any, u: Any, b: Any) -> list[Any]:
        """Give a shard the final numbers of labels and attributes; its checksum, how many attributes its tokens have, of each kind, and what is
        known of the values of those that are left."""
        data = self._held(shard)
        data.relabel(labels, self.labels)
        data.renumber(u, b)
        data.widen(*self.layout.n_attributes)
        data.nesting = self.nesting
        if self.values:
            data.fill_in(True, False)
        return [data.checksum(), list(data.n_incidences), data.squares, data.largest_value]

    def tally(self, shard: int, values: bool) -> array.array:
        """The tally of the values in a shard, or else of repeated labels."""
        return (values_in if values else repeats_in)(self._held(shard))

    def _held(self, shard: int) -> Any:
        if shard not in self.data:
            raise Forgotten(f"shard {shard} is not there")
        return self.data[shard]

    # ------------------------------------------------------------------------------------------ the objective

    def group(self, shards: list[int]) -> None:
        """Make these shards one group, with one data set."""
        first = self._held(shards[0])
        for shard in shards[1:]:
            first.extend(self._held(shard))
            self.data[shard] = first  # the same for all of them
        self.groups.append(shards)

    def look_around(self, shards: list[int], survey: bool, sums: bool) -> Any:
        """What a group adds to what is known of all data: which attributes imply others, and the sums of terms, or first the largest terms."""
        data = self._group(shards)
        own = list(Survey(self.layout, self.nesting).of(data)) if survey else None
        return {"survey": own, "terms": sums_of_terms(data, None) if sums else largest_factors(data)}

    def sums(self, shards: list[int], largest: Any) -> Any:
        """The sums of the terms of a group, given the largest ones of all data."""
        return sums_of_terms(self._group(shards), largest)

    def share_whole(self, survey: Any, sums: Any, threads: int, counts: bool) -> None:
        """Set what has to be known of all data to evaluate the objective."""
        self._check_begun()
        self.survey = None
        if survey is not None:
            self.survey = Survey(self.layout, self.nesting)
            self.survey.add(*survey)
        self.sums_of_all, self.share = sums, Share(self.layout, threads, counts)
        self.evaluated = []
        self.touched: tuple[list[int], array.array] | None = None

    def evaluate(self, shards: list[int], weights: Any, bound: float | None, sparse: bool) -> Any:
        """The objective of these shards, whole groups, at these weights. Sparse: weights and gradient are of the cells that the shards touch
        only; the answer tells which cells, if the driver does not know."""
        for group in self.groups:
            if group not in self.evaluated:
                self.share.add(self.data[group[0]], survey=self.survey, sums=self.sums_of_all, chunks=self._chunks_of(group))
                self.evaluated.append(group)
        which = [number for number, group in enumerate(self.evaluated) if group[0] in shards]
        own = [shard for number in which for shard in self.evaluated[number]]
        if sorted(own) != sorted(shards):
            raise Forgotten("other groups of shards")
        if self.touched is None or self.touched[0] != which:
            if sparse:
                raise Forgotten("the cells of these shards are not known")
            used = np.flatnonzero(np.frombuffer(self.share.touched(which), bool))
            self.touched = which, array.array("q", used.astype(np.int64).tobytes())  # numpy counts in 4 bytes on 32-bit machines
        cells = self.touched[1]
        if sparse:
            whole = np.zeros(self.layout.n_cells, np.float32)
            whole[cells], weights = weights, whole
        found = self.share.evaluate(weights, which, float("inf") if bound is None else bound)
        if found is None:
            return None
        losses, gradient, wrong, flawed = found
        sizes = [len(self.chunks[shard]) - 1 for shard in own]
        return {
            "shards": own, "chunks": sizes, "losses": losses, "gradient": np.asarray(gradient).take(cells).data, "wrong": wrong, "flawed": flawed,
            "cells": None if sparse else cells,
        }

    def _chunks_of(self, group: list[int]) -> array.array:
        """Where the chunks of a group begin, and where the last one ends, in its one data set."""
        starts = array.array("q", [0])
        for shard in group:
            passed = starts[-1]
            starts.extend(passed + start for start in self.chunks[shard][1:])
        return starts

    # ------------------------------------------------------------------------------------------ online trainers

    def share_trainer(self, algorithm: str, options: dict[str, Any], shared: list[int], square: float) -> None:
        """Set how shards are trained on. `square`: of the unit of small values, by all data."""
        self.algorithm, self.options, self.shared, self.square = algorithm, OPTIONS[algorithm](**options), shared, square

    def _trainer(self, weights: Any, rates: Any, shares: bool, shard: int, seed: int, changed: dict[str, Any]) -> Any:
        data = self._held(shard)
        options = replace(self.options, **changed)
        more = {} if rates is None else {"rates": rates}
        if hasattr(self.options, "rate"):
            more.update(found=self.options.rate is None, shares=shares, square=self.square)
        return trainer_class(self.algorithm)(
            data, self.layout, options, initial=weights, seed=seed, threads=1, shared=self.shared, **more
        )

    def find_rate(self, shard: int, weights: Any, seed: int, changed: dict[str, Any]) -> list[Any]:
        """Find the first rate for all shards by trials on this one, whether large values get lower rates, and what there is to warn of."""
        trainer = self._trainer(weights, None, True, shard, seed, changed)
        return [float(trainer.state()["rate0"]), trainer.has_shares, trainer.warning()]

    def learn(self, jobs: list[dict[str, Any]], passes: int, weights: Any, rates: Any, shares: bool, limits: dict[str, list[float]]) -> Any:
        """One pass over each of some shards, all from these weights, after `passes` passes: sums of the results that have `limits`, and a record
        of each pass."""
        sums: dict[str, array.array] = {}
        records = []
        for job in jobs:
            trainer = self._trainer(weights, rates, shares, **job)
            trainer.go_on(passes)
            try:
                record = {**trainer.run_pass(), **trainer.measures()}
            except TrainingError as error:  # its sequences are counted from the start of the shard
                raise TrainingError(f"shard {job['shard'] + 1}: {error.message}") from None
            found = {"last": trainer.weights()}
            if "average" in limits:
                found = {"average": found["last"], "last": trainer.state()["weights"]}
            if "rates" in limits:
                found["rates"] = trainer.rates()
            for name, numbers in found.items():
                add_rounded(sums.setdefault(name, array.array("d", [0.0]) * len(numbers)), numbers, *limits[name])
            records.append(record)
        return {"shards": [job["shard"] for job in jobs], "sums": sums, "records": records}

    def _group(self, shards: Sequence[int]) -> Any:
        if list(shards) not in self.groups:
            raise Forgotten("no such group of shards")
        return self._held(shards[0])
