"""Sequences of one item with real values are logistic regression: against its optimum, found by Newton's method."""

import numpy as np
import pytest
from trainers.samples import options_of

from crfkit.data.dataset import Dataset
from crfkit.trainers import trainer_class
from crfkit.weights.layout import Layout

ITEMS, ATTRIBUTES, CLASSES, L2 = 400, 6, 3, 2.0


def data():
    """Values and classes that no weights separate."""
    generator = np.random.default_rng(7)
    x = generator.normal(size=(ITEMS, ATTRIBUTES)).astype(np.float32).astype(float)
    x[:, 0] = 1
    scores = x @ generator.normal(size=(ATTRIBUTES, CLASSES))
    return x, np.array([generator.choice(CLASSES, p=np.exp(s) / np.exp(s).sum()) for s in scores])


def objective(w, x, y):
    """Of weights [attribute][class], with gradient and Hessian."""
    scores = x @ w
    log_z = np.log(np.exp(scores).sum(axis=1))
    p = np.exp(scores - log_z[:, None])
    f = (log_z - scores[np.arange(len(y)), y]).sum() + L2 / 2 * (w**2).sum()
    gradient = x.T @ (p - np.eye(CLASSES)[y]) + L2 * w
    curvature = np.einsum("nj,jk->njk", p, np.eye(CLASSES)) - np.einsum("nj,nk->njk", p, p)
    hessian = np.einsum("na,nb,njk->ajbk", x, x, curvature).reshape(w.size, w.size) + L2 * np.eye(w.size)
    return f, gradient, hessian


def optimum(x, y):
    """Newton's method converges in a few steps here."""
    w = np.zeros((ATTRIBUTES, CLASSES))
    for _ in range(20):
        _, gradient, hessian = objective(w, x, y)
        w -= np.linalg.solve(hessian, gradient.ravel()).reshape(w.shape)
    assert np.abs(objective(w, x, y)[1]).max() < 1e-8
    return w


def learned(name, x, y, passes, **chosen):
    """Weights [attribute][class] of a trainer."""
    dataset = Dataset(
        range(ITEMS + 1), range(0, ITEMS * ATTRIBUTES + 1, ATTRIBUTES), list(range(ATTRIBUTES)) * ITEMS, x.ravel(),
        label=y, n_u=ATTRIBUTES, labels="abc",
    )
    layout, new, none = Layout.build(dataset, CLASSES, 2, bytes([2]) * ATTRIBUTES, b"")
    dataset.renumber(new, none)
    trainer = trainer_class(name)(dataset, layout, options_of(name, **chosen))
    for _ in range(passes):
        if trainer.converged:
            break
        trainer.run_pass()
    weights = trainer.weights()
    return np.array([[weights[layout.cell(new[a], j)] for j in range(CLASSES)] for a in range(ATTRIBUTES)])


@pytest.mark.parametrize(("name", "passes", "chosen", "near"), [
    ("lbfgs", 200, {"epsilon": 1e-8, "delta": 0.0}, 1e-4),
    ("sgd", 300, {"rate": 0.1}, 0.02),
    ("sgd", 300, {"rate": 0.1, "batch_size": 10}, 0.02),
    ("sgd", 300, {"rate": 1.0 / 400, "decay": 1.0, "batch_size": ITEMS}, 1e-4),
    ("sapo", 300, {"rate": 0.1, "nbest": CLASSES, "ratio": 0.0}, 0.02),
    ("adf", 100, {"rate": 0.1, "alpha": 0.999, "beta": 0.99}, 0.02),
])
def test_weights_are_those_of_logistic_regression(name, passes, chosen, near):
    x, y = data()
    best, found = optimum(x, y), learned(name, x, y, passes, l2=L2, **chosen)
    assert found == pytest.approx(best, abs=near * np.abs(best).max())
    start, reached, least = (objective(w, x, y)[0] for w in (0 * best, found, best))
    assert reached - least < near**2 * 10 * (start - least) + 1e-6 * least
