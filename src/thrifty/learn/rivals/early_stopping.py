"""Early stopping: a node that is nearly pure is split no further (000 ch. 4, rival i)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.kernels.closure_arcs import find_parents
from thrifty.learn.forest_pruner import ForestPruner, Task
from thrifty.learn.pruned import prune
from thrifty.learn.rivals.impurity import class_counts, gini_sums
from thrifty.model import Forest
from thrifty.model.nodes import is_leaf

__all__ = ["EarlyStoppingClassifier"]

POINTS = 40


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
        steps = np.geomspace(found.max(), found.min(), POINTS)[1:]
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
