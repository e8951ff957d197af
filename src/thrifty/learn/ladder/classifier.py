"""Ladders for classification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.learn._sklearn import StrOptions
from thrifty.learn.base import PricedClassifier
from thrifty.learn.ladder.base import Ladder
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.ladder.rungs import Rung
from thrifty.learn.point import Point
from thrifty.model import Forest
from thrifty.model.stages import class_uncertainty

__all__ = ["LadderClassifier"]

Floats = NDArray[np.float64]


class LadderClassifier(PricedClassifier, Ladder):
    """Models on more and more features; a row pays for more only while it is uncertain.

    Rung 0 is the constant. Each rung above buys more features, and predicts with a weighted average
    of boosted trees, extra-trees and, on small tables, logistic regression. The features are
    ordered by recursive elimination: what trees gain least from per unit of price is dropped first.
    A row climbs while its uncertainty, one minus its largest class probability, is above the
    threshold of its rung. The thresholds are the best for a cost weight, by dynamic programming.

    Weights, temperatures and thresholds are chosen on scores by models that have not seen the row:
    out of fold, and out of bag for extra-trees. So all rows of a small table both teach and choose.

    Where the value of a feature clearly says which others are worth buying, the rows are split on
    it, and each branch gets a ladder of its own. And where a policy, which chooses the next feature
    of every row from all that it has read, is ahead of the ladder on unseen rows, it competes.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    penalty : float
        The cost weight: the error rate that one unit of price must save. At 0 a row climbs as long
        as that saves errors.
    cap : float, optional
        Largest bill of any single row, whatever path it takes: rungs that cost more are left out,
        and a policy does not buy what would lead above it.
    effort : {"fast", "balanced", "best"}
        How many rungs, trees and divisions into folds.
    folds : int
        Number of folds. From 20,000 rows on, one fit on four fifths of them is enough.
    time_limit : float, optional
        Seconds to fit in: fewer rungs, trees and, if need be, rows are used.
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn.
    random_state : int, RandomState or None
        Draws the folds, the bags of trees, and samples of large tables.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Frozen
        The frozen model: `Stages`; an `Average` if all rows stop on the same rung; a `Forest`
        without trees for the constant; a `Branch` where the rows are split; or a `Policy`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import LadderClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0)
    >>> model = LadderClassifier(penalty=0.01, random_state=0).fit(X, y)
    >>> model.bill(X).mean().round(1).item(), round(model.score(X, y), 2)
    (1.5, 1.0)

    The first column alone decides half of the rows; only the others pay for the second one too.
    """

    _most_classes: ClassVar[tuple[int, str] | None] = (200, "every rung has trees for each")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Ladder._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        cap: float | None = None,
        effort: str = "balanced",
        folds: int = 3,
        time_limit: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(prices, penalty, cap, effort, folds, time_limit, random_state)
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
        groups: Any = None,
    ) -> Self:
        """Fit the rungs, and choose the stopping thresholds for the cost weight `penalty`.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            More rows to choose the thresholds on, which are not trained on.
        groups : sequence of shape (n,), optional
            Rows of one group, such as those of one patient, are scored out of fold together.
        """
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
        """Yield operating points, cheapest first: every rung by itself, and 100 cost weights.

        All points of the ladder share the same rungs; branches and policies add points of their
        own, with the knob `kind`. The first point is the constant, at bill 0.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `fit`.
        validation : (Xv, yv), optional
            The rows on which bill and quality are measured. By default they are measured on the
            training rows, each scored by models that have not seen it.
        """
        train = self._read_training(X, y, sample_weight, groups=groups)
        held_out = None if validation is None else self._read_validation(validation, train)
        return self._path(train, held_out)

    def _stopping_loss(self, scores: Floats, rows: LadderRows) -> Floats:
        return rows.class_loss(scores)

    def _uncertainty(
        self, rows: LadderRows, rungs: Sequence[Rung], random: np.random.RandomState
    ) -> tuple[list[Forest | None], Floats]:
        """Class probabilities suffice."""
        costs = rows.error_costs
        measure = class_uncertainty if costs is None else costs.decision.least
        return [None] * len(rungs), np.array([measure(rung.scores) for rung in rungs])
