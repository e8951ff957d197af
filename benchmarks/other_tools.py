"""The picture of the README with more tools: CatBoost's feature penalties and pystreed's trees.

Splits, budgets and the choice of a point are those of curve.py, whose curves are drawn again.

- CatBoost: penalties on the first use of a feature, on symmetric trees (its default) and on
  depthwise ones, and penalties per object on depthwise trees; 20 penalties each. A symmetric tree
  asks every row the same questions, so all rows have the same bill. CatBoost knows no groups, so a
  feature has the price that it would have alone; bills count groups once.
- pystreed: optimal cost-sensitive trees of depth two, three and four, on up to ten thresholds per
  feature, with the prices and groups as they are, for 16 costs of an error.

Neither is among the dependencies: pip install catboost pystreed.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path

import curve
import numpy as np
from curve import best_within
from error_costs import follow, grow_optimal_tree, yes_no_columns

PENALTIES = np.geomspace(1e-3, 10.0, 20)
# Canadian dollars; all features cost 324.
ERROR_COSTS = np.geomspace(10.0, 100_000.0, 16)
DEPTHS = (2, 3, 4)


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


METHODS = {
    **curve.METHODS,
    "CatBoost with feature penalties": catboost_penalties,
    "pystreed, optimal trees": optimal_trees,
}

if __name__ == "__main__":
    curve.main(METHODS, "other_tools")
