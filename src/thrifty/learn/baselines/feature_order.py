"""One order for all: every row buys the same features, the first of a greedy list.

Random order: every row buys the first features of a list that was drawn (Nan 2018, sec. 2.4).

VoC: buy the feature with which one expects to be surest (T. Gao and D. Koller, NIPS 2011).

As the rival of Nan 2018, sec. 2.4: the reward is that of a right class, locally weighted regression
around the example predicts what is not bought, its ridge is 0.5 and its bandwidth the median
distance to the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.errors import DataError, raise_all
from thrifty.learn.neighbors.base import AskingClassifier, Cut, Task, threshold_cuts
from thrifty.learn.neighbors.classifier import (
    MarginNeighborsClassifier,
    column_units,
    one_order,
    tolls,
)
from thrifty.learn.point import Point
from thrifty.model.sequential.base import Asking, Trails
from thrifty.model.sequential.gaussians import LocalGaussians
from thrifty.model.sequential.neighbors import Neighbors

__all__ = ["FixedOrderClassifier", "RandomOrderClassifier", "ValueOfClassifier"]


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


class RandomOrderClassifier(FixedOrderClassifier):
    """A classifier of one term a feature on features drawn at random.

    One order is drawn for all rows, by `random_state`, so that a walk can be repeated; over
    several seeds the mean is that of an order drawn for each row.

    Parameters
    ----------
    prices, base, features, n_neighbors, alpha, C, n_estimators, random_state
        As in `FixedOrderClassifier`; prices only tell the bill.
    """

    def _order(self, model: Neighbors) -> NDArray[np.int64]:
        random: Any = check_random_state(self.random_state)
        return np.asarray(random.permutation(np.sort(model.order)), dtype=np.int64)


RIDGE = 0.5


class ValueOfClassifier(AskingClassifier):
    """A Gaussian classifier that asks each row for the feature of the largest expected reward.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    threshold : float
        A row stops when its class is more probable than this; 1 buys everything.
    alpha : float
        Expected probability that a feature must add more than another to be bought before one
        that is cheaper by the mean price.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, prices: Prices | None = None, threshold: float = 0.95, alpha: float = 0.05
    ) -> None:
        self.prices = prices
        self.threshold = threshold
        self.alpha = alpha

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        thresholds: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points over a range of thresholds, cheapest first, from one run."""
        return self._path(X, y, validation, partial(threshold_cuts, thresholds=thresholds))

    def _whole(self, task: Task) -> LocalGaussians:
        examples = task.examples
        named = [task.schema.names[j] for j in np.flatnonzero(examples.categories)]
        problems = [f"column {name!r} holds categories, which are not Gaussian" for name in named]
        raise_all(DataError, "table", problems)
        units = column_units(examples)
        places = (examples.X - examples.center) * units
        toll, entry = tolls(task.prices, self.alpha)
        order = np.flatnonzero(np.nanstd(examples.X, axis=0) > 0)
        return LocalGaussians(
            np.where(np.isnan(places), 0.0, places), examples.codes, examples.center, units, toll,
            task.prices.group, entry, order, RIDGE, 1.0,
        )  # fmt: skip

    def _chosen(self, whole: Asking) -> tuple[dict[str, Any], Asking]:
        return {"threshold": float(self.threshold)}, whole.until(self.threshold)
