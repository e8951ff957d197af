"""Early exits from boosted trees (Cambazoglu et al. 2010; Xu 2014, sec. 2.1.4).

The trees are boosted without regard to prices. A row may leave after each block of trees, and
saves the trees, and the features, that it has not come to:

- `EarlyExitClassifier`: a row leaves when one class is probable enough (Xu 2014, sec. 2.2.4).
- `ProximityExitClassifier`: a row leaves when its score lies too far below those of the best rows
  (Xu 2014, sec. 3.7.2). The distance that is allowed decreases from `slack` at the first exit to 0
  at the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.learn._sklearn import Interval
from thrifty.learn.baselines.base import (
    BaselineClassifier,
    FittedPath,
    Knob,
    OneVsRestBaseline,
    normalized_weights,
    weighted_quantile,
)
from thrifty.learn.baselines.boosted import BOOSTING_CONSTRAINTS, BoostingSettings
from thrifty.learn.dataset import TrainingSet
from thrifty.model import Cascade, Forest, Frozen

__all__ = ["EarlyExitClassifier", "ProximityExitClassifier", "exits_after", "slack_schedule"]

Floats = NDArray[np.float64]

# Thresholds, or slacks, of a path, besides the one without exits.
N_POINTS = 14
# Smallest and largest slack of a path, as multiples of the largest distance of a training row.
SLACK_RANGE = (0.01, 5.0)


class EarlyExitClassifier(BaselineClassifier):
    """Boosted trees that a row leaves when one class is probable enough.

    The exits are those of Xu (2014), for any number of classes: a row leaves where its largest
    class probability is above a threshold. One simplification: the paper sets a threshold for each
    exit, and in ranking drops only rows of low score; here one threshold serves all exits and
    both sides.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; only the bills depend on them.
    threshold : float
        Class probability above which a row leaves; at 1 every row takes all trees.
    every : int
        Boosting rounds between two exits.
    n_estimators, learning_rate, max_depth, min_samples_leaf, class_weight, random_state
        As in `GreedyMiserClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import EarlyExitClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = EarlyExitClassifier(threshold=0.8, n_estimators=60).fit(X, y)
    >>> np.unique(model.predictor_.evaluations(X))  # of 60 trees
    array([10, 20])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        **BOOSTING_CONSTRAINTS,
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "every": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        threshold: float = 0.95,
        every: int = 10,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.threshold = threshold
        self.every = every
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"threshold": float(self.threshold)}

    def _fit_path(self, train: TrainingSet) -> FittedPath:
        settings = BoostingSettings.of(self)
        forest = settings.boost(train, settings.bin(train))
        return _ScoreExits(train, forest, exits_after(forest, self.every))


def exits_after(forest: Forest, every: int) -> NDArray[np.int64]:
    """Return how many trees come before each exit, if there is one after `every` rounds."""
    step, n_trees = every * len(forest.base), len(forest.roots)
    return np.append(np.arange(step, n_trees, step), n_trees).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _ScoreExits:
    """One ensemble with exits; each threshold gives a cascade.

    Attributes
    ----------
    train : TrainingSet
    forest : Forest
        The boosted trees.
    ends : int64 array
        Number of trees before each exit.
    """

    train: TrainingSet
    forest: Forest
    ends: NDArray[np.int64]

    def model(self, knob: Knob) -> Frozen:
        """Return the cascade for one threshold."""
        if not len(self.forest.roots):
            return self.forest
        threshold = knob["threshold"]
        if len(self.forest.base) > 1:
            return Cascade.of(self.forest, self.ends, high=np.inf if threshold == 1 else threshold)
        # With two classes the larger probability is at least 0.5; exits compare log odds.
        with np.errstate(divide="ignore"):
            odds = np.log(max(threshold, 0.5)) - np.log1p(-max(threshold, 0.5))
        return Cascade.of(self.forest, self.ends, -odds, odds)

    def knobs(self) -> list[Knob]:
        """Return thresholds at quantiles of the training rows' probabilities at exits, and 1."""
        if not len(self.forest.roots):
            return []
        scores = Cascade.of(self.forest, self.ends).exit_scores(self.train.X)
        if len(self.forest.base) == 1:
            scores = 1.0 / (1.0 + np.exp(-np.abs(scores)))
        levels = np.quantile(scores, np.linspace(0, 1, N_POINTS))
        return [{"threshold": float(level)} for level in np.unique([*levels, 1.0])]


class ProximityExitClassifier(OneVsRestBaseline):
    """Boosted trees that a row leaves when it has fallen too far behind the best rows.

    One simplification: the paper compares a document with the fifth best of its query. A single
    row belongs to no query here, so it is compared with the score that a share `top` of the
    training rows exceed after the same trees. Set `top` to the share of a query that is worth
    ranking, such as 5 of 100.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; only the bills depend on them.
    slack : float or None
        How far behind, in log odds, a row may be at the first exit; with None every row takes all
        trees.
    top : float
        Share of the rows that count as the best.
    every : int
        Boosting rounds between two exits.
    n_estimators, learning_rate, max_depth, min_samples_leaf, class_weight, random_state
        As in `GreedyMiserClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import ProximityExitClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = (X[:, 0] > 1).astype(int)
    >>> model = ProximityExitClassifier(slack=0.5, top=0.1, n_estimators=40).fit(X, y)
    >>> np.unique(model.predictor_.evaluations(X[y == 0]))  # they leave at the first exit
    array([10])
    >>> np.unique(model.predictor_.evaluations(X[y == 1])).max()
    np.int64(40)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        **BOOSTING_CONSTRAINTS,
        "slack": [Interval(Real, 0, None, closed="left"), None],
        "top": [Interval(Real, 0, 1, closed="both")],
        "every": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        slack: float | None = 1.0,
        top: float = 0.05,
        every: int = 10,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.slack = slack
        self.top = top
        self.every = every
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"slack": None if self.slack is None else float(self.slack)}

    def _fit_binary(self, train: TrainingSet) -> FittedPath:
        settings = BoostingSettings.of(self)
        forest = settings.boost(train, settings.bin(train))
        ends = exits_after(forest, self.every)
        if not len(forest.roots):
            return _ProximityExits(forest, ends, np.empty((0, len(train))), np.empty(0))
        scores = Cascade.of(forest, ends).exit_scores(train.X)
        weight = normalized_weights(train)
        top_scores = [weighted_quantile(row, weight, 1.0 - self.top) for row in scores]
        return _ProximityExits(forest, ends, scores, np.array(top_scores))


