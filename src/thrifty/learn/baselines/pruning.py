"""Simpler ways to shrink a random forest, to compare with BudgetPrune (Nan 2018, ch. 4).

- `FewerTreesClassifier` keeps the first trees.
- `EarlyStoppingClassifier` splits no node that is nearly pure (baseline i of the thesis).
- `CostComplexityClassifier` prunes every tree by its number of leaves (Breiman et al. 1984).
- `GreedyPruneClassifier` gives up one feature after another in all trees at once (baseline iii).

Only the last looks at prices. The estimators derive from `ForestPruner`, so they take a fitted
forest or train one, exactly as `PrunedForestClassifier` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.kernels.closure import problem as arcs
from thrifty.kernels.closure.path import all_closures
from thrifty.learn._sklearn import Interval
from thrifty.learn.pruning.base import ForestPruner, Knob, PruningData
from thrifty.learn.pruning.classifier import MIN_STEP, PruningPath
from thrifty.learn.pruning.closure_problem import ClosureProblem, prune
from thrifty.learn.pruning.feature_drops import drop_features, keep_features
from thrifty.model import Forest
from thrifty.model.forest.nodes import is_leaf

__all__ = [
    "CostComplexityClassifier",
    "EarlyStoppingClassifier",
    "FewerTreesClassifier",
    "GreedyPruneClassifier",
    "class_counts",
    "gini_sums",
]

Floats = NDArray[np.float64]

# The closure solver takes integers: the impurity that all splits save is this many units.
IMPURITY_UNITS = 2.0**56


class FewerTreesClassifier(ForestPruner):
    """The first trees of a forest.

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`; only the bills depend on the prices.
    trees : int or None
        Number of trees to keep; None keeps all.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import FewerTreesClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> model = FewerTreesClassifier(trees=2, n_estimators=10, random_state=0).fit(X, y)
    >>> len(model.model_.roots)
    2
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "trees": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: PriceList | None = None,
        trees: int | None = None,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.trees = trees

    def _prune(self, data: PruningData) -> tuple[Knob, Forest]:
        n_trees = len(data.forest.roots)
        trees = n_trees if self.trees is None else self.trees
        if trees > n_trees:
            raise DataError(f"trees: the forest has {n_trees}; give at most that many, not {trees}")
        return {"trees": trees}, data.forest.prefix(trees)

    def _prunings(self, data: PruningData) -> Iterator[tuple[Knob, Forest]]:
        for trees in range(1, len(data.forest.roots) + 1):
            yield {"trees": trees}, data.forest.prefix(trees)


class EarlyStoppingClassifier(ForestPruner):
    """A forest in which nearly pure nodes are not split (Nan 2018, ch. 4, baseline i).

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`; only the bills depend on the prices.
    tolerated : float
        A node is not split if its Gini impurity, times its share of all rows, is at most this.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import EarlyStoppingClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> for tolerated in (0.0, 0.02, 0.2):
    ...     model = EarlyStoppingClassifier(
    ...         tolerated=tolerated, n_estimators=10, random_state=0
    ...     ).fit(X, y)
    ...     print(tolerated, len(model.model_.nodes))
    0.0 198
    0.02 154
    0.2 42
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "tolerated": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: PriceList | None = None,
        tolerated: float = 0.0,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.tolerated = tolerated

    def _prune(self, data: PruningData) -> tuple[Knob, Forest]:
        keep = _split_impurities(data) > self.tolerated
        return {"tolerated": float(self.tolerated)}, prune(data.forest, keep)

    def _prunings(self, data: PruningData) -> Iterator[tuple[Knob, Forest]]:
        impurity = _split_impurities(data)
        for tolerated in _levels_by_bill(data, impurity):
            yield {"tolerated": tolerated}, prune(data.forest, impurity > tolerated)


def _split_impurities(data: PruningData) -> Floats:
    """Return the impurity of each split times its share of the rows; 0 for leaves, (nodes,).

    It is at most that of the parent, so that the kept splits of every threshold are a pruning.
    """
    counts = class_counts(data)
    impurity = gini_sums(counts) / (counts[data.forest.roots[:1]].sum() or 1.0)
    impurity[is_leaf(data.forest.nodes)] = 0.0
    parent = arcs.find_parents(data.forest.nodes["child"])
    for node in np.flatnonzero(parent >= 0):
        impurity[node] = min(impurity[node], impurity[parent[node]])
    return impurity


