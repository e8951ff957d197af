"""Boosting on the features up to a price (Xu 2014, sec. 2.1.4, "feature subsets").

This is the simplest use of prices: leave out what is expensive. Each price level has an ensemble
of its own; all of them share one binned table.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from thrifty.costs import PriceList
from thrifty.learn._sklearn import Interval
from thrifty.learn.baselines.base import BaselineClassifier, FittedPath, Knob, standalone_prices
from thrifty.learn.baselines.boosted import BOOSTING_CONSTRAINTS, BoostingSettings
from thrifty.learn.binned import Binned
from thrifty.learn.dataset import TrainingSet
from thrifty.model import Frozen

__all__ = ["PriceSubsetsClassifier"]

# A path takes at most this many of the price levels, evenly spaced in their order.
MAX_POINTS = 12


class PriceSubsetsClassifier(BaselineClassifier):
    """Boosted trees on the features that cost at most `max_price` (Xu 2014, sec. 2.1.4).

    The price of a feature includes the shared price of its group. One simplification: the number
    of trees is fixed, while Xu (2014) picks the best on a validation set.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    max_price : float or None
        The highest price of a feature that trees may read; None allows all features.
    n_estimators, learning_rate, max_depth, min_samples_leaf, class_weight, random_state
        As in `GreedyMiserClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import PriceSubsetsClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (X.sum(axis=1) > 0).astype(int)
    >>> model = PriceSubsetsClassifier(Prices([1, 5, 20]), max_price=5).fit(X, y)
    >>> model.used(X).any(axis=0)  # the third feature costs 20
    array([ True,  True, False])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        **BOOSTING_CONSTRAINTS,
        "max_price": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
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

    def _fit_path(self, train: TrainingSet) -> FittedPath:
        settings = BoostingSettings.of(self)
        return _PriceLevels(train, settings, settings.bin(train))


@dataclass(frozen=True, eq=False)
class _PriceLevels:
    """The binned table, on which an ensemble is boosted for each price level."""

    train: TrainingSet
    settings: BoostingSettings
    binned: Binned

    def model(self, knob: Knob) -> Frozen:
        """Boost trees on the features that cost at most ``knob["max_price"]``."""
        highest = np.inf if knob["max_price"] is None else knob["max_price"]
        features = np.flatnonzero(standalone_prices(self.train.prices) <= highest)
        return self.settings.boost(self.train, self.binned, features)

    def knobs(self) -> list[Knob]:
        """Return the distinct prices, or some of them if there are many."""
        levels = np.unique(standalone_prices(self.train.prices))
        n_points = min(MAX_POINTS, len(levels))
        picked = np.unique(np.linspace(0, len(levels) - 1, n_points).astype(int))
        return [{"max_price": float(level)} for level in levels[picked]]
