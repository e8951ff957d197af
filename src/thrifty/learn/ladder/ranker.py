"""Ladders for ranking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.base import PricedRanker
from thrifty.learn.ladder.base import Ladder
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.ladder.rungs import Rung
from thrifty.learn.ladder.uncertainty import fit_uncertainty
from thrifty.learn.point import Point
from thrifty.model import Forest

__all__ = ["LadderRanker"]

Floats = NDArray[np.float64]


class LadderRanker(PricedRanker, Ladder):
    """Models on more and more features that rank rows; a row pays for more only while that pays.

    Like `LadderRegressor`, with LambdaMART in place of boosting by squared error, and no forest.
    Scores are scaled to the grades, so that those of different rungs can be compared within a
    query. The last features are ordered by trial: a feature that is the same for all rows of a
    query may help others, but by itself it ranks nothing.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    penalty : float
        The cost weight: the squared error of the grade that one unit of price must save.
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
    >>> from thrifty import LadderRanker, Prices
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> grade = np.digitize(X[:, 0], [-1, 0, 1])
    >>> qid = np.repeat(np.arange(60), 10)
    >>> model = LadderRanker(Prices([1.0, 50.0]), penalty=0.01, random_state=0)
    >>> model.fit(X, grade, qid=qid).bill(X).max().item(), round(model.score(X, grade, qid), 2)
    (1.0, 1.0)
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        validation: tuple[Any, ...] | None = None,
        groups: Any = None,
    ) -> Self:
        """Fit the ladder; see `LadderClassifier.fit`.

        `qid` (n,) is the query of each row; without it, all rows are one query. `validation` is
        (Xv, yv) or (Xv, yv, qidv).
        """
        train = self._read_training(X, y, sample_weight, qid=qid, groups=groups)
        held_out = None if validation is None else self._read_validation(validation, train)
        return self._fit(train, held_out)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        validation: tuple[Any, ...] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Iterator[Point]:
        """Yield operating points, cheapest first; see `LadderClassifier.path`."""
        train = self._read_training(X, y, sample_weight, qid=qid, groups=groups)
        held_out = None if validation is None else self._read_validation(validation, train)
        return self._path(train, held_out)

    def _stopping_loss(self, scores: Floats, rows: LadderRows) -> Floats:
        return np.asarray((rows.evidence_y - scores) ** 2)

    def _uncertainty(
        self, rows: LadderRows, rungs: Sequence[Rung], random: np.random.RandomState
    ) -> tuple[list[Forest | None], Floats]:
        return fit_uncertainty(rows, rungs, random)
