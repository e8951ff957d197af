"""Extra-trees with out-of-bag answers compared with scikit-learn's: quality on new rows, CPU time.

Both grow 50 trees on bootstrap samples and answer out of bag, on one thread. Time includes binning,
which the library does once for many forests. Quality is accuracy, or R2 for values, averaged over
random splits of the table.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report, take_turns
from sklearn.datasets import make_friedman1
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.metrics import accuracy_score, r2_score

from thrifty.data import load
from thrifty.learn.binned import Binned
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.extra_trees import ExtraTrees

N_TREES = 50
TEST_ROWS = 20_000
# Training rows (a share or a number), splits, features tried at a node (None for the default).
TABLES = {
    "heart": (150, 10, None),
    "ionosphere": (0.7, 10, None),
    "satellite": (0.7, 3, None),
    "letter": (0.7, 3, None),
    "covertype": (40_000, 1, None),
    "covertype, all features tried": (40_000, 1, 54),
    "boston_housing": (0.7, 10, None),
    "friedman1": (0.5, 3, None),
}
VALUES = ("boston_housing", "friedman1")


def read(name):
    """Return the encoded table, its target, number of classes (0 for values) and categories."""
    if name == "friedman1":
        X, y = make_friedman1(4000, noise=1.0, random_state=0)
        return X, y, 0, np.zeros(X.shape[1], dtype=bool)
    table = load(name.partition(",")[0])
    task = "regression" if name in VALUES else "classification"
    train = TrainingSet.read(task, table.X, table.y)
    n_classes = 0 if train.classes is None else len(train.classes)
    return np.asarray(train.X, dtype=np.float64), train.y, n_classes, train.categorical


def fit(X, y, n_classes, categorical, max_features, seed):
    """Bin the table and grow our trees."""
    binned = Binned.of(X, categorical, np.random.RandomState(seed))
    trainer = ExtraTrees(binned, y, n_classes)
    return trainer.fit(np.arange(X.shape[1]), N_TREES, seed, max_features=max_features)


def fit_sklearn(X, y, n_classes, max_features, seed):
    """Grow scikit-learn's trees."""
    default = "sqrt" if n_classes else 1.0
    estimator = ExtraTreesClassifier if n_classes else ExtraTreesRegressor
    return estimator(
        N_TREES,
        bootstrap=True,
        oob_score=True,
        n_jobs=1,
        random_state=seed,
        max_features=max_features or default,
    ).fit(X, y)


def compare(name, size, splits, max_features):
    """Return the figures of one table."""
    X, y, n_classes, categorical = read(name)
    n = int(size * len(y)) if size < 1 else size
    quality = []
    for seed in range(splits):
        rows = np.random.default_rng(seed).permutation(len(y))
        train, test = rows[:n], rows[n:][:TEST_ROWS]
        ours = fit(X[train], y[train], n_classes, categorical, max_features, seed)
        theirs = fit_sklearn(X[train], y[train], n_classes, max_features, seed)
        answers = ours.forest.score(X[test])
        metric = accuracy_score if n_classes else r2_score
        quality.append(
            (
                metric(y[test], answers.argmax(axis=1) if n_classes else answers),
                metric(y[test], theirs.predict(X[test])),
            )
        )
    times = take_turns(
        {
            "ours": lambda: fit(X[train], y[train], n_classes, categorical, max_features, 0),
            "theirs": lambda: fit_sklearn(X[train], y[train], n_classes, max_features, 0),
        },
        turns=3,
    )
    ratio = times["ours"] / times["theirs"]
    means = [f"{100 * mean:.1f}" for mean in np.mean(quality, axis=0)]
    return name, *means, f"{1000 * times['ours']:.3g}", f"{ratio:.2f}", "<= 0.6"


if __name__ == "__main__":
    report(
        "extra_trees",
        ("table", "quality", "scikit-learn's", "CPU ms", "CPU / scikit-learn", "limit"),
        [compare(name, *settings) for name, settings in TABLES.items()],
    )
