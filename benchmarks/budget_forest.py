"""BudgetRF compared with a plain forest: CPU time, and features read and error on Covertype.

Covertype has the split sizes of Nan et al. 2015, table 1 (36,603 / 15,688 / 58,101 random rows);
its "Forest" is the largest class against the rest. Share is the mean share of the 54 features that
a test row reads. Rows called "paper" are the published figures.
"""

from __future__ import annotations

import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns
from _sklearn_forest import freeze
from sklearn.ensemble import RandomForestClassifier

from thrifty.data import load
from thrifty.learn.budget_forest.classifier import BudgetForestClassifier

SIZES = (36_603, 15_688, 58_101)
TREES = (1, 10, 20, 40)
# The defaults were chosen on split 0.
SEEDS = (1, 2, 3)
PAPER = {
    "paper, BudgetRF": ("11.37 (0.2122)", "23.21 (0.1364)", "25.92 (0.1232)", "29.01 (0.1156)"),
    "paper, plain forest": ("22.57 (0.2107)", "63.04 (0.1307)", "70.76 (0.1238)", "76.63 (0.1196)"),
}
STUMPS = {"splits": "stumps", "max_features": 1.0}
VARIANTS = {
    "BudgetRF, the paper's stumps": STUMPS,
    "BudgetRF, all features": {"max_features": 1.0},
    "BudgetRF, expected splits": {"splits": "expected"},
    "BudgetRF, default": {},
}


def covertype(two_classes, seed):
    """Return training, validation and test set."""
    table = load("covertype")
    X = table.X.to_numpy(np.float64)
    y = np.unique(table.y, return_inverse=True)[1]
    if two_classes:
        y = (y == np.bincount(y).argmax()).astype(int)
    rows = np.random.default_rng(seed).permutation(len(y))
    parts = np.split(rows[: sum(SIZES)], np.cumsum(SIZES)[:-1])
    return [(X[part], y[part]) for part in parts]


def synthetic(n=45_000, d=50):
    """Return two classes that depend on ten of the columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3:10].sum(axis=1) + 2 * rng.normal(size=n) > 0
    return X, y.astype(int)


def figures(forest, X, y):
    """Return the share of features read and the error, for each number of trees."""
    cells = []
    for trees in TREES:
        scores, used = forest.prefix(trees).score_and_used(X)
        cells.append((100 * used.mean(), np.mean(scores.argmax(axis=1) != y)))
    return np.array(cells)


def plain(train, seed):
    """Train a plain forest on the same rows and return it frozen."""
    forest = RandomForestClassifier(TREES[-1], n_jobs=1, random_state=seed).fit(*train)
    return freeze(forest, train[0].shape[1])


def compare(two_classes):
    """Return the rows of the table: means over three random splits."""
    sums = {}
    for seed in SEEDS:
        train, _, (X, y) = covertype(two_classes, seed)
        rows = {"plain forest": figures(plain(train, seed), X.astype(np.float32), y)}
        for name, settings in VARIANTS.items():
            model = BudgetForestClassifier(**settings, random_state=seed).fit(*train)
            rows[name] = figures(model.model_, X, y)
        for name, cells in rows.items():
            sums[name] = sums.get(name, 0) + cells / len(SEEDS)
    found = {n: [f"{share:.2f} ({error:.4f})" for share, error in c] for n, c in sums.items()}
    label = "2 classes" if two_classes else "7 classes"
    return [
        (label, name, *cells)
        for name, cells in ({**PAPER, **found} if two_classes else found).items()
    ]


def speed(label, X, y, limit, turns=3):
    """Return a row of ratios: CPU time of scikit-learn's forest over ours, including binning."""
    theirs = RandomForestClassifier(40, criterion="entropy", n_jobs=1, random_state=0)
    candidates = {"theirs": lambda: theirs.fit(X, y)}
    settings = {"all features": {"max_features": 1.0}, "default": {}}
    for name, some in settings.items():
        model = BudgetForestClassifier(**some, random_state=0)
        candidates[name] = lambda model=model: model.fit(X, y)
    times = take_turns(candidates, turns)
    ratios = (f"{times['theirs'] / times[name]:.2f}" for name in settings)
    return label, *ratios, limit


def main():
    """Measure speed and figures for 2 and 7 classes, or the parts named as arguments."""
    parts = sys.argv[1:] or ["speed", "2", "7"]
    if "speed" in parts:
        X, y = synthetic()
        BudgetForestClassifier(n_estimators=1).fit(X[:500], y[:500])
        train = covertype(False, 0)[0]
        rows = [
            speed("45k x 50, 2 classes", X, y, ">= 6"),
            speed("36k x 54, 7 classes, Covertype", *train, ">= 1.4"),
        ]
        header = ("40 trees, CPU time of scikit-learn's / ours", "all features", "default", "limit")
        report("budget_forest_speed", header, rows)
    rows = [row for name in parts if name in "27" for row in compare(name == "2")]
    if rows:
        header = (
            "Covertype",
            "share in % (error)",
            "1 tree",
            *(f"{trees} trees" for trees in TREES[1:]),
        )
        report("budget_forest", header, rows)


if __name__ == "__main__":
    main()
