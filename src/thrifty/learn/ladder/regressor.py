"""Ladders for regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from thrifty.learn.ladder.base import Ladder
from thrifty.learn.ladder.rungs import BinnedRows, OutOfFold, Rung, RungTrainer
from thrifty.learn.losses import SquaredLoss
from thrifty.model import Forest

__all__ = ["LadderRegressor"]

# An uncertainty model is small: it only has to rank the rows, and its target is mostly noise.
UNCERTAINTY_ROUNDS = 40
UNCERTAINTY_LEARNING_RATE = 0.1
UNCERTAINTY_MAX_DEPTH = 3


class LadderRegressor(RegressorMixin, Ladder):  # type: ignore[misc]
    """Boosted trees on more and more features; a row pays for more only while that pays off.

    Like `LadderClassifier`, with the squared error in place of the error rate. The uncertainty of a
    row is the prediction of a small boosted model on the features of its rung: by how much climbing
    lowers the squared error. That model is fitted to out-of-fold errors of the training rows.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each by default.
    penalty : float
        The cost weight: the squared error that one unit of price must save.
    n_rungs, n_estimators, learning_rate, max_depth, min_samples_leaf
        As in `LadderClassifier`.
    folds : int
        Number of folds of the training rows.
    random_state : int, RandomState or None
        Draws the folds, the validation rows if none are given, and samples of large tables.

    Attributes
    ----------
    model_ : thrifty.model.Stages or thrifty.model.Forest
        The frozen model; a forest if all rows stop on the same rung.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import LadderRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.where(X[:, 0] > 0, 5.0, X[:, 1])
    >>> model = LadderRegressor(penalty=0.01, random_state=0).fit(X, y)
    >>> model.bill(X).mean().round(2).item(), round(model.score(X, y), 2)
    (1.51, 1.0)

    The second column matters to half of the rows, and they alone pay for it.
    """

    # The uncertainty models are always fitted to out-of-fold errors.
    _enough_validation_rows: ClassVar[float] = np.inf

    def _loss(self, y: NDArray[Any], weight: NDArray[np.float64] | None) -> SquaredLoss:
        return SquaredLoss(y, weight)

    def _stopping_loss(
        self, scores: NDArray[np.float64], uncertainty: NDArray[np.float64], y: NDArray[Any]
    ) -> NDArray[np.float64]:
        return np.asarray((y - scores) ** 2)

    def _uncertainty_models(
        self,
        trainer: RungTrainer,
        train: BinnedRows,
        rungs: Sequence[Rung],
        folded: Sequence[OutOfFold],
    ) -> list[Forest | None]:
        """Fit a model of what climbing saves for each rung but the last, where no row climbs."""
        errors = np.array([(train.y - raw[0]) ** 2 for raw, _ in folded])
        small = replace(
            trainer,
            learning_rate=UNCERTAINTY_LEARNING_RATE,
            max_depth=UNCERTAINTY_MAX_DEPTH,
            max_leaves=1 << UNCERTAINTY_MAX_DEPTH,
        )
        models: list[Forest | None] = []
        for r, rung in enumerate(rungs[:-1]):
            # Where a row will stop is not known yet: take the mean error over the rungs above.
            saved = SquaredLoss(errors[r] - errors[r + 1 :].mean(axis=0), train.weight)
            features, binned = rung.features, train.binned
            models.append(small.fit(binned, saved, features, UNCERTAINTY_ROUNDS).forest)
        return [*models, None]
