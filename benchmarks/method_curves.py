"""The curve of each method beside its baselines, as the pages of the methods show it.

Tables ship with Thrifty: heart disease with the prices of Turney (1995), and handwritten digits.
Figures are means and standard errors over five random splits into 50 % training, 20 % validation
and 30 % test rows. Within each budget the point with the best validation accuracy counts. The
settings are the defaults of each class, if not stated otherwise.

`method_curves.py NAME ...` draws only the pictures of these pages, and writes no table.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import matplotlib as mpl
import numpy as np
from _harness import RESULTS, report
from matplotlib.figure import Figure
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import thrifty
from thrifty import OnlineGate, Prices, adopt, short_circuit
from thrifty.data import digits, heart
from thrifty.learn import baselines
from thrifty.serve import ASK

mpl.rcParams["svg.hashsalt"] = "thrifty"  # the same picture has the same bytes
PICTURES = RESULTS.parent / "methods" / "curves"
SPLITS = 5
DOLLARS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 250, 324)
VECTORS = (3, 5, 8, 13, 20, 32, 50, 80, 125, 200)
COLORS = ("#0b6e4f", "#8a4b08", "#5b5b5b", "#1f5fa8")
MARKERS = ("o", "s", "^", "D")

HEART = heart()
DIGITS = digits()
PIXEL_ROWS = {f"row {i}": [f"pixel_{i}_{j}" for j in range(8)] for i in range(8)}
# Every comparison with a vector, or every transmission, costs 1, and nothing else does.
PER_EVALUATION = Prices({name: 0.0 for name in DIGITS.X.columns}, evaluation=1.0)

MISER = ("GreedyMiser", lambda: thrifty.GreedyMiserClassifier(HEART.prices, random_state=0))
FOREST = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)

# By page: the method first, then its baselines.
ON_HEART: dict[str, list[tuple[str, Callable[[], Any]]]] = {
    "ladder": [("ladder", lambda: thrifty.LadderClassifier(HEART.prices, random_state=0)), MISER],
    "greedymiser": [MISER],
    "budgetrf": [
        ("BudgetRF", lambda: thrifty.BudgetForestClassifier(HEART.prices, random_state=0)),
        MISER,
    ],
    "budgetprune": [
        ("BudgetPrune", lambda: thrifty.PrunedForestClassifier(None, HEART.prices, random_state=0)),
        (
            "cost-complexity pruning",
            lambda: baselines.CostComplexityClassifier(None, HEART.prices, random_state=0),
        ),
        MISER,
    ],
    "policy": [
        ("policy", lambda: thrifty.PolicyClassifier(HEART.prices, random_state=0)),
        MISER,
    ],
    "astc": [
        ("ASTC, depth 2", lambda: thrifty.SubmodularTreeClassifier(HEART.prices, max_depth=2)),
        ("one linear model, priced L1", lambda: baselines.PricedL1Classifier(HEART.prices)),
        MISER,
    ],
    "cstc": [
        ("CSTC, depth 2", lambda: thrifty.CostTreeClassifier(HEART.prices, max_depth=2)),
        ("its root alone", lambda: baselines.SingleCostClassifier(HEART.prices)),
        MISER,
    ],
    "cascades": [
        ("CSCC, 3 stages", lambda: thrifty.CostCascadeClassifier(HEART.prices, n_stages=3)),
        ("Cronus", lambda: baselines.CronusClassifier(HEART.prices, random_state=0)),
        ("early exits", lambda: baselines.EarlyExitClassifier(HEART.prices, random_state=0)),
    ],
    "margin_neighbors": [
        ("FMCC", lambda: thrifty.MarginNeighborsClassifier(HEART.prices, random_state=0)),
        ("one order for all rows", lambda: baselines.FixedOrderClassifier(HEART.prices)),
        MISER,
    ],
    "anytime": [
        ("AFR", lambda: thrifty.AnytimeClassifier(HEART.prices, random_state=0)),
        MISER,
    ],
    "gates": [
        ("gate", lambda: thrifty.GatedClassifier(FOREST, HEART.prices, random_state=0)),
        (
            "send the least certain rows",
            lambda: baselines.ConfidenceGateClassifier(FOREST, HEART.prices, random_state=0),
        ),
    ],
}


def split(table: Any, seed: int) -> list[tuple[Any, Any]]:
    """Return training, validation and test set."""
    rest, test = train_test_split(
        np.arange(len(table.y)), test_size=0.3, stratify=table.y, random_state=seed
    )
    train, validation = train_test_split(
        rest, test_size=2 / 7, stratify=table.y[rest], random_state=seed
    )
    return [(table.X.iloc[rows], table.y[rows]) for rows in (train, validation, test)]


def best_within(points: Iterable[Any], budgets: Iterable[float], test: Any) -> list[float]:
    """Return the test accuracy of the best point within each budget."""
    known = [(point.bill, point.quality, point.model) for point in points]
    scores: dict[int, float] = {}
    found = []
    for budget in budgets:
        within = [each for each in known if each[0] <= budget]
        if not within:
            found.append(np.nan)
            continue
        model = max(within, key=lambda each: (each[1], -each[0]))[2]
        if id(model) not in scores:
            scores[id(model)] = float((model.predict(test[0]) == test[1]).mean())
        found.append(scores[id(model)])
    return found


def accuracy_by_budget(make: Callable[[], Any], table: Any, budgets: Any, **options: Any) -> Any:
    """Return the test accuracy of a learner by split and budget, and its mean CPU seconds."""
    start, found = time.process_time(), []
    for seed in range(SPLITS):
        train, validation, test = split(table, seed)
        points = make().path(*train, validation=validation, **options)
        found.append(best_within(points, budgets, test))
    return np.array(found), (time.process_time() - start) / SPLITS


def cheapest_features(table: Any, budgets: Any) -> Any:
    """Return the accuracy of plain boosting on the cheapest features, by split and budget."""
    prices = table.prices.bind(list(table.X.columns))
    order: list[int] = []
    bills = [0.0]
    while len(order) < len(prices.own):
        left = [j for j in range(len(prices.own)) if j not in order]
        feature = min(left, key=lambda j: prices.marginal(j, order))
        bills.append(bills[-1] + prices.marginal(feature, order))
        order.append(feature)
    found = []
    for seed in range(SPLITS):
        train, validation, test = split(table, seed)
        scores: dict[int, float] = {}
        row = []
        for budget in budgets:
            n = max(1, int(np.searchsorted(bills, budget, side="right")) - 1)
            if n not in scores:
                X = [part[0].iloc[:, order[:n]] for part in (train, validation, test)]
                model = thrifty.GreedyMiserClassifier(random_state=0)
                model.fit(X[0], train[1], validation=(X[1], validation[1]))
                scores[n] = model.score(X[2], test[1])
            row.append(scores[n])
        found.append(row)
    return np.array(found)


def draw(name: str, curves: dict[str, Any], budgets: Any, xlabel: str, title: str) -> None:
    """Draw the mean and the standard error of each curve."""
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    for (label, values), color, marker in zip(curves.items(), COLORS, MARKERS, strict=False):
        mean = np.mean(values, axis=0)
        error = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
        axes.plot(budgets, mean, marker=marker, color=color, label=label, markersize=4)
        axes.fill_between(budgets, mean - error, mean + error, color=color, alpha=0.15)
    axes.set_xscale("log")
    axes.set_xticks(list(budgets)[::3], [f"{each:g}" for each in list(budgets)[::3]])
    axes.minorticks_off()
    finish(axes, xlabel, "test accuracy", title)
    axes.legend(frameon=False, loc="best", fontsize=9)
    save(figure, name)


def finish(axes: Any, xlabel: str, ylabel: str, title: str) -> None:
    """Label the axes."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, name: str) -> None:
    """Write a picture for a page."""
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    print(f"{name}.svg", flush=True)


