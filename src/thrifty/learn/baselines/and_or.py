"""The AND-OR cascade (M. Dundar and J. Bi, CVPR 2007; Xu 2014, sec. 3.7.3).

All stages are learnt together. A row of class 1 has to pass every stage (AND): it counts with its
largest loss. A row of class 0 has to be rejected by one of them (OR): it counts with the product
of its losses, which is small as soon as one is. Which features a stage may read is fixed
beforehand: those up to a price.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.costs import Prices
from thrifty.learn.baselines.base import Knob, Learner, Rival, Task, TwoClassRival, penalties
from thrifty.learn.baselines.boosted import CONSTRAINTS, Trees
from thrifty.learn.baselines.priced_weights import (
    LOSS,
    Goal,
    Node,
    Weights,
    plain_goal,
    refit,
    spread,
)
from thrifty.learn.baselines.stage_inputs import Stage, StageInputs, column_inputs, subset_inputs
from thrifty.model import Frozen

__all__ = ["AndOrClassifier", "joint_loss"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
SWEEPS, STEPS = 4, 8
# The largest loss is the norm of all of them of this order, nearly.
ORDER = 8.0


class AndOrClassifier(TwoClassRival):
    """Linear stages of rising price, learnt together; a row leaves at the first that rejects it.

    Simplified: the loss is logistic instead of a hinge, the maximum a norm of order 8; each stage
    pays for its own features, bought before or not. The documents differ on the loss of a row to be
    rejected: the product is that of the paper, 002 tells of a minimum.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Mean loss that one unit of price must save (lambda).
    n_stages : int
        Most stages. The prices that occur are cut into so many equal parts; stage k may read
        the features up to the k-th cut.
    base : {"raw", "boosted"}
        Whether a stage weighs the columns, or trees boosted on them.
    n_estimators, learning_rate, max_depth, min_samples_leaf, random_state
        Of the boosted trees, as in `GreedyMiserClassifier`; each stage has its share of them.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import AndOrClassifier
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    >>> model = AndOrClassifier(Prices([1, 20]), penalty=0.002).fit(X, y)
    >>> model.used(X[:1]).tolist(), np.unique(model.bill(X)).tolist()
    ([[True, False]], [1.0, 21.0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        **CONSTRAINTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "n_stages": [Interval(Integral, 1, None, closed="left")],
        "base": [StrOptions({"raw", "boosted"})],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        n_stages: int = 5,
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
        self.n_stages = n_stages
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
        cuts = _cuts(task.tolls, self.n_stages)
        if self.base == "raw":
            inputs = column_inputs(task)
            assert inputs.encoding is not None
            reach = task.tolls[inputs.encoding.columns]
        else:
            subsets = [np.flatnonzero(task.tolls <= cut) for cut in cuts]
            inputs, part = subset_inputs(task, Trees.of(self), subsets)
            reach = cuts[part]
        allowed = [mask for cut in cuts if (mask := reach <= cut).any()]
        # Without any tree there is one stage, of the bias alone.
        return _AndOr(task, inputs, allowed or [np.zeros(len(reach), dtype=bool)])


def _cuts(tolls: Floats, stages: int) -> Floats:
    """Prices up to which the stages may read, increasing."""
    levels = np.unique(tolls)
    places = np.ceil(np.arange(1, stages + 1) * len(levels) / stages).astype(int) - 1
    return np.asarray(levels[np.unique(places)])


def joint_loss(losses: Floats, y: Floats) -> Floats:
    """Loss of each row from those of the stages, (n, S) -> (n,): about the largest, or the product.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines.and_or import joint_loss
    >>> joint_loss(np.array([[0.5, 0.1], [0.5, 0.1]]), np.array([1.0, -1.0])).round(3)
    array([0.5 , 0.05])
    """
    worst = np.sum(losses**ORDER, axis=1) ** (1.0 / ORDER)
    return np.asarray(np.where(y > 0, worst, losses.prod(axis=1)))


class _AndOr:
    """Stages that each know how to start, and the cascade for any penalty."""

    def __init__(self, task: Task, inputs: StageInputs, allowed: Sequence[Mask]) -> None:
        self.inputs, self.allowed = inputs, allowed
        self.y, self.weight = task.signs, task.weights
        self.node = Node(inputs.Z, self.y, plain_goal(self.weight), inputs.dues)
        self.starts = [refit(self.node, mask, self.node.nothing) for mask in allowed]

    def model(self, knob: Knob) -> Frozen:
        """The cascade for a penalty; a stage rejects who is more probably of class 0."""
        found = self.stages(knob["penalty"])
        return self.inputs.freeze([Stage(*stage, -stage.bias) for stage in found])

    def knobs(self) -> list[Knob]:
        """Penalties from the one at which a single stage would buy nothing down to none."""
        return [{"penalty": penalty} for penalty in penalties(self.node.top(self.weight))]

    def stages(self, penalty: float) -> list[Weights]:
        """Stage after stage in turns, the others fixed; then what they chose without prices."""
        stages = list(self.starts)
        for _ in range(SWEEPS):
            self.sweep(stages, self.allowed, penalty)
        if penalty:
            kept = [self.inputs.dues.chosen(stage.weights) for stage in stages]
            stages = [
                Weights(np.where(mask, stage.weights, 0.0), stage.bias)
                for stage, mask in zip(stages, kept, strict=True)
            ]
            for _ in range(SWEEPS // 2):
                self.sweep(stages, kept, 0.0)
        return stages

    def sweep(self, stages: list[Weights], allowed: Sequence[Mask], penalty: float) -> None:
        """Lower the joint objective by each stage once."""
        Z, y, dues = self.inputs.Z, self.y, self.inputs.dues
        losses = np.column_stack([LOSS.value(stage.outputs(Z), y) for stage in stages])
        for k, mask in enumerate(allowed):
            goal = self._goal(np.delete(losses, k, axis=1))
            node = Node(Z[:, mask], y, goal, dues.some(mask), penalty)
            found = node.descend(Weights(stages[k].weights[mask], stages[k].bias), STEPS)
            stages[k] = Weights(spread(found.weights, mask), found.bias)
            losses[:, k] = LOSS.value(stages[k].outputs(Z), y)

    def _goal(self, others: Floats) -> Goal:
        powers = np.sum(others**ORDER, axis=1)
        return partial(_reckon, self.y > 0, self.weight, powers, others.prod(axis=1))


def _reckon(
    positive: Mask, weight: Floats, powers: Floats, product: Floats, losses: Floats
) -> tuple[Floats, Floats]:
    """What rows add to the joint loss, and its derivative by the loss of one stage."""
    worst = np.maximum(powers + losses**ORDER, 1e-300) ** (1.0 / ORDER)
    value = np.where(positive, worst, product * losses)
    factor = np.where(positive, (losses / worst) ** (ORDER - 1.0), product)
    return weight * value, weight * factor
