"""FMCC: buy the feature that most neighbors need to be classified correctly.

Nan 2018, ch. 2, algorithm 1.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from thrifty.costs import BoundPrices, PriceList
from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.neighbors.additive import BASES, ScaledTable, fit_additive
from thrifty.learn.neighbors.base import SequentialClassifier, weighted_prices
from thrifty.model.sequential import AdditiveTerms, Neighbors
from thrifty.model.sequential.neighbors import has_positive_margin

__all__ = ["MarginNeighborsClassifier", "make_neighbors"]

# A feature whose term never changes a score by more than this is not bought.
MIN_TERM = 1e-12
# By default one training row in eight is near, up to the middle size of Nan 2018, table 2.1.
ROWS_PER_NEIGHBOR, MAX_NEIGHBORS = 8, 125


class MarginNeighborsClassifier(SequentialClassifier):
    """A classifier that buys one feature at a time until its neighbors are classified correctly.

    An additive classifier predicts from whatever is bought. The training rows that are nearest on
    the bought features estimate how accurate this prediction is, and which further feature would
    make it most accurate.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        Prices of the features; by default each costs one unit.
    base : {"stumps", "logistic", "svm"}
        The classifier that predicts: boosted stumps, logistic regression or a linear SVM. Each
        feature adds a term of its own to the scores; a feature that is not bought adds its mean.
    n_neighbors : int, optional
        Number of near training rows (K); by default an eighth of them, at most 125.
    threshold : float
        A row stops when more than this share of its neighbors would be classified correctly; 1
        buys everything.
    alpha : float
        Weight of the prices in the choice. A feature is preferred to one that is cheaper by the
        mean price if it is correct for at least this share of the neighbors more. With 0, prices
        do not matter for the choice.
    C : float
        Inverse regularization of the linear classifiers.
    n_estimators : int
        Number of stumps, for each class if there are more than two. More than 150 classes share the
        stumps of 150; a warning says how many each has.
    random_state : int, RandomState or None
        Seed of the base classifier.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Neighbors
        The frozen model. It contains the training rows.

    Examples
    --------
    Far from 0, the first feature suffices; near 0, all three are bought:

    >>> import numpy as np
    >>> from thrifty import MarginNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")
    >>> model = MarginNeighborsClassifier(base="logistic", n_neighbors=20).fit(X, y)
    >>> far, near = [2.0, 0.0, 0.0], [0.1, 0.0, 0.0]
    >>> model.bill([far, near])
    array([1., 3.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
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
        prices: PriceList | None = None,
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

    def _train(self, train: TrainingSet) -> Neighbors:
        """Fit the additive classifier, and freeze it with the training rows as neighbors."""
        n = len(train)
        if self.n_neighbors is None:
            k = min(MAX_NEIGHBORS, max(1, n // ROWS_PER_NEIGHBOR))
        else:
            k = int(self.n_neighbors)
        if k > n:
            raise DataError(
                f"n_neighbors: {k} is more than the {n} rows of the training table; "
                f"give at most {n}"
            )
        table = ScaledTable.of(train)
        terms = fit_additive(
            self.base, table, C=self.C, n_estimators=self.n_estimators,
            random_state=self.random_state,
        )  # fmt: skip
        return make_neighbors(table, terms, train.prices, k=k, alpha=self.alpha)


def make_neighbors(
    table: ScaledTable, terms: AdditiveTerms, prices: BoundPrices, *, k: int, alpha: float
) -> Neighbors:
    """Freeze training rows, additive classifier and prices into a model that buys everything.

    Its order starts with the best single feature on all training rows: that with the largest share
    of positive margins (eq. 2.1), less its weighted price. Features without a term are left out.

    Parameters
    ----------
    table : ScaledTable
    terms : AdditiveTerms
        Fitted to the table.
    prices : BoundPrices
    k : int
        Number of near rows.
    alpha : float
        Weight of the prices in the choice.
    """
    weighted_price, weighted_group_price = weighted_prices(prices, alpha)
    model = Neighbors(
        terms, table.X, table.y, table.distance_units(), table.n_categories > 0, weighted_price,
        prices.group, weighted_group_price, np.empty(0, dtype=np.int64), k, threshold=1.0,
    )  # fmt: skip
    single = has_positive_margin(terms.offset + model.row_terms, table.y[:, np.newaxis])
    value = single.mean(axis=0) - weighted_price - np.append(weighted_group_price, 0.0)[model.group]
    has_term = np.flatnonzero((np.abs(model.row_terms) > MIN_TERM).any(axis=(0, 2)))
    best_first = has_term[np.argsort(-value[has_term], kind="stable")]
    return model.with_changes(order=np.asarray(best_first, dtype=np.int64))
