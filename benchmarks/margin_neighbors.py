"""Compare FMCC with VoC, a random order and one order for all, on Letters and Landsat.

Letters is A-M against N-Z, with 200 training and 100 test rows of each letter; Landsat is the first
three classes against the others, with 4,435 and 2,000 rows. The base classifier is 1,000 boosted
stumps, and prices are one unit, as in Nan 2018, sec. 2.4. The figures are means over three random
draws with 1,000 test rows each; distances and ties were tuned on other draws. "Estimated" is the
accuracy that the near rows estimate, as in Nan 2018, table 2.1.

The speed is the CPU time of all steps with K = 125, on one thread, for two sizes of the training
table: the kernel, and its NumPy reference on 20 rows.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns

from thrifty import MarginNeighborsClassifier
from thrifty.data import load
from thrifty.learn.baselines import FixedOrderClassifier, RandomOrderClassifier, ValueOfClassifier
from thrifty.model.sequential.base import run_row_by_row

SEEDS = (10, 11, 12)
SIZES = (65, 125, 185)
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 36)
TEST = 1000
BASE = {"base": "stumps", "n_estimators": 1000}


def letters(random):
    """Return table, target, and the rows of the training and test set: 200 and 100 per letter."""
    table = load("letter")
    y = np.unique(table.y, return_inverse=True)[1]
    rows = [random.permutation(np.flatnonzero(y == letter)) for letter in range(26)]
    train, test = (
        np.concatenate([some[part] for some in rows]) for part in (slice(200), slice(200, 300))
    )
    return table.X.to_numpy(np.float64), (y >= 13).astype(int), train, test


def satellite(random):
    """Return table, target, and a random split of the size of the published one."""
    table = load("satellite")
    y = np.unique(table.y, return_inverse=True)[1]
    rows = random.permutation(len(y))
    return table.X.to_numpy(np.float64), (y >= 3).astype(int), rows[:4435], rows[4435:]


def draw(source, seed):
    """Return training table and target, test table and target."""
    random = np.random.default_rng(seed)
    X, y, train, test = source(random)
    test = random.permutation(test)[:TEST]
    return X[train], y[train], X[test], y[test]


def methods(seed):
    """Return the estimators by name."""
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
    """Return accuracy and estimate after each number of features, means over the draws."""
    sums = {}
    for seed in SEEDS:
        X, y, X_test, y_test = draw(source, seed)
        for name, estimator in methods(seed).items():
            states = estimator.fit(X, y).model_.run(X_test)
            accuracy = (states.predicted == y_test[:, np.newaxis]).mean(axis=0)
            found = np.array([accuracy, states.estimate.mean(axis=0)])
            # A feature that no stump reads is never bought: the prediction stays the same.
            found = np.pad(found, [(0, 0), (0, X.shape[1] - found.shape[1])], mode="edge")
            sums[name] = sums.get(name, 0) + found / len(SEEDS)
    return sums


def rows_of(label, sums):
    """Yield the rows of the report."""
    for name, (accuracy, estimate) in sums.items():
        yield label, name, "actual", *cells(accuracy)
        if name.startswith(("FMCC", "VoC")):
            yield label, name, "estimated", *cells(estimate)


def cells(values):
    """Format the values at `STEPS`; empty beyond the last feature."""
    return [f"{values[step - 1]:.3f}" if step <= len(values) else "" for step in STEPS]


def synthetic(n, d):
    """Return a table of two classes that depend on ten of the columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:10].sum(axis=1) + 2 * rng.normal(size=n) > 0
    return X, y.astype(int)


def speed():
    """Report the CPU time for some rows, and rows per second of the kernel and of NumPy."""
    rows = []
    for n, d, n_rows in ((4_000, 20, 500), (45_000, 50, 200)):
        X, y = synthetic(n, d)
        settings = {"base": "logistic", "n_neighbors": 125, "threshold": 1.0}
        model = MarginNeighborsClassifier(**settings).fit(X, y).model_
        many, few = X[:n_rows] + 0.1, X[:20] + 0.1
        candidates = {
            "kernel": partial(model.run, many), "NumPy": partial(run_row_by_row, model, few)
        }  # fmt: skip
        times = take_turns(candidates, turns=3)
        kernel, reference = n_rows / times["kernel"], len(few) / times["NumPy"]
        rows.append(
            (f"{n:,} x {d}", f"{times['kernel']:.2f} for {n_rows} rows", f"{kernel:.0f}",
             f"{reference:.0f}", f"{kernel / reference:.1f}", ">= 2.5")
        )  # fmt: skip
    header = (
        "training rows", "kernel, CPU s", "kernel, rows/s", "NumPy, rows/s", "ratio", "limit"
    )  # fmt: skip
    report("margin_neighbors_speed", header, rows)


def main():
    """Measure the speed, then the two data sets."""
    parts = sys.argv[1:] or ["speed", "sets"]
    warnings.simplefilter("error")
    if "speed" in parts:
        speed()
    if "sets" in parts:
        rows = [*rows_of("Letters", figures(letters)), *rows_of("Landsat", figures(satellite))]
        header = ("data set", "method", "accuracy", *(f"{step}" for step in STEPS))
        report("margin_neighbors", header, rows)


if __name__ == "__main__":
    main()