def on_heart(pages: Iterable[str]) -> list[tuple[str, ...]]:
    """Draw the methods that buy features, on heart disease; return rows of the table."""
    plain = cheapest_features(HEART, DOLLARS)
    measured: dict[str, Any] = {}
    for page in pages:
        for label, make in ON_HEART[page]:
            if label not in measured:
                measured[label] = accuracy_by_budget(make, HEART, DOLLARS)
        curves = {label: measured[label][0] for label, _ in ON_HEART[page]}
        curves["plain boosting on the cheapest features"] = plain
        xlabel = "budget per patient (CAD); all tests cost 324"
        draw(
            page,
            curves,
            DOLLARS,
            xlabel,
            f"Heart disease, prices of Turney (1995), {SPLITS} splits",
        )
    shown = [DOLLARS.index(budget) for budget in (3, 10, 30, 100, 324)]
    rows = [
        (label, *(f"{values.mean(axis=0)[i]:.3f}" for i in shown), f"{seconds:.1f}")
        for label, (values, seconds) in measured.items()
    ]
    rows.sort(key=lambda row: -sum(map(float, row[1:-1])))
    means = (f"{plain.mean(axis=0)[i]:.3f}" for i in shown)
    return [*rows, ("plain boosting on the cheapest features", *means, "")]


