"""Trees of linear models that are trained jointly: the quadrants, time per sweep, and accuracy.

The quadrants are those of Xu 2014, sec. 3.7.1, in ten draws of the data. Time per sweep is measured
on synthetic data of 50 columns at depth 4. The curves are test accuracies within shares of the full
price; points are chosen on the validation set.

    python benchmarks/cost_tree.py [quadrants | speed | curves]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.model_selection import train_test_split

from thrifty import CostTreeClassifier, CostTreeRegressor, GreedyMiserClassifier, Prices
from thrifty.data import load, quadrants

ROWS = (5_625, 11_250, 22_500, 45_000)
COLUMNS = 50
SHARES = (0.1, 0.2, 0.3, 0.5, 1.0)


def measure_quadrants():
    """Measure error and bills on new rows, for ten seeds."""
    from _harness import report

    rows = []
    for seed in range(10):
        train = quadrants(1000, random_state=seed)
        test = quadrants(1000, random_state=1000 + seed)
        model = CostTreeRegressor(train.prices, penalty=0.01, max_depth=2, random_state=seed)
        model.fit(train.X, train.y)
        error = np.mean((model.predict(test.X) - test.y) ** 2)
        bills = model.bill(test.X)
        rows.append((seed, f"{error:.1e}", f"{bills.min():g}", f"{bills.max():g}"))
    report("cost_tree_quadrants", ("seed", "mean squared error", "least bill", "largest"), rows)


def synthetic(n):
    """Return prices, 50 columns and two classes with linear effects and an interaction."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, COLUMNS))
    f = 0.5 * X @ rng.normal(size=COLUMNS) + 3.0 * X[:, 0] * X[:, 1] + 2.0 * np.sin(2.0 * X[:, 2])
    prices = Prices(rng.integers(1, 20, COLUMNS).astype(float))
    return prices, X, f + rng.normal(size=n) > 0


def measure_speed():
    """Measure the CPU time of one sweep at each size, and of a whole fit at the largest."""
    from _harness import report

    from thrifty.learn.cost_tree.fit import initial_tree, sweep
    from thrifty.learn.cost_tree.soft_tree import TreeShape

    rows = []
    for n in ROWS:
        prices, X, y = synthetic(n)
        model = CostTreeClassifier(prices, penalty=0.0003, max_depth=4, random_state=0)
        (learner,) = model._learners(model._read_training(X, y), None)
        objective = learner.objective.at(model.penalty)
        tree = initial_tree(objective, TreeShape.full(4))
        seconds = []
        for _ in range(2):
            start = time.process_time()
            sweep(objective, tree)
            seconds.append(time.process_time() - start)
        rows.append((n, f"{min(seconds):.2f}", f"{1e6 * min(seconds) / n:.0f}", ""))
    start = time.process_time()
    model.fit(X, y)
    rows[-1] = (*rows[-1][:3], f"{time.process_time() - start:.0f}")
    header = ("rows", "CPU seconds a sweep", "microseconds a row", "CPU seconds of the whole fit")
    report("cost_tree_speed", header, rows)


def split(name):
    """Return the prices, and training, validation and test set."""
    table = load(name)
    y = np.asarray(table.y)
    if name == "pageblocks":
        y = y == 0
    rest, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    train, validation = train_test_split(rest, test_size=0.2, stratify=y[rest], random_state=0)
    return table.prices, *((table.X.iloc[rows], y[rows]) for rows in (train, validation, test))


def curve(estimator, train, validation, test, full):
    """Yield, for each share of the full price, the test accuracy of the best validation point."""
    points = list(estimator.path(*train, validation=validation))
    for share in SHARES:
        within = [point for point in points if point.bill <= share * full + 1e-9]
        best = max(within, key=lambda point: point.quality)
        yield f"{np.mean(best.model.predict(test[0]) == test[1]):.3f}"


def measure_curves():
    """Compare trees on columns and on boosted trees, a single linear model, and GreedyMiser."""
    from _harness import report

    rows = []
    for name in ("pima", "pageblocks"):
        prices, train, validation, test = split(name)
        full = prices.bind(list(train[0].columns)).full
        models = {
            "tree": CostTreeClassifier(prices, max_depth=2, max_sweeps=4),
            "tree of boosted trees": CostTreeClassifier(
                prices, base="boosted", max_depth=1, max_sweeps=4, n_estimators=30, random_state=0
            ),
            "single linear": CostTreeClassifier(prices, max_depth=0),
            "GreedyMiser": GreedyMiserClassifier(prices, random_state=0),
        }
        found = [list(curve(model, train, validation, test, full)) for model in models.values()]
        for k, share in enumerate(SHARES):
            rows.append((name, f"{100 * share:.0f} %", *(cells[k] for cells in found)))
    report("cost_tree", ("data set", "budget", *models), rows)


PARTS = {"quadrants": measure_quadrants, "speed": measure_speed, "curves": measure_curves}


def main():
    """Measure all parts, or those named as arguments."""
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
