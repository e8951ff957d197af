"""Accuracy by budget on heart disease for more tools than the picture of the README has.

Splits, budgets and the choice of a point are those of curve.py, whose methods are run as well.

- CatBoost: penalties on the first use of a feature, on symmetric trees (its default) and on
  depthwise ones, and penalties per object on depthwise trees; 20 penalties each. A symmetric tree
  asks every row the same questions, so all rows have the same bill. CatBoost knows no groups, so a
  feature has the price that it would have alone; bills count groups once.
- pystreed: optimal cost-sensitive trees of depth two, three and four, on up to ten thresholds per
  feature, with the prices and groups as they are, for 16 costs of an error.
- AutoGluon: for each budget the features with the largest importance per price that it pays for.
  It learns from training and validation rows and chooses out of fold, as Thrifty does.
- GDFS and DIME: see neural_policies.py. A policy is trained once for each split and stops by
  thresholds, GDFS also after a number of features.

None of them is among the dependencies: pip install catboost pystreed torch. AutoGluon pins other
versions than ours, so it has an interpreter of its own: python -m venv build/autogluon, then
build/autogluon/bin/pip install "autogluon.tabular[catboost,lightgbm,xgboost]".

    python benchmarks/other_tools.py [--again]

What a tool reaches on a split is kept in build/, so that an interrupted run goes on from there.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import curve
import numpy as np
import pandas as pd
from _harness import RESULTS, report
from curve import BUDGETS, best_within
from error_costs import follow, grow_optimal_tree, yes_no_columns
from matplotlib.figure import Figure

from thrifty.data import heart

PENALTIES = np.geomspace(1e-3, 10.0, 20)
# Canadian dollars; all features cost 324.
ERROR_COSTS = np.geomspace(10.0, 100_000.0, 16)
DEPTHS = (2, 3, 4)
# Features of heart disease whose numbers are names; neural policies see them one-hot.
CODES = ("cp", "restecg", "slope", "thal")
BUILD = RESULTS.parent.parent / "build"
CELLS = BUILD / "other_tools.jsonl"
AUTOGLUON = BUILD / "autogluon" / "bin" / "python"


class ReplayedTrees:
    """Trees of CatBoost with the bill of every row.

    Parameters
    ----------
    model : CatBoostClassifier
        Fitted; numbers only, two classes.
    prices : BoundPrices
    """

    def __init__(self, model, prices):
        self.model, self.prices = model, prices
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            model.save_model(str(path), format="json")
            self.content = json.loads(path.read_text())

    def predict(self, X):
        """Return the labels."""
        return self.model.predict(X).astype(str)

    def bill(self, X):
        """Return the bill of each row; check that the trees were read as CatBoost reads them."""
        values = X.to_numpy(dtype=np.float32)  # as CatBoost reads them
        used = np.zeros(values.shape, dtype=bool)
        for tree in self.content.get("oblivious_trees", []):
            used[:, [split["float_feature_index"] for split in tree["splits"]]] = True
        if "trees" in self.content:
            scale, (bias,) = self.content["scale_and_bias"]
            scores = sum((self.descend(tree, values, used) for tree in self.content["trees"]), bias)
            raw = self.model.predict(X, prediction_type="RawFormulaVal")
            assert np.allclose(scale * scores, raw)
        return self.prices.bill(used)

    def descend(self, tree, values, used):
        """Return the leaf value of each row, and mark what it reads on the way."""
        outputs = np.zeros(len(values))

        def visit(node, rows):
            if "split" not in node:
                outputs[rows] = node["value"]
                return
            feature = node["split"]["float_feature_index"]
            used[rows, feature] = True
            right = values[rows, feature] > node["split"]["border"]  # a missing value goes left
            visit(node["right"], rows[right])
            visit(node["left"], rows[~right])

        visit(tree, np.arange(len(values)))
        return outputs


def catboost_penalties(table, budgets, train, validation, test):
    """Return the test accuracy of CatBoost with feature penalties, for each budget."""
    from catboost import CatBoostClassifier

    prices = table.prices.bind(list(table.X.columns))
    alone = [prices.marginal(j, []) for j in range(len(prices.own))]
    points = []
    for kind, policy in (
        ("first_feature_use", "SymmetricTree"),
        ("first_feature_use", "Depthwise"),
        ("per_object_feature", "Depthwise"),
    ):
        for penalty in PENALTIES:
            # A penalty per object is charged for every row.
            scale = penalty / len(train[1]) if kind == "per_object_feature" else penalty
            fitted = CatBoostClassifier(
                iterations=200, learning_rate=0.1, depth=4, grow_policy=policy, random_seed=0,
                penalties_coefficient=scale, thread_count=1, verbose=0, allow_writing_files=False,
                **{f"{kind}_penalties": alone},
            )  # fmt: skip
            fitted.fit(*train, eval_set=validation, early_stopping_rounds=30)
            model = ReplayedTrees(fitted, prices)
            bill = model.bill(validation[0]).mean()
            points.append((bill, curve.accuracy(model, validation), model))
    return best_within(points, budgets, test)


class OptimalTree:
    """A tree of pystreed on the yes-no columns of a table."""

    def __init__(self, model, columns_of, features, n_features, classes):
        self.model, self.columns_of, self.classes = model, columns_of, classes
        self.features, self.n_features = features, n_features

    def follow(self, X):
        """Return the labels, and what each row reads."""
        said, used = follow(self.model, self.columns_of(X), self.features, self.n_features)
        return self.classes[said], used

    def predict(self, X):
        """Return the labels."""
        return self.follow(X)[0]


def optimal_trees(table, budgets, train, validation, test):
    """Return the test accuracy of pystreed's trees for several costs of an error, by budget."""
    prices = table.prices.bind(list(table.X.columns))
    classes, codes = np.unique(train[1], return_inverse=True)
    columns, _, features = yes_no_columns(train[0], validation[0], codes)

    def columns_of(X):
        return yes_no_columns(train[0], X, codes)[1]

    points = []
    for cost, depth in itertools.product(ERROR_COSTS, DEPTHS):
        matrix = cost * (1.0 - np.eye(len(classes)))
        fitted = grow_optimal_tree(columns, codes, features, prices, matrix, depth=depth)
        model = OptimalTree(fitted, columns_of, features, len(prices.own), classes)
        said, used = model.follow(validation[0])
        quality = float(np.mean(said == validation[1]))
        points.append((prices.bill(used).mean(), quality, model))
    return best_within(points, budgets, test)