def on_digits_by_vectors() -> None:
    """Draw the accuracy of compressed support vector machines by their number of vectors."""
    learners = {
        "CVM": thrifty.CompressedSVC,
        "LARS, vectors stay": baselines.LeastAngleSVC,
        "random support vectors": baselines.RandomSubsetSVC,
    }
    curves = {
        label: accuracy_by_budget(
            lambda learner=learner: learner(prices=PER_EVALUATION, C=10.0, random_state=0),
            DIGITS,
            VECTORS,
            sizes=list(VECTORS),
        )[0]
        for label, learner in learners.items()
    }
    xlabel = "vectors that an image is compared with"
    draw("compressed_svc", curves, VECTORS, xlabel, f"Handwritten digits, {SPLITS} splits")


def on_digits_by_transmissions() -> None:
    """Draw the accuracy of gated devices by transmissions, and of the best fixed devices."""
    counts = np.arange(1, 9)
    gated, _ = accuracy_by_budget(
        lambda: thrifty.EdgeCloudClassifier(PER_EVALUATION, PIXEL_ROWS, random_state=0),
        DIGITS,
        counts * 1.02,  # the share of transmissions is met on average, not for every set
    )
    fixed = []
    for seed in range(SPLITS):
        train, validation, test = split(DIGITS, seed)
        chosen: list[str] = []
        scores = []
        while len(chosen) < 8:
            trials = {}
            for row in PIXEL_ROWS.keys() - set(chosen):
                columns = [pixel for each in [*chosen, row] for pixel in PIXEL_ROWS[each]]
                model = LogisticRegression(C=0.1, max_iter=200)
                model.fit(train[0][columns] / 16, train[1])
                quality = model.score(validation[0][columns] / 16, validation[1])
                trials[quality, row] = model.score(test[0][columns] / 16, test[1])
            best = max(trials)
            chosen.append(best[1])
            scores.append(trials[best])
        fixed.append(scores)
    curves = {"each device decides": gated, "always the same devices": np.array(fixed)}
    xlabel = "transmissions per image, of 8"
    draw(
        "edge_cloud",
        curves,
        counts,
        xlabel,
        f"Handwritten digits, a device per row, {SPLITS} splits",
    )


