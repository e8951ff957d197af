"""Cost-weighted L1: the price of a feature is the price of its weights (002 sec. 2.1.4, 3.3)."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.node_losses import Logistic, NodeLoss
from thrifty.learn.rivals.lasso import Solution, lasso, smallest_rate
from thrifty.learn.rivals.penalties import penalties
from thrifty.learn.rivals.rival import Knob, Learner, Rival, Task, TwoClassRival
from thrifty.learn.rivals.stage_inputs import Stage, StageInputs, column_inputs
from thrifty.model import Frozen

__all__ = ["PricedL1Classifier", "PricedWeights"]

Floats = NDArray[np.float64]


class PricedL1Classifier(TwoClassRival):
    """Logistic regression with the prices as weights of the L1 norm.

    Columns of numbers are standardized. A weight costs what its column costs bought alone, the
    entry to its group included: the norm cannot know that a group is paid once. At equal prices it
    is plain L1-regularized logistic regression.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Mean log-loss that a weight of one must save for each unit of price.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.rivals import PricedL1Classifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> X[:, 2] = X[:, 0]  # the same as the first column, and dearer
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> PricedL1Classifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y).used(X)[0]
    array([ True,  True, False])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "penalty": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.class_weight = class_weight

    def _knob(self) -> Knob:
        return {"penalty": float(self.penalty)}

    def _one_learner(self, task: Task) -> Learner:
        share = float(np.clip(task.shares[1], 1e-12, 1 - 1e-12))
        bias = float(np.log(share) - np.log1p(-share))
        inputs = column_inputs(task)
        return PricedWeights(inputs, task.tolls, task.signs, task.weights, Logistic(), bias)


class PricedWeights:
    """Standardized columns and a target; the weights for any penalty."""

    def __init__(
        self,
        inputs: StageInputs,
        tolls: Floats,
        y: Floats,
        weight: Floats,
        loss: NodeLoss,
        bias: float,
    ) -> None:
        assert inputs.encoding is not None
        self.inputs, self.y, self.weight, self.loss = inputs, y, weight, loss
        self.tolls = tolls[inputs.encoding.columns]
        self.start = Solution(np.zeros(len(self.tolls)), bias)

    def model(self, knob: Knob) -> Frozen:
        """The linear model for a penalty."""
        costs = knob["penalty"] * self.tolls
        found = lasso(self.inputs.Z, self.y, self.weight, self.loss, costs, self.start)
        return self.inputs.freeze([Stage(*found)], self.loss.link)

    def knobs(self) -> list[Knob]:
        """Penalties from the smallest at which nothing is bought down to none."""
        start = self.start.bias
        top = smallest_rate(self.inputs.Z, self.y, self.weight, self.loss, start, self.tolls)
        return [{"penalty": penalty} for penalty in penalties(top)]
