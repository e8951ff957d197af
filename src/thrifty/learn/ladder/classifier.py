"""Ladders for classification."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.base import PricedClassifier
from thrifty.learn.ladder.base import Ladder
from thrifty.learn.losses import LogLoss

__all__ = ["LadderClassifier"]


class LadderClassifier(PricedClassifier, Ladder):
    """Boosted trees on more and more features; a row pays for more only while it is uncertain.

    Rung 0 is the constant. Each rung above is a boosted model on more features, which are ordered
    by recursive elimination on gain per price. A row climbs while its uncertainty, one minus its
    largest class probability, is above the threshold of its rung. The thresholds are the best for
    a cost weight, by dynamic programming on validation rows.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each by default.
    penalty : float
        The cost weight: the error rate that one unit of price must save. At 0 a row climbs as long
        as that saves errors.
    n_rungs : int
        About how many rungs, with prices in geometric progression from the cheapest feature to all
        of them.
    n_estimators : int
        Largest number of boosting rounds of a rung.
    learning_rate : float
        Factor for each tree.
    max_depth : int
        Largest number of splits on the way to a leaf, at most 12; a tree has at most 31 leaves.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    folds : int
        Number of folds. If there are fewer than 30 validation rows, training rows join them, each
        with the outputs of trees that have not seen its fold.
    random_state : int, RandomState or None
        Draws the validation rows if none are given, the folds, and samples of large tables.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Stages or thrifty.model.Forest
        The frozen model; a forest if all rows stop on the same rung.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import LadderClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0)
    >>> model = LadderClassifier(penalty=0.01, random_state=0).fit(X, y)
    >>> model.bill(X).mean().round(2).item(), round(model.score(X, y), 2)
    (1.51, 1.0)

    The first column alone decides half of the rows; only the others pay for the second one too.
    """

    # With more validation rows than this, out-of-fold outputs did not improve any test curve, and
    # they take two thirds of the time.
    _enough_validation_rows: ClassVar[float] = 30

    def _loss(self, y: NDArray[Any], weight: NDArray[np.float64] | None) -> LogLoss:
        return _LightlyDampedLogLoss(y, weight, len(self.classes_))

    def _stopping_loss(
        self, scores: NDArray[np.float64], uncertainty: NDArray[np.float64], y: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return half the error plus half the uncertainty, which is the steadier half."""
        # Half the error, half its calibrated estimate: on few rows, errors alone are too noisy.
        error = scores.argmax(axis=1) != y
        return np.asarray((uncertainty + error) / 2)


class _LightlyDampedLogLoss(LogLoss):
    """Damps the steps of small, pure leaves less: it takes fewer rounds to fit the rows."""

    damping = 0.1
