"""Cost-complexity pruning of every tree (Breiman et al. 1984), blind to prices.

Impurity + alpha * leaves, least for each tree alone. A leaf more is a split more, so all alphas
at once are the same nested problem as in BudgetPrune, with one unit of cost a split and
nothing shared.

Early stopping: a node that is nearly pure is split no further (Nan 2018, ch. 4, rival i).

A random forest with fewer trees: the plainest way to a smaller bill.

GreedyPrune: give up one feature after another, everywhere at once (Nan 2018, ch. 4, rival iii).

Each step takes back all splits that read one feature, and what hangs below them: the feature
whose loss costs the fewest errors for the bill that it saves, both on the training rows.

Class counts and Gini impurity of the nodes of a forest, on the rows that it learns from.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.kernels.closure import problem as arcs
from thrifty.kernels.closure.path import all_closures
from thrifty.kernels.closure.problem import add_up, find_parents
from thrifty.learn.pruning.base import ForestPruner, Mask, Task
from thrifty.learn.pruning.closure_problem import prune
from thrifty.model import Forest
from thrifty.model.forest.nodes import INDEX, is_leaf

__all__ = [
    "CostComplexityClassifier",
    "EarlyStoppingClassifier",
    "FewerTreesClassifier",
    "GreedyPruneClassifier",
    "class_counts",
    "gini_sums",
]


class FewerTreesClassifier(ForestPruner):
    """The first trees of a forest.

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`; prices only tell the bill.
    trees : int or None
        How many to keep; None keeps all.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "trees": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: Prices | None = None,
        trees: int | None = None,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.trees = trees

    def _chosen(self, task: Task) -> tuple[dict[str, Any], Forest]:
        total = len(task.forest.roots)
        trees = total if self.trees is None else self.trees
        if trees > total:
            raise DataError(f"trees: {trees} are asked for, the forest has {total}")
        return {"trees": trees}, task.forest.prefix(trees)

    def _forests(self, task: Task) -> Iterator[tuple[dict[str, Any], Forest]]:
        for trees in range(1, len(task.forest.roots) + 1):
            yield {"trees": trees}, task.forest.prefix(trees)


class GreedyPruneClassifier(ForestPruner):
    """A forest that has given up some of its features.

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`.
    features : int or None
        How many features to keep; None keeps all.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "features": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: Prices | None = None,
        features: int | None = None,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.features = features

    def _chosen(self, task: Task) -> tuple[dict[str, Any], Forest]:
        most = len(task.forest.features) if self.features is None else self.features
        for knob, forest in _giving_up(task):
            if knob["features"] <= most:
                return knob, forest
        return {"features": 0}, prune(task.forest, task.nothing)

    def _forests(self, task: Task) -> Iterator[tuple[dict[str, Any], Forest]]:
        yield from reversed(list(_giving_up(task)))


def _giving_up(task: Task) -> Iterator[tuple[dict[str, Any], Forest]]:
    """Forests that read one feature less each."""
    left = task.forest.features
    while len(left):
        forest = prune(task.forest, _reading_only(task.forest, left))
        if not len(forest.roots):
            return
        yield {"features": len(left)}, forest
        left = _without_worst(task, left, *_judge(task, forest))


def _without_worst(
    task: Task, left: NDArray[np.int64], error: float, bill: float
) -> NDArray[np.int64]:
    """The features without the one that is best given up."""
    costs = []
    for number in range(len(left)):
        fewer = np.delete(left, number)
        worse, cheaper = _judge(task, prune(task.forest, _reading_only(task.forest, fewer)))
        # Errors for money; what saves no money goes last.
        saved = bill - cheaper
        costs.append((worse - error) / saved if saved > 0 else np.inf)
    return np.delete(left, int(np.argmin(costs)))


def _judge(task: Task, forest: Forest) -> tuple[float, float]:
    """Weighted error and mean bill on the training rows."""
    scores, used = forest.score_and_used(task.X)
    wrong = scores.argmax(axis=1) != task.codes
    bills = task.prices.bill(used, forest.evaluations(task.X))
    return float(np.average(wrong, weights=task.weight)), float(bills.mean())


