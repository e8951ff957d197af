"""Ladders for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from thrifty.learn.boosting.base import Task
from thrifty.learn.ladder.base import Climb, Ladder
from thrifty.learn.ladder.stages import LadderRungs, RungFitter
from thrifty.learn.ladder.stopping import Ascent, Evidence
from thrifty.learn.losses import SquaredLoss
from thrifty.learn.targets import numbers
from thrifty.model import Forest

__all__ = ["LadderRegressor"]

# A doubt is a small model: it has to rank rows, from a target that is mostly noise.
DOUBT_ROUNDS = 40
DOUBT_RATE = 0.1
DOUBT_DEPTH = 3


class LadderRegressor(RegressorMixin, Ladder):  # type: ignore[misc]
    """Boosted trees on more and more features, climbed while a row is worth it.

    As `LadderClassifier`, with the squared error for the rate of errors. The doubt of a row is a
    small boosted model on the features of its rung that predicts by how much climbing lowers the
    squared error; it is learnt from training rows out of fold.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Squared error that one unit of price must save: the price of money.
    n_rungs, n_estimators, learning_rate, max_depth, min_samples_leaf
        As in `LadderClassifier`.
    folds : int
        Parts of the training rows for predictions out of fold.
    random_state : int, RandomState or None
        Deals rows to folds, and to validation where none is given.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import LadderRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.where(X[:, 0] > 0, 5.0, X[:, 1])  # the second column matters to half of the rows
    >>> model = LadderRegressor(penalty=0.01, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.98 and model.bill(X).mean() < 1.6)
    True
    """

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        schema, prices, rows = self._read(X)
        target = numbers(y, len(rows))
        rows, target, weight = self._kept(self._weights(sample_weight, rows), rows, target)
        return Task(schema, prices, rows, self._loss(target, weight), weight)

    def _held_target(self, task: Task, y: Any, rows: int) -> NDArray[np.float64]:
        return numbers(y, rows)

    def _loss(self, target: NDArray[Any], weight: NDArray[np.float64] | None) -> SquaredLoss:
        return SquaredLoss(target, weight)

    def _quality(self, scores: NDArray[np.float64], target: NDArray[Any]) -> float:
        return float(r2_score(target, scores))

    def _needs_folds(self, held: int) -> bool:
        return True

    def _climb_of(self, rungs: LadderRungs) -> Climb:
        prices, forests = rungs.fitter.prices, rungs.forests
        doubts = [None, *_doubts(rungs), None][: len(forests)]
        X, target = rungs.held.X, rungs.held.target
        ascent = Ascent.of(forests, doubts, X)
        doubt = np.array([np.zeros(len(X)) if d is None else d.score(X) for d in doubts])
        loss = np.array([(target - scores) ** 2 for scores in ascent.scores])
        asked = np.array([d is not None for d in doubts])
        evidence = Evidence(doubt, loss, ascent.bills(prices, asked), rungs.held.even)
        return Climb(forests, doubts, prices, ascent, doubt, evidence)


def _doubts(rungs: LadderRungs) -> list[Forest]:
    """For each rung but the constant and the last, how much climbing lowers the squared error."""
    rows, fitter = rungs.lesson.rows, rungs.fitter
    errors = np.array([(rows.target - raw[0]) ** 2 for raw, _ in rungs.folded])
    small = RungFitter(
        fitter.prices, DOUBT_RATE, DOUBT_DEPTH, 1 << DOUBT_DEPTH, fitter.min_samples_leaf
    )
    doubts = []
    for r, rung in enumerate(rungs.fitted[:-1]):
        # Where a row will stop is not known yet: what it gains on the rungs above, on average.
        gain = SquaredLoss(errors[r] - errors[r + 1 :].mean(axis=0), rows.weight)
        doubts.append(small.fit(rungs.lesson.binned, gain, rung.features, DOUBT_ROUNDS).forest)
    return doubts
