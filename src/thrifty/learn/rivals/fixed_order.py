"""One order for all: every row buys the same features, the first of a greedy list."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.asking import Cut, Task
from thrifty.learn.margin_neighbors import MarginNeighborsClassifier
from thrifty.learn.neighborhood import one_order
from thrifty.learn.point import Point
from thrifty.model.asking import Asking, Trails
from thrifty.model.neighbors import Neighbors

__all__ = ["FixedOrderClassifier"]


class FixedOrderClassifier(MarginNeighborsClassifier):
    """A classifier of one term a feature on the first features of one order.

    The order is that of a row to which all training rows are near: each feature sets most of them
    right after those before it, less its price.

    Parameters
    ----------
    prices, base, n_neighbors, alpha, C, n_estimators, random_state
        As in `MarginNeighborsClassifier`; near rows only tell the probability of the answer.
    features : int or None
        How many features every row buys; None buys all.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: rule
            for name, rule in MarginNeighborsClassifier._parameter_constraints.items()
            if name != "threshold"
        },
        "features": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        base: str = "stumps",
        features: int | None = None,
        n_neighbors: int | None = None,
        alpha: float = 0.05,
        C: float = 1.0,
        n_estimators: int = 500,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.base = base
        self.features = features
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.C = C
        self.n_estimators = n_estimators
        self.random_state = random_state

    def path(self, X: Any, y: Any, *, validation: tuple[Any, Any]) -> Iterator[Point]:  # type: ignore[override]
        """Operating points with one feature more each, from the constant at bill 0."""
        return self._path(X, y, validation, _prefixes)

    def _whole(self, task: Task) -> Neighbors:
        model = super()._whole(task)
        return model.changed(order=self._order(model), adaptive=False)

    def _order(self, model: Neighbors) -> NDArray[np.int64]:
        return one_order(model)

    def _chosen(self, whole: Asking) -> tuple[dict[str, Any], Asking]:
        count = len(whole.order) if self.features is None else self.features
        return _prefix(whole, min(count, len(whole.order)))


def _prefix(whole: Asking, count: int) -> tuple[dict[str, Any], Asking]:
    assert isinstance(whole, Neighbors)
    return {"features": count}, whole.changed(order=whole.order[:count])


def _prefixes(whole: Asking, trails: Trails) -> Iterator[Cut]:
    for count in range(len(whole.order) + 1):
        yield *_prefix(whole, count), np.full(len(trails.steps), count)
