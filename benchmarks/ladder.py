"""LadderClassifier at given budgets, compared with the rungs that it is made of.

Figures are means over random 60/20/20 splits. The point is chosen on the validation set and its
accuracy is measured on the test set. "Rungs alone" is the same choice among the rungs by
themselves. "Worse" is the share of a grid of budgets at which these are better on the validation
set.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from _harness import report
from sklearn.model_selection import train_test_split
from targets import table

from thrifty import LadderClassifier

# Mean bills, and the accuracy in % that must be reached at each.
REQUIRED = {"letter": ((4.0, 88.0), (8.0, 95.5)), "satellite": ((7.2, 88.5),)}
# Budgets as shares of the full price.
BUDGET_SHARES = np.geomspace(0.02, 1.0, 200)
SEEDS = 5


def split(y, seed):
    """Return the indices of the training, validation and test rows."""
    rest, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    return *train_test_split(rest, test_size=0.25, stratify=y[rest], random_state=seed), test


def best(points, budget):
    """Return the point with the best validation accuracy within the budget."""
    return max((point for point in points if point.bill <= budget), key=lambda p: p.quality)


def run(name, seed):
    """Return the test accuracies of ladder and rungs at each budget, and how often rungs win."""
    data, y = table(name)
    train, validation, test = [(data.X.iloc[rows], y[rows]) for rows in split(y, seed)]
    ladder = list(
        LadderClassifier(data.prices, random_state=seed).path(*train, validation=validation)
    )
    rungs = [point for point in ladder if "rung" in point.knob]
    full = data.prices.bind(list(data.X.columns)).full
    budgets = BUDGET_SHARES * full
    worse = np.mean([best(rungs, b).quality > best(ladder, b).quality for b in budgets])
    accuracies = [
        [100 * np.mean(best(points, budget).model.predict(test[0]) == test[1])
         for budget, _ in REQUIRED[name]]
        for points in (ladder, rungs)
    ]  # fmt: skip
    return accuracies, worse


def main():
    """Write one line for each budget."""
    rows = []
    for name, budgets in REQUIRED.items():
        runs = [run(name, seed) for seed in range(SEEDS)]
        ladder, rungs = np.mean([accuracies for accuracies, _ in runs], axis=0)
        worse = np.mean([share for _, share in runs])
        for k, (budget, least) in enumerate(budgets):
            rows.append((name, budget, f"{ladder[k]:.1f}", least, f"{rungs[k]:.1f}", f"{worse:g}"))
    header = ("data set", "mean bill at most", "ladder, %", "required", "rungs alone, %", "worse")
    report("ladder", header, rows)


if __name__ == "__main__":
    main()
