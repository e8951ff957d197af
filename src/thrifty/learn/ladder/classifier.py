"""Ladders for classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from thrifty.costs import BoundPrices
from thrifty.learn.boosting.base import Task
from thrifty.learn.ladder.base import Climb, Ladder
from thrifty.learn.ladder.stages import LadderRungs, Rows
from thrifty.learn.ladder.stopping import Ascent, Evidence
from thrifty.learn.losses import LogLoss
from thrifty.learn.targets import Labels
from thrifty.model.links import apply_link
from thrifty.model.stages import doubt_of

__all__ = ["LadderClassifier"]

# With fewer validation rows than this the training rows, out of fold, join them. With more they
# cost two thirds of the time and the curves on test rows are the same.
ENOUGH = 30


class LadderClassifier(ClassifierMixin, Ladder):  # type: ignore[misc]
    """Boosted trees on more and more features, climbed while a row is in doubt.

    Rung 0 is the constant. Each further rung is a boosted model on more features, which are
    ordered by recursive elimination on gain per price. A row climbs while one minus its largest
    class probability is above the limit of its rung; the limits are the best for a price of
    money, by dynamic programming on held-out rows.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Rate of errors that one unit of price must save: the price of money. At 0 a row climbs as
        long as that saves errors.
    n_rungs : int
        About how many rungs, geometric in price from the cheapest feature to all of them.
    n_estimators : int
        Most rounds of boosting of a rung.
    learning_rate : float
        Share of each tree that is added.
    max_depth : int
        Largest number of questions on the way to a leaf, at most 12; a tree has at most 31 leaves.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    folds : int
        Where validation rows are few, parts of the training rows for predictions out of fold.
    random_state : int, RandomState or None
        Deals rows to folds, and to validation where none is given.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Stages or thrifty.model.Forest
        The frozen model; a forest where all rows stop on one rung.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import LadderClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0)
    >>> model = LadderClassifier(penalty=0.01, random_state=0).fit(X, y)
    >>> bool(model.bill(X).mean() < 1.6)  # half of the rows need the second column
    True
    """

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, K) in the order of `classes_`."""
        return self.predictor_.predict_proba(self._checked(X))

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        schema, prices, rows = self._read(X)
        labels = Labels.of(y, len(rows))
        self.classes_ = labels.classes
        rows, codes, weight = self._kept(self._weights(sample_weight, rows), rows, labels.codes)
        return Task(schema, prices, rows, self._loss(codes, weight), weight, labels.classes)

    def _held_target(self, task: Task, y: Any, rows: int) -> NDArray[np.int64]:
        return Labels(self.classes_, np.empty(0, np.int64)).recode(y, rows)

    def _loss(self, target: NDArray[Any], weight: NDArray[np.float64] | None) -> LogLoss:
        return _SharpLogLoss(target, weight, len(self.classes_))

    def _quality(self, scores: NDArray[np.float64], target: NDArray[Any]) -> float:
        return float(np.mean(scores.argmax(axis=1) == target))

    def _needs_folds(self, held: int) -> bool:
        return held < ENOUGH

    def _climb_of(self, rungs: LadderRungs) -> Climb:
        prices, forests = rungs.fitter.prices, rungs.forests
        doubts: list[Any] = [None] * len(forests)
        ascent = Ascent.of(forests, doubts, rungs.held.X)
        evidence = _evidence(ascent, rungs.held, prices)
        doubt = evidence.doubt
        if rungs.folds:
            evidence += _evidence(_folded(rungs), rungs.lesson.rows, prices)
        return Climb(forests, doubts, prices, ascent, doubt, evidence)


class _SharpLogLoss(LogLoss):
    """Leaves of few sure rows keep their steps: less damping, so fewer rounds."""

    damping = 0.1


def _evidence(ascent: Ascent, rows: Rows, prices: BoundPrices) -> Evidence:
    """Loss is half the error and half the doubt: the doubt, calibrated, is the steadier half."""
    doubt = np.array([doubt_of(scores) for scores in ascent.scores])
    error = np.array([scores.argmax(axis=1) != rows.target for scores in ascent.scores])
    bills = ascent.bills(prices, np.zeros(len(doubt), dtype=bool))
    return Evidence(doubt, (doubt + error) / 2, bills, rows.even)


def _folded(rungs: LadderRungs) -> Ascent:
    """The training rows on each rung, out of fold."""
    constant = Ascent.of(rungs.forests[:1], [None], rungs.lesson.rows.X)
    parts = zip(rungs.folded, rungs.factors, strict=True)
    link, idle = rungs.forests[0].link, constant.asked[0]
    scores = [apply_link(link, factor * raw.T) for (raw, _), factor in parts]
    return Ascent(
        [*constant.scores, *scores],
        [*constant.used, *(used for _, used in rungs.folded)],
        [forest.most_evaluations for forest in rungs.forests],
        [idle] * len(rungs.forests),
        [0] * len(rungs.forests),
    )
