"""Trees of linear models that are trained jointly: the quadrants, time per sweep, and accuracy.

The quadrants are those of Xu 2014, sec. 3.7.1, in ten draws of the data. Time per sweep is measured
on synthetic data of 50 columns at depth 4. The curves are test accuracies within shares of the full
price, means over five splits; points are chosen on the validation set.

    python benchmarks/cost_tree.py [quadrants | speed | curves]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.model_selection import train_test_split

from thrifty import CostTreeClassifier, CostTreeRegressor, GreedyMiserClassifier, Prices
from thrifty.data import load, quadrants
from thrifty.learn.baselines import CronusClassifier, EarlyExitClassifier

ROWS = (5_625, 11_250, 22_500, 45_000)
COLUMNS = 50
SHARES = (0.1, 0.2, 0.3, 0.5)
SETS = ("magic", "letter", "pageblocks", "mfeat", "satellite")
SEEDS = range(20, 25)
MAX_ROWS = 6_000
# Zernike moments and morphology: the smallest descriptors of the digits.
MFEAT_GROUPS = ("zer", "mor")


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


def table_of(name):
    """Return the prices, the columns and the classes of a data set."""
    table = load(name)
    X, y, prices = table.X, np.asarray(table.y), table.prices
    if name == "pageblocks":
        y = y == 0
    elif name == "letter":
        y = y < 13
    elif name == "satellite":  # two classes, for time
        y = y < 3
    elif name == "mfeat":  # two classes and three of the six descriptors, for time
        y = y < 5
        X = X[[column for column in X if column.startswith(MFEAT_GROUPS)]]
        prices = Prices(dict.fromkeys(X.columns, 1.0))
    return prices, X, y


def split(name, seed):
    """Return the prices, and training, validation and test set of at most 6,000 rows."""
    prices, X, y = table_of(name)
    rows = np.arange(len(y))
    if len(y) > MAX_ROWS:
        rows, _ = train_test_split(rows, train_size=MAX_ROWS, stratify=y, random_state=seed)
    rest, test = train_test_split(rows, test_size=0.3, stratify=y[rows], random_state=seed)
    train, validation = train_test_split(rest, test_size=0.25, stratify=y[rest], random_state=seed)
    return prices, *((X.iloc[some], y[some]) for some in (train, validation, test))


def curve(estimator, train, validation, test, full):
    """Return, for each share of the full price, the test accuracy of the best validation point."""
    points = list(estimator.path(*train, validation=validation))
    found = []
    for share in SHARES:
        within = [point for point in points if point.bill <= share * full + 1e-9]
        best = max(within, key=lambda point: point.quality)
        found.append(np.mean(best.model.predict(test[0]) == test[1]))
    return found


def models_of(prices, seed):
    """Return the estimators to compare, by name."""
    return {
        "tree": CostTreeClassifier(prices, max_depth=2, max_sweeps=4),
        "single linear": CostTreeClassifier(prices, max_depth=0),
        "Early Exit": EarlyExitClassifier(prices, random_state=seed),
        "Cronus": CronusClassifier(prices, random_state=seed),
        "GreedyMiser": GreedyMiserClassifier(prices, random_state=seed),
    }


def measure_curves():
    """Compare a tree with one linear model, two cascades and GreedyMiser, on five splits."""
    from _harness import report

    rows, names = [], []
    for name in SETS:
        found = []
        for seed in SEEDS:
            prices, train, validation, test = split(name, seed)
            full = prices.bind(list(train[0].columns)).full
            models = models_of(prices, seed)
            names = list(models)
            found.append([curve(model, train, validation, test, full) for model in models.values()])
            print(name, seed, np.round(found[-1], 3).tolist(), flush=True)
        accuracy = np.array(found)  # (seeds, models, shares)
        gain = accuracy[:, 0] - accuracy[:, 1]
        error = gain.std(axis=0, ddof=1) / np.sqrt(len(SEEDS))
        for k, share in enumerate(SHARES):
            means = [f"{value:.3f}" for value in accuracy[:, :, k].mean(axis=0)]
            difference = f"{gain[:, k].mean():+.3f} ({error[k]:.3f})"
            rows.append((name, f"{100 * share:.0f} %", *means, difference))
    header = ("data set", "budget", *names, "tree minus single linear (standard error)")
    report("cost_tree", header, rows)


PARTS = {"quadrants": measure_quadrants, "speed": measure_speed, "curves": measure_curves}


def main():
    """Measure all parts, or those named as arguments."""
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
