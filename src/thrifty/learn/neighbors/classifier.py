"""FMCC: buy the feature that sets most neighbors right (Nan 2018, ch. 2, algorithm 1).

A classifier of one term a feature answers from whatever is bought. The training rows near an
example on what is bought tell how often such an answer is right, and with which further feature it
would be right most often.

From rows and a classifier of terms to a frozen model: distances, tolls and the first order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.neighbors.additive import BASES, Examples, Settings
from thrifty.learn.neighbors.base import AskingClassifier, Task, threshold_cuts
from thrifty.learn.point import Point
from thrifty.model.sequential.additive_terms import Terms
from thrifty.model.sequential.base import Asking
from thrifty.model.sequential.neighbors import Neighbors, leads

__all__ = ["MarginNeighborsClassifier", "column_units", "make_neighbors", "one_order", "tolls"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# A term that never moves a score by more than this is none.
NOTHING = 1e-12


def make_neighbors(
    examples: Examples, terms: Terms, prices: BoundPrices, *, k: int, threshold: float, alpha: float
) -> Neighbors:
    """Freeze rows, terms and prices; the first question is chosen on all training rows."""
    toll, entry = tolls(prices, alpha)
    model = Neighbors(
        terms, examples.X, examples.codes, column_units(examples), examples.categories > 0, toll,
        prices.group, entry, np.empty(0, dtype=np.int64), k, threshold,
    )  # fmt: skip
    return model.changed(order=_first_order(model))


def tolls(prices: BoundPrices, alpha: float) -> tuple[Floats, Floats]:
    """What features, and entries to groups, lose in the choice: alpha for the mean price.

    Prices in another unit are the same choice.
    """
    rate = alpha * len(prices.own) / prices.full if prices.full > 0 else 0.0
    return rate * prices.own, rate * prices.shared


def column_units(examples: Examples) -> Floats:
    """One over the standard deviation; for categories, what sets two rows as far apart."""
    units = 1.0 / examples.spread
    for j in np.flatnonzero(examples.categories):
        codes = examples.X[:, j]
        counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64))
        mixed = 1.0 - ((counts / counts.sum()) ** 2).sum()
        units[j] = 2.0 / mixed if mixed > 0 else 1.0
    return units


def one_order(model: Neighbors) -> Whole:
    """The order in which a row buys to which all training rows are near."""
    trail = model.until(1.0).trail()
    # What comes back empty moves no distance, so that all rows stay equally near.
    trail.follow(np.full(model.n_features, np.nan))
    return np.array(trail.bought, dtype=np.int64)


def _first_order(model: Neighbors) -> Whole:
    """Features that do anything, the best single one (eq. 2.1, less its toll) first."""
    alone = model.terms.offset + model.row_terms
    right = leads(alone, model.labels[:, np.newaxis]).mean(axis=0)
    value = right - model.toll - np.append(model.entry, 0.0)[model.group]
    moving = np.flatnonzero((np.abs(model.row_terms) > NOTHING).any(axis=(0, 2)))
    return np.asarray(moving[np.argsort(-value[moving], kind="stable")], dtype=np.int64)


# Near rows when none are asked for: one row in eight, up to the middle size of Nan 2018, table 2.1.
SHARE, MOST = 8, 125


class MarginNeighborsClassifier(AskingClassifier):
    """A classifier that asks each row for one feature at a time until its neighbors are right.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    base : {"stumps", "logistic", "svm"}
        The classifier whose answer is given: boosted stumps, logistic regression or a linear
        support vector machine. Each feature adds a term of its own to its scores; a feature that
        is not bought adds its mean.
    n_neighbors : int, optional
        Training rows that count as near (K); an eighth of them, at most 125, when left out.
    threshold : float
        A row stops when its answer would be right for more than this share of its near rows; 1
        buys everything.
    alpha : float
        Share of near rows that a feature must set right more than another to be bought before
        one that is cheaper by the mean price. At 0 prices play no part in the choice.
    C : float
        Inverse of the regularization of the linear classifiers.
    n_estimators : int
        Number of stumps, for each class where there are more than two.
    random_state : int, RandomState or None
        Draws what the classifiers draw.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Neighbors
        The frozen model. It holds the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.neighbors.classifier import MarginNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")
    >>> model = MarginNeighborsClassifier(base="logistic", n_neighbors=20).fit(X, y)
    >>> far, near = [2.0, 0.0, 0.0], [0.1, 0.0, 0.0]
    >>> model.used([far, near])  # the first feature is enough where it is far from 0
    array([[ True, False, False],
           [ True,  True,  True]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "base": [StrOptions(set(BASES))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        base: str = "stumps",
        n_neighbors: int | None = None,
        threshold: float = 0.95,
        alpha: float = 0.05,
        C: float = 1.0,
        n_estimators: int = 500,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.base = base
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.alpha = alpha
        self.C = C
        self.n_estimators = n_estimators
        self.random_state = random_state

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        thresholds: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points over a range of thresholds, cheapest first.

        One run over the validation rows that never stops tells where each row stops at any
        threshold. The first point is the constant, at bill 0. Quality is the accuracy.

        Parameters
        ----------
        X, y
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        thresholds : sequence of float, optional
            Instead of up to 30 between the estimates that occur.
        """
        return self._path(X, y, validation, partial(threshold_cuts, thresholds=thresholds))

    def _whole(self, task: Task) -> Neighbors:
        settings = Settings(self.C, self.n_estimators, self.random_state)
        k = self._near_rows(len(task.examples.X))
        terms = BASES[self.base](task.examples, settings)
        return make_neighbors(
            task.examples, terms, task.prices, k=k, threshold=1.0, alpha=self.alpha
        )

    def _chosen(self, whole: Asking) -> tuple[dict[str, Any], Asking]:
        return {"threshold": float(self.threshold)}, whole.until(self.threshold)

    def _near_rows(self, n: int) -> int:
        k = min(MOST, max(1, n // SHARE)) if self.n_neighbors is None else int(self.n_neighbors)
        if k > n:
            raise DataError(
                f"n_neighbors: {k} near rows are asked for, the training table has {n}; "
                f"give at most {n}"
            )
        return k