def slack_schedule(n_exits: int) -> Floats:
    """Return the share of the slack that is left at each exit (Xu 2014, sec. 2.1.4).

    Examples
    --------
    >>> from thrifty.learn.baselines.early_exit import slack_schedule
    >>> slack_schedule(5)
    array([1.  , 0.75, 0.5 , 0.25, 0.  ])
    """
    return np.asarray(np.arange(n_exits)[::-1] / max(n_exits - 1, 1))


@dataclass(frozen=True, eq=False)
class _ProximityExits:
    """One ensemble with exits; each slack gives a cascade.

    Attributes
    ----------
    forest : Forest
        The boosted trees.
    ends : int64 array of shape (E,)
        Number of trees before each exit.
    scores : array of shape (E, n)
        Log odds of the training rows at the exits.
    top_scores : array of shape (E,)
        What the best rows exceed at each exit.
    """

    forest: Forest
    ends: NDArray[np.int64]
    scores: Floats
    top_scores: Floats

    def model(self, knob: Knob) -> Frozen:
        """Return the cascade in which a row leaves if it is below the top by more than the slack.

        A slack of None gives a cascade without thresholds. An ensemble without trees is returned
        as it is.
        """
        if not len(self.forest.roots):
            return self.forest
        if knob["slack"] is None:
            return Cascade.of(self.forest, self.ends)
        low = self.top_scores - knob["slack"] * slack_schedule(len(self.ends))
        return Cascade.of(self.forest, self.ends, low)

    def knobs(self) -> list[Knob]:
        """Return slacks relative to the largest distance of a training row; 0 and None, too."""
        no_exits: list[Knob] = [{"slack": None}] if len(self.forest.roots) else []
        if len(self.ends) < 2:
            return no_exits
        furthest = float(np.max(self.top_scores[:, np.newaxis] - self.scores))
        levels = furthest * np.geomspace(*SLACK_RANGE, N_POINTS)
        return [{"slack": float(level)} for level in np.unique([0.0, *levels])] + no_exits