class Recorded:
    """Answers that were given in another interpreter, by row."""

    def __init__(self, rows, answers):
        self.answers = pd.Series(answers, index=rows)

    def predict(self, X):
        """Return the answers of some of the rows."""
        return self.answers[X.index].to_numpy()


def autogluon_on_sets(table, budgets, train, validation, test):
    """Return the test accuracy of AutoGluon on the features that each budget pays for."""
    prices = table.prices.bind(list(table.X.columns))
    X, y = (curve.join(parts) for parts in zip(train, validation, strict=True))
    order = curve.most_importance_per_price(prices, (X, y))
    bills = [prices.total(order[:size]) for size in range(1, len(order) + 1)]
    sizes = sorted(
        {size for budget in budgets if (size := int(np.searchsorted(bills, budget, "right")))}
    )
    sets = [[table.X.columns[j] for j in order[:size]] for size in sizes]
    with tempfile.TemporaryDirectory() as folder:
        X.assign(target=y).to_csv(Path(folder) / "train.csv", index=False)
        test[0].assign(target=test[1]).to_csv(Path(folder) / "test.csv", index=False)
        (Path(folder) / "sets.json").write_text(json.dumps(sets))
        script = Path(__file__).with_name("_autogluon_fits.py")
        subprocess.run([AUTOGLUON, script, folder], check=True, stderr=subprocess.DEVNULL)
        found = json.loads((Path(folder) / "answers.json").read_text())
    points = [
        (bills[size - 1], each["quality"], Recorded(test[0].index, each["answers"]))
        for size, each in zip(sizes, found, strict=True)
    ]
    return best_within(points, budgets, test)


class StoppedPolicy:
    """A neural policy whose rows stop below a threshold, or after a number of features."""

    def __init__(self, policy, classes, rule):
        self.policy, self.classes, self.rule = policy, classes, rule

    def follow(self, X):
        """Return the labels, and what each row reads."""
        said, used = self.policy.answer(self.policy.encoder(X), *self.rule)
        return self.classes[said], used

    def predict(self, X):
        """Return the labels."""
        return self.follow(X)[0]


