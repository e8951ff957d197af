"""The picture in the README: accuracy by budget on a table that ships with scikit-learn.

Figures are means over ten random splits into 50 % training, 20 % validation and 30 % test rows. The
point with the best validation accuracy within each budget is taken, and its test accuracy is
reported. The baseline is plain boosting on the cheapest features that the budget pays for.

`curve.py cost` measures the CPU time of a curve, including its intervals, relative to one fit of
the same learner without prices: with all its trees, and with early stopping.
"""

from __future__ import annotations

import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"

import matplotlib as mpl
import numpy as np
from _harness import RESULTS, report, take_turns
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split

from thrifty import BudgetClassifier, GreedyMiserClassifier, trace
from thrifty.data import digits, load

mpl.rcParams["svg.hashsalt"] = "thrifty"  # the same picture has the same bytes
BUDGETS = np.array([0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0])
SPLITS = 10
SETS = ("satellite", "magic", "pageblocks")


def split(table, seed):
    """Return training, validation and test set."""
    rest, test = train_test_split(
        np.arange(len(table.y)), test_size=0.3, stratify=table.y, random_state=seed
    )
    train, validation = train_test_split(
        rest, test_size=2 / 7, stratify=table.y[rest], random_state=seed
    )
    return [(table.X.iloc[rows], table.y[rows]) for rows in (train, validation, test)]


def with_prices(table, budgets, train, validation, test):
    """Return the test accuracy of the point chosen on the validation set, for each budget."""
    model = BudgetClassifier(table.prices, confidence=None, random_state=0)
    model.fit(*train, validation=validation)
    return [model.at_budget(budget).score(*test) for budget in budgets]


def cheapest_features(table, budgets, train, validation, test):
    """Return the test accuracy of plain boosting on the cheapest features, for each budget."""
    prices = table.prices.bind(list(table.X.columns))
    accuracies = []
    for budget in budgets:
        columns = affordable_features(prices, budget)
        model = GreedyMiserClassifier()
        model.fit(
            train[0].iloc[:, columns],
            train[1],
            validation=(validation[0].iloc[:, columns], validation[1]),
        )
        accuracies.append(model.score(test[0].iloc[:, columns], test[1]))
    return accuracies


def affordable_features(prices, budget):
    """Return at least one feature: always the cheapest next one, while the budget lasts."""
    bought, spent = [], 0.0
    while len(bought) < len(prices.own):
        quotes = {j: prices.marginal(j, bought) for j in range(len(prices.own)) if j not in bought}
        feature = min(quotes, key=quotes.get)
        if bought and spent + quotes[feature] > budget:
            break
        bought.append(feature)
        spent += quotes[feature]
    return bought


def cost(table):
    """Return the number of points, and the CPU times of path and curve relative to a fit."""
    train, validation, _ = split(table, 0)
    model, curves = GreedyMiserClassifier(table.prices, random_state=0), []
    times = take_turns(
        {
            "fit": lambda: model.fit(*train),
            "stopped": lambda: model.fit(*train, validation=validation),
            "path": lambda: list(model.path(*train, validation=validation)),
            "curve": lambda: curves.append(trace(model, *train, validation=validation)),
        },
        turns=15,
    )
    ratios = [("path", "fit"), ("curve", "fit"), ("curve", "stopped")]
    found = (f"{times[one] / times[other]:.2f}" for one, other in ratios)
    return len(curves[-1].points), *found


def draw(budgets, curves, path):
    """Draw the mean and the standard error of each curve."""
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    for (label, accuracies), color in zip(curves.items(), ("#0b6e4f", "#9a9a9a"), strict=True):
        mean = accuracies.mean(axis=0)
        error = accuracies.std(axis=0, ddof=1) / np.sqrt(len(accuracies))
        axes.plot(100 * budgets, mean, marker="o", color=color, label=label)
        axes.fill_between(100 * budgets, mean - error, mean + error, color=color, alpha=0.2)
    axes.set_xscale("log")
    axes.set_xticks([10, 20, 50, 100], ["10 %", "20 %", "50 %", "100 %"])
    axes.minorticks_off()
    axes.set_xlabel("budget per example, share of the price of all features")
    axes.set_ylabel("test accuracy")
    axes.set_title(
        "Digits of scikit-learn, illustrative prices per pixel and row, 10 splits", fontsize=10
    )
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main():
    """Run both on the same splits, draw them and write the table."""
    table = digits()
    full = table.prices.bind(list(table.X.columns)).full
    curves = {"Thrifty: BudgetClassifier": [], "plain boosting on the cheapest features": []}
    for seed in range(SPLITS):
        parts = split(table, seed)
        for method, curve in zip((with_prices, cheapest_features), curves.values(), strict=True):
            curve.append(method(table, BUDGETS * full, *parts))
    curves = {label: np.array(curve) for label, curve in curves.items()}
    draw(BUDGETS, curves, RESULTS.parent / "_static" / "curve.svg")
    means = [curve.mean(axis=0) for curve in curves.values()]
    rows = [
        (f"{100 * budget:.0f} %", *(f"{mean[i]:.3f}" for mean in means))
        for i, budget in enumerate(BUDGETS)
    ]
    report("curve", ("budget", *curves), rows)


def costs():
    """Measure a table that ships with scikit-learn, and larger ones."""
    rows = [(table.name, *cost(table)) for table in (digits(), *map(load, SETS))]
    header = ("data set", "points", "path / fit", "curve / fit", "curve / early-stopped fit")
    report("path", header, rows)


if __name__ == "__main__":
    costs() if sys.argv[1:] == ["cost"] else main()
