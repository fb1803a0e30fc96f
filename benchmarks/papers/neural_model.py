"""Bi-LSTMs in jax, with three kinds of top: labels one by one, a CRF, and SAPO. Trained with Adam.

The top of `sapo` is the papers' update with the network's outputs as potentials: search the n best label sequences,
share probability out among these alone, and go from their mean towards the right sequence. As a loss that is
log(sum of exp(score) over the n best) - score(gold), the n best being held fixed: its gradient is SAPO's update,
for the pairs of labels and, through the potentials, for the network.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Params = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """What the papers say: word vectors of 50 numbers, n of 5. They are silent on the rest."""

    word: int = 50
    other: int = 20
    hidden: int = 100
    """Of each direction."""
    nbest: int = 5
    dropout: float = 0.5
    rate: float = 0.001
    """Adam's."""


def initial(key: jax.Array, vocabularies: list[int], labels: int, sizes: Sizes) -> Params:
    """Weights to begin with. The first column is the word."""
    keys = iter(jax.random.split(key, len(vocabularies) + 5))
    widths = [sizes.word] + [sizes.other] * (len(vocabularies) - 1)
    inputs, hidden = sum(widths), sizes.hidden

    def matrix(*shape: int) -> jax.Array:
        limit = (6 / (shape[0] + shape[-1])) ** 0.5
        return jax.random.uniform(next(keys), shape, minval=-limit, maxval=limit)

    def direction() -> Params:
        return {"x": matrix(inputs, 4 * hidden), "h": matrix(hidden, 4 * hidden), "b": jnp.zeros(4 * hidden).at[hidden : 2 * hidden].set(1.0)}

    return {
        "cells": [0.1 * jax.random.normal(next(keys), (n, width)) for n, width in zip(vocabularies, widths, strict=True)],
        "ways": [direction(), direction()],
        "out": matrix(2 * hidden, labels), "bias": jnp.zeros(labels), "pairs": jnp.zeros((labels, labels)),
    }


def potentials(params: Params, ids: jax.Array, mask: jax.Array, sizes: Sizes, key: jax.Array | None) -> jax.Array:
    """[sentence, position, label] `ids`: [sentence, position, column]; `key`: for dropout, None while tagging."""
    x = jnp.concatenate([table[ids[:, :, k]] for k, table in enumerate(params["cells"])], axis=-1)
    keys = (None, None) if key is None else jax.random.split(key)
    x = _dropped(x, sizes.dropout, keys[0])
    both = jnp.concatenate([_lstm(way, x, mask, backward) for way, backward in zip(params["ways"], (False, True), strict=True)], axis=-1)
    return _dropped(both, sizes.dropout, keys[1]) @ params["out"] + params["bias"]


def _dropped(x: jax.Array, rate: float, key: jax.Array | None) -> jax.Array:
    return x if key is None else jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


def _lstm(way: Params, x: jax.Array, mask: jax.Array, backward: bool) -> jax.Array:
    """The outputs of one direction. A position behind the sentence changes nothing."""
    def step(state: Any, given: Any) -> Any:
        h, c = state
        gates, here = given
        i, f, o, new = jnp.split(gates + h @ way["h"], 4, axis=-1)
        c_next = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(new)
        h_next = jax.nn.sigmoid(o) * jnp.tanh(c_next)
        state = jnp.where(here, h_next, h), jnp.where(here, c_next, c)
        return state, state[0]

    zero = jnp.zeros((len(x), way["h"].shape[0]))
    gates = jnp.swapaxes(x @ way["x"] + way["b"], 0, 1)
    _, outputs = lax.scan(step, (zero, zero), (gates, mask.T[:, :, None]), reverse=backward)
    return jnp.swapaxes(outputs, 0, 1)


# --- One sentence: nodes [position, label], pairs [label, label], mask [position] --------------------------------------


def score(nodes: jax.Array, pairs: jax.Array, mask: jax.Array, labels: jax.Array) -> jax.Array:
    """The score of a sequence of labels."""
    at = jnp.take_along_axis(nodes, labels[:, None], axis=1)[:, 0]
    return jnp.sum(at * mask) + jnp.sum(pairs[labels[:-1], labels[1:]] * mask[1:])


def log_sum(nodes: jax.Array, pairs: jax.Array, mask: jax.Array) -> jax.Array:
    """Of the scores of all sequences."""
    def step(alpha: jax.Array, given: Any) -> Any:
        node, here = given
        return jnp.where(here, jax.nn.logsumexp(alpha[:, None] + pairs, axis=0) + node, alpha), None

    alpha, _ = lax.scan(step, nodes[0], (nodes[1:], mask[1:]))
    return jax.nn.logsumexp(alpha)


