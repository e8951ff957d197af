"""Baselines of FMCC, which buy one feature at a time (Nan 2018, sec. 2.4).

- `FixedOrderClassifier`: every row buys the same features, in one greedy order.
- `RandomOrderClassifier`: every row buys the same features, in a random order.
- `ValueOfClassifier`: each row buys the feature with which it expects to be most confident (VoC,
  Gao and Koller 2011).
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from thrifty.costs import PriceList
from thrifty.errors import DataError, raise_all
from thrifty.learn._sklearn import Interval
from thrifty.learn.base import PRICE_LISTS
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.neighbors.additive import ScaledTable
from thrifty.learn.neighbors.base import SequentialClassifier, Stop, weighted_prices
from thrifty.learn.neighbors.classifier import MarginNeighborsClassifier
from thrifty.learn.point import Point
from thrifty.model.sequential import LocalGaussians, Neighbors, SequentialModel
from thrifty.model.sequential.audit import work_problems
from thrifty.model.sequential.base import SequentialStates
from thrifty.untrusted import LARGEST

__all__ = ["FixedOrderClassifier", "RandomOrderClassifier", "ValueOfClassifier"]

# L2 penalty of the regressions of VoC (Nan 2018, sec. 2.4).
RIDGE = 0.5


class FixedOrderClassifier(MarginNeighborsClassifier):
    """An additive classifier on the first features of one greedy order.

    Each feature in the order is the one with which the most training rows are classified correctly
    after those before it, less its weighted price.

    Parameters
    ----------
    prices, base, n_neighbors, alpha, C, n_estimators, random_state
        As in `MarginNeighborsClassifier`; the neighbors only give the probability of the predicted
        class.
    features : int or None
        Number of features that every row buys; None buys all.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import FixedOrderClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] + 3.0 * X[:, 2] > 0
    >>> model = FixedOrderClassifier(base="logistic", features=2).fit(X, y)
    >>> model.model_.order
    array([2, 0])
    >>> model.bill(X[:2])
    array([2., 2.])
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
        prices: PriceList | None = None,
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
        """Return operating points with one more feature each, from the constant at a bill of 0."""

        def stops(full: SequentialModel, states: SequentialStates) -> Iterator[Stop]:
            assert isinstance(full, Neighbors)
            for count in range(len(full.order) + 1):
                model = full.with_changes(order=full.order[:count])
                yield Stop({"features": count}, model, np.full(len(states.steps), count))

        return self._path(X, y, validation, stops)

    def _train(self, train: TrainingSet) -> Neighbors:
        """Train the neighbors, and fix the order in which all rows buy."""
        model = super()._train(train)
        state = model.start()
        # Missing values add no distance: all training rows stay near, so the choice is greedy
        # on all of them.
        state.run(np.full(model.n_features, np.nan))
        order = np.array(state.bought, dtype=np.int64)
        return model.with_changes(order=order, adaptive=False)

    def _stop_early(self, model: SequentialModel) -> tuple[dict[str, Any], SequentialModel]:
        """Keep the first `features` of the order."""
        assert isinstance(model, Neighbors)
        count = len(model.order)
        if self.features is not None:
            count = min(self.features, count)
        return {"features": count}, model.with_changes(order=model.order[:count])


class RandomOrderClassifier(FixedOrderClassifier):
    """An additive classifier on the first features of a random order.

    One order is drawn for all rows, so that a walk can be repeated. Averaged over several seeds,
    the results are those of an order that is drawn for each row.

    Parameters
    ----------
    prices, base, features, n_neighbors, alpha, C, n_estimators, random_state
        As in `FixedOrderClassifier`; prices only matter for the bill.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import RandomOrderClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X[:, 0] + 3.0 * X[:, 2] > 0
    >>> RandomOrderClassifier(base="logistic", random_state=0).fit(X, y).model_.order
    array([2, 1, 0])
    """

    def _train(self, train: TrainingSet) -> Neighbors:
        """Train the neighbors, and draw the order in which all rows buy."""
        model = MarginNeighborsClassifier._train(self, train)
        random: Any = check_random_state(self.random_state)
        order = np.asarray(random.permutation(np.sort(model.order)), dtype=np.int64)
        return model.with_changes(order=order, adaptive=False)


class ValueOfClassifier(SequentialClassifier):
    """A Gaussian classifier that buys the feature with which it expects to be most confident.

    Locally weighted regressions around the example predict the features that are not bought. The
    bandwidth is the median distance to the training rows.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        Prices of the features; by default each costs one unit.
    threshold : float
        A row stops when its most probable class is more probable than this; 1 buys everything.
    alpha : float
        Weight of the prices in the choice. A feature is preferred to one that is cheaper by the
        mean price if it is expected to add at least this much more to the probability.

    Examples
    --------
    Only the second feature separates the classes, around 0 and 3. A row at 3 stops after it; a row
    halfway buys everything:

    >>> import numpy as np
    >>> from thrifty.learn.baselines import ValueOfClassifier
    >>> y = np.arange(200) % 2
    >>> X = np.random.default_rng(0).normal(size=(200, 3)) + np.outer(y, [0.0, 3.0, 0.0])
    >>> model = ValueOfClassifier(threshold=0.9).fit(X, y)
    >>> model.used([[0.0, 3.0, 0.0], [0.0, 1.5, 0.0]])
    array([[False,  True, False],
           [ True,  True,  True]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }
    _most_classes: ClassVar[tuple[int, str] | None] = (
        50,
        "every purchase compares all pairs of them",
    )

    def __init__(
        self, prices: PriceList | None = None, threshold: float = 0.95, alpha: float = 0.05
    ) -> None:
        self.prices = prices
        self.threshold = threshold
        self.alpha = alpha

    def _train(self, train: TrainingSet) -> LocalGaussians:
        """Standardize the rows; raises a DataError if a column holds categories."""
        problems = [
            f"column {train.schema.names[j]!r} holds categories, which are not Gaussian"
            for j in np.flatnonzero(train.categorical)
        ]
        problems += [
            f"column {train.schema.names[j]!r} holds numbers beyond {LARGEST:g}; divide it"
            for j in np.flatnonzero((np.abs(train.X) > LARGEST).any(axis=0))
        ]
        raise_all(DataError, "table", problems)
        table = ScaledTable.of(train)
        unit = table.distance_units()
        scores = (table.X - table.center) * unit
        order = np.flatnonzero(np.nanstd(table.X, axis=0) > 0)
        raise_all(DataError, "table", [*work_problems(int(table.y.max()) + 1, len(order))])
        weighted_price, weighted_group_price = weighted_prices(train.prices, self.alpha)
        return LocalGaussians(
            standard_scores=np.where(np.isnan(scores), 0.0, scores),
            labels=table.y,
            center=table.center,
            unit=unit,
            weighted_price=weighted_price,
            group=train.prices.group,
            weighted_group_price=weighted_group_price,
            order=order,
            ridge=RIDGE,
            threshold=1.0,
        )
