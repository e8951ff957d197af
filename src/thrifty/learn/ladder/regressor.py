"""Ladders for regression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from thrifty.learn.ladder.base import Ladder
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.ladder.rungs import Rung
from thrifty.learn.ladder.uncertainty import fit_uncertainty
from thrifty.learn.point import Point
from thrifty.model import Forest

__all__ = ["LadderRegressor"]

Floats = NDArray[np.float64]


class LadderRegressor(RegressorMixin, Ladder):  # type: ignore[misc]
    """Models on more and more features; a row pays for more only while that pays off.

    Like `LadderClassifier`, with the squared error in place of the error rate, and ridge regression
    in place of logistic regression. The uncertainty of a row is the prediction of a small boosted
    model on the features of its rung: by how much climbing lowers the squared error.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    penalty : float
        The cost weight: the squared error that one unit of price must save.
    cap, effort, folds, time_limit, random_state
        As in `LadderClassifier`.

    Attributes
    ----------
    model_ : thrifty.model.Stages, thrifty.model.Average or thrifty.model.Forest
        The frozen model; an average if all rows stop on the same rung, a forest without trees for
        the constant.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import LadderRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.where(X[:, 0] > 0, 5.0, X[:, 1])
    >>> model = LadderRegressor(penalty=0.01, random_state=0).fit(X, y)
    >>> model.bill(X).mean().round(1).item(), round(model.score(X, y), 2)
    (1.5, 1.0)

    The second column matters to half of the rows, and they alone pay for it.
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
        groups: Any = None,
    ) -> Self:
        """Fit the ladder; see `LadderClassifier.fit`."""
        train = self._read_training(X, y, sample_weight, groups=groups)
        held_out = None if validation is None else self._read_validation(validation, train)
        return self._fit(train, held_out)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Iterator[Point]:
        """Yield operating points, cheapest first; see `LadderClassifier.path`."""
        train = self._read_training(X, y, sample_weight, groups=groups)
        held_out = None if validation is None else self._read_validation(validation, train)
        return self._path(train, held_out)

    def _stopping_loss(self, scores: Floats, rows: LadderRows) -> Floats:
        return np.asarray((rows.evidence_y - scores) ** 2)

    def _uncertainty(
        self, rows: LadderRows, rungs: Sequence[Rung], random: np.random.RandomState
    ) -> tuple[list[Forest | None], Floats]:
        return fit_uncertainty(rows, rungs, random)
