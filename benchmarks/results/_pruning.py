"""Forests, and all the ways to prune them that Nan 2018, ch. 4, compares."""

from __future__ import annotations

import numpy as np
from _ranking import precision_points
from _ranking import split as split_queries
from _result import accuracy_points, thinned
from _scenes import split as split_scenes
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC

from thrifty import BudgetForestClassifier, GreedyMiserClassifier, Prices, PrunedForestClassifier
from thrifty.data import load
from thrifty.learn.baselines import (
    CostComplexityClassifier,
    EarlyStoppingClassifier,
    GreedyPruneClassifier,
)
from thrifty.model.forest.nodes import INDEX, is_leaf

PRUNERS = {
    "BudgetPrune": PrunedForestClassifier,
    "CCP": CostComplexityClassifier,
    "GreedyPrune": GreedyPruneClassifier,
    "early stopping": EarlyStoppingClassifier,
}
# Training, validation and test rows; of Covertype, the thesis has 58,101 test rows.
SIZES = {"covertype": (36_603, 15_688, 20_000), "magic": (8_000, 4_000, 7_000)}
# Data set, prices, what trees are grown by, and how many features are tried at a split.
CASES = {
    "covertype": ("covertype", "equal", "entropy", None),
    "magic (stand-in)": ("magic", "equal", "entropy", None),
    "mslr_sample (stand-in)": ("mslr_sample", "by family", "entropy", None),
    "mfeat (stand-in)": ("mfeat", "by group", "entropy", 20),
    "covertype, Pairs": ("covertype", "equal", "Pairs", None),
    "magic, Pairs": ("magic", "equal", "Pairs", None),
    "magic, skewed prices": ("magic", "skewed", "entropy", None),
    "mfeat, k = 120": ("mfeat", "by group", "entropy", 120),
}
SKEW = 40.0  # times the smallest price is the largest in fig. 4.4
USAGE_ROWS = 3_000


def read(data, prices, seed):
    """Return prices, training and validation rows, and a function that measures points."""
    if data == "mfeat":
        prices, (train, validation, test) = split_scenes(seed)
        return prices, train, validation, lambda points: accuracy_points(points, test)
    if data == "mslr_sample":
        prices, *parts = split_queries(data, seed)
        train, validation = ((part.X, (part.grade > 0).astype(int)) for part in parts[:2])
        return prices, train, validation, lambda points: precision_points(points, *parts[1:])
    table = load(data)
    X, y = table.X.to_numpy(np.float32), np.unique(table.y, return_inverse=True)[1]
    y = (y == np.bincount(y).argmax()).astype(int)
    rows = np.random.default_rng(seed).permutation(len(y))[: sum(SIZES[data])]
    train, validation, test = (
        (X[part], y[part]) for part in np.split(rows, np.cumsum(SIZES[data])[:-1])
    )
    prices = Prices() if prices == "equal" else skewed(*train)
    return prices, train, validation, lambda points: accuracy_points(points, test)


def skewed(X, y):
    """Return prices by the weights of a linear SVM: from 1 to 40, then divided by their mean."""
    scaled = X / (np.linalg.norm(X, axis=0) / np.sqrt(len(X)))
    weight = np.abs(LinearSVC(random_state=0).fit(scaled, y).coef_[0])
    price = np.maximum(np.rint(SKEW * weight / weight.max()), 1.0)
    return Prices((price / price.mean()).tolist())


def pruned(case: str, seed: int) -> dict[str, object]:
    """Return the points of all prunings of one forest, the jumps of the bill, and table 4.1."""
    data, prices, grown_by, tried = CASES[case]
    prices, train, validation, measure = read(data, prices, seed)
    if grown_by == "Pairs":
        whole = BudgetForestClassifier(prices, n_estimators=40, random_state=seed)
    else:
        whole = RandomForestClassifier(
            40 if tried is None else 100, criterion=grown_by, max_features=tried, random_state=seed
        )
    whole.fit(*train)
    paths = {
        method: list(pruner(whole, prices).path(*train, validation=validation))
        for method, pruner in PRUNERS.items()
    }
    found = {"points": {}, "jumps": {}}
    for method, path in paths.items():
        bills = np.array([point.bill for point in path]) / path[0].model.prices.full
        found["jumps"][method] = np.diff(bills).max()
        found["points"][method] = measure(thinned(path, 80))
    # The last point of CCP prunes nothing.
    found["usage"] = usage(paths["CCP"][-1], paths["BudgetPrune"], validation[0], measure)
    return found


def usage(whole, path, X, measure):
    """Return how often rows read one feature before and after pruning at about the same quality.

    The feature is the one that most rows no longer read.
    """
    good = (point for point in path if point.quality >= whole.quality - 0.001)
    after = min(good, key=lambda point: point.bill, default=whole)
    before_after = (whole, after)
    counts = [times_read(point.model, X[:USAGE_ROWS]) for point in before_after]
    unread = [np.mean(count == 0, axis=0) for count in counts]
    feature = int(np.argmax(unread[1] - unread[0]))
    found = []
    for count, point in zip(counts, measure(before_after), strict=True):
        often = np.mean(count[:, feature] > 7)
        never = np.mean(count[:, feature] == 0)
        found.append((never, 1 - never - often, often, point["bill"], point["test"]))
    return found


def times_read(model, X):
    """Return how many splits of a forest read each feature of each row, (n, d)."""
    forest, X = model.model, model.schema.encode(X)
    child, counts = forest.nodes["child"], np.zeros(X.shape, dtype=int)
    parent = np.full(len(child), -1)
    splits = np.flatnonzero(~is_leaf(forest.nodes))
    parent[child[splits]] = parent[child[splits] + 1] = splits
    feature = forest.nodes["feature"] & INDEX
    for leaves in forest.leaves(X):
        rows, node = np.arange(len(X)), parent[leaves]
        while len(rows):
            rows, node = rows[node >= 0], node[node >= 0]
            counts[rows, feature[node]] += 1
            node = parent[node]
    return counts


def miser(case: str, seed: int) -> list[dict[str, float]]:
    """Return the points of GreedyMiser."""
    prices, train, validation, measure = read(*CASES[case][:2], seed)
    learner = GreedyMiserClassifier(
        prices, charge="example", n_estimators=150, max_depth=4, random_state=seed
    )
    return measure(thinned(learner.path(*train, validation=validation)))