def best(nodes: jax.Array, pairs: jax.Array, mask: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
    """[rank, position] The n best sequences, exactly, and their scores; -inf where there are not so many."""
    labels = nodes.shape[1]

    def forward(state: jax.Array, given: Any) -> Any:   # state: [label, rank]
        node, here = given
        ways = (state[:, None, :] + pairs[:, :, None]).transpose(1, 0, 2).reshape(labels, labels * n)
        values, origin = lax.top_k(ways, n)
        stay = jnp.arange(labels * n).reshape(labels, n)
        return jnp.where(here, values + node[:, None], state), jnp.where(here, origin, stay)

    first = jnp.full((labels, n), -jnp.inf).at[:, 0].set(nodes[0])
    last, origins = lax.scan(forward, first, (nodes[1:], mask[1:]))
    values, cells = lax.top_k(last.reshape(-1), n)

    def back(cells: jax.Array, origin: jax.Array) -> Any:
        before = origin.reshape(-1)[cells]
        return before, before // n

    _, labels_before = lax.scan(back, cells, origins, reverse=True)
    return jnp.concatenate([labels_before, cells[None] // n]).T, values


def loss(top: str, nodes: jax.Array, pairs: jax.Array, mask: jax.Array, gold: jax.Array, nbest: int) -> jax.Array:
    """Of a sentence; zero for one of no tokens, with which a batch is filled up."""
    return jnp.where(mask[0], _loss(top, nodes, pairs, mask, gold, nbest), 0.0)


def _loss(top: str, nodes: jax.Array, pairs: jax.Array, mask: jax.Array, gold: jax.Array, nbest: int) -> jax.Array:
    if top == "lstm":
        return -jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(nodes), gold[:, None], axis=1)[:, 0] * mask)
    if top == "lstm-crf":
        return log_sum(nodes, pairs, mask) - score(nodes, pairs, mask, gold)
    found, values = best(*map(lax.stop_gradient, (nodes, pairs, mask)), nbest)
    scores = jax.vmap(lambda labels: score(nodes, pairs, mask, labels))(lax.stop_gradient(found))
    return jax.nn.logsumexp(jnp.where(jnp.isfinite(values), scores, -jnp.inf)) - score(nodes, pairs, mask, gold)


# --- Training ---------------------------------------------------------------------------------------------------------


class Network:
    """A model that learns batches and tags them. The same seed gives the same model on the same machine."""

    def __init__(self, top: str, vocabularies: list[int], labels: int, seed: int, sizes: Sizes | None = None) -> None:
        self.top, self.sizes = top, sizes or Sizes()
        self.key, first = jax.random.split(jax.random.key(seed))
        self.params = initial(first, vocabularies, labels, self.sizes)
        zeros = jax.tree.map(jnp.zeros_like, self.params)
        self.state = (zeros, jax.tree.map(jnp.zeros_like, zeros), jnp.zeros(()))

    def learn(self, ids: np.ndarray, mask: np.ndarray, gold: np.ndarray) -> float:
        """One step of Adam on a batch; its loss."""
        self.key, key = jax.random.split(self.key)
        self.params, self.state, value = _step(self.params, self.state, ids, mask, gold, key, self.top, self.sizes)
        return float(value)

    def tag(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """[sentence, position] The best labels."""
        return np.asarray(_tagged(self.params, ids, mask, self.top, self.sizes))


@functools.partial(jax.jit, static_argnames=("top", "sizes"), donate_argnums=(0, 1))
def _step(params: Params, state: Any, ids: Any, mask: Any, gold: Any, key: Any, top: str, sizes: Sizes) -> Any:
    def whole(params: Params) -> jax.Array:
        nodes = potentials(params, ids, mask, sizes, key)
        return jnp.mean(jax.vmap(lambda a, b, c: loss(top, a, params["pairs"], b, c, sizes.nbest))(nodes, mask, gold))

    value, gradient = jax.value_and_grad(whole)(params)
    mean, square, steps = state
    steps = steps + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
    rate = sizes.rate * jnp.sqrt(1 - 0.999**steps) / (1 - 0.9**steps)
    params = jax.tree.map(lambda w, m, s: w - rate * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return params, (mean, square, steps), value


@functools.partial(jax.jit, static_argnames=("top", "sizes"))
def _tagged(params: Params, ids: Any, mask: Any, top: str, sizes: Sizes) -> jax.Array:
    nodes = potentials(params, ids, mask, sizes, None)
    if top == "lstm":
        return nodes.argmax(axis=-1)
    return jax.vmap(lambda a, b: best(a, params["pairs"], b, 1)[0][0])(nodes, mask)
