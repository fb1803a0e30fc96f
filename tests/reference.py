"""The oracle: a conditional random field by enumeration of all paths, slow and obvious.

    problem = Problem(nodes, tau, edges={t: matrix}, allowed=mask, transitions=mask)

nodes[t][j] scores label j at position t, tau[i][j] the step from label i to label j, and edges[t], where there is
one, replaces tau for the step into position t. `allowed[t][j]` and `transitions[i][j]` are flags: a path through a
label or a step whose flag is 0, or whose score is -inf, does not exist.

The order of paths. Scores are added up from left to right, ((node + edge) + node) + ..., in double precision.
The greater score comes first. Equal scores: the smaller last label comes first; if that is the same, the smaller
last label but one, and so on towards the beginning. (Rounding can make scores equal whose beginnings were not: of
paths that share a label, the one with the better way into it, its node score not yet added, comes first. With scores
that add up exactly this changes nothing.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import exp, fsum, inf, log

Matrix = Sequence[Sequence[float]]
Path = tuple[float, list[int]]


class Problem:
    """One sequence with its scores."""

    def __init__(
        self,
        nodes: Matrix,
        tau: Matrix,
        edges: Mapping[int, Matrix] | None = None,
        allowed: Sequence[Sequence[int]] | None = None,
        transitions: Sequence[Sequence[int]] | None = None,
    ):
        self.nodes, self.tau, self.edges = nodes, tau, dict(edges or {})
        self.allowed, self.transitions = allowed, transitions
        self.length, self.labels = len(nodes), len(tau)

    def node(self, t: int, j: int) -> float:
        """Score of label j at position t."""
        return -inf if self.allowed and not self.allowed[t][j] else self.nodes[t][j]

    def edge(self, t: int, i: int, j: int) -> float:
        """Score of the step from label i at position t-1 to label j at position t."""
        return -inf if self.transitions and not self.transitions[i][j] else self.edges.get(t, self.tau)[i][j]

    def ways(self, labels: Sequence[int]) -> Iterator[tuple[float, float]]:
        """Score of a path up to each position, without and with that position's node."""
        total = 0.0
        for t, j in enumerate(labels):
            way = total + self.edge(t, labels[t - 1], j) if t else 0.0
            total = way + self.node(t, j)
            yield way, total

    def score(self, labels: Sequence[int]) -> float:
        """Score of one path."""
        return list(self.ways(labels))[-1][1]

    @cached_property
    def paths(self) -> list[Path]:
        """All paths that exist, best first."""
        begun: list[tuple[float, list[float], list[int]]] = [(0.0, [], [])]  # scores, ways and labels up to a position, the last label first
        for t in range(self.length):
            nodes = [self.node(t, j) for j in range(self.labels)]
            edges = [[self.edge(t, i, j) if t else 0.0 for j in range(self.labels)] for i in range(self.labels)]
            begun = [
                (way + nodes[j], [j, -way, *rank], [*labels, j])
                for score, rank, labels in begun
                for j, edge in enumerate(edges[labels[-1]] if t else edges[0])
                if (way := score + edge) + nodes[j] > -inf
            ]
        return [(-negative, labels) for negative, _, labels in sorted((-score, rank, labels) for score, rank, labels in begun)]

    @property
    def possible(self) -> bool:
        """Whether any path exists."""
        return bool(self.paths)

    def best(self) -> Path:
        """The path that Viterbi finds."""
        return self.paths[0]

    def top(self, n: int) -> list[Path]:
        """The n best paths, or all if there are fewer."""
        return self.paths[:n]

    @cached_property
    def log_z(self) -> float:
        """Logarithm of the sum of exp(score) over all paths."""
        highest = self.paths[0][0]
        return highest + log(fsum(exp(score - highest) for score, _ in self.paths))

    @cached_property
    def _shares(self) -> list[tuple[float, list[int]]]:
        """The probability of each path, best first."""
        return [(exp(score - self.log_z), labels) for score, labels in self.paths]

    def probability(self, labels: Sequence[int]) -> float:
        """The probability of one path."""
        return exp(self.score(labels) - self.log_z)

    def node_marginals(self) -> list[list[float]]:
        """P(label j at position t) as [t][j]."""
        terms = [[[] for _ in range(self.labels)] for _ in range(self.length)]
        for share, path in self._shares:
            for t, j in enumerate(path):
                terms[t][j].append(share)
        return [[fsum(cell) for cell in row] for row in terms]

    def pair_marginals(self, t: int) -> list[list[float]]:
        """P(label i at position t-1 and label j at position t) as [i][j]."""
        terms = [[[] for _ in range(self.labels)] for _ in range(self.labels)]
        for share, path in self._shares:
            terms[path[t - 1]][path[t]].append(share)
        return [[fsum(cell) for cell in row] for row in terms]

    def pair_sums(self) -> list[list[float]]:
        """Expected number of steps from label i to label j in the whole sequence, as [i][j]."""
        steps = [self.pair_marginals(t) for t in range(1, self.length)]
        return [[fsum(step[i][j] for step in steps) for j in range(self.labels)] for i in range(self.labels)]
