"""Boosting on the features up to a price (002 sec. 2.1.4, "feature subsets").

The plainest use of prices: leave out what is dear. One ensemble for each level of price.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.rivals.boosted import CONSTRAINTS, Trees
from thrifty.learn.rivals.rival import Knob, Learner, Rival, Task
from thrifty.model import Frozen

__all__ = ["PriceSubsetsClassifier"]

POINTS = 12


class PriceSubsetsClassifier(Rival):
    """Boosted trees of the features that cost no more than a limit.

    A feature of a group counts with the shared price of its group. Simplified: the number of trees
    is fixed, where 002 takes the best on validation rows.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    max_price : float or None
        The dearest price that a feature may have; None takes all.
    n_estimators, learning_rate, max_depth, min_samples_leaf, class_weight, random_state
        As in `GreedyMiserClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.rivals import PriceSubsetsClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (X.sum(axis=1) > 0).astype(int)
    >>> model = PriceSubsetsClassifier(Prices([1, 5, 20]), max_price=5).fit(X, y)
    >>> model.used(X).any(axis=0)
    array([ True,  True, False])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        **CONSTRAINTS,
        "max_price": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        max_price: float | None = None,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.max_price = max_price
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"max_price": None if self.max_price is None else float(self.max_price)}

    def _learner(self, task: Task) -> Learner:
        return _Subsets(task, Trees.of(self))


class _Subsets:
    """One table of bins, and an ensemble for each limit."""

    def __init__(self, task: Task, trees: Trees) -> None:
        self.task, self.trees = task, trees
        self.binned = trees.binned(task)

    def model(self, knob: Knob) -> Frozen:
        """Boosted trees on what costs no more."""
        limit = np.inf if knob["max_price"] is None else knob["max_price"]
        features = np.flatnonzero(self.task.tolls <= limit)
        return self.trees.boost(self.task, self.binned, features)

    def knobs(self) -> list[Knob]:
        """The prices that occur, some of them where they are many."""
        levels = np.unique(self.task.tolls)
        picked = np.unique(np.linspace(0, len(levels) - 1, min(POINTS, len(levels))).astype(int))
        return [{"max_price": float(level)} for level in levels[picked]]