def neural_policy(name, table, budgets, train, validation, test):
    """Return the test accuracy of GDFS or DIME for several rules of stopping, by budget."""
    import neural_policies
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    prices = table.prices.bind(list(table.X.columns))
    classes = np.unique(train[1])
    encoder = neural_policies.Encoder(train[0], CODES)
    rows = [(encoder(X), torch.tensor(np.searchsorted(classes, y))) for X, y in (train, validation)]
    kind = getattr(neural_policies, name)
    policy = kind(encoder, neural_policies.PriceTable(prices), len(classes)).fit(*rows)
    points = []
    for rule in policy.rules(rows[1][0]):
        model = StoppedPolicy(policy, classes, rule)
        said, used = model.follow(validation[0])
        points.append((prices.bill(used).mean(), np.mean(said == validation[1]), model))
    return best_within(points, budgets, test)


METHODS = {
    **curve.METHODS,
    "CatBoost with feature penalties": catboost_penalties,
    "pystreed, optimal trees": optimal_trees,
    "AutoGluon, best features per price": autogluon_on_sets,
    "GDFS, neural policy": partial(neural_policy, "GDFS"),
    "DIME, neural policy": partial(neural_policy, "DIME"),
}
OURS = next(iter(METHODS))
COLORS = ("#0b6e4f", "#c26a00", "#3b6fb6", "#8c8c8c", "#8e3b8e", "#b3261e", "#111111", "#1b9aaa",
          "#c9a400")  # fmt: skip
MARKERS = "osD^vPX<>"


def measure(label, seed):
    """Return the accuracies of a tool on a split, and the CPU seconds they took."""
    table = heart()
    parts = curve.split(table, seed)
    start = sum(os.times()[:4])  # of this process and of those that it starts
    accuracies = METHODS[label](table, BUDGETS, *parts)
    return {"accuracies": list(map(float, accuracies)), "cpu": sum(os.times()[:4]) - start}


def cells():
    """Return what all tools reach on all splits; compute what is not kept yet."""
    if "--again" in sys.argv:
        CELLS.unlink(missing_ok=True)
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    kept = {(cell["tool"], cell["seed"]): cell for cell in map(json.loads, lines)}
    for seed, label in itertools.product(range(curve.SPLITS), METHODS):
        if (label, seed) not in kept:
            cell = kept[label, seed] = {"tool": label, "seed": seed, **measure(label, seed)}
            with CELLS.open("a") as file:
                file.write(json.dumps(cell) + "\n")
    return {label: [kept[label, seed] for seed in range(curve.SPLITS)] for label in METHODS}


def draw(curves):
    """Draw the mean of each tool, and the standard error of ours."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    for (label, accuracies), color, marker in zip(curves.items(), COLORS, MARKERS, strict=True):
        mean, ours = accuracies.mean(axis=0), label == OURS
        axes.plot(BUDGETS, mean, marker=marker, markersize=4, color=color, label=label,
                  linewidth=2.5 if ours else 1.2, zorder=3 if ours else 2)  # fmt: skip
        if ours:
            error = accuracies.std(axis=0, ddof=1) / np.sqrt(len(accuracies))
            axes.fill_between(BUDGETS, mean - error, mean + error, color=color, alpha=0.15)
    curve.label_axes(axes)
    axes.set_ylim(bottom=0.73)  # what is below lies at the lowest budget
    figure.legend(frameon=False, loc="outside lower center", ncols=2, fontsize=9)
    figure.savefig(RESULTS.parent / "_static" / "other_tools.svg", metadata={"Date": None})


def main():
    """Run all tools on the same splits; write the picture, the table and what a curve costs."""
    found = cells()
    curves = {label: np.array([run["accuracies"] for run in found[label]]) for label in METHODS}
    # Threads that wait for a busy processor count: the median leaves them out.
    cpu = {label: np.median([run["cpu"] for run in found[label]]) for label in METHODS}
    draw(curves)
    rows = [
        (label, *(f"{100 * mean:.1f}" for mean in accuracies.mean(axis=0)))
        for label, accuracies in curves.items()
    ]
    report("other_tools", ("budget, CAD", *(f"{budget:.0f}" for budget in BUDGETS)), rows)
    rows = []
    for label, accuracies in curves.items():
        leads = 100 * (curves[OURS] - accuracies).mean(axis=1)
        error = leads.std(ddof=1) / np.sqrt(len(leads))
        cost = cpu[label] / cpu[OURS]
        rows.append((label, f"{leads.mean():.1f}", f"{error:.1f}", f"{cost:.2f}"))
    header = ("tool", "Thrifty's lead, points", "standard error", "CPU time of a curve / Thrifty's")
    report("other_tools_leads", header, rows[1:])


if __name__ == "__main__":
    main()
