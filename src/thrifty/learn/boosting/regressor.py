"""GreedyMiser for regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from thrifty.learn.boosting.base import GreedyMiser
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.losses import Loss, SquaredLoss
from thrifty.learn.point import Point

__all__ = ["GreedyMiserRegressor"]


class GreedyMiserRegressor(RegressorMixin, GreedyMiser):  # type: ignore[misc]
    """Gradient boosting on the squared error that pays for each feature once.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    penalty : float
        Half the mean squared error that one unit of price must save (lambda).
    charge : {"model", "example"}
        Whether a feature is paid once, by the first split of the model that reads it, or by
        each example that reads it.
    n_estimators : int
        Boosting rounds, one tree each.
    learning_rate : float
        Factor for each tree.
    max_depth : int
        Largest number of splits on the way to a leaf, at most 12.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    random_state : int, RandomState or None
        Draws the sample that places the bins of a table of more than 100,000 rows.

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
        y: Any = None,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Fit the regressor; see `GreedyMiserClassifier.fit`."""
        return self._fit(self._read_training(X, y, sample_weight), validation)

    def path(
        self,
        X: Any,
        y: Any = None,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Yield operating points, cheapest first, with R2 as quality.

        See `GreedyMiserClassifier.path`.
        """
        return self._path(self._read_training(X, y, sample_weight), validation, penalties)

    def _bind_loss(self) -> Callable[[NDArray[Any]], Loss]:
        return partial(SquaredLoss, weight=None)

    def _loss(
        self, data: TrainingSet | ValidationSet, weight: NDArray[np.float64] | None
    ) -> SquaredLoss:
        return SquaredLoss(data.y, weight)