def _reading_only(forest: Forest, features: NDArray[np.int64]) -> Mask:
    """Splits that read, on the way to them and in them, these features only."""
    keep = ~is_leaf(forest.nodes) & np.isin(forest.nodes["feature"] & INDEX, features)
    number = np.searchsorted(forest.features, features)
    allowed = np.zeros(forest.paths.shape[1], dtype=np.uint64)
    np.bitwise_or.at(allowed, number // 64, np.uint64(1) << (number % 64).astype(np.uint64))
    return np.asarray(keep & ~(forest.paths & ~allowed).any(axis=1))


Floats = NDArray[np.float64]


def class_counts(task: Task) -> Floats:
    """Weight of each class among the rows that pass each node, (nodes, K)."""
    nodes, k = task.forest.values.shape
    weight = np.ones(len(task.X)) if task.weight is None else task.weight
    counts = np.zeros(nodes * k)
    for leaf in task.forest.leaves(task.X):
        counts += np.bincount(leaf * k + task.codes, weights=weight, minlength=nodes * k)
    counts = counts.reshape(nodes, k)
    add_up(find_parents(task.forest.nodes["child"]), counts)
    return counts


def gini_sums(counts: Floats) -> Floats:
    """Gini impurity of each node times the weight of its rows."""
    total = counts.sum(axis=1)
    return np.asarray(total - (counts**2).sum(axis=1) / np.maximum(total, np.finfo(float).tiny))


POINTS = 60
# Impurities are sums of squares: whole numbers of this fine a share of them.
FINE = 2.0**56


class CostComplexityClassifier(ForestPruner):
    """A forest whose trees are pruned to few leaves, each on its own.

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`; prices only tell the bill.
    alpha : float
        Gini impurity that a leaf more must save, scikit-learn's `ccp_alpha`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: Prices | None = None,
        alpha: float = 0.0,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.alpha = alpha

    def _chosen(self, task: Task) -> tuple[dict[str, Any], Forest]:
        return {"alpha": float(self.alpha)}, _pruned(task, _alphas(task), self.alpha)

    def _forests(self, task: Task) -> Iterator[tuple[dict[str, Any], Forest]]:
        alphas = _alphas(task)
        found = np.unique(alphas[alphas > 0])[::-1]
        picked = np.unique(np.linspace(0, len(found) - 1, min(POINTS, len(found))).astype(int))
        for alpha in np.append(found, 0.0)[picked + 1]:
            yield {"alpha": float(alpha)}, _pruned(task, alphas, alpha)


def _pruned(task: Task, alphas: NDArray[np.float64], alpha: float) -> Forest:
    # As in scikit-learn, 0 prunes nothing, not even splits that save no impurity.
    return prune(task.forest, alphas > alpha) if alpha > 0 else task.forest


def _alphas(task: Task) -> NDArray[np.float64]:
    """Alpha from which on each node splits no more."""
    forest = task.forest
    counts = class_counts(task)
    impurity = gini_sums(counts)
    split = np.flatnonzero(~is_leaf(forest.nodes))
    child = forest.nodes["child"][split]
    gain = np.zeros(len(impurity))
    gain[split] = impurity[split] - impurity[child] - impurity[child + 1]
    unit = max(float(gain.sum()), 1.0) / FINE
    parent = arcs.find_parents(forest.nodes["child"])
    whole = np.rint(gain / unit).astype(np.int64)
    number, above, worth = arcs.chains(parent, arcs.worthy(parent, whole), whole)
    # A chain that stays or goes as one has as many splits as nodes.
    cost = np.bincount(number[number >= 0], minlength=len(above)).astype(np.int64)
    nothing = np.zeros(len(above) + 1, dtype=np.int64)
    rates = all_closures(above, nothing, np.zeros(0, dtype=np.int32), worth, cost)
    weight = counts[forest.roots[:1]].sum() or 1.0
    return np.asarray(np.append(rates * (unit / weight), 0.0)[number])


POINTS_EARLY_STOPPING = 40


class EarlyStoppingClassifier(ForestPruner):
    """A forest whose trees stop where little impurity is left.

    Parameters
    ----------
    forest, prices, n_estimators, random_state
        As in `PrunedForestClassifier`; prices only tell the bill.
    tolerated : float
        Gini impurity of the rows of a node, times their share of all rows, that is split no
        further.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "tolerated": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: Prices | None = None,
        tolerated: float = 0.0,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.tolerated = tolerated

    def _chosen(self, task: Task) -> tuple[dict[str, Any], Forest]:
        keep = _impurities(task) > self.tolerated
        return {"tolerated": float(self.tolerated)}, prune(task.forest, keep)

    def _forests(self, task: Task) -> Iterator[tuple[dict[str, Any], Forest]]:
        impurity = _impurities(task)
        found = impurity[impurity > 0]
        if not len(found):
            return
        steps = np.geomspace(found.max(), found.min(), POINTS_EARLY_STOPPING)[1:]
        for tolerated in [*steps.tolist(), 0.0]:
            yield {"tolerated": tolerated}, prune(task.forest, impurity > tolerated)


def _impurities(task: Task) -> NDArray[np.float64]:
    """Impurity of each split, at most that of its parent; 0 for leaves."""
    counts = class_counts(task)
    impurity = gini_sums(counts) / (counts[task.forest.roots[:1]].sum() or 1.0)
    impurity[is_leaf(task.forest.nodes)] = 0.0
    parent = find_parents(task.forest.nodes["child"])
    for node in np.flatnonzero(parent >= 0):
        impurity[node] = min(impurity[node], impurity[parent[node]])
    return impurity
