"""Compare one anytime model with GreedyMiser, which trains a model for each budget.

Letter (A-M against N-Z) and Magic, unit prices. 70 % of the rows are for training. GreedyMiser uses
a fifth of them as validation set, to choose its point for a budget; the anytime model splits them
itself. GreedyMiser's curve comes from its own path and from a sweep of 13 separate fits. The XOR
data of Xu 2014, sec. 2.2.4, are measured in 16 draws.

    python benchmarks/anytime.py [xor]
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.model_selection import train_test_split

from thrifty import AnytimeClassifier, GreedyMiserClassifier
from thrifty.data import load, noisy_xor

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
XOR_SEEDS = range(400, 416)
PENALTIES = (*np.geomspace(0.05, 5e-6, 12), 0.0)


def split(name):
    """Return prices, training set and test set."""
    table = load(name)
    y = np.asarray(table.y)
    if name == "letter":
        y = np.where(y < 13, "A-M", "N-Z")
    rest, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    return table.prices, (table.X.iloc[rest], y[rest]), (table.X.iloc[test], y[test])


def sweep(prices, train, validation):
    """Fit once for each penalty; yield model, and bill and quality on the validation set."""
    for penalty in PENALTIES:
        model = GreedyMiserClassifier(prices, penalty, random_state=0)
        model.fit(*train, validation=validation)
        yield model, model.bill(validation[0]).mean(), model.score(*validation)


def within(points, budget, test):
    """Return the test accuracy of the best point within a budget."""
    model, _, _ = max((p for p in points if p[1] <= budget), key=lambda p: p[2])
    return np.mean(model.predict(test[0]) == test[1])


def measure(name):
    """Return the rows of the curve, and one row of the table of times."""
    from _harness import take_turns

    prices, rest, test = split(name)
    train = train_test_split(*rest, test_size=0.2, stratify=rest[1], random_state=0)
    train, validation = (train[0], train[2]), (train[1], train[3])
    anytime = AnytimeClassifier(prices, random_state=0).fit(*rest)
    trees = len(anytime.model_.rungs[-1].roots)
    same = GreedyMiserClassifier(prices, n_estimators=trees, random_state=0)
    path = list(GreedyMiserClassifier(prices, random_state=0).path(*train, validation=validation))
    constant = (path[0].model, 0.0, path[0].quality)
    curves = (
        [(point.model, point.bill, point.quality) for point in path],
        [constant, *sweep(prices, train, validation)],
    )
    full = anytime.prices_.full
    rows = []
    for share in SHARES:
        budget = share * full + 1e-9
        accuracy = np.mean(anytime.predict(test[0], budget=budget) == test[1])
        baselines = [within(points, budget, test) for points in curves]
        rows.append((name, f"{100 * share:.0f} %", *(f"{x:.3f}" for x in (accuracy, *baselines))))
    times = take_turns(
        {
            "anytime": lambda: AnytimeClassifier(prices, random_state=0).fit(*rest),
            "same": lambda: same.fit(*rest),
            "sweep": lambda: list(sweep(prices, train, validation)),
        },
        turns=2,
    )
    ratios = [times["anytime"] / times[baseline] for baseline in ("same", "sweep")]
    stages = len(anytime.model_.rungs) - 1
    return rows, (name, stages, trees, *(f"{ratio:.2f}" for ratio in ratios))


def measure_xor():
    """Count the draws of the XOR data of the thesis that are nearly solved within 95."""
    from _harness import report

    found = []
    for seed in XOR_SEEDS:
        table = noisy_xor(random_state=seed)
        train, test = table.split == "train", table.split == "test"
        model = AnytimeClassifier(table.prices, random_state=seed)
        model.fit(table.X[train], table.y[train])
        budgets = (50.0, 95.0, None)
        predicted = [model.predict(table.X[test], budget=budget) for budget in budgets]
        found.append([np.mean(labels == table.y[test]) for labels in predicted])
    accuracy = np.array(found)
    rows = []
    for name, column in zip(("50", "95", "1220 (all)"), accuracy.T, strict=True):
        solved = f"{(column >= 0.97).sum()} of {len(column)}"
        rows.append((name, f"{column.mean():.3f}", f"{column.min():.3f}", solved))
    report("anytime_xor", ("budget", "mean accuracy", "least", "draws at 0.97 or more"), rows)


def main():
    """Measure the XOR data and both data sets, or, with the argument xor, only the former."""
    from _harness import report

    measure_xor()
    if sys.argv[1:] == ["xor"]:
        return

    measured = [measure(name) for name in ("letter", "magic")]
    report(
        "anytime",
        ("data set", "budget", "anytime, one model", "GreedyMiser, path", "GreedyMiser, 13 fits"),
        [row for rows, _ in measured for row in rows],
    )
    report(
        "anytime_speed",
        ("data set", "stages", "trees", "time over GreedyMiser, same trees", "time over 13 fits"),
        [times for _, times in measured],
    )


if __name__ == "__main__":
    main()
