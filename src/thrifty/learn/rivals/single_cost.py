"""A single cost-sensitive classifier: a CSTC tree of only a root (002 sec. 3.7.2)."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.costs import Prices
from thrifty.learn.rivals.boosted import CONSTRAINTS, Trees
from thrifty.learn.rivals.penalties import penalties
from thrifty.learn.rivals.priced_weights import Node, plain_goal, settle
from thrifty.learn.rivals.rival import Knob, Learner, Rival, Task, TwoClassRival
from thrifty.learn.rivals.stage_inputs import Stage, StageInputs, column_inputs, tree_inputs
from thrifty.model import Frozen

__all__ = ["SingleCostClassifier"]


class SingleCostClassifier(TwoClassRival):
    """One linear classifier that pays for its inputs by the mixed norm of CSTC.

    Simplified: only the log-loss; the l1 term of the thesis is a fixed small ridge.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Mean log-loss that one unit of price must save (lambda).
    base : {"raw", "boosted"}
        Whether the inputs are the columns, or boosted trees.
    n_estimators, learning_rate, max_depth, min_samples_leaf, random_state
        Of the boosted trees, as in `GreedyMiserClassifier`.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.rivals import SingleCostClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> X[:, 2] = X[:, 0]  # the same as the first column, and dearer
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> model = SingleCostClassifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y)
    >>> model.used(X)[0]
    array([ True,  True, False])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        **CONSTRAINTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "base": [StrOptions({"raw", "boosted"})],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        base: str = "raw",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.base = base
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"penalty": float(self.penalty)}

    def _one_learner(self, task: Task) -> Learner:
        boosted = self.base == "boosted"
        return _Single(task, tree_inputs(task, Trees.of(self)) if boosted else column_inputs(task))


class _Single:
    """The weights at no penalty, and those at any from there."""

    def __init__(self, task: Task, inputs: StageInputs) -> None:
        self.inputs, self.weight = inputs, task.weights
        self.node = Node(inputs.Z, task.signs, plain_goal(self.weight), inputs.dues)
        self.whole = self.node.descend(self.node.nothing)

    def model(self, knob: Knob) -> Frozen:
        """The classifier for a penalty."""
        found = settle(replace(self.node, penalty=knob["penalty"]), self.whole)
        return self.inputs.freeze([Stage(*found)])

    def knobs(self) -> list[Knob]:
        """Penalties from the one at which nothing is bought down to none."""
        return [{"penalty": penalty} for penalty in penalties(self.node.top(self.weight))]
