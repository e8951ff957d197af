"""LadderClassifier at the budgets that it must meet, and against the rungs that it is made of.

Mean over random 60/20/20 splits. The point is chosen on validation, accuracy is that of the test
rows. "Rungs alone" is the same choice among the rungs by themselves. "Worse" is the share of a
grid of budgets at which the rungs alone are better on validation.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report
from sklearn.model_selection import train_test_split
from targets import table

from thrifty import LadderClassifier

# Mean bill and the accuracy, in points, that must be reached there.
MUST = {"letter": ((4.0, 88.0), (8.0, 95.5)), "satellite": ((7.2, 88.5),)}
GRID = np.geomspace(0.02, 1.0, 200)
SEEDS = 5


def split(y, seed):
    """Positions of the training, validation and test rows."""
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    return *train_test_split(rest, test_size=0.25, stratify=y[rest], random_state=seed), test


def best(points, budget):
    """The point with the best validation accuracy among those within the budget."""
    return max((point for point in points if point.bill <= budget), key=lambda p: p.quality)


def run(name, seed):
    """Test accuracies of the ladder and of its rungs at each budget; how often rungs are better."""
    found, y = table(name)
    train, validation, test = [(found.X.iloc[rows], y[rows]) for rows in split(y, seed)]
    ladder = list(
        LadderClassifier(found.prices, random_state=seed).path(*train, validation=validation)
    )
    rungs = [point for point in ladder if "rung" in point.knob]
    full = found.prices.bind(list(found.X.columns)).full
    worse = np.mean(
        [best(rungs, share * full).quality > best(ladder, share * full).quality for share in GRID]
    )
    accuracies = [
        [100 * np.mean(best(points, budget).model.predict(test[0]) == test[1])
         for budget, _ in MUST[name]]
        for points in (ladder, rungs)
    ]  # fmt: skip
    return accuracies, worse


def main():
    """One line for each budget."""
    rows = []
    for name, budgets in MUST.items():
        runs = [run(name, seed) for seed in range(SEEDS)]
        ladder, rungs = np.mean([accuracies for accuracies, _ in runs], axis=0)
        worse = np.mean([share for _, share in runs])
        for k, (budget, least) in enumerate(budgets):
            rows.append((name, budget, f"{ladder[k]:.1f}", least, f"{rungs[k]:.1f}", f"{worse:g}"))
    header = ("set", "mean bill at most", "ladder, %", "must", "rungs alone, %", "worse")
    report("ladder", header, rows)


if __name__ == "__main__":
    main()
