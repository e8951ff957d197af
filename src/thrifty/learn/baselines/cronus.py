"""Cronus: boosted trees reweighted and reordered into a cascade (M. Chen et al., AISTATS 2012).

Trees are boosted without regard to prices. Each stage of the cascade then weighs them anew, at a
price for what no stage before has bought, on the rows that come to it; it sends on the rows of
high score. The fewer rows come to a stage, the less its purchases count.
"""

from __future__ import annotations

from dataclasses import replace
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
    penalties,
    weighted_quantile,
)
from thrifty.learn.baselines.boosted import CONSTRAINTS, Trees
from thrifty.learn.baselines.priced_weights import Dues, Node, Weights, plain_goal, settle
from thrifty.learn.baselines.stage_inputs import Stage, tree_inputs
from thrifty.model import Frozen

__all__ = ["CronusClassifier"]

Mask = NDArray[np.bool_]
# A stage needs so many rows of each class.
FEWEST = 10
# Values closer than this, of their size, differ by rounding.
APART = 1e-9


class CronusClassifier(TwoClassRival):
    """A cascade that rejects rows of the first class stage by stage.

    Simplified: the paper optimizes all stages together, again and again; here each is learnt once,
    from the first to the last, on the log-loss. A stage that would buy nothing new is left out,
    where the paper keeps it as one that lets everything pass.

    Parameters
    ----------
    prices : Prices, optional
        What features and evaluations of trees cost; one unit a feature when left out.
    penalty : float
        Mean log-loss that one unit of price must save at the first stage (lambda). At 0 there is
        one stage, which weighs all trees.
    n_stages : int
        Most stages.
    keep : float
        Share of the rows of the first class that a stage sends on; also the discount of the
        penalty from stage to stage.
    n_estimators, learning_rate, max_depth, min_samples_leaf, class_weight, random_state
        As in `GreedyMiserClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import CronusClassifier
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = ((X[:, 0] > 0.5) & (X[:, 1] > 0)).astype(int)
    >>> model = CronusClassifier(Prices([1, 20]), penalty=0.1, max_depth=1).fit(X, y)
    >>> np.unique(model.bill(X))  # who is low in the first column never pays for the second
    array([ 1., 21.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        **CONSTRAINTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "n_stages": [Interval(Integral, 1, None, closed="left")],
        "keep": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        n_stages: int = 10,
        keep: float = 0.5,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.n_stages = n_stages
        self.keep = keep
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"penalty": float(self.penalty)}

    def _one_learner(self, task: Task) -> Learner:
        return _Cronus(task, Trees.of(self), self.n_stages, self.keep)


class _Cronus:
    """The trees, their weights at no penalty, and the cascade for any."""

    def __init__(self, task: Task, trees: Trees, n_stages: int, keep: float) -> None:
        self.inputs = tree_inputs(task, trees)
        self.y, self.weight = task.signs, task.weights
        self.n_stages, self.keep = n_stages, keep
        self.node = self._node(np.ones(len(self.y), dtype=bool), self.inputs.dues, 0.0)
        self.whole = self.node.descend(self.node.nothing)

    def model(self, knob: Knob) -> Frozen:
        """The cascade for a penalty."""
        if knob["penalty"] == 0:
            return self.inputs.freeze([Stage(*self.whole)])
        return self.inputs.freeze(self._stages(knob["penalty"]))

    def knobs(self) -> list[Knob]:
        """Penalties from the one at which the first stage buys nothing down to none."""
        return [{"penalty": penalty} for penalty in penalties(self.node.top(self.weight))]

    def _stages(self, penalty: float) -> list[Stage]:
        rows, stages = np.ones(len(self.y), dtype=bool), list[Stage]()
        dues = self.inputs.dues
        paid = np.zeros(len(dues.prices), dtype=bool)
        for k in range(self.n_stages):
            unpaid = replace(dues, prices=np.where(paid, 0.0, dues.prices))
            found = settle(self._node(rows, unpaid, penalty * self.keep**k), self.whole)
            touched = dues.touched(found.weights)
            if not np.any(touched & ~paid):
                continue
            paid |= touched
            stages.append(self._stage(rows, found))
            rows = rows & (self.inputs.Z @ found.weights > stages[-1].threshold)
            if min(np.sum(rows & (self.y > 0)), np.sum(rows & (self.y < 0))) < FEWEST:
                break
        return stages or [self._stage(rows, found)]

    def _node(self, rows: Mask, dues: Dues, penalty: float) -> Node:
        """A stage for some rows."""
        weight = self.weight[rows] / self.weight[rows].sum()
        return Node(self.inputs.Z[rows], self.y[rows], plain_goal(weight), dues, penalty)

    def _stage(self, rows: Mask, found: Weights) -> Stage:
        values = self.inputs.Z @ found.weights
        rejected = rows & (self.y < 0)
        last = weighted_quantile(values[rejected], self.weight[rejected], 1.0 - self.keep)
        # Halfway to the next value: trees give few, and rounding must not decide.
        above = values[rows & (values > last + APART * max(abs(last), 1.0))]
        threshold = (last + float(above.min())) / 2 if len(above) else last + 1.0
        return Stage(found.weights, found.bias, threshold)
