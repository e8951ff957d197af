"""Early exits by score (B. B. Cambazoglu et al., WSDM 2010; Xu 2014, sec. 2.1.4, 2.2.4).

Boosted trees are learnt without regard to prices. A row leaves after a block of trees once it is
sure enough, so what it saves are the trees, and the features, that it has not come to.

Early exits by proximity (B. B. Cambazoglu et al., WSDM 2010; Xu 2014, sec. 2.1.4, 3.7.2).

A row leaves boosted trees early when its score lies too far below those of the best rows. How far
is too far shrinks from exit to exit: it is ``slack`` at the first and nothing at the last.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.baselines.base import (
    Knob,
    Learner,
    Rival,
    Task,
    TwoClassRival,
    weighted_quantile,
)
from thrifty.learn.baselines.boosted import CONSTRAINTS, Trees
from thrifty.model import Cascade, Forest, Frozen

__all__ = ["EarlyExitClassifier", "ProximityExitClassifier", "exits_after", "slacks"]

POINTS = 14


class EarlyExitClassifier(Rival):
    """Boosted trees that a row leaves when one class is probable enough.

    The exits are those of 002, which serve any number of classes: a row leaves where its largest
    class probability is above a threshold. Simplified: the paper sets a threshold for each exit,
    and in ranking drops only rows of low score; here one holds for all exits and both sides.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; they only tell the bill.
    threshold : float
        Probability of a class above which a row leaves; 1 sends every row through all trees.
    every : int
        Rounds of boosting between two exits.
    n_estimators, learning_rate, max_depth, min_samples_leaf, class_weight, random_state
        As in `GreedyMiserClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import EarlyExitClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = EarlyExitClassifier(threshold=0.8, n_estimators=60).fit(X, y)
    >>> bool((model.predictor_.evaluations(X) < 60).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        **CONSTRAINTS,
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "every": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        prices: Prices | None = None,
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

    def _learner(self, task: Task) -> Learner:
        trees = Trees.of(self)
        return _ScoreExits(task, trees.boost(task, trees.binned(task)), self.every)


def exits_after(forest: Forest, every: int) -> NDArray[np.int64]:
    """How many trees a row has been through at each exit, `every` rounds apart."""
    step, trees = every * len(forest.base), len(forest.roots)
    return np.append(np.arange(step, trees, step), trees).astype(np.int64)


class _ScoreExits:
    """One ensemble, and any threshold on it."""

    def __init__(self, task: Task, forest: Forest, every: int) -> None:
        self.task, self.forest = task, forest
        self.ends = exits_after(forest, every)

    def model(self, knob: Knob) -> Frozen:
        """The cascade for a threshold."""
        if not len(self.forest.roots):
            return self.forest
        threshold = knob["threshold"]
        if len(self.forest.base) > 1:
            return Cascade.of(self.forest, self.ends, high=np.inf if threshold == 1 else threshold)
        with np.errstate(divide="ignore"):
            odds = np.log(max(threshold, 0.5)) - np.log1p(-max(threshold, 0.5))
        return Cascade.of(self.forest, self.ends, -odds, odds)

    def knobs(self) -> list[Knob]:
        """Thresholds that shares of the training rows pass, and 1."""
        if not len(self.forest.roots):
            return []
        scores = Cascade.of(self.forest, self.ends).running(self.task.X)
        if len(self.forest.base) == 1:
            scores = 1.0 / (1.0 + np.exp(-np.abs(scores)))
        levels = np.quantile(scores, np.linspace(0, 1, POINTS))
        return [{"threshold": float(level)} for level in np.unique([*levels, 1.0])]


SPAN = (0.01, 5.0)


class ProximityExitClassifier(TwoClassRival):
    """Boosted trees that a row leaves when it has fallen too far behind the best.

    Simplified: the paper compares a document with the fifth best of the same query. A row alone
    knows no query, so the score to keep up with is the one that a share `top` of the training rows
    exceed after the same trees: give the share of a query that is worth ranking, as 5 of 100.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; they only tell the bill.
    slack : float or None
        How far, in log odds, a row may lie behind at the first exit; None sends every row through
        all trees.
    top : float
        Share of the rows that are among the best.
    every : int
        Rounds of boosting between two exits.
    n_estimators, learning_rate, max_depth, min_samples_leaf, class_weight, random_state
        As in `GreedyMiserClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import ProximityExitClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = (X[:, 0] > 1).astype(int)
    >>> model = ProximityExitClassifier(slack=0.5, top=0.1, n_estimators=40).fit(X, y)
    >>> bool((model.predictor_.evaluations(X[y == 0]) == 10).all())  # leave at the first exit
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        **CONSTRAINTS,
        "slack": [Interval(Real, 0, None, closed="left"), None],
        "top": [Interval(Real, 0, 1, closed="both")],
        "every": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        prices: Prices | None = None,
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

    def _one_learner(self, task: Task) -> Learner:
        trees = Trees.of(self)
        forest = trees.boost(task, trees.binned(task))
        return _ProximityExits(task, forest, self.every, self.top)


def slacks(exits: int) -> NDArray[np.float64]:
    """Share of the slack that is left at each exit, from 1 down to 0 (Xu 2014, sec. 2.1.4)."""
    return np.asarray(np.arange(exits)[::-1] / max(exits - 1, 1))


class _ProximityExits:
    """One ensemble, and any slack on it."""

    def __init__(self, task: Task, forest: Forest, every: int, top: float) -> None:
        self.forest, self.ends = forest, exits_after(forest, every)
        if len(forest.roots):
            self.scores = Cascade.of(forest, self.ends).running(task.X)
            self.leading = np.array(
                [weighted_quantile(row, task.weights, 1.0 - top) for row in self.scores]
            )

    def model(self, knob: Knob) -> Frozen:
        """The cascade for a slack."""
        if not len(self.forest.roots):
            return self.forest
        if knob["slack"] is None:
            return Cascade.of(self.forest, self.ends)
        return Cascade.of(
            self.forest, self.ends, self.leading - knob["slack"] * slacks(len(self.ends))
        )

    def knobs(self) -> list[Knob]:
        """No slack, parts and multiples of the largest distance of a row, and no exits at all."""
        whole: list[Knob] = [{"slack": None}] if len(self.forest.roots) else []
        if len(self.ends) < 2:
            return whole
        furthest = float(np.max(self.leading[:, np.newaxis] - self.scores))
        levels = furthest * np.geomspace(*SPAN, POINTS)
        return [{"slack": float(level)} for level in np.unique([0.0, *levels])] + whole
