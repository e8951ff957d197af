"""The picture in the README: accuracy by budget on heart disease with published prices.

Figures are means over ten random splits into 50 % training, 20 % validation and 30 % test rows. A
ladder is trained on the first two together, and the point that it takes for each budget is measured
on the test rows: its bill is within the budget with a confidence of 95 %. Others see the same rows,
and within each budget their point with the best validation accuracy counts, without a confidence:

- LightGBM with its cost penalties, coupled and lazy (CEGB), a dozen penalties each. It knows no
  groups, so a feature has the price that it would have alone; bills count groups once.
- scikit-learn: boosting on the features with the largest importance per price, one set of every
  size.
- Plain boosting, stopped on the validation rows, on the cheapest features that the budget pays for.

`curve.py cost` measures the CPU time of a curve, including its intervals, relative to one fit of
the same learner without prices: with all its trees, and with early stopping.
"""

from __future__ import annotations

import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"

import lightgbm
import matplotlib as mpl
import numpy as np
import pandas as pd
from _harness import RESULTS, report, take_turns
from matplotlib.figure import Figure
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from thrifty import BudgetClassifier, GreedyMiserClassifier, adopt, trace
from thrifty.data import digits, heart, load

mpl.rcParams["svg.hashsalt"] = "thrifty"  # the same picture has the same bytes
# Canadian dollars per patient; the last one pays for all features.
BUDGETS = np.array([2.0, 4.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 75.0, 100.0, 150.0, 200.0, 324.0])
SPLITS = 10
SETS = ("satellite", "magic", "pageblocks")
COLORS = ("#0b6e4f", "#c26a00", "#3b6fb6", "#8c8c8c")
MARKERS = "osD^"


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
    """Return the test accuracy of the point chosen for each budget."""
    model = BudgetClassifier(table.prices, random_state=0)
    model.fit(*(join(parts) for parts in zip(train, validation, strict=True)))
    return [model.at_budget(budget).score(*test) for budget in budgets]


def join(parts):
    """Return the rows of several tables, or of several targets."""
    return pd.concat(parts) if isinstance(parts[0], pd.DataFrame) else np.concatenate(parts)


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


def cost_penalties(table, budgets, train, validation, test):
    """Return the test accuracy of LightGBM with its cost penalties, for each budget."""
    prices = table.prices.bind(list(table.X.columns))
    alone = [prices.marginal(j, []) for j in range(len(prices.own))]
    points = []
    for kind in ("coupled", "lazy"):
        for tradeoff in np.geomspace(1e-3, 10.0, 12):
            # The lazy penalty is charged for every row.
            scale = tradeoff if kind == "coupled" else tradeoff / len(train[1])
            booster = lightgbm.LGBMClassifier(
                n_estimators=200, learning_rate=0.1, max_depth=4, min_child_samples=20,
                cegb_tradeoff=scale, verbose=-1, **{f"cegb_penalty_feature_{kind}": alone},
            )  # fmt: skip
            stop = lightgbm.early_stopping(30, verbose=False)
            booster.fit(*train, eval_X=validation[0], eval_y=validation[1], callbacks=[stop])
            model = adopt(booster, prices=table.prices)
            points.append((model.bill(validation[0]).mean(), accuracy(model, validation), model))
    return best_within(points, budgets, test)


def selected_features(table, budgets, train, validation, test):
    """Return the test accuracy of boosting on the features of most importance per price."""
    prices = table.prices.bind(list(table.X.columns))
    order, points = most_importance_per_price(prices, train), []
    for size in range(1, len(order) + 1):
        names = [table.X.columns[j] for j in order[:size]]
        model = HistGradientBoostingClassifier(max_depth=4, max_iter=60, random_state=0)
        model.fit(train[0][names], train[1])
        points.append((prices.total(order[:size]), accuracy(model, validation), model))
    return best_within(points, budgets, test)


def most_importance_per_price(prices, train):
    """Return all features, always the one with the largest importance per price next."""
    forest = ExtraTreesClassifier(300, min_samples_leaf=3, random_state=0)
    gains = forest.fit(train[0].fillna(-1.0), train[1]).feature_importances_
    order = []
    while len(order) < len(prices.own):
        left = [j for j in range(len(prices.own)) if j not in order]
        order.append(max(left, key=lambda j: gains[j] / max(prices.marginal(j, order), 1e-9)))
    return order


def accuracy(model, rows):
    """Return the accuracy of a model, which may read only some of the columns."""
    X = rows[0][getattr(model, "feature_names_in_", rows[0].columns)]
    return (model.predict(X) == rows[1]).mean()


def best_within(points, budgets, test):
    """Return the test accuracy of the point with the best validation accuracy in each budget."""
    found = []
    for budget in budgets:
        within = [point for point in points if point[0] <= budget]
        # Nothing that is cheap enough: the most frequent class.
        constant = pd.Series(test[1]).value_counts(normalize=True).max()
        best = max(within, key=lambda point: point[1], default=None)
        found.append(constant if best is None else accuracy(best[2], test))
    return found


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
    for (label, accuracies), color, marker in zip(curves.items(), COLORS, MARKERS, strict=True):
        mean = accuracies.mean(axis=0)
        error = accuracies.std(axis=0, ddof=1) / np.sqrt(len(accuracies))
        axes.plot(budgets, mean, marker=marker, markersize=4, color=color, label=label)
        axes.fill_between(budgets, mean - error, mean + error, color=color, alpha=0.15)
    label_axes(axes)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def label_axes(axes):
    """Name the axes and the data of a picture of accuracies by budget."""
    axes.set_xscale("log")
    axes.set_xticks([2, 5, 10, 20, 50, 100, 200], ["2", "5", "10", "20", "50", "100", "200"])
    axes.minorticks_off()
    axes.set_xlabel("budget per patient (CAD); all tests cost 324")
    axes.set_ylabel("test accuracy")
    axes.set_title("Heart disease, prices published by Turney (1995), 10 splits", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


METHODS = {
    "Thrifty: BudgetClassifier": with_prices,
    "LightGBM with cost penalties (CEGB)": cost_penalties,
    "scikit-learn, best features per price": selected_features,
    "plain boosting on the cheapest features": cheapest_features,
}


def main():
    """Run all on the same splits of heart disease, draw them and write the table."""
    table = heart()
    parts = [split(table, seed) for seed in range(SPLITS)]
    curves = {
        label: np.array([method(table, BUDGETS, *each) for each in parts])
        for label, method in METHODS.items()
    }
    draw(BUDGETS, curves, RESULTS.parent / "_static" / "curve.svg")
    means = [curve.mean(axis=0) for curve in curves.values()]
    rows = [
        (f"{budget:.0f}", *(f"{mean[i]:.3f}" for mean in means)) for i, budget in enumerate(BUDGETS)
    ]
    report("curve", ("budget (CAD)", *curves), rows)


def costs():
    """Measure a table that ships with scikit-learn, and larger ones."""
    rows = [(table.name, *cost(table)) for table in (digits(), *map(load, SETS))]
    header = ("data set", "points", "path / fit", "curve / fit", "curve / early-stopped fit")
    report("path", header, rows)


if __name__ == "__main__":
    costs() if sys.argv[1:] == ["cost"] else main()