class CostComplexityClassifier(ForestPruner):
    """A forest in which each tree is pruned to few leaves (Breiman et al. 1984).

    Each tree minimizes its impurity plus `alpha` times its number of leaves. One more leaf is one
    more split, so all alphas together are the closure problem of BudgetPrune in which every split
    costs one unit and nothing is shared.

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`; only the bills depend on the prices.
    alpha : float
        Gini impurity that one more leaf must save, scikit-learn's `ccp_alpha`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import CostComplexityClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> for alpha in (0.0, 0.01, 0.1):
    ...     model = CostComplexityClassifier(
    ...         alpha=alpha, n_estimators=10, random_state=0
    ...     ).fit(X, y)
    ...     print(alpha, len(model.model_.nodes))
    0.0 198
    0.01 138
    0.1 48
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: PriceList | None = None,
        alpha: float = 0.0,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.alpha = alpha

    def _prune(self, data: PruningData) -> tuple[Knob, Forest]:
        return {"alpha": float(self.alpha)}, _prune_at(data, _critical_alphas(data), self.alpha)

    def _prunings(self, data: PruningData) -> Iterator[tuple[Knob, Forest]]:
        critical = _critical_alphas(data)
        for alpha in _levels_by_bill(data, critical):
            yield {"alpha": alpha}, _prune_at(data, critical, alpha)


def _critical_alphas(data: PruningData) -> Floats:
    """Return the alpha from which on each node is a leaf, (nodes,)."""
    forest, counts = data.forest, class_counts(data)
    impurity = gini_sums(counts)
    split = np.flatnonzero(~is_leaf(forest.nodes))
    child = forest.nodes["child"][split]
    gain = np.zeros(len(impurity))
    gain[split] = impurity[split] - impurity[child] - impurity[child + 1]
    unit = max(float(gain.sum()), 1.0) / IMPURITY_UNITS
    units = np.rint(gain / unit).astype(np.int64)
    parent = arcs.find_parents(forest.nodes["child"])
    number, above, worth = arcs.chains(parent, arcs.worthy(parent, units).view(np.uint8), units)
    # A chain of nodes that are kept or pruned together has as many splits as nodes.
    cost = np.bincount(number[number >= 0], minlength=len(above)).astype(np.int64)
    no_shared_costs = np.zeros(len(above) + 1, dtype=np.int64)
    rates = all_closures(above, no_shared_costs, np.zeros(0, dtype=np.int32), worth, cost)
    weight = counts[forest.roots[:1]].sum() or 1.0
    return np.asarray(np.append(rates * (unit / weight), 0.0)[number])


def _levels_by_bill(data: PruningData, keep_until: Floats) -> Iterator[float]:
    """Yield thresholds of prunings that keep a node below its own number, by increasing bill.

    As in the path of BudgetPrune, the most expensive pruning of each step of the bill is taken, so
    that methods differ in what they prune and not in how many points they show.
    """
    every_split = (keep_until > 0).astype(np.int64)
    prices, billed = data.train.prices, data.billed
    problem = ClosureProblem.of(data.forest, every_split, 1.0, billed.X, prices)
    path = PruningPath(data.forest, keep_until, *problem.bills_of(keep_until))
    yield from map(path.penalty_below, path.spaced(MIN_STEP))


def _prune_at(data: PruningData, critical: Floats, alpha: float) -> Forest:
    """Keep the splits whose critical alpha is larger."""
    # As in scikit-learn, 0 prunes nothing, not even splits that save no impurity.
    return prune(data.forest, critical > alpha) if alpha > 0 else data.forest


class GreedyPruneClassifier(ForestPruner):
    """A forest that gives up one feature after another (Nan 2018, ch. 4, baseline iii).

    Each step removes all splits that read one feature, or any feature of one group, and what is
    below them. It takes the feature or group that costs the fewest errors per unit of the bill that
    it saves, both on the training rows.

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`.
    features : int or None
        Number of features to keep; None keeps all.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import GreedyPruneClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> model = GreedyPruneClassifier(
    ...     prices=Prices([1, 5, 20]), features=2, n_estimators=10, random_state=0
    ... ).fit(X, y)
    >>> model.model_.features
    array([0, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "features": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: PriceList | None = None,
        features: int | None = None,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.features = features

    def _prune(self, data: PruningData) -> tuple[Knob, Forest]:
        most = len(data.forest.features) if self.features is None else self.features
        for features in drop_features(data):
            if len(features) <= most:
                return {"features": len(features)}, keep_features(data.forest, features)
        return {"features": 0}, data.constant

    def _prunings(self, data: PruningData) -> Iterator[tuple[Knob, Forest]]:
        for features in reversed(list(drop_features(data))):
            yield {"features": len(features)}, keep_features(data.forest, features)


def class_counts(data: PruningData) -> Floats:
    """Return the weight of each class among the training rows that pass each node, (nodes, K)."""
    nodes, k = data.forest.values.shape
    counts = np.zeros(nodes * k)
    for leaf in data.forest.leaves(data.train.X):
        counts += np.bincount(
            leaf * k + data.train.y, weights=data.train.weights, minlength=nodes * k
        )
    counts = counts.reshape(nodes, k)
    arcs.add_up(arcs.find_parents(data.forest.nodes["child"]), counts)
    return counts


def gini_sums(counts: Floats) -> Floats:
    """Return the Gini impurity of each node times the weight of its rows, (nodes,).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines.pruning import gini_sums
    >>> gini_sums(np.array([[3.0, 1.0], [2.0, 0.0]]))  # 4 rows of impurity 0.375, a pure node
    array([1.5, 0. ])
    """
    total = counts.sum(axis=1)
    return np.asarray(total - (counts**2).sum(axis=1) / np.maximum(total, np.finfo(float).tiny))
