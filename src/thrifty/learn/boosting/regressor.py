"""GreedyMiser for numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from thrifty.learn.boosting.base import GreedyMiser, Task
from thrifty.learn.boosting.validation_tracker import HeldOut
from thrifty.learn.losses import SquaredLoss
from thrifty.learn.point import Point
from thrifty.learn.targets import numbers

__all__ = ["GreedyMiserRegressor"]


class GreedyMiserRegressor(RegressorMixin, GreedyMiser):  # type: ignore[misc]
    """Boosted trees on the squared loss that pay for each feature once.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Half the mean squared error that one unit of price must save (lambda).
    charge : {"model", "example"}
        Whether a feature is paid once, by the first split of the model that reads it, or by
        each example that comes to read it.
    n_estimators : int
        Rounds of boosting, one tree each.
    learning_rate : float
        Share of each tree that is added.
    max_depth : int
        Largest number of questions on the way to a leaf, at most 12.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    random_state : int, RandomState or None
        Draws the rows that place the bins of a table of more than 100,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor, Prices
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> model = GreedyMiserRegressor(Prices([1.0, 50.0]), penalty=0.01).fit(X, y)
    >>> model.bill(X).max().item()  # the second column is not worth its price
    1.0
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from a table and its target; see `GreedyMiserClassifier.fit`."""
        return self._fit(self._task(X, y, sample_weight), validation)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points, cheapest first; see `GreedyMiserClassifier.path`. Quality is R2."""
        return self._path(self._task(X, y, sample_weight), validation, penalties)

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        schema, prices, rows = self._read(X)
        target = numbers(y, len(rows))
        rows, target, weight = self._kept(self._weights(sample_weight, rows), rows, target)
        return Task(schema, prices, rows, SquaredLoss(target, weight), weight)

    def _held_out(self, task: Task, validation: Sequence[Any]) -> HeldOut:
        rows = self._validation_rows(task, validation)
        target = numbers(validation[1], len(rows))

        def r2(raw: NDArray[np.float64]) -> float:
            return float(r2_score(target, raw[:, 0]))

        return HeldOut(rows, SquaredLoss(target, None), r2)
