"""GreedyPrune: give up one feature after another, everywhere at once (000 ch. 4, rival iii).

Each step takes back all splits that read one feature, and what hangs below them: the feature
whose loss costs the fewest errors for the bill that it saves, both on the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.forest_pruner import ForestPruner, Mask, Task
from thrifty.learn.pruned import prune
from thrifty.model import Forest
from thrifty.model.nodes import INDEX, is_leaf

__all__ = ["GreedyPruneClassifier"]


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
