"""A random forest with fewer trees: the plainest way to a smaller bill."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.learn.forest_pruner import ForestPruner, Task
from thrifty.model import Forest

__all__ = ["FewerTreesClassifier"]


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
