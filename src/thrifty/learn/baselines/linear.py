"""A single cost-sensitive classifier: a CSTC tree of only a root (Xu 2014, sec. 3.7.2).

A linear support vector machine on all features (Xu 2014, sec. 2.2.4): no regard to prices at all.

Boosting on the features up to a price (Xu 2014, sec. 2.1.4, "feature subsets").

The plainest use of prices: leave out what is dear. One ensemble for each level of price.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.costs import Prices
from thrifty.learn.baselines.base import Knob, Learner, Rival, Task, TwoClassRival, penalties
from thrifty.learn.baselines.boosted import CONSTRAINTS, Trees
from thrifty.learn.baselines.priced_weights import Node, plain_goal, settle
from thrifty.learn.baselines.stage_inputs import Stage, StageInputs, column_inputs, tree_inputs
from thrifty.learn.calibration import platt
from thrifty.model import Frozen

__all__ = ["LinearSVMClassifier", "PriceSubsetsClassifier", "SingleCostClassifier"]


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
    >>> from thrifty.learn.baselines import SingleCostClassifier
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


STEPS = 10_000


class LinearSVMClassifier(TwoClassRival):
    """scikit-learn's `LinearSVC` on standardized columns, with a bill.

    Every row pays for all columns that vary. Probabilities are those of Platt scaling, fitted to
    the training rows.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; they only tell the bill.
    C : float
        Weight of the errors.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Of `LinearSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import LinearSVMClassifier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> LinearSVMClassifier(Prices([1, 5, 20])).fit(X, y).bill(X[:2])
    array([26., 26.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        C: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.C = C
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"C": float(self.C)}

    def _one_learner(self, task: Task) -> Learner:
        return _Machine(task, self._knob(), self.random_state)


class _Machine:
    """The table as the machine reads it."""

    def __init__(self, task: Task, knob: Knob, random_state: Any) -> None:
        self.task, self.knob, self.inputs = task, knob, column_inputs(task)
        self.seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)

    def model(self, knob: Knob) -> Frozen:
        """The machine for a weight of errors."""
        task, Z = self.task, self.inputs.Z
        machine = LinearSVC(C=knob["C"], dual=False, max_iter=STEPS, random_state=self.seed)
        machine.fit(Z, task.codes, sample_weight=task.weight)
        weights, bias = machine.coef_[0], float(machine.intercept_[0])
        outputs = (Z @ weights + bias)[:, np.newaxis]
        weight = np.ones(len(Z)) if task.weight is None else task.weight
        scale, offset = platt(outputs, task.codes, weight, 2)
        return self.inputs.freeze([Stage(scale * weights, scale * bias + float(offset[0]))])

    def knobs(self) -> list[Knob]:
        """There is one machine; no weight of errors makes it cheaper."""
        return [self.knob]


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
    >>> from thrifty.learn.baselines import PriceSubsetsClassifier
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
