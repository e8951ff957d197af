"""FMCC beside VoC, random order and one order for all, on Letters and Landsat; and its speed.

Letters is A-M against N-Z, 200 rows of each letter to learn from and 100 to test; Landsat is the
first three classes against the others, 4,435 and 2,000 rows. Boosted stumps, 1,000 of them, unit
prices, as in F. Nan's thesis, sec. 2.4. Figures are means over three random draws and 1,000 test
rows of each; other distances and ties were tried on other draws. "Estimated" is what the near rows
tell, as in table 2.1 of the thesis.

Speed is CPU time a row for all steps at 45k x 50 with K = 125: the kernel on 200 rows, NumPy, the
plain twin of the kernel, on 20 of them.
"""

from __future__ import annotations

import os
import sys
import warnings

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns

from thrifty.data import load
from thrifty.learn.baselines import FixedOrderClassifier, RandomOrderClassifier, ValueOfClassifier
from thrifty.learn.neighbors.classifier import MarginNeighborsClassifier
from thrifty.model.sequential.base import Asking, Trails

SEEDS = (10, 11, 12)
SIZES = (65, 125, 185)
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 36)
TEST = 1000
BASE = {"base": "stumps", "n_estimators": 1000}


def letters(random):
    """200 rows of each letter, and 100 others."""
    table = load("letter")
    y = np.unique(table.y, return_inverse=True)[1]
    rows = [random.permutation(np.flatnonzero(y == letter)) for letter in range(26)]
    train, test = (
        np.concatenate([some[part] for some in rows]) for part in (slice(200), slice(200, 300))
    )
    return table.X.to_numpy(np.float64), (y >= 13).astype(int), train, test


def satellite(random):
    """As many rows as the published division has, drawn."""
    table = load("satellite")
    y = np.unique(table.y, return_inverse=True)[1]
    rows = random.permutation(len(y))
    return table.X.to_numpy(np.float64), (y >= 3).astype(int), rows[:4435], rows[4435:]


def draw(source, seed):
    """Training table and target, test table and target."""
    random = np.random.default_rng(seed)
    X, y, train, test = source(random)
    test = random.permutation(test)[:TEST]
    return X[train], y[train], X[test], y[test]


def methods(seed):
    """The rivals by name."""
    near = {
        f"FMCC, K = {k}": MarginNeighborsClassifier(n_neighbors=k, threshold=1.0, alpha=0.0, **BASE)
        for k in SIZES
    }
    return {
        **near,
        "VoC": ValueOfClassifier(threshold=1.0, alpha=0.0),
        "one order for all": FixedOrderClassifier(alpha=0.0, **BASE),
        "random order": RandomOrderClassifier(random_state=seed, **BASE),
    }


def figures(source):
    """Accuracy, and its estimate, after each number of features: means over the draws."""
    sums = {}
    for seed in SEEDS:
        X, y, X_test, y_test = draw(source, seed)
        for name, estimator in methods(seed).items():
            trails = estimator.fit(X, y).model_.trails(X_test)
            right = (trails.winner == y_test[:, np.newaxis]).mean(axis=0)
            found = np.array([right, trails.estimate.mean(axis=0)])
            # A feature that no stump reads is never bought: the answer stays.
            found = np.pad(found, [(0, 0), (0, X.shape[1] - found.shape[1])], mode="edge")
            sums[name] = sums.get(name, 0) + found / len(SEEDS)
    return sums


def rows_of(label, sums):
    """Rows of the table."""
    for name, (right, estimate) in sums.items():
        yield label, name, "actual", *cells(right)
        if name.startswith(("FMCC", "VoC")):
            yield label, name, "estimated", *cells(estimate)


def cells(values):
    """Three digits at the steps of the table; nothing beyond the last feature."""
    return [f"{values[step - 1]:.3f}" if step <= len(values) else "" for step in STEPS]


def synthetic(n=45_000, d=50):
    """Two classes that ten of the columns tell, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:10].sum(axis=1) + 2 * rng.normal(size=n) > 0
    return X, y.astype(int)


def speed():
    """Rows a second of the kernel and of NumPy."""
    X, y = synthetic()
    model = (
        MarginNeighborsClassifier(base="logistic", n_neighbors=125, threshold=1.0).fit(X, y).model_
    )
    many, few = X[:200] + 0.1, X[:20] + 0.1
    model.trails(few)  # compiles

    def plain():
        Asking._run(model, few, Trails.empty(len(few), len(model.order)))

    times = take_turns({"kernel": lambda: model.trails(many), "NumPy": plain}, turns=3)
    ours, theirs = len(many) / times["kernel"], len(few) / times["NumPy"]
    header = ("45k x 50, K = 125", "kernel, rows/s", "NumPy, rows/s", "ratio", "limit")
    row = (
        "all steps, one thread",
        f"{ours:.0f}",
        f"{theirs:.0f}",
        f"{ours / theirs:.1f}",
        ">= 2.5",
    )
    report("margin_neighbors_speed", header, [row])


def main():
    """The speed first, then the two sets."""
    what = sys.argv[1:] or ["speed", "sets"]
    warnings.simplefilter("error")
    if "speed" in what:
        speed()
    if "sets" in what:
        rows = [*rows_of("Letters", figures(letters)), *rows_of("Landsat", figures(satellite))]
        header = ("set", "method", "accuracy", *(f"{step}" for step in STEPS))
        report("margin_neighbors", header, rows)


if __name__ == "__main__":
    main()
