"""ADAPT for regression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from thrifty.learn.gates.adapt import AdaptGate
from thrifty.learn.gates.losses import ValueLoss
from thrifty.learn.point import Point

__all__ = ["GatedRegressor"]


class GatedRegressor(RegressorMixin, AdaptGate):  # type: ignore[misc]
    """A low-cost local model, and a gate that decides which rows need an expensive regressor.

    As `GatedClassifier`, with the squared error as loss: a row should be sent if the squared error
    of the local model is larger than that of the expensive one. The objective has squared errors in
    units of the mean squared error of the expensive model.

    Parameters
    ----------
    expensive : estimator, Predictor, function, URL or Call, optional
        The model to be called rarely, as in `GatedClassifier`. By default, a large
        boosted model is trained.
    prices : Prices, mapping or sequence, optional
        Prices of the features; one unit each by default.
    share : float
        Largest share of the training rows that may be sent (P_full).
    penalty : float or "auto"
        Half the mean squared error that one unit of price must save (gamma). ``"auto"`` tries
        several, and takes the cheapest whose R2 on the validation rows is within one standard error
        of the best.
    family : {"boosted", "linear", "leaves"} or GateFamily
        Kind of gate and local model, as in `GatedClassifier`. Leaves have no margin here: their
        gate starts at 0, or as a prediction of which rows have large errors.
    distance : {"kl", "symmetric"}
        Distance between gate and q: Kullback-Leibler, or squared difference of log-odds.
    alternations : int
        Maximum number of rounds; the search ends earlier if the objective stops falling.
    target : dict, optional
        What the threshold of the gate must meet on the validation rows, as in `GatedClassifier`;
        a quality is R2.
    random_state : int, RandomState or None
        Assigns rows to folds, and draws random initial models.

    Attributes
    ----------
    model_ : thrifty.model.Gate
        The frozen model.
    history_ : tuple of float
        The objective after each half step; it never increases.

    Examples
    --------
    The first column is all that rows with a positive one need; the others need all three. The gate
    sends the latter, so a row pays 1 or 3:

    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from thrifty import GatedRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 3))
    >>> y = X[:, 0] + np.where(X[:, 0] > 0, 0.0, 2 * X[:, 1] * X[:, 2])
    >>> forest = RandomForestRegressor(30, min_samples_leaf=5, random_state=0)
    >>> model = GatedRegressor(forest, share=0.5, penalty=0.01, random_state=0)
    >>> model = model.fit(X[:1500], y[:1500])
    >>> new, sent = X[1500:], model.sent(X[1500:])
    >>> round(model.score(new, y[1500:]), 2), round(sent.mean().item(), 2)
    (0.93, 0.47)
    >>> model.bill(new[~sent]).mean().item(), model.bill(new[sent]).mean().item()
    (1.0, 3.0)
    """

    _gate_loss = ValueLoss()

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        expensive_values: Any = None,
    ) -> Self:
        """Train a gate and a local model for the expensive model, and place the threshold.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : array of shape (n,)
            Numbers.
        sample_weight : array of shape (n,), optional
            Sample weights.
        validation : (Xv, yv), optional
            Rows to place the threshold on; the training rows by default, unless the target is a
            quality, which cannot be measured on them.
        expensive_values : array of shape (n,), optional
            Predictions of the expensive model on X, for example out of fold; computed by default.
        """
        return self._fit(X, y, sample_weight, validation, expensive_values)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        expensive_values: Any = None,
        shares: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Return the Pareto-optimal points over shares, penalties and thresholds, cheapest first.

        Quality is R2; see `GatedClassifier.path`.
        """
        return self._path(X, y, sample_weight, validation, expensive_values, shares, penalties)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted value of each row; calls are made for the rows that are sent only.

        If a call fails, the local model predicts its rows, and there is a warning.
        """
        return self._scores(X)
