"""Cost-weighted L1 for numbers: least squares with the prices as weights of the norm."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedEstimator
from thrifty.learn.node_losses import HalfSquare
from thrifty.learn.point import Point
from thrifty.learn.rivals.priced_l1 import PricedWeights
from thrifty.learn.rivals.rival import Task
from thrifty.learn.rivals.stage_inputs import column_inputs
from thrifty.learn.targets import numbers
from thrifty.model import Forest, Frozen
from thrifty.model.nodes import empty_nodes

__all__ = ["PricedL1Regressor"]


class PricedL1Regressor(RegressorMixin, PricedEstimator):  # type: ignore[misc]
    """The lasso with the price of each feature as the price of its weights.

    See `PricedL1Classifier`. At equal prices it is scikit-learn's `Lasso` on standardized columns,
    with ``alpha`` the penalty times the price.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Half the mean squared error that a weight of one must save for each unit of price.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.rivals import PricedL1Regressor
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> PricedL1Regressor(Prices([1, 50]), penalty=0.01).fit(X, y).bill(X).max().item()
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "penalty": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, prices: Prices | None = None, penalty: float = 0.0) -> None:
        self.prices = prices
        self.penalty = penalty

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its target.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : array of shape (n,)
            The target.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        task, learner = self._work(X, y, sample_weight)
        knob = {"penalty": float(self.penalty)}
        self._predictor = self._freeze(learner.model(knob), task.schema, task.prices, None, knob)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Operating points, cheapest first, from the mean at bill 0; quality is R2."""
        task, learner = self._work(X, y, sample_weight)
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        rows = task.schema.encode(self._as_table(validation[0], reset=False))
        target = numbers(validation[1], len(rows))
        found: list[tuple[dict[str, Any], Frozen]] = [({}, _constant(learner.start.bias, task))]
        found += [(knob, learner.model(knob)) for knob in learner.knobs()]
        points = []
        for knob, model in found:
            bills = task.prices.bill(model.used(rows), model.evaluations(rows))
            predictor = self._freeze(model, task.schema, task.prices, None, knob)
            quality = float(r2_score(target, model.score(rows)))
            points.append(Point(knob, predictor, float(bills.mean()), quality))
        # Stable: the mean stays the first.
        return iter(sorted(points, key=lambda point: point.bill))

    def _work(self, X: Any, y: Any, sample_weight: Any) -> tuple[Task, PricedWeights]:
        self._validate_params()
        schema, prices, rows = self._read(X)
        target = numbers(y, len(rows))
        rows, target, weight = self._kept(self._weights(sample_weight, rows), rows, target)
        task = Task(schema, prices, rows, np.zeros(len(rows), np.int64), weight, 1)
        bias = float(task.weights @ target)
        loss = HalfSquare("sum")
        inputs = column_inputs(task)
        return task, PricedWeights(inputs, task.tolls, target, task.weights, loss, bias)


def _constant(value: float, task: Task) -> Forest:
    """The model that reads nothing."""
    none, d = np.zeros(0, dtype=np.int64), len(task.schema)
    return Forest(empty_nodes(0), np.zeros((0, 1)), none, none, np.array([value]), "sum", d)
