"""A regressor inside a budget."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import RegressorMixin

from thrifty.frontier.budget import BudgetEstimator, units
from thrifty.learn.targets import numbers

__all__ = ["BudgetRegressor"]


class BudgetRegressor(RegressorMixin, BudgetEstimator):  # type: ignore[misc]
    """The best regressor that a budget allows; see `BudgetClassifier`.

    Parameters
    ----------
    prices, budget, cap, learners, confidence, time_limit, random_state
        As in `BudgetClassifier`.
    scoring : {"r2", "neg_mean_squared_error"}, optional
        What the best is; R2 when left out.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import BudgetRegressor, GreedyMiserRegressor, Prices
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> model = BudgetRegressor(Prices([1.0, 50.0]), budget=10, random_state=0,
    ...                         learners=[GreedyMiserRegressor()]).fit(X, y)
    >>> model.bill(X).max().item()
    1.0
    """

    _task = "regression"

    def fit(
        self, X: Any, y: Any, *, validation: tuple[Any, Any] | None = None, groups: Any = None
    ) -> Self:
        """Race the learners on a table and its values; see `BudgetClassifier.fit`."""
        self._validate_params()
        rows = self._read(X)[2]
        return self._fit(X, numbers(y, len(rows)), validation, units(groups, len(rows)))