def short_circuits() -> None:
    """Draw the mean bill of adopted models, whole and with a short circuit."""
    models = {
        "boosting, 60 trees": HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=6),
        "boosting, 20 stumps": GradientBoostingClassifier(n_estimators=20, max_depth=1),
        "forest, 30 trees": RandomForestClassifier(30, max_depth=4, random_state=0),
    }
    bills: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    X = HEART.X.fillna(-1.0)  # gradient boosting of scikit-learn knows no missing values
    for seed in range(SPLITS):
        train, test = train_test_split(
            np.arange(len(X)), test_size=0.3, stratify=HEART.y, random_state=seed
        )
        for name, model in models.items():
            fitted = model.fit(X.iloc[train], HEART.y[train])
            whole = adopt(fitted, prices=HEART.prices)
            quick = short_circuit(whole, X.iloc[train])
            rows = X.iloc[test]
            assert (quick.predict(rows) == fitted.predict(rows)).all()
            bills[name].append((whole.bill(rows).mean(), quick.bill(rows).mean()))
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    means = np.array([np.mean(values, axis=0) for values in bills.values()])
    places = np.arange(len(models))
    for i, (label, color) in enumerate((("whole model", COLORS[2]), ("short circuit", COLORS[0]))):
        bars = axes.bar(places + 0.4 * i - 0.2, means[:, i], 0.38, label=label, color=color)
        axes.bar_label(bars, fmt="%.0f")
    axes.set_xticks(places, list(models))
    finish(
        axes, "", "mean bill (CAD)", f"The same answers for less: heart disease, {SPLITS} splits"
    )
    axes.legend(frameon=False)
    save(figure, "adopt")


def online() -> None:
    """Draw the loss of an online gate along a stream of digits, beside that of its experts."""
    images, labels = DIGITS.X.to_numpy() / 16.0, DIGITS.y
    local = LogisticRegression(max_iter=300).fit(images[:100], labels[:100])
    scores = local.predict_proba(images)
    answers, certainty = local.classes_[scores.argmax(axis=1)], scores.max(axis=1)
    cost, n = 0.2, 8000
    limits = (0.0, 0.5, 0.7, 1.1)  # ask below this certainty: never, sometimes, often, always
    losses = np.zeros((len(limits) + 1, SPLITS, n))
    for seed in range(SPLITS):
        stream = np.random.default_rng(seed).integers(100, len(labels), size=n)
        experts = [
            lambda t, low=low, rows=stream: (
                ASK if certainty[rows[t]] < low else int(answers[rows[t]])
            )
            for low in limits
        ]
        gate = OnlineGate(experts, cost=cost, horizon=n, random_state=seed)
        wrong = answers[stream] != labels[stream]
        for k, low in enumerate(limits):
            losses[k, seed] = np.where(certainty[stream] < low, cost, wrong)
        for t in range(n):
            decision = gate.decide(t)
            losses[-1, seed, t] = cost if decision.asks else wrong[t]
            if decision.asks:
                gate.feedback(int(labels[stream[t]]))
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    names = ("never asks", "asks if below 0.5", "asks if below 0.7", "always asks", "online gate")
    for name, loss, style in zip(names, losses, ("--", "-.", ":", "--", "-"), strict=True):
        mean = np.cumsum(loss.mean(axis=0)) / np.arange(1, n + 1)
        color = COLORS[0] if name == "online gate" else None
        axes.plot(np.arange(1, n + 1), mean, style, label=name, color=color)
    axes.set_ylim(0, 0.3)
    finish(
        axes,
        "examples",
        "mean loss so far",
        f"Handwritten digits, asking costs {cost}, {SPLITS} streams",
    )
    axes.legend(frameon=False, ncols=2, fontsize=9)
    save(figure, "online_gate")


OTHERS = {
    "compressed_svc": on_digits_by_vectors,
    "edge_cloud": on_digits_by_transmissions,
    "adopt": short_circuits,
    "online_gate": online,
}


def main(names: list[str]) -> None:
    """Draw the pictures of some pages, or of all, and then write the table."""
    warnings.simplefilter("ignore")
    wanted = names or [*OTHERS, *ON_HEART]
    for name in [name for name in wanted if name in OTHERS]:
        OTHERS[name]()
    pages = [name for name in wanted if name in ON_HEART]
    rows = on_heart(pages) if pages else []
    if not names:
        header = (
            "method",
            *(f"CAD {budget}" for budget in (3, 10, 30, 100, 324)),
            "CPU s per path",
        )
        report("method_curves", header, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
